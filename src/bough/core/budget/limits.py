"""The hard budget: a run's spend and limits. It is never reset."""

from collections.abc import Iterable
from functools import reduce
from math import inf
from operator import add, sub
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import astuple

from bough.core.ids import GOAL
from bough.core.messages import Usage


class Spend(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The usage so far. `cost` counts only calls whose price is known; `unpriced` counts the others."""

    rounds: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    """Time spent in model calls, tools and checks."""
    check_seconds: float = 0.0
    estimated: int = 0
    """Calls whose tokens are estimated, because the provider does not report them."""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def plus(self, other: "Spend") -> "Spend":
        return Spend(*map(add, astuple(self), astuple(other)))

    def minus(self, other: "Spend") -> "Spend":
        return Spend(*map(sub, astuple(self), astuple(other)))

    def called(self, usage: Usage, cost: float | None, seconds: float) -> "Spend":
        """Return the spend after one more model call."""
        return self.plus(
            Spend(
                tokens_in=usage.input,
                tokens_out=usage.output,
                tokens_cached=usage.cache_read,
                cost=cost or 0.0,
                unpriced=int(cost is None),
                seconds=seconds,
                estimated=int(usage.estimated),
            )
        )


def sum_spends(spends: Iterable[Spend]) -> Spend:
    return reduce(Spend.plus, spends, Spend())


class Limits(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of a run or of a step's share of it; None means no limit of that kind."""

    rounds: int = 40
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None


LAST_SHARE = 0.95
"""Once this share of tokens, money or time is gone, the next round is the hand-over round."""


def find_reached_limit(spend: Spend, limits: Limits, share: float = 1.0) -> str | None:
    """Describe, as a phrase for people, the limit of which this share is spent; None if there is none."""
    for used, limit, phrase in (
        (spend.tokens, limits.tokens, "tokens"),
        (spend.cost, limits.cost, "US dollars"),
        (spend.seconds / 60, limits.minutes, "minutes"),
    ):
        # The limit is checked before a call, so the last call can exceed it: its cost is known only afterwards.
        if limit is not None and used >= limit * share:
            return f"{limit:,} {phrase}"
    # Rounds are counted one by one instead of by the share: with any share below 1, exactly the last granted round is
    # kept for the hand-over, in which the agent only reports.
    granted = limits.rounds if share == 1.0 else limits.rounds - 1
    return f"{limits.rounds:,} rounds" if spend.rounds >= granted else None


def describe_spent(task: str, limit: str) -> str:
    """Say which limit is reached, and whether it is the whole run's or this step's share of the run's budget."""
    return f"the budget of {limit} is spent" if task == GOAL else f"{task} has spent its {limit}"


def seconds_left(spend: Spend, limits: Limits) -> float | None:
    """Return the seconds until the time limit; None if there is no limit."""
    return None if limits.minutes is None else max(0.0, limits.minutes * 60 - spend.seconds)


def convert_spend(spend: Spend) -> Limits:
    return Limits(spend.rounds, spend.tokens, spend.cost, spend.seconds / 60)


def add_limits(limits: Limits, added: Limits) -> Limits:
    """Add to a grant; a kind without a limit stays without one."""

    def add_one(one: Any, other: Any) -> Any:
        return None if one is None or other is None else one + other

    return Limits(*map(add_one, astuple(limits), astuple(added)))


def subtract_limits(limits: Limits, taken: Limits) -> Limits:
    """Subtract from a grant. If `taken` has no limit of some kind (the run got one when it was resumed), nothing of
    that kind is left."""

    def subtract_one(one: Any, other: Any) -> Any:
        return None if one is None else max(one * 0, one - (inf if other is None else other))

    return Limits(*map(subtract_one, astuple(limits), astuple(taken)))


def compute_remaining(spend: Spend, limits: Limits) -> Limits:
    """Return the rest of a budget as the grant of a smaller step."""
    return subtract_limits(limits, convert_spend(spend))


MILLION = 1_000_000
Dollars = Annotated[float, Meta(ge=0)]


class ModelPrice(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """US dollars per million tokens."""

    input: Dollars
    output: Dollars
    cached: Dollars | None = None
    """The price of prompt tokens from the provider's cache; by default the price of the others."""

    def of(self, usage: Usage) -> float:
        cached = min(usage.cache_read, usage.input)
        asked = (usage.input - cached) * self.input + cached * (self.input if self.cached is None else self.cached)
        return (asked + usage.output * self.output) / MILLION
