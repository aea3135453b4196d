"""From a plan to the text of a workflow file that loads as the same plan, to be edited and run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bough.core.errors import UsageError
from bough.core.ids import slug
from bough.core.plan import Machine, Plan, Step
from bough.core.workflow.commands import places_of
from bough.core.workflow.conditions import spelt
from bough.core.workflow.keys import kind, tested_unless_said
from bough.core.workflow.loading import load
from bough.core.workflow.problems import WorkflowError, short
from bough.core.workflow.texts import BRACE, LIVE, Input, Parts, Result, escaped

_DEFAULT = Step("")
_SAME = (
    *("plan_first", "parallel", "join", "repeat", "do", "on_error", "max_retries", "summarize", "role", "model"),
    *("agent", "rounds", "complexity", "test_file", "may_edit_tests"),
)
_LETTERS = {"\b": "\\b", "\t": "\\t", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def written(plan: Plan, name: str = "") -> str:
    """The plan as a workflow file. `UsageError` for a plan that a file cannot say."""
    goal = plan.goal
    known = frozenset(_paths(goal, ""))
    title = name or slug(goal.title or short(goal.instructions, 60))
    lines = [f"name = {_text(title)}", *_lines(_said(goal, known, ()) | _turns(goal.machine))]
    text = "\n".join([*lines, *_below(goal, "", known, ())]) + "\n"
    try:
        again = load(text)
    except WorkflowError as error:
        said = error.problems[0]
        line = text.split("\n")[said.line - 1]
        raise UsageError(f"The plan cannot be written as a workflow, at `{short(line)}`: {said.text}") from None
    if again.plan != plan:
        raise UsageError("The plan cannot be written as a workflow: it says something that a file has no words for.")
    return text


def _paths(step: Step, prefix: str) -> Iterator[str]:
    for child in step.steps:
        yield prefix + child.name
        yield from _paths(child, f"{prefix}{child.name}/")


def _below(step: Step, header: str, known: frozenset[str], around: tuple[frozenset[str], ...]) -> Iterator[str]:
    header += "steps" if step.machine is None else "states"
    inside = (*around, frozenset(child.name for child in step.steps))
    for child in step.steps:
        yield from ("", f"[[{header}]]", f"name = {_text(child.name)}")
        yield from _lines(_said(child, known, inside) | _turns(child.machine) | _transitions(step.machine, child.name))
        yield from _below(child, f"{header}.", known, inside)


def _lines(said: Mapping[str, Any]) -> Iterator[str]:
    return (f"{key} = {_value(value)}" for key, value in said.items())


def _turns(machine: Machine | None) -> dict[str, Any]:
    return {} if machine is None else {"start": machine.start, "max_transitions": machine.limit}


def _transitions(machine: Machine | None, name: str) -> dict[str, Any]:
    states = machine.states if machine is not None else ()
    ways = [way for state in states if state.name == name for way in state.transitions]
    said = [({"on": escaped(spelt(way.on))} if way.on is not None else {}) | {"to": way.to} for way in ways]
    return {"transitions": said} if said else {}


def _said(step: Step, known: frozenset[str], around: tuple[frozenset[str], ...]) -> dict[str, Any]:
    """The keys of a step, with what they say, where it is not the default."""
    kind_ = kind(step)
    said: dict[str, Any] = {}
    if step.title:
        said["title"] = escaped(step.title)
    if step.instructions:
        text = (
            escaped(step.instructions)
            if kind_ == "compound"
            else _file_text(_text_parts(step.instructions, known), around)
        )
        said["description" if kind_ == "compound" else "action"] = text
    elif step.run:
        said["action"] = {"run": _file_text(places_of(step.run, (), known), around)}
    elif kind_ == "check" and step.test_command is not None:
        said["action"] = {"check": escaped(step.test_command)}
    if step.criteria:
        said["criteria"] = [_file_text(_text_parts(each, known), around) for each in step.criteria]
    if step.covers:
        said["covers"] = list(step.covers)
    if step.interfaces:
        said["interfaces"] = [escaped(each) for each in step.interfaces]
    if step.needs:
        said["needs"] = list(step.needs)
    if step.runs_on:
        said["runs_on"] = list(step.runs_on)
    if step.condition is not None:
        said["condition"] = escaped(spelt(step.condition))
    said |= {key: getattr(step, key) for key in _SAME if getattr(step, key) != getattr(_DEFAULT, key)}
    if step.until is not None:
        said["until"] = escaped(spelt(step.until))
    if step.retry != _DEFAULT.retry:
        said["retry"] = {"wait": step.retry.wait, "growth": step.retry.growth}
    if step.context != _DEFAULT.context:
        said["context_mode"] = step.context
    if step.files:
        said["files"] = [escaped(each) for each in step.files]
    if step.test_file is not None:
        said["test_file"] = escaped(step.test_file)
    if step.test_command is not None and kind_ != "check":
        said["test_command"] = escaped(step.test_command)
    named = step.test_command is not None or step.test_file is not None
    if step.requires_testing != tested_unless_said(kind_, step.role, named):
        said["requires_testing"] = step.requires_testing
    return said


def _text_parts(text: str, known: frozenset[str]) -> Parts:
    """A loaded text taken apart."""
    pieces: list[str | Result] = []
    at = 0
    for match in re.finditer(LIVE, text):
        pieces.append(text[at : match.start()])
        at = match.end()
        if match[1] is not None and match[1] in known:
            pieces.append(Result(match[1]))
        else:
            pieces.append("{" if match[2] == BRACE else match[0])
    return (*pieces, text[at:])


def _file_text(pieces: Parts, around: tuple[frozenset[str], ...]) -> str:
    """A text as a file says it. Where a nearer step has the name of one at the top, that one is named from there."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += escaped(piece)
        elif isinstance(piece, Input):
            text += f"{{{piece.name}}}"
        else:
            hidden = any(piece.step in names for names in around[1:])
            text += f"{{steps.{'/' if hidden else ''}{piece.step}.result}}"
    return text


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return "{ " + ", ".join(f"{key} = {_value(each)}" for key, each in value.items()) + " }"
    return repr(value)


def _text(text: str) -> str:
    if "\n" in text:
        lines = "\n".join("".join(map(_letter, line)) for line in text.split("\n"))
        return f'"""\n{lines}"""'
    return f'"{"".join(map(_letter, text))}"'


def _letter(letter: str) -> str:
    if letter in _LETTERS:
        return _LETTERS[letter]
    return f"\\u{ord(letter):04x}" if letter < " " or letter == "\x7f" else letter
