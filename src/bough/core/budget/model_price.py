"""What tokens cost, as set by a person."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from bough.core.messages import Usage

MILLION = 1_000_000
Dollars = Annotated[float, Meta(ge=0)]


class ModelPrice(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """US dollars per million tokens."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    """The price of what the provider had in its cache of the prompt; by default the price of the rest."""

    def of(self, usage: Usage) -> float:
        cached = min(usage.cache_read, usage.input)
        asked = (usage.input - cached) * self.input + cached * (self.input if self.cached is None else self.cached)
        return (asked + usage.output * self.output) / MILLION
