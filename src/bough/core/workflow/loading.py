"""Load the text of a workflow file as a plan: every problem is found before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bough.core.ids import GOAL, slug
from bough.core.planning.plan import MAX_DEPTH, MAX_TRANSITIONS, Exits, Machine, Plan, Step, Transition
from bough.core.spelling import shorten_line
from bough.core.workflow.conditions import END
from bough.core.workflow.fields import Fields, Level, StepPosition, check_siblings
from bough.core.workflow.inputs import InputSpec, render_value, resolve_inputs
from bough.core.workflow.keys import is_tested_by_default
from bough.core.workflow.nodes import Node, Read, Reader
from bough.core.workflow.placeholders import Input, Parts, ResultPlace
from bough.core.workflow.problems import Problems, Source, raise_for, suggest_nearest


class Workflow(Struct, frozen=True):
    """A valid workflow file."""

    name: str
    description: str
    inputs: tuple[InputSpec, ...]
    plan: Plan


def load(
    text: str,
    file: str = "workflow.toml",
    *,
    inputs: Mapping[str, str] | None = None,
    read: Read | None = None,
    max_depth: int = MAX_DEPTH,
) -> Workflow:
    """The workflow in a text, or a `WorkflowError` with all problems.

    `file` is its path in the project, for messages and for the files that it names, which `read` gives. `inputs` are
    its inputs by name; None leaves them open, to show a workflow without running it.
    """
    problems: Problems = {}
    source = Source(file, text, problems)
    raise_for(problems, file)
    node = Reader(problems, read, max_depth).whole(source)
    values: dict[str, Parts]
    if inputs is None:
        values = {name: (Input(name),) for name in node.specs}
    else:
        values = {name: (value,) for name, value in resolve_inputs(source, node.specs, inputs).items()}
    goal = _build_step(node, GOAL, StepPosition(Level([node]), 0, values))
    raise_for(problems, file)
    name = node.name or slug(file.rpartition("/")[2].removesuffix(".toml"))
    description = goal.instructions if goal.steps else goal.title
    return Workflow(name, description, tuple(node.specs.values()), Plan(goal))


def _build_step(node: Node, path: str, scope: StepPosition) -> Step:
    """A node as a step. Only nodes without problems make a plan, but all are checked."""
    goal = path == GOAL
    fields = Fields(node, scope).all()
    values = scope.values
    if node.included is not None:
        values = _read_inputs(node, scope)
        inner = StepPosition(Level([node.included]), 0, values)
        fields = {**Fields(node.included, inner).all(), **fields}
    _check_together(node, fields)
    if "requires_testing" not in fields:
        named = "test_command" in fields or "test_file" in fields
        fields["requires_testing"] = is_tested_by_default(node.kind, fields.get("role", ""), named)
    if node.kind == "compound":
        _add_steps(node, fields, path, scope, values)
    return Step("goal" if goal else node.name, **fields)


def _add_steps(node: Node, fields: dict[str, Any], path: str, scope: StepPosition, values: Mapping[str, Parts]) -> None:
    body = node.body
    states = "states" in body.table
    prefix = "" if path == GOAL else f"{path}/"
    level = Level(
        body.nodes,
        prefix,
        parallel=bool(fields.get("parallel")),
        loops=states or int(fields.get("repeat", 1)) > 1,
        above=None if path == GOAL else scope.level,
        inside=scope.number,
        own=node.included is not None or path == GOAL,
    )
    check_siblings(level)
    if states:
        fields["machine"] = _build_machine(body, level, values)
    fields["steps"] = tuple(
        _build_step(each, prefix + each.name, StepPosition(level, number, values))
        for number, each in enumerate(level.nodes)
    )


def _check_together(node: Node, fields: Mapping[str, Any]) -> None:
    """Keys that need another key."""

    def wrong(key: str, text: str) -> None:
        (node if key in node.table else node.body).wrong(key, text)

    if "join" in fields and not fields.get("parallel"):
        wrong("join", "`join` needs `parallel = true`: add it.")
    if "until" in fields and fields.get("repeat", 1) < 2:
        wrong("until", "`until` needs `repeat = N`, the most passes: add it.")
    for key in ("max_retries", "retry"):
        if key in fields and fields.get("on_error") != "retry":
            wrong(key, f'`{key}` needs `on_error = "retry"`: add it.')
    if "states" in node.body.table:
        for key in ("parallel", "repeat", "until"):
            if key in fields:
                wrong(key, f"`{key}` is for `steps`; transitions decide the order of states.")


def _read_inputs(node: Node, scope: StepPosition) -> dict[str, Parts]:
    """The inputs of the workflow that a node includes."""
    assert node.included is not None
    specs = node.included.specs
    said: dict[str, Any] = node.table["action"].get("inputs", {})
    at = (*node.at, "action", "inputs")
    values: dict[str, Parts] = {}
    for name in said:
        if name not in specs:
            where = node.included.source.file
            node.source.wrong(
                (*at, name), f"{where} has no input `{shorten_line(name)}`: {suggest_nearest(name, specs)}"
            )
    for name, spec in specs.items():
        if name in said:
            values[name] = _pass_input(node, name, spec, said[name], scope)
        elif spec.default is not None:
            values[name] = (spec.default,)
        else:
            node.source.wrong(at, f"{node.included.source.file} needs the input `{name}`: give it under `inputs`.")
            values[name] = ("",)
    return values


def _pass_input(node: Node, name: str, spec: InputSpec, value: Any, scope: StepPosition) -> Parts:
    at = (*node.at, "action", "inputs", name)
    pieces: Parts = (value,)
    if isinstance(value, str):
        pieces = Fields(Node(node.source, at[:-1], {}, {}), scope).parts(name, value, results=True)
    if len(pieces) == 1 and not isinstance(pieces[0], Input | ResultPlace):
        text, wrong = render_value(spec.type, pieces[0])
        if wrong:
            node.source.wrong(at, f"The input `{name}` {wrong}.")
        return (text,)
    if spec.type != "string" and any(isinstance(piece, ResultPlace) for piece in pieces):
        node.source.wrong(at, f"The input `{name}` has the type {spec.type}, but a step's result is text.")
    return pieces


# ── states ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _build_machine(body: Node, level: Level, values: Mapping[str, Parts]) -> Machine:
    """How the states of a node follow each other."""
    names = [node.name for node in body.nodes if node.name]
    start = body.table.get("start", names[0] if names else "")
    if names and start not in names:
        body.wrong("start", f"There is no state `{shorten_line(start)}`: {suggest_nearest(start, names)}")
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
    return machine


def _build_transition(
    node: Node, number: int, said: dict[str, Any], names: list[str], scope: StepPosition
) -> Transition | None:
    at = Node(node.source, (*node.at, "transitions", number), said, said)
    if "to" not in said:
        node.source.wrong(at.at, "The transition has no target: add `to`.")
        return None
    if said["to"] not in (*names, END):
        at.wrong("to", f"There is no state `{shorten_line(said['to'])}`: {suggest_nearest(said['to'], [*names, END])}")
    condition = Fields(at, scope).condition("on") if "on" in said else None
    if condition is not None and condition.step:
        at.wrong("on", "A transition asks about its own state: omit the name.")
    return Transition(said["to"], condition)
