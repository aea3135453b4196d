from datetime import date

import pytest

totals = pytest.importorskip("tally.totals")
from tally.entry import Entry  # noqa: E402

ENTRIES = [
    Entry(date(2026, 1, 5), "food", 1000),
    Entry(date(2026, 1, 9), "books", 2500),
    Entry(date(2026, 4, 1), "food", 1500),
    Entry(date(2026, 4, 2), "bus", 300),
]


def test_by_category_with_the_largest_first_and_then_by_name():
    assert list(totals.by_category(ENTRIES).items()) == [("books", 2500), ("food", 2500), ("bus", 300)]


def test_by_month_with_the_empty_ones():
    assert list(totals.by_month(ENTRIES).items()) == [("2026-01", 3500), ("2026-02", 0), ("2026-03", 0), ("2026-04", 1800)]


def test_of_nothing():
    assert totals.by_category([]) == totals.by_month([]) == totals.shares({}) == {}


def test_shares_add_up():
    assert totals.shares({"a": 1, "b": 1, "c": 1}) == {"a": 34, "b": 33, "c": 33}
    assert totals.shares({"a": 996, "b": 2, "c": 2}) == {"a": 100, "b": 0, "c": 0}
    assert sum(totals.shares({str(n): n for n in range(1, 40)}).values()) == 100


def test_shares_of_nothing_spent():
    assert totals.shares({"a": 0, "b": 0}) == {"a": 0, "b": 0}
