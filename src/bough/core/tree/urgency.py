"""Choose which of the ready steps comes first: the one with the longest chain of others waiting for it, since that
chain is the least time the whole plan takes, however many run in parallel."""

from __future__ import annotations

from collections import OrderedDict
from graphlib import CycleError, TopologicalSorter

from bough.core.planning.plan import Step

_KEPT = 64
_orders: OrderedDict[int, tuple[tuple[Step, ...], tuple[Step, ...]]] = OrderedDict()
"""The orders by identity of the steps, which are looked up after every event; kept with them, so that no other has the
same id."""


def by_urgency(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps, those with the longest chain first; equal chains in the plan's order."""
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
    """Units of work on the longest path from the start of each step to the end of the last that waits for it."""
    named = {step.name: step for step in steps}
    needs = {step.name: set(step.needs) & named.keys() for step in steps}
    chains = dict.fromkeys(named, 0)
    try:
        order = [*TopologicalSorter(needs).static_order()]
    except CycleError:  # such a plan is rejected elsewhere
        return chains
    for name in reversed(order):  # by now it has the longest chain of those that wait for it
        chains[name] += weight(named[name])
        for need in needs[name]:
            chains[need] = max(chains[need], chains[name])
    return chains


def weight(step: Step) -> int:
    """Units of work that a step takes in sequence."""
    if not step.steps:
        return 1
    if not step.parallel:
        return sum(map(weight, step.steps))
    return max(_chains(step.steps).values())
