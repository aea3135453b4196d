import pytest

from discount import discounted


def test_a_known_code_takes_a_tenth_off() -> None:
    assert discounted({"tea": 4.0, "cake": 6.0}, "SPRING10") == pytest.approx(9.0)


def test_an_unknown_code_changes_nothing() -> None:
    assert discounted({"tea": 4.0}, "NOPE") == 4.0
