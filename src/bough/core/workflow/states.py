"""The states of a machine, from how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bough.core.plan import MAX_TRANSITIONS, Exits, Machine, Transition
from bough.core.workflow.fields import Fields, Scope
from bough.core.workflow.machine import END
from bough.core.workflow.nodes import Node
from bough.core.workflow.order import Level
from bough.core.workflow.problems import nearest, short
from bough.core.workflow.texts import Parts


def machine_of(body: Node, level: Level, values: Mapping[str, Parts]) -> Machine:
    """How the states of a node follow each other."""
    names = [node.name for node in body.nodes if node.name]
    start = body.table.get("start", names[0] if names else "")
    if names and start not in names:
        body.wrong("start", f"There is no state `{short(start)}`: {nearest(start, names)}")
    states = []
    for number, node in enumerate(body.nodes):
        if node.name == END:
            node.wrong("name", f"`{END}` is where a machine ends: give the state another name.")
        steps = [
            _transition(node, at, said, names, Scope(level, number, values))
            for at, said in enumerate(node.table.get("transitions", ()))
        ]
        states.append(Exits(node.name, tuple(step for step in steps if step is not None)))
    machine = Machine(start, tuple(states), body.table.get("max_transitions", MAX_TRANSITIONS))
    _check_reached(body, machine)
    return machine


def _transition(node: Node, number: int, said: dict[str, Any], names: list[str], scope: Scope) -> Transition | None:
    at = Node(node.source, (*node.at, "transitions", number), node.name, said, "agent", [], {})
    if "to" not in said:
        node.source.wrong(at.at, "A transition says where it goes: give it `to`.")
        return None
    if said["to"] not in (*names, END):
        at.wrong("to", f"There is no state `{short(said['to'])}`: {nearest(said['to'], [*names, END])}")
    condition = Fields(at, scope).condition("on") if "on" in said else None
    if condition is not None and condition.step:
        at.wrong("on", "A transition asks about its own state: leave the name away.")
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
