from datetime import date

import pytest

budgets = pytest.importorskip("tally.budgets")
from tally.entry import Entry  # noqa: E402

ENTRIES = [
    Entry(date(2026, 3, 1), "food", 9000),
    Entry(date(2026, 3, 9), "food", 2500),
    Entry(date(2026, 3, 9), "bus", 300),
    Entry(date(2026, 3, 20), "books", 1990),
    Entry(date(2026, 4, 1), "bus", 99999),
]


def test_parsed():
    assert budgets.parse("# monthly\nfood = 100\n\nbus=20,50\n") == {"food": 10000, "bus": 2050}


@pytest.mark.parametrize("text", ["food", "food = much", "food = 1\nfood = 2", "= 3", "food = -1"])
def test_a_bad_budget_is_named_with_its_line(text):
    with pytest.raises(ValueError, match=f"line {text.count(chr(10)) + 1}"):
        budgets.parse(text)


def test_checked_in_order_of_the_budget_and_then_what_is_beside_it():
    lines = budgets.check(ENTRIES, {"food": 10000, "bus": 2050}, "2026-03")
    assert [(line.category, line.spent, line.left) for line in lines] == [
        ("food", 11500, -1500),
        ("bus", 300, 1750),
        ("books", 1990, -1990),
    ]


def test_what_is_over():
    lines = budgets.check(ENTRIES, {"food": 10000, "bus": 300}, "2026-03")
    assert [line.over for line in lines] == [True, False, True]


def test_what_was_not_touched():
    (line,) = budgets.check([], {"food": 10000}, "2026-03")
    assert (line.category, line.limit, line.spent, line.left, line.over) == ("food", 10000, 0, 10000, False)
