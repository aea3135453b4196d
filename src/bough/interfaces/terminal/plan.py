"""A plan as a tree, before anything runs: one row per step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from bough.core.plan import Condition, Machine, Plan, Step
from bough.core.requirements import Requirement
from bough.core.workflow.conditions import spelt
from bough.core.workflow.inputs import InputSpec
from bough.core.workflow.keys import kind, tested_unless_said
from bough.interfaces.terminal.paper import Span
from bough.interfaces.terminal.words import cells, cut, first_line, headline, many, one_line, pad

Row = list[Span]
ROLES = {"bug_hunter": "bug hunter", "test_writer": "test writer", "critic": "critic"}
JOINS = {"all": "", "any": ", one is enough", "settled": ", however they end"}
NAMES = 36
"""Columns that names and their branches get at most."""


class Line(Struct, frozen=True):
    """A step and its place in the tree."""

    prefix: str
    step: Step
    marks: Row


def tree(plan: Plan, width: int = 10_000) -> list[Row]:
    """The goal and its steps: name, what is special about it, what it is about, how it is proven. The last two share
    what is left of the width."""
    drawn = list(_walk(plan.goal, None, "", ""))
    room = min(max(cells(line.prefix) + cells(line.step.name) for line in drawn), NAMES)
    rows: list[Row] = []
    for line in drawn:
        name = one_line(line.step.name)
        gap = " " * (max(room - cells(line.prefix) - cells(name), 0) + 2)
        row = [(line.prefix, "dim"), (name, "bold"), (gap, ""), *line.marks]
        rows.append(row + _ending(line.step, width - sum(cells(text) for text, _ in row)))
    return rows


def _ending(step: Step, room: int) -> Row:
    """What it is about and how it is proven, each cut so that there is something of both."""
    about, proof = headline(step.title or step.instructions), one_line(_proof(step))
    if not about or not proof:
        return [(about, "dim"), (proof, "green")]
    if cells(about) + cells(proof) + 2 > room:
        kept = max(room - cells(proof) - 2, room * 3 // 5, 0)
        about = cut(about, kept)
    return [(about, "dim"), ("  ", ""), (proof, "green")]


def _walk(step: Step, above: Machine | None, lead: str, rest: str) -> Iterator[Line]:
    marks = [*_order(step), *_transitions(above, step.name), *_way(step)]
    yield Line(lead, step, [span for text, style in marks for span in ((one_line(text), style), ("  ", ""))])
    for number, child in enumerate(step.steps, 1):
        last = number == len(step.steps)
        drawn = rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
        yield from _walk(child, step.machine, *drawn)


def requirement_lines(requirements: Sequence[Requirement], width: int) -> list[str]:
    """What a goal asks, one line each."""
    return [cut(one_line(str(one)), max(width - 2, 20)) for one in requirements]


def _order(step: Step) -> Iterator[Span]:
    """When it runs, and what for."""
    if step.covers:
        yield f"covers {', '.join(map(str, step.covers))}", "blue"
    if step.needs:
        yield f"after {', '.join(step.needs)}", "yellow"
    if step.condition is not None:
        yield f"if {words(step.condition)}", "yellow"


def _way(step: Step) -> Iterator[Span]:
    """How it runs."""
    match kind(step):
        case "compound" if (machine := step.machine) is not None:
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
        "escalate": "escalates when it fails",
    }.get(step.on_error, "")


def _proof(step: Step) -> str:
    if step.test_command is not None:
        return f"check: {step.test_command}"
    if step.test_file is not None:
        return f"check: {step.test_file}"
    silent = not step.requires_testing and tested_unless_said(kind(step), step.role, False)
    return "no check" if silent else ""


def _transitions(machine: Machine | None, name: str) -> Iterator[Span]:
    """Where a state leads."""
    states = machine.states if machine is not None else ()
    ways = [way for state in states if state.name == name for way in state.transitions]
    if ways:
        said = (f"→ {way.to}" + (f" if {words(way.on)}" if way.on is not None else "") for way in ways)
        yield ", ".join(said), "yellow"


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
