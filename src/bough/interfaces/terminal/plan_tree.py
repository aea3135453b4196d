"""Renders a plan as a tree, before anything runs: one row per step."""

from collections.abc import Iterator, Sequence

from bough.core.acceptance.requirements import Requirement
from bough.core.planning.plan import Condition, Machine, Plan, Step, describe_command
from bough.core.workflow.control_flow import render_condition
from bough.core.workflow.inputs import InputSpec
from bough.core.workflow.keys import classify_step, is_tested_by_default
from bough.interfaces.terminal.output import Span, TerminalOutput
from bough.views.formatting import count_cells, cut, first_line, headline, one_line, pad, pluralize
from bough.views.vocabulary import ROLES

Row = list[Span]
JOINS = {"all": "", "any": ", one is enough", "settled": ", however they end"}
NAMES = 36
"""The most columns for names and the branch lines before them."""


def render_plan(plan: Plan, width: int = 10_000) -> list[Row]:
    """Render a row for the goal and each step: its name, its special features, its subject and its check. The last two
    share the remaining width."""
    drawn = list(_walk(plan.goal, None, "", ""))
    room = min(max(count_cells(prefix) + count_cells(step.name) for prefix, step, _ in drawn), NAMES)
    rows: list[Row] = []
    for prefix, step, marks in drawn:
        name = one_line(step.name)
        gap = " " * (max(room - count_cells(prefix) - count_cells(name), 0) + 2)
        row = [(prefix, "dim"), (name, "bold"), (gap, ""), *marks]
        rows.append(row + _render_ending(step, width - sum(count_cells(text) for text, _ in row)))
    return rows


def _render_ending(step: Step, room: int) -> Row:
    """Render the end of a step's row: its subject and its check, with the subject cut so that both have room."""
    about, proof = headline(step.title or step.instructions), one_line(_describe_proof(step))
    if not about or not proof:
        return [(about, "dim"), (proof, "green")]
    if count_cells(about) + count_cells(proof) + 2 > room:
        about = cut(about, max(room - count_cells(proof) - 2, room * 3 // 5, 0))
    return [(about, "dim"), ("  ", ""), (proof, "green")]


def _walk(step: Step, above: Machine | None, lead: str, rest: str) -> Iterator[tuple[str, Step, Row]]:
    """Walk a step and the steps below it; yield the branch lines before each, the step, and its features."""
    marks = [*_render_order(step, above), *_render_way(step)]
    yield lead, step, [span for text, style in marks for span in ((one_line(text), style), ("  ", ""))]
    for number, child in enumerate(step.steps, 1):
        last = number == len(step.steps)
        drawn = rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
        yield from _walk(child, step.machine, *drawn)


def print_plan(page: TerminalOutput, plan: Plan, requirements: Sequence[Requirement]) -> None:
    """Print the goal's requirements, if there are several, and then the plan."""
    if len(requirements) > 1:
        page.line("Requirements:")
        for one in requirements:
            page.line("  ", cut(one_line(str(one)), max(page.width - 2, 20)))
        page.line("")
    page.lines(render_plan(plan, page.width))


def _render_order(step: Step, machine: Machine | None) -> Iterator[Span]:
    """Say which requirements a step covers, when it runs, and which states can follow it in a state machine."""
    if step.covers:
        yield f"covers {', '.join(map(str, step.covers))}", "blue"
    if step.needs:
        yield f"after {', '.join(step.needs)}", "yellow"
    if step.condition is not None:
        yield f"if {describe_condition(step.condition)}", "yellow"
    states = machine.states if machine is not None else ()
    ways = [way for state in states if state.name == step.name for way in state.transitions]
    if ways:
        said = (f"→ {way.to}" + (f" if {describe_condition(way.on)}" if way.on is not None else "") for way in ways)
        yield ", ".join(said), "yellow"


def _render_way(step: Step) -> Iterator[Span]:
    match classify_step(step):
        case "compound" if (machine := step.machine) is not None:
            limit = pluralize(machine.limit, "turn")
            yield f"{pluralize(len(step.steps), 'state')}, from {machine.start}, at most {limit}", "cyan"
        case "compound" if step.parallel:
            yield f"{pluralize(len(step.steps), 'step')} at once{JOINS[step.join]}", "cyan"
        case "compound":
            yield pluralize(len(step.steps), "step"), "cyan"
        case "run":
            yield f"the work of {step.work}" if step.work else f"runs {describe_command(step)}", "blue"
        case "do":
            yield "leaves the loop" if step.do == "break" else "next pass", "blue"
    if step.repeat > 1:
        until = f" until {describe_condition(step.until)}" if step.until is not None else ""
        yield f"at most {step.repeat} passes{until}", "cyan"
    if step.role != "builder":
        yield ROLES[step.role], "blue"
    if step.plan_first:
        yield "planned when it starts", "blue"
    if step.model != "main":
        yield f"{step.model} model", ""
    if step.on_error != "fail":
        retried = f"retried at most {step.max_retries} times" if step.max_retries > 1 else "retried once"
        yield {"retry": retried, "skip": "may fail", "escalate": "escalates when it fails"}.get(step.on_error, ""), ""


def _describe_proof(step: Step) -> str:
    if step.test_command is not None:
        return f"check: {step.test_command}"
    if step.test_file is not None:
        return f"check: {step.test_file}"
    silent = not step.requires_testing and is_tested_by_default(classify_step(step), step.role, False)
    return "no check" if silent else ""


def describe_condition(condition: Condition) -> str:
    """Return a condition as a person writes it in a workflow file."""
    return one_line(render_condition(condition))


def render_inputs(specs: Sequence[InputSpec]) -> list[Row]:
    """Render one row per input of a workflow."""
    wide = max((len(spec.name) for spec in specs), default=0)
    kinds = max((len(spec.type) for spec in specs), default=0)
    return [
        [
            (f"  {pad(spec.name, wide)}  ", "bold"),
            (f"{pad(spec.type, kinds)}  ", "cyan"),
            ("required" if spec.default is None else f"default: {one_line(spec.default) or 'empty'}", ""),
            (f"  {first_line(spec.description)}" if spec.description else "", "dim"),
        ]
        for spec in specs
    ]
