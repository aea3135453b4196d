from datetime import date

import pytest

cli = pytest.importorskip("tally.cli")


@pytest.fixture
def tally(tmp_path, capsys):
    def run(*arguments):
        status = cli.main(list(arguments), tmp_path / "book.txt")
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_an_expense_is_added_and_listed(tally):
    assert tally("add", "3,20", "food", "rye", "bread", "--day", "2026-03-02") == (0, "2026-03-02  food  3.20  rye bread\n", "")
    tally("add", "800", "rent", "--day", "2026-03-01")
    assert tally("list")[1] == "2026-03-01  rent  800.00\n2026-03-02  food    3.20  rye bread\n"


def test_today_unless_a_day_is_given(tally):
    assert tally("add", "1", "food")[1].startswith(date.today().isoformat())


def test_one_month_of_the_list(tally):
    tally("add", "1", "food", "--day", "2026-03-31")
    tally("add", "2", "food", "--day", "2026-04-01")
    assert tally("list", "--month", "2026-04")[1] == "2026-04-01  food  2.00\n"


def test_a_report_with_a_budget(tally, tmp_path):
    (tmp_path / "budget.txt").write_text("food = 100\n")
    tally("add", "150", "food", "--day", "2026-03-01")
    said = tally("report", "2026-03", "--budget", str(tmp_path / "budget.txt"))[1]
    assert said.startswith("March 2026: 150.00\n") and said.endswith("-50.00  over\n")


def test_what_is_due_is_added_once(tally):
    said = tally("due", "2026-02", "--rule", "rent:800:31")
    assert said == (0, "2026-02-28  rent  800.00\n", "")
    assert tally("due", "2026-02", "--rule", "rent:800:31") == (0, "", "")
    assert tally("list")[1].count("rent") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "much", "food"),
        ("add", "1", "food", "--day", "tomorrow"),
        ("report", "March"),
        ("report", "2026-03", "--budget", "/nowhere/budget.txt"),
        ("due", "2026-02", "--rule", "rent"),
        ("spend",),
        (),
    ],
)
def test_what_is_wrong_is_one_line_on_standard_error(tally, arguments):
    status, out, err = tally(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
