"""Fold the events of the ladder: signals, rungs, helpers, and a task that another model continues."""

from __future__ import annotations

from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Spend
from bough.core.journal.fold_changes import Apply, charge, clear_trouble, count_tactic
from bough.core.journal.round_fold import charge_failure
from bough.core.stuck.patterns import reset_memory
from bough.core.tree.task import Task
from bough.core.tree.task_state import State, check_transition

EXAMINERS = frozenset({"examiner", "reviewer", "judge"})
"""Helpers that compare the work with what was asked."""


def _apply_escalated(task: Task, event: e.Escalated) -> Task:
    rung, pattern = event.decision.rung, event.trouble.pattern
    taken, nudged = task.ladder.taken, task.progress.nudged
    tactics, spare = task.ladder.tactics, rung == "attempts" and bool(task.ladder.spare)
    if rung == "attempts" and event.trouble.cause == "faults" and task.attempt is not None and not spare:
        # A view that led to an unusable answer does so again on the same task, in half of the cases and more.
        tactics = count_tactic(tactics, task.attempt.tactic)
    return replace(
        task,
        ladder=replace(
            task.ladder,
            trouble=event.trouble,
            rung=event.decision,
            taken=taken | {rung: taken.get(rung, 0) + (not spare)},
            soft_rounds=0,
            tactics=tactics,
        ),
        progress=replace(task.progress, nudged=nudged | {pattern} if rung == "nudge" and pattern else nudged),
        round=replace(task.round, faults=0) if event.trouble.cause == "faults" else task.round,
    )


def _apply_helper_answered(task: Task, event: e.HelperAnswered) -> Task:
    cost = Spend().called(event.usage, event.cost, event.seconds).plus(Spend(rounds=1))
    task = charge(replace(task, plan=replace(task.plan, answered=event.text)), cost)
    if event.helper not in EXAMINERS:
        return task
    return replace(task, budget=replace(task.budget, examining=task.budget.examining.plus(cost)))


def _apply_taken_up(task: Task, event: e.TakenUp) -> Task:
    task = clear_trouble(task)
    return replace(
        task,
        state=check_transition(task.state, State.IN_PROGRESS),
        why=event.why,
        attempt=None,
        models=replace(task.models, tier=event.tier),
        acceptance=replace(task.acceptance, claim=None, repairs=0),
    )


LADDER_EVENTS: dict[type, Apply] = {
    e.SignalRaised: lambda task, event: replace(
        task, progress=replace(task.progress, signal=None, memory=reset_memory(task.progress.memory))
    ),
    e.Escalated: _apply_escalated,
    e.HelperAnswered: _apply_helper_answered,
    e.HelperFailed: lambda task, event: charge_failure(task, event),
    e.TakenUp: _apply_taken_up,
    e.Reported: lambda task, event: replace(task, outcome=replace(task.outcome, report=event.text)),
}
