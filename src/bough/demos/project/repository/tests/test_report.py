from datetime import date

import pytest

report = pytest.importorskip("tally.report")
from tally.entry import Entry  # noqa: E402

ENTRIES = [
    Entry(date(2026, 3, 1), "rent", 80000),
    Entry(date(2026, 3, 2), "food", 15000, "market"),
    Entry(date(2026, 3, 9), "bus", 5000),
    Entry(date(2026, 4, 9), "bus", 5000),
]


def test_text_is_set_left_and_amounts_right():
    assert report.table([("food", "3.20", "bread"), ("rent", "800.00", "")]) == "food    3.20  bread\nrent  800.00"


def test_a_header_with_a_rule_below():
    assert report.table([("bus", "3.00")], ("what", "spent")).splitlines() == ["what  spent", "----  -----", "bus    3.00"]


def test_an_empty_table():
    assert report.table([]) == ""


def test_bars_are_as_long_as_the_largest_allows():
    assert report.bars({"rent": 800, "food": 400, "bus": 10}, width=8) == "rent  ████████\nfood  ████\nbus   ▏"


def test_no_bar_for_nothing():
    assert report.bars({"rent": 800, "bus": 0}, width=4) == "rent  ████\nbus"


def test_a_month_on_a_page():
    assert report.month_report(ENTRIES, "2026-03").splitlines() == [
        "March 2026: 1000.00",
        "",
        "category   spent  share",
        "--------  ------  -----",
        "rent      800.00    80%",
        "food      150.00    15%",
        "bus        50.00     5%",
        "",
        "rent  ████████████████████",
        "food  ███▊",
        "bus   █▎",
    ]


def test_a_month_with_a_budget():
    page = report.month_report(ENTRIES, "2026-03", {"rent": 80000, "food": 10000}).splitlines()
    assert page[-6:] == [
        "",
        "budget   limit   spent    left",
        "------  ------  ------  ------",
        "rent    800.00  800.00    0.00",
        "food    100.00  150.00  -50.00  over",
        "bus       0.00   50.00  -50.00  over",
    ]


def test_a_month_without_anything():
    assert report.month_report(ENTRIES, "2026-05") == "May 2026: nothing was spent"
