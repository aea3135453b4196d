"""What a person reads when a task is given up: what was tried and learned, what is left, and how to continue. Built
from the journal, never from what a model says about itself."""

from __future__ import annotations

from bough.core.conversation import context
from bough.core.ids import GOAL
from bough.core.tree.task import Task
from bough.core.tree.task_state import State

WORDS = {
    "other_protocol": "the model was switched to the text protocol",
    "attempts": "fresh attempts were made",
    "nudge": "the agent was told that it is stuck",
    "prune": "its context was pruned",
    "decompose": "it was split into smaller steps",
    "zoom_out": "it was set aside",
    "stronger_model": "a stronger model took over",
    "verify": "it was checked in case it was already done",
    "replan": "another approach was planned",
    "ask": "you were asked",
    "give_up": "it was given up",
}
"""Every rung in the past tense."""


def render_report(task: Task, why: str, *, asks: bool = False) -> str:
    """Write the report in Markdown. `asks`: it is part of a question, and nothing is given up yet."""
    done = [child for child in task.children.settled.values() if child.state is State.COMPLETED]
    open_ = [step for step in task.plan.steps if step.name not in {child.child for child in done}]
    left_out = ("give_up", "ask") if asks else ("give_up",)
    taken = [
        (WORDS[rung], task.ladder.taken[rung]) for rung in WORDS if rung in task.ladder.taken and rung not in left_out
    ]
    tried = [f"{words}{f' ({times} times)' if times > 1 else ''}" for words, times in taken]
    if task.acceptance.repairs:
        who = "a bug hunter" if task.acceptance.repairs == 1 else f"{task.acceptance.repairs} bug hunters"
        tried.append(f"{who} tried to repair it")
    tried += [
        f"{child.child}: {child.why}" for child in task.children.settled.values() if child.state is not State.COMPLETED
    ]
    parts = [
        f"{'Stuck' if asks else 'Given up'}: {why.rstrip('.')}.",
        _render_section("What was tried", tried),
        _render_section("What was learned", list(context.list_lessons(task))),
        _render_section("What is done", [context.render_result(child) for child in done]),
        _render_section("What is left", _list_open_work(task, [step.title or step.instructions for step in open_])),
        "" if asks else _render_section("How to continue", _list_next_steps(task)),
    ]
    return "\n".join(part for part in parts if part)


def _list_open_work(task: Task, steps: list[str]) -> list[str]:
    left = [context.shorten_text(step, context.CRUMB) for step in steps]
    verdict = task.acceptance.verdict
    if verdict is not None and verdict.ruling != "passed":
        left.append(f"the check: {verdict.reason}")
        left += [f"{failure.id} ({failure.kind})" for failure in verdict.failures[:10]]
    return left or [context.shorten_text(task.step.instructions, context.CRUMB)]


def _list_next_steps(task: Task) -> list[str]:
    where = "" if task.id == GOAL else f" {task.id}"
    return [
        "`bough diff` shows the work so far; it is kept, and `bough apply --partial` applies it",
        f"`bough log{where}` shows what happened, round by round",
        "`bough rewind` rewinds the run to an earlier round, and `bough resume` continues from there",
        "a narrower goal, or a check that proves less at once, often helps",
    ]


def _render_section(heading: str, lines: list[str]) -> str:
    return "\n".join(("", f"## {heading}", *(f"- {line}" for line in lines))) if lines else ""
