"""Which of the steps that can begin comes first: the one with the longest chain of others waiting for it, since that
chain is what the whole takes at least, however many work at once."""

from __future__ import annotations

from collections import OrderedDict

from bough.core.planning.plan import Step

_KEPT = 64
_orders: OrderedDict[int, tuple[tuple[Step, ...], tuple[Step, ...]]] = OrderedDict()
"""By identity of the steps, which are asked about after every event; kept with them, so that no other has it."""


def by_urgency(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps, those with the longest chain first; where chains are as long, in the plan's order."""
    known = _orders.get(id(steps))
    if known is not None and known[0] is steps:
        return known[1]
    chains = _chains(steps)
    ordered = tuple(sorted(steps, key=lambda step: -chains[step.name]))
    _orders[id(steps)] = (steps, ordered)
    while len(_orders) > _KEPT:
        _orders.popitem(last=False)
    return ordered


def _chains(steps: tuple[Step, ...]) -> dict[str, int]:
    """Pieces of work on the longest way from the beginning of each step to the end of the last that waits for it."""
    named = {step.name: step for step in steps}
    waiting: dict[str, list[str]] = {step.name: [] for step in steps}
    open_needs = {step.name: 0 for step in steps}
    for step in steps:
        for need in set(step.needs) & named.keys():
            waiting[need].append(step.name)
            open_needs[step.name] += 1
    # From the first to the last, each after all that it needs; then back.
    order = [name for name, count in open_needs.items() if not count]
    for name in order:  # grows while it is walked
        for other in waiting[name]:
            open_needs[other] -= 1
            if not open_needs[other]:
                order.append(other)
    chains = dict.fromkeys(named, 0)  # a plan with a circle is refused elsewhere
    for name in reversed(order):
        chains[name] = weight(named[name]) + max((chains[other] for other in waiting[name]), default=0)
    return chains


def weight(step: Step) -> int:
    """Pieces of work that a step takes one after the other."""
    if not step.steps:
        return 1
    if not step.parallel:
        return sum(map(weight, step.steps))
    return max(_chains(step.steps).values())
