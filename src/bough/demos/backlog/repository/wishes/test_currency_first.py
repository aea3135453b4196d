from cart import show


def test_the_currency_comes_first() -> None:
    assert show(12.5) == "EUR 12.50"
