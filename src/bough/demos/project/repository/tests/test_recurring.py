from datetime import date

import pytest

recurring = pytest.importorskip("tally.recurring")
from tally.entry import Entry  # noqa: E402

RENT = recurring.Rule("rent", 80000, 1)


def days(rule, start, end):
    return [entry.day for entry in recurring.due(rule, start, end)]


def test_once_a_month():
    assert days(RENT, date(2026, 1, 15), date(2026, 4, 1)) == [date(2026, 2, 1), date(2026, 3, 1), date(2026, 4, 1)]


def test_what_is_due():
    rule = recurring.Rule("rent", 80000, 1, "flat")
    assert recurring.due(rule, date(2026, 3, 1), date(2026, 3, 1)) == [Entry(date(2026, 3, 1), "rent", 80000, "flat")]


def test_in_short_months_on_the_last_day():
    found = days(recurring.Rule("phone", 900, 31), date(2026, 1, 1), date(2026, 4, 30))
    assert found == [date(2026, 1, 31), date(2026, 2, 28), date(2026, 3, 31), date(2026, 4, 30)]


def test_over_the_turn_of_the_year():
    assert days(RENT, date(2025, 12, 1), date(2026, 1, 31)) == [date(2025, 12, 1), date(2026, 1, 1)]


def test_nothing_when_the_end_comes_first():
    assert days(RENT, date(2026, 3, 2), date(2026, 3, 1)) == []


@pytest.mark.parametrize("day", [0, 32])
def test_there_is_no_such_day(day):
    with pytest.raises(ValueError, match=str(day)):
        recurring.Rule("rent", 80000, day)
