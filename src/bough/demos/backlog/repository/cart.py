"""A shopping cart: what is in it, what it costs, and how prices are shown."""

from __future__ import annotations


def add(cart: dict[str, float], name: str, price: float) -> None:
    cart[name] = cart.get(name, 0.0) + price


def total(cart: dict[str, float]) -> float:
    return sum(cart.values())


def average(cart: dict[str, float]) -> float:
    return total(cart) / len(cart)


def show(price: float) -> str:
    return f"{price}"
