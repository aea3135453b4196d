"""What people read of a backlog's night and of each of its goals."""

from __future__ import annotations

from collections.abc import Iterator

from bough.core.budget.limits import Spend
from bough.views.formatting import (
    format_clock,
    format_cost,
    format_count,
    format_duration,
    format_moment,
    one_line,
    pluralize,
)
from bough.views.night import GoalLine, NightPage


def describe_night(night: NightPage) -> str:
    if not night.started_at:
        option = f" --list {night.name}" if night.name != "backlog" else ""
        return f"The backlog {night.name} has not been worked on yet: start it with `bough backlog run{option}`."
    begun, named = format_moment(night.started_at), f" of {night.name}" if night.name != "backlog" else ""
    if not night.ended_at:
        return f"The night{named} that began {begun} is not over"
    soon = night.ended_at - night.started_at < 86_400  # The date would say nothing new.
    ended = format_clock(night.ended_at)[:5] if soon else format_moment(night.ended_at)
    return f"The night{named} from {begun} to {ended}: {night.why}"


def describe_totals(night: NightPage) -> str:
    counts = [f"{len(goals)} {heading.lower()}" for heading, goals in night.groups]
    return f"{pluralize(len(night.goals), 'goal')}: {', '.join(counts) or 'none'}. {', '.join(describe_spent(night))}."


def describe_branch(night: NightPage) -> str:
    """How many goals the night branch has; empty: none was wanted."""
    if not night.branch:
        return f"There is no night branch: {night.trouble}" if night.trouble else ""
    landed = sum(goal.together == "on it" for goal in night.goals)
    left_out = [goal.name for goal in night.goals if goal.together not in ("", "on it")]
    missing = f"; left out: {', '.join(left_out)}" if left_out else ""
    return f"Together on the branch {night.branch}: {pluralize(landed, 'goal')}{missing}."


def describe_spent(night: NightPage) -> list[str]:
    cost = [] if _is_unpriced(night.spend) else [format_cost(night.spend)]
    seconds = sum(goal.seconds for goal in night.goals)
    return [*cost, f"{format_count(night.spend.tokens)} tokens", f"{format_duration(seconds)} of work"]


def _is_unpriced(spend: Spend) -> bool:
    return bool(spend.unpriced and not spend.cost)


def describe_goal(goal: GoalLine) -> str:
    """What came of it, on one line."""
    parts = []
    if goal.requirements and (goal.proven or goal.kind != "proven"):  # Else its check alone was taken for proof.
        parts.append(f"{goal.proven} of {pluralize(goal.requirements, 'requirement')} proven")
    if goal.files:
        parts.append(f"{pluralize(goal.files, 'file')} +{goal.added} −{goal.removed}")
    if goal.check and goal.kind in ("proven", "not_proven"):
        parts.append(goal.check)
    parts += [part for part in (goal.branch, goal.address) if part]
    if goal.kind != "proven" and not goal.question:
        parts.append(goal.why)
    if goal.question:
        parts.append(f"asks: {goal.question}")
    if goal.seconds:
        tokens = f"{format_count(goal.spend.tokens)} tokens"
        cost = tokens if _is_unpriced(goal.spend) else format_cost(goal.spend)
        parts.append(f"{cost}, {format_duration(goal.seconds)}")
    return one_line(" · ".join(part for part in parts if part))


def describe_details(goal: GoalLine) -> Iterator[str]:
    """What else a person needs to decide about it, and the commands to do so."""
    yield from describe_findings(goal)
    if goal.kind == "waiting":
        yield f'answer: bough answer {goal.run} "…" (or `bough approve {goal.run}`)'
    if goal.kind in ("given_up", "not_proven") and goal.run:
        yield f"see: bough report {goal.run}, bough diff {goal.run}"


def describe_findings(goal: GoalLine) -> Iterator[str]:
    """What it conflicts with, and what was tried."""
    if goal.together and goal.together != "on it":
        yield f"left out of the night branch: {goal.together}"
    elif not goal.together:
        for other, files in goal.conflicts.items():
            yield f"conflicts with {other} in {', '.join(files)}"
    for heading, lines in _read_report(goal.tried):
        if heading in ("What was tried", "What was learned"):
            yield f"{heading.lower()}: {'; '.join(lines)}"


def _read_report(text: str) -> Iterator[tuple[str, list[str]]]:
    """The sections of a run's report, each with its points."""
    for section in text.split("\n## ")[1:]:
        heading, *lines = section.splitlines()
        yield heading.strip(), [line.removeprefix("- ").strip() for line in lines if line.strip()]
