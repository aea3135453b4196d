from cart import average


def test_an_empty_cart_has_an_average_of_0() -> None:
    assert average({}) == 0.0
