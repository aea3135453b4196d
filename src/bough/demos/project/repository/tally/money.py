"""Amounts are whole cents, so that sums are exact."""

import re

_AMOUNT = re.compile(r"(-?)(\d+)(?:[.,](\d{1,2}))?")


def parse(text: str) -> int:
    """`12`, `12.5` and `12,50` are amounts; anything else is a ValueError."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not an amount")
    sign, whole, cents = found.groups()
    amount = int(whole) * 100 + int((cents or "0").ljust(2, "0"))
    return -amount if sign else amount


def show(cents: int) -> str:
    """`1234.50`, with a sign where it is negative."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
