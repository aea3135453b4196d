from warehouse import reserve


def test_the_warehouse_confirms() -> None:
    assert reserve({"tea": 4.0}, server="https://warehouse.example/api") == "confirmed"
