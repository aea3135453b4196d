"""Load the text of a workflow file as a plan: every problem is found before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bough.core.ids import GOAL, slug
from bough.core.planning.plan import MAX_DEPTH, MAX_TRANSITIONS, Exits, Machine, Plan, Step, Transition
from bough.core.textual.spelling import shorten_line
from bough.core.workflow.conditions import END
from bough.core.workflow.fields import Level, StepReader, check_siblings
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
    goal = _build_step(StepReader(node, Level([node]), 0, values), GOAL)
    raise_for(problems, file)
    name = node.name or slug(file.rpartition("/")[2].removesuffix(".toml"))
    description = goal.instructions if goal.steps else goal.title
    return Workflow(name, description, tuple(node.specs.values()), Plan(goal))


def _build_step(reader: StepReader, path: str) -> Step:
    """A node as a step. Only nodes without problems make a plan, but all are checked."""
    node, fields, values = reader.node, reader.fields(), reader.values
    if node.included is not None:
        values = _read_inputs(reader, node.included)
        fields = StepReader(node.included, Level([node.included]), 0, values).fields() | fields
    _check_together(node, fields)
    if "requires_testing" not in fields:
        named = "test_command" in fields or "test_file" in fields
        fields["requires_testing"] = is_tested_by_default(node.kind, fields.get("role", ""), named)
    if node.kind == "compound":
        _add_steps(reader, fields, path, values)
    return Step("goal" if path == GOAL else node.name, **fields)


def _add_steps(reader: StepReader, fields: dict[str, Any], path: str, values: Mapping[str, Parts]) -> None:
    node, body, top = reader.node, reader.node.body, path == GOAL
    states = "states" in body.table
    level = Level(
        body.nodes,
        prefix="" if top else f"{path}/",
        parallel=bool(fields.get("parallel")),
        loops=states or int(fields.get("repeat", 1)) > 1,
        above=None if top else reader.level,
        inside=reader.number,
        own=node.included is not None or top,
    )
    check_siblings(level)
    readers = [StepReader(each, level, number, values) for number, each in enumerate(level.nodes)]
    if states:
        fields["machine"] = _build_machine(body, readers)
    fields["steps"] = tuple(_build_step(each, level.prefix + each.node.name) for each in readers)


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


def _read_inputs(reader: StepReader, included: Node) -> dict[str, Parts]:
    """The inputs of the workflow that a node includes."""
    node, file, specs = reader.node, included.source.file, included.specs
    said: dict[str, Any] = node.table["action"].get("inputs", {})
    at = (*node.at, "action", "inputs")
    values: dict[str, Parts] = {}
    for name in said:
        if name not in specs:
            text = f"{file} has no input `{shorten_line(name)}`: {suggest_nearest(name, specs)}"
            node.source.wrong((*at, name), text)
    for name, spec in specs.items():
        if name in said:
            values[name] = _pass_input(reader, spec, said[name])
        elif spec.default is not None:
            values[name] = (spec.default,)
        else:
            node.source.wrong(at, f"{file} needs the input `{name}`: give it under `inputs`.")
            values[name] = ("",)
    return values


def _pass_input(reader: StepReader, spec: InputSpec, value: Any) -> Parts:
    at = Node(reader.node.source, (*reader.node.at, "action", "inputs"), {}, {})
    pieces: Parts = (value,)
    if isinstance(value, str):
        pieces = replace(reader, node=at).parts(spec.name, value, results=True)
    if len(pieces) == 1 and not isinstance(pieces[0], Input | ResultPlace):
        text, wrong = render_value(spec.type, pieces[0])
        if wrong:
            at.wrong(spec.name, f"The input `{spec.name}` {wrong}.")
        return (text,)
    if spec.type != "string" and any(isinstance(piece, ResultPlace) for piece in pieces):
        at.wrong(spec.name, f"The input `{spec.name}` has the type {spec.type}, but a step's result is text.")
    return pieces


# ── states ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _build_machine(body: Node, readers: Sequence[StepReader]) -> Machine:
    """How the states of a node follow each other."""
    names = [node.name for node in body.nodes if node.name]
    start = body.table.get("start", names[0] if names else "")
    if names and start not in names:
        body.wrong("start", f"There is no state `{shorten_line(start)}`: {suggest_nearest(start, names)}")
    states = []
    for reader in readers:
        node = reader.node
        if node.name == END:
            node.wrong("name", f"`{END}` is reserved for the end of a machine: give the state another name.")
        said = enumerate(node.table.get("transitions", ()))
        found = (_build_transition(reader, number, each, [*names, END]) for number, each in said)
        states.append(Exits(node.name, tuple(each for each in found if each is not None)))
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


def _build_transition(reader: StepReader, number: int, said: dict[str, Any], names: list[str]) -> Transition | None:
    source = reader.node.source
    at = Node(source, (*reader.node.at, "transitions", number), said, said)
    if "to" not in said:
        source.wrong(at.at, "The transition has no target: add `to`.")
        return None
    if said["to"] not in names:
        at.wrong("to", f"There is no state `{shorten_line(said['to'])}`: {suggest_nearest(said['to'], names)}")
    condition = replace(reader, node=at).condition("on") if "on" in said else None
    if condition is not None and condition.step:
        at.wrong("on", "A transition asks about its own state: omit the name.")
    return Transition(said["to"], condition)
