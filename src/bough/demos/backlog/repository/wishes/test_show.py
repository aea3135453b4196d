from cart import show


def test_two_decimals_and_the_currency() -> None:
    assert show(12.5) == "12.50 EUR"
    assert show(3) == "3.00 EUR"
