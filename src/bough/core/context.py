"""What an agent is told. A prompt is a projection of the journal: what is rendered here is recorded as an event."""

from __future__ import annotations

from collections.abc import Mapping

from bough.core.acceptance import Verdict
from bough.core.ids import GOAL
from bough.core.plan import Step
from bough.core.state import Note, Task


def render(template: str, values: Mapping[str, str]) -> str:
    """Fill `{name}` places. Values are put in as they are, never read as templates."""
    return template.format_map(values).strip() + "\n"


def breadcrumb(task: str) -> str:
    """`goal › buffer › insert-line`"""
    return GOAL if task == GOAL else " › ".join((GOAL, *task.split("/")))


def criteria(step: Step) -> str:
    if not step.criteria:
        return "(none beyond the instructions)"
    return "\n".join(f"- {criterion}" for criterion in step.criteria)


def check(step: Step, command: str) -> str:
    if not step.requires_testing:
        return "No check runs for this task; it does not need one."
    if not command:
        return "No check was given. Leave the work in a state that you have tried out yourself."
    return (
        "bough itself runs this in your workspace when you call `done`, and only its passing completes the task:\n\n"
        f"    {command}"
    )


def notes(kept: tuple[Note, ...]) -> str:
    if not kept:
        return "(none)"
    return "\n".join(f"- {'dead end: ' if note.kind == 'dead_end' else ''}{note.text}" for note in kept)


def failure(verdict: Verdict) -> str:
    status = "was killed" if verdict.exit_status is None else f"exit status {verdict.exit_status}"
    return f"$ {verdict.command}   ({status}, {verdict.seconds:.1f} s)\n{verdict.output}".rstrip()


def brief(task: Task, command: str, diff: str) -> dict[str, str]:
    """Everything a role's brief may mention."""
    return {
        "breadcrumb": breadcrumb(task.id),
        "instructions": task.step.instructions,
        "criteria": criteria(task.step),
        "check": check(task.step, command),
        "notes": notes(task.notes),
        "failure": failure(task.verdict) if task.verdict else "(none)",
        "summary": task.claim or "(none)",
        "diff": diff or "(no changes so far)",
    }
