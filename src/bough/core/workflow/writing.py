"""Write a plan as the text of a workflow file, which a person can edit and run, and which loads as the same plan."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from bough.core.errors import UsageError
from bough.core.ids import slug
from bough.core.planning.plan import Condition, Machine, Plan, Step
from bough.core.textual.spelling import shorten_line
from bough.core.workflow.control_flow import render_condition
from bough.core.workflow.keys import StepKeys, classify_step, is_tested_by_default, list_keys
from bough.core.workflow.loading import load
from bough.core.workflow.placeholders import ResultPlace, escape_braces, split_command, split_loaded
from bough.core.workflow.problems import WorkflowError

_DEFAULT = Step("")
_OWN_WAY = ("name", "steps", "criteria", "env", "retry", "test_command", "requires_testing")
_KEYS = [key for key in list_keys(StepKeys) if key in Step.__struct_fields__ and key not in _OWN_WAY]
"""Fields of a step that are written as keys of the same name without conversion."""


def write_workflow(plan: Plan) -> str:
    """Write the plan as the text of a workflow file; raise `UsageError` if a file cannot express the plan."""
    goal = plan.goal
    known = frozenset(_walk_paths(goal, ""))
    lines = [
        f"name = {_render_text(slug(goal.title or shorten_line(goal.instructions, 60)))}",
        *_write_lines(_collect_keys(goal, known, ()) | _collect_machine(goal.machine)),
    ]
    text = "\n".join([*lines, *_write_steps(goal, "", known, ())]) + "\n"
    try:
        again = load(text)
    except WorkflowError as error:
        said = error.problems[0]
        line = text.split("\n")[said.line - 1]
        raise UsageError(f"The plan cannot be written as a workflow, at `{shorten_line(line)}`: {said.text}") from None
    if again.plan != plan:
        raise UsageError("The plan cannot be written as a workflow: a file cannot express some of its steps' settings.")
    return text


def _walk_paths(step: Step, prefix: str) -> Iterator[str]:
    for child in step.steps:
        yield prefix + child.name
        yield from _walk_paths(child, f"{prefix}{child.name}/")


def _write_steps(step: Step, header: str, known: frozenset[str], around: tuple[frozenset[str], ...]) -> Iterator[str]:
    header += "steps" if step.machine is None else "states"
    inside = (*around, frozenset(child.name for child in step.steps))
    for child in step.steps:
        yield from ("", f"[[{header}]]", f"name = {_render_text(child.name)}")
        states = step.machine.states if step.machine is not None else ()
        ways = [way for state in states if state.name == child.name for way in state.transitions]
        said = [
            ({"on": escape_braces(render_condition(way.on))} if way.on is not None else {}) | {"to": way.to}
            for way in ways
        ]
        yield from _write_lines(
            _collect_keys(child, known, inside)
            | _collect_machine(child.machine)
            | ({"transitions": said} if said else {})
        )
        yield from _write_steps(child, f"{header}.", known, inside)


def _write_lines(said: Mapping[str, Any]) -> Iterator[str]:
    for key, value in said.items():
        yield f"{key} = {_render_text(value) if isinstance(value, str) else _render_value(value)}"


def _collect_machine(machine: Machine | None) -> dict[str, Any]:
    return {} if machine is None else {"start": machine.start, "max_transitions": machine.limit}


def _collect_keys(step: Step, known: frozenset[str], around: tuple[frozenset[str], ...]) -> dict[str, Any]:
    kind = classify_step(step)

    def write(text: str) -> str:
        """Render a text that may contain placeholders of other steps' results."""
        return _render_file_text(split_loaded(text, known), around)

    said: dict[str, Any] = {}
    if step.instructions and kind == "compound":
        said["description"] = escape_braces(step.instructions)
    elif step.instructions:
        said["action"] = write(step.instructions)
    elif step.run:
        said["action"] = {"run": _render_file_text(split_command(step.run, known), around)}
    elif kind == "check" and step.test_command is not None:
        said["action"] = {"check": escape_braces(step.test_command)}
    changed = {key: value for key, value in asdict(step).items() if value != getattr(_DEFAULT, key)}
    for key in _KEYS:
        match changed.get(key):
            case None:
                pass
            case str() as text:
                said[key] = escape_braces(text)
            case Condition() as condition:
                said[key] = escape_braces(render_condition(condition))
            case tuple() as values:
                said[key] = [escape_braces(each) if isinstance(each, str) else each for each in values]
            case value:
                said[key] = value
    if step.criteria:
        said["criteria"] = [write(each) for each in step.criteria]
    if step.env:
        said["env"] = {name: write(text) for name, text in step.env.items()}
    if "retry" in changed:
        said["retry"] = asdict(step.retry)
    if "context" in changed:
        said["context_mode"] = step.context
    if step.test_command is not None and kind != "check":
        said["test_command"] = escape_braces(step.test_command)
    named = step.test_command is not None or step.test_file is not None
    if step.requires_testing != is_tested_by_default(kind, step.role, named):
        said["requires_testing"] = step.requires_testing
    return said


def _render_file_text(pieces: Iterable[str | ResultPlace], around: tuple[frozenset[str], ...]) -> str:
    """Render a text for a file. A top step is named by its path (`/name`) if a nearer step has the same name."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += escape_braces(piece)
        else:
            hidden = any(piece.step in names for names in around[1:])
            text += f"{{steps.{'/' if hidden else ''}{piece.step}.result}}"
    return text


def _render_value(value: Any) -> str:
    """Render a value as TOML, which has the same form as JSON for texts, numbers, true and false."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_render_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_render_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _render_text(text: str) -> str:
    lines = [_render_value(line)[1:-1] for line in text.split("\n")]
    return f'"{lines[0]}"' if len(lines) == 1 else '"""\n' + "\n".join(lines) + '"""'
