"""A plan as a tree, before anything is carried out: one row a step, with what is special about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bough.core.ids import GOAL, below
from bough.core.plan import Condition, Plan, Step
from bough.core.workflow.conditions import spelt
from bough.core.workflow.inputs import InputSpec
from bough.core.workflow.keys import kind, tested_unless_said
from bough.core.workflow.machine import Machine
from bough.interfaces.terminal.paper import Span
from bough.interfaces.terminal.words import cells, first_line, many, one_line, pad

Row = list[Span]
ROLES = {"bug_hunter": "bug hunter", "test_writer": "test writer", "critic": "critic"}
JOINS = {"all": "", "any": ", one is enough", "settled": ", however they end"}
NAMES = 36
"""Columns that names and their branches get at most."""


def tree(plan: Plan, machines: Mapping[str, Machine] | None = None) -> list[Row]:
    """The goal and its steps. Names stand under each other, so the lines may be cut at the right."""
    drawn = list(_walk(plan.goal, GOAL, "", "", machines or {}))
    room = min(max(cells(prefix) + cells(name) for prefix, name, _ in drawn), NAMES)
    rows: list[Row] = []
    for prefix, name, spans in drawn:
        gap = " " * max(room - cells(prefix) - cells(name), 0)
        rows.append([(prefix, "dim"), (name, "bold"), (f"{gap}  ", ""), *spans])
    return rows


def _walk(
    step: Step, path: str, lead: str, rest: str, machines: Mapping[str, Machine]
) -> Iterator[tuple[str, str, list[Span]]]:
    yield lead, one_line(step.name), _about(step, machines.get(path))
    for number, child in enumerate(step.steps, 1):
        last = number == len(step.steps)
        mark = _transitions(machines.get(path), child.name)
        drawn = _walk(
            child,
            below(path, child.name),
            rest + ("└─ " if last else "├─ "),
            rest + ("   " if last else "│  "),
            machines,
        )
        prefix, name, spans = next(drawn)
        yield prefix, name, [*mark, *spans]
        yield from drawn


def _about(step: Step, machine: Machine | None) -> list[Span]:
    marks = [*_order(step), *_way(step, machine), *_proof(step)]
    spans: list[Span] = []
    for text, style in marks:
        spans += [(one_line(text), style), ("  ", "")]
    text = first_line(step.title or step.instructions)
    return [*spans, (text, "dim")] if text else spans


def _order(step: Step) -> Iterator[Span]:
    """When it runs."""
    if step.needs:
        yield f"after {', '.join(step.needs)}", "yellow"
    if step.condition is not None:
        yield f"if {words(step.condition)}", "yellow"


def _way(step: Step, machine: Machine | None) -> Iterator[Span]:
    """How it is carried out."""
    match kind(step):
        case "compound" if machine is not None:
            yield f"{many(len(step.steps), 'state')}, from {machine.start}, at most {machine.limit} turns", "cyan"
        case "compound" if step.parallel:
            yield f"{many(len(step.steps), 'step')} at once{JOINS[step.join]}", "cyan"
        case "compound":
            yield many(len(step.steps), "step"), "cyan"
        case "run":
            yield f"runs {step.run}", "blue"
        case "do":
            yield "leaves the loop" if step.do == "break" else "next pass", "blue"
    if step.repeat > 1:
        until = f" until {words(step.until)}" if step.until is not None else ""
        yield f"{step.repeat} passes at most{until}", "cyan"
    if step.role in ROLES:
        yield ROLES[step.role], "blue"
    if step.plan_first:
        yield "planned when it starts", "blue"
    if step.model != "main":
        yield f"{step.model} model", ""
    if step.on_error != "fail":
        yield _on_error(step), ""


def _on_error(step: Step) -> str:
    return {
        "retry": f"done again {step.max_retries} times at most" if step.max_retries > 1 else "done again once",
        "skip": "may fail",
        "escalate": "taken up by the ladder when it fails",
    }.get(step.on_error, "")


def _proof(step: Step) -> Iterator[Span]:
    if step.test_command is not None:
        yield f"check: {step.test_command}", "green"
    elif step.test_file is not None:
        yield f"check: {step.test_file}", "green"
    elif not step.requires_testing and tested_unless_said(kind(step), step.role, False):
        yield "no check", ""


def _transitions(machine: Machine | None, name: str) -> list[Span]:
    """Where a state leads."""
    if machine is None:
        return []
    state = next((state for state in machine.states if state.name == name), None)
    ways = [
        f"→ {way.to}" + (f" if {words(way.on)}" if way.on is not None else "")
        for way in (state.transitions if state else ())
    ]
    return [(f"{', '.join(ways)}  ", "yellow")] if ways else []


def words(condition: Condition) -> str:
    """A condition, for people: as it is written."""
    return one_line(spelt(condition))


def inputs(specs: Sequence[InputSpec]) -> list[Row]:
    """What a workflow is given."""
    wide = max((len(spec.name) for spec in specs), default=0)
    kinds = max((len(spec.type) for spec in specs), default=0)
    return [
        [
            (f"  {pad(spec.name, wide)}  ", "bold"),
            (f"{pad(spec.type, kinds)}  ", "cyan"),
            ("must be given" if spec.default is None else f"default: {one_line(spec.default) or 'empty'}", ""),
            (f"  {first_line(spec.description)}" if spec.description else "", "dim"),
        ]
        for spec in specs
    ]


def leaves(step: Step) -> int:
    """Steps that do something themselves."""
    return sum(map(leaves, step.steps)) if step.steps else 1
