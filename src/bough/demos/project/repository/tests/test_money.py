import pytest

from tally.money import parse, show


@pytest.mark.parametrize(("text", "cents"), [("12", 1200), ("12.5", 1250), ("12,50", 1250), ("-0.05", -5)])
def test_amounts(text, cents):
    assert parse(text) == cents


@pytest.mark.parametrize("text", ["", "twelve", "1.234", "12 50"])
def test_what_is_no_amount(text):
    with pytest.raises(ValueError):
        parse(text)


def test_shown():
    assert [show(cents) for cents in (123450, 5, -250)] == ["1234.50", "0.05", "-2.50"]
