"""The distribution of a task's limits among its children: spent + reserved + free = grant (docs/design/budget.md).

A child's grant comes out of what is free when it starts, and the task's own calls come out of what is free while
children run; so spent + reserved never exceeds the grant, and by induction no level exceeds the budget. Tokens, money
and time are ceilings against a runaway rather than a plan of work: a child that runs alone gets all that is free of
them; one that may run in parallel with others gets its fair share.
"""

from collections.abc import Sequence
from functools import reduce

from msgspec.structs import replace

from bough.core.budget.limits import Limits, Spend, add_limits, compute_remaining, subtract_limits

ATOMIC_ROUNDS = 40
"""The rounds of a goal that is done as one piece of work (a leaf)."""
TOKENS_PER_ROUND = 150_000
"""Tokens that a run may use per round, unless a person sets it: a ceiling against a runaway. It is three quarters of a
usual window, where conversations are compacted."""
LEAF_ROUNDS = 16
"""The rounds that each further leaf of a plan adds: the soft limit of a task."""
USEFUL = 6
"""Rounds that suffice to finish something: to look, to change, to test and to report."""


def compute_free(limits: Limits, spend: Spend, reserved: Sequence[Limits] = ()) -> Limits:
    """Compute what is neither spent nor reserved for running children: all that the task itself may use meanwhile."""
    return subtract_limits(compute_remaining(spend, limits), reduce(add_limits, reserved, Limits(0, 0, 0.0, 0.0)))


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
    """Compute a child's grant at its start.

    `spend` is the parent's, with its settled children's; `reserved` are the grants of its running children. `weight` is
    the child's complexity, `waiting` those of the other children that have not started. `alone`: none of them can start
    while it runs. `rounds`: a person's setting.

    Zero rounds: nothing is free. Then a running sibling may still return something; if none runs, all is spent.
    """
    rest = compute_free(parent, spend, reserved)
    weights = [max(1, each) for each in (weight, *waiting)]
    # Share as if there were one more child of average weight: weight / (sum + sum / count), in whole numbers.
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
    return ATOMIC_ROUNDS + LEAF_ROUNDS * max(0, leaves - 1) if set_by_person is None else set_by_person


def set_rounds(limits: Limits, rounds: int) -> Limits:
    """Return these limits with `rounds` rounds. A token ceiling that nobody has set follows them."""
    unset = limits.tokens == limits.rounds * TOKENS_PER_ROUND
    return replace(limits, rounds=rounds, tokens=rounds * TOKENS_PER_ROUND if unset else limits.tokens)
