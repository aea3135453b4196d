"""Choose which of the ready steps comes first: the one with the longest chain of others waiting for it, since that
chain is the least time the whole plan takes, however many run in parallel. Scarce things (check slots, the merge queue,
a model that limits its rate) are granted in the same order."""

from __future__ import annotations

from collections import OrderedDict
from contextvars import ContextVar
from graphlib import CycleError, TopologicalSorter
from itertools import dropwhile

from bough.core.planning.plan import Step

_KEPT = 64
_orders: OrderedDict[int, tuple[tuple[Step, ...], tuple[Step, ...], dict[str, int]]] = OrderedDict()
"""The orders by identity of the steps, which are looked up after every event; kept with them, so that no other has the
same id."""
URGENCY: ContextVar[int] = ContextVar("urgency", default=0)
"""The urgency of the step that this context works on: the pieces of work that remain, one after the other, from its
beginning to the end of the goal. 0: no step. The higher, the sooner it gets what it waits for."""


def by_urgency(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps, those with the longest chain first; equal chains in the plan's order."""
    return _order(steps)[0]


def measure_urgency(steps: tuple[Step, ...], step: Step, after: int, parallel: bool) -> int:
    """The urgency of one of the steps. `after`: pieces of work that follow the last of them."""
    if not parallel:
        rest = dropwhile(lambda each: each.name != step.name, steps)
        return sum(map(weight, rest)) + after
    return _order(steps)[1].get(step.name, 0) + after


def _order(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], dict[str, int]]:
    known = _orders.get(id(steps))
    if known is not None and known[0] is steps:
        return known[1:]
    chains = _chains(steps)
    ordered = tuple(sorted(steps, key=lambda step: -chains[step.name]))
    _orders[id(steps)] = (steps, ordered, chains)
    while len(_orders) > _KEPT:
        _orders.popitem(last=False)
    return ordered, chains


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
