"""The messages of the commits that a run's work becomes: a short subject, what was done, the evidence as trailers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from bough.core.acceptance.requirements import Requirement
from bough.core.conversation.context import shorten_text
from bough.core.events import ChildSettled
from bough.core.journal.run_fold import Run
from bough.core.textual.cleaning import clean_message, escape_text
from bough.core.tree.task import Task
from bough.core.tree.task_result import get_summary

WIDTH = 72
"""Characters of a line."""
BODY = 2_000
"""Characters of what an agent says."""


def render_run_message(run: Run, task: Task) -> str:
    """One commit for all of it. The goal itself may be a page long: its first sentence is the subject."""
    goal, verdict = run.plan.goal.instructions.strip(), task.acceptance.verdict
    line = next((line.lstrip("# ") for line in goal.splitlines() if line.strip()), run.name)
    steps = (
        f"- {one.child}: {shorten_text(one.summary, WIDTH)}" for one in task.children.settled.values() if one.summary
    )
    said = get_summary(task) or "\n".join(steps)
    trailers = [f"Bough-Run: {run.name}"]
    if verdict is not None and verdict.command:
        trailers += [f"Bough-Check: {verdict.command}", f"Bough-Verdict: {verdict.ruling}: {verdict.reason}"]
    return _render(line, said, trailers)


def render_step_message(run: str, step: ChildSettled, title: str, covers: Sequence[Requirement]) -> str:
    """The commit of a step: its title, and what the agent that did it says."""
    trailers = [f"Bough-Run: {run}", f"Bough-Step: {step.child}"]
    trailers += [f"Bough-Requirement: {shorten_text(str(one), WIDTH)}" for one in covers]
    trailers += [f"Bough-Verdict: {step.verdict}"] if step.verdict else []
    return _render(title or step.child, step.summary or step.result or step.why, trailers)


def _render(subject: str, said: str, trailers: Sequence[str]) -> str:
    line = subject.strip().partition("\n")[0]
    subject = _join_line(re.split(r"(?<=[\w`)][.!?])\s", line, maxsplit=1)[0]).rstrip(".")
    subject = subject if len(subject) <= WIDTH else f"{subject[: WIDTH - 1].rstrip()}…"
    body = ["", *_wrap(clean_message(shorten_text(said, BODY)))] if said.strip() else []
    return "\n".join([subject, *body, "", *map(_join_line, trailers)]) + "\n"


def _join_line(text: str) -> str:
    """Text of a goal, a model or a check as one harmless line."""
    return " ".join(escape_text(text).split())


def _wrap(text: str) -> list[str]:
    """Paragraphs in lines that git shows well; lists and code stay as they are."""
    lines: list[str] = []
    for line in text.splitlines():
        plain = line[:1].isalnum() and len(line) > WIDTH
        lines += textwrap.wrap(line, WIDTH) if plain else [line.rstrip()]
    return lines
