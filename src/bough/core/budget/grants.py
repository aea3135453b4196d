"""How a task's limits are shared out among its children.

The rule. Every task has a grant (`Limits`). Of it, at any moment, a part is *spent* (by the task itself and by its
children that are settled), a part is *reserved* (the whole grants of its running children, however little they have
used yet), and the rest is *free*:

    spent + reserved + free = grant

- A child's grant comes out of what is free when it starts, and the task's own calls come out of what is free while
  children run. So spent + reserved never exceeds the grant, and by induction no level exceeds the budget.
- When a child is settled its reservation ends and what it really spent is added: the difference is free again.
- Rounds: the smallest of 30 % of the parent's grant, the fair share, and what is free; at least one while any is free.
- Where the fair share is too small to finish anything, the first child gets enough for that: too little for everyone
  helps no one.
- The fair share divides what is free among the children that have not started, by complexity, and the parent itself,
  which counts as one more child of average complexity: it has its own check to pass in the end. Running children
  already have their part; counting them again would leave those rounds unused.
- Tokens, money and time are ceilings against a runaway rather than a plan of work: a child that runs alone gets all
  that is free of them; one that may run in parallel with others gets its fair share.
- A number of rounds that a person set replaces share and fair share, up to what is free.

Rounds are exact: a task has one at a time. What a call costs in tokens, money and time is known only after it,
so a task can overdraw these by its last call; nothing more is granted until that is compensated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from bough.core.budget.limits import Limits, Spend, compute_remaining

N = TypeVar("N", int, float)

ATOMIC_ROUNDS = 40
"""The rounds of a goal that is one leaf."""
TOKENS_PER_ROUND = 150_000
"""Tokens that a run may use per round, unless a person sets it: a ceiling against a runaway. It is three quarters of a
usual window, where conversations are compacted."""
LEAF_ROUNDS = 16
"""The rounds that each further leaf of a plan adds: the soft limit of a task."""
USEFUL = 6
"""Rounds in which something can be finished: to look, to change, to test and to report."""


def compute_free(limits: Limits, spend: Spend, reserved: Sequence[Limits] = ()) -> Limits:
    """What is neither spent nor reserved for running children: all that the task itself may use in the meantime."""
    rest = compute_remaining(spend, limits)
    return Limits(
        rounds=max(0, rest.rounds - sum(taken.rounds for taken in reserved)),
        tokens=_subtract_reserved(rest.tokens, [taken.tokens for taken in reserved]),
        cost=_subtract_reserved(rest.cost, [taken.cost for taken in reserved]),
        minutes=_subtract_reserved(rest.minutes, [taken.minutes for taken in reserved]),
    )


def compute_grant(
    parent: Limits,
    spend: Spend,
    reserved: Sequence[Limits] = (),
    *,
    weight: int = 1,
    waiting: Sequence[int] = (),
    alone: bool = True,
    rounds: int | None = None,
) -> Limits:
    """What a child gets when it starts.

    `spend` is the parent's, with its settled children's; `reserved` are the grants of its running children. `weight` is
    the child's complexity, `waiting` those of the other children that have not started. `alone`: none of them can start
    while it runs. `rounds` is what a person set.

    Zero rounds: nothing is free. Then a running sibling may still return something; if none runs, all is spent.
    """
    rest = compute_free(parent, spend, reserved)
    weights = [max(1, each) for each in (weight, *waiting)]
    # One more child of average weight: weight / (sum + sum / count), in whole numbers.
    part, whole = weights[0] * len(weights), sum(weights) * (len(weights) + 1)
    most = -(-3 * parent.rounds // 10)  # 30 %, rounded up
    fair = rounds if rounds is not None else min(most, max(USEFUL, rest.rounds * part // whole))
    return Limits(
        rounds=min(max(1, fair), rest.rounds),
        tokens=rest.tokens if alone or rest.tokens is None else rest.tokens * part // whole,
        cost=rest.cost if alone or rest.cost is None else rest.cost * part / whole,
        minutes=rest.minutes if alone or rest.minutes is None else rest.minutes * part / whole,
    )


def compute_root_rounds(leaves: int, set_by_person: int | None = None) -> int:
    """The rounds of a whole run, before it starts."""
    if set_by_person is not None:
        return set_by_person
    return ATOMIC_ROUNDS + LEAF_ROUNDS * max(0, leaves - 1)


def set_rounds(limits: Limits, rounds: int) -> Limits:
    """Return these limits with `rounds` rounds. A token ceiling that nobody has set follows them."""
    unset = limits.tokens == limits.rounds * TOKENS_PER_ROUND
    return replace(limits, rounds=rounds, tokens=rounds * TOKENS_PER_ROUND if unset else limits.tokens)


def add_limits(limits: Limits, added: Limits) -> Limits:
    """A raised grant. What had no limit still has none."""
    return Limits(
        rounds=limits.rounds + added.rounds,
        tokens=_add(limits.tokens, added.tokens),
        cost=_add(limits.cost, added.cost),
        minutes=_add(limits.minutes, added.minutes),
    )


def subtract_spend(limits: Limits, spend: Spend) -> Limits:
    """What is left of a grant."""
    return compute_remaining(spend, limits)


def convert_spend(spend: Spend) -> Limits:
    """What was spent, as the part of a grant that covers it."""
    return Limits(spend.rounds, spend.tokens, spend.cost, spend.seconds / 60)


def _add(one: N | None, other: N | None) -> N | None:
    return None if one is None or other is None else one + other


def _subtract_reserved(rest: N | None, taken: Sequence[N | None]) -> N | None:
    """A child without a limit that its parent has (set when the run was resumed) may use all of it."""
    if rest is None:
        return None
    return max(rest * 0, rest - sum(each for each in taken if each is not None)) if None not in taken else rest * 0
