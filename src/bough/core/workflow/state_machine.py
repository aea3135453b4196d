"""The states of a machine, as written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bough.core.planning.plan import MAX_TRANSITIONS, Exits, Machine, Transition
from bough.core.workflow.fields import Fields, StepPosition
from bough.core.workflow.nodes import Node
from bough.core.workflow.order import Level
from bough.core.workflow.placeholders import Parts
from bough.core.workflow.problems import shorten_quote, suggest_nearest
from bough.core.workflow.transitions import END


def build_machine(body: Node, level: Level, values: Mapping[str, Parts]) -> Machine:
    """How the states of a node follow each other."""
    names = [node.name for node in body.nodes if node.name]
    start = body.table.get("start", names[0] if names else "")
    if names and start not in names:
        body.wrong("start", f"There is no state `{shorten_quote(start)}`: {suggest_nearest(start, names)}")
    states = []
    for number, node in enumerate(body.nodes):
        if node.name == END:
            node.wrong("name", f"`{END}` is reserved for the end of a machine: give the state another name.")
        steps = [
            _build_transition(node, at, said, names, StepPosition(level, number, values))
            for at, said in enumerate(node.table.get("transitions", ()))
        ]
        states.append(Exits(node.name, tuple(step for step in steps if step is not None)))
    machine = Machine(start, tuple(states), body.table.get("max_transitions", MAX_TRANSITIONS))
    _check_reached(body, machine)
    return machine


def _build_transition(
    node: Node, number: int, said: dict[str, Any], names: list[str], scope: StepPosition
) -> Transition | None:
    at = Node(node.source, (*node.at, "transitions", number), node.name, said, "agent", [], {})
    if "to" not in said:
        node.source.wrong(at.at, "The transition has no target: add `to`.")
        return None
    if said["to"] not in (*names, END):
        at.wrong("to", f"There is no state `{shorten_quote(said['to'])}`: {suggest_nearest(said['to'], [*names, END])}")
    condition = Fields(at, scope).condition("on") if "on" in said else None
    if condition is not None and condition.step:
        at.wrong("on", "A transition asks about its own state: omit the name.")
    return Transition(said["to"], condition)


def _check_reached(body: Node, machine: Machine) -> None:
    ways = {state.name: [transition.to for transition in state.transitions] for state in machine.states}
    seen: set[str] = set()
    ahead = [machine.start]
    while ahead:
        if (name := ahead.pop()) not in seen:
            seen.add(name)
            ahead += ways.get(name, [])
    for node in body.nodes:
        if node.name and node.name not in seen and machine.start in ways:
            node.wrong("name", f"No transition leads to the state `{node.name}`.")
