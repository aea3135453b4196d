from cart import add, average, total


def test_total() -> None:
    cart: dict[str, float] = {}
    add(cart, "tea", 4.0)
    add(cart, "cake", 6.0)
    assert total(cart) == 10.0


def test_average() -> None:
    assert average({"tea": 4.0, "cake": 6.0}) == 5.0
