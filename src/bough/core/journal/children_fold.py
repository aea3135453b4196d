"""Fold the events of a task's steps, and of steps that run without an agent."""

from __future__ import annotations

from typing import TypeVar

from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.budget.limits import Spend
from bough.core.journal.fold_changes import Apply, change, charge, charge_check, clear_trouble, keep_notes
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Note
from bough.core.tree.task_state import State

T = TypeVar("T")


def _apply_child_started(task: Task, event: e.ChildStarted) -> Task:
    children, step = task.children, event.step
    times = int(event.task.rpartition("@")[2]) if "@" in event.task else 1
    fresh = times != children.begun.get(step)
    return change(
        task,
        children={
            "running": children.running | {step: event},
            "held": _without(children.held, step),
            "begun": children.begun | {step: times},
            "tries": children.tries | {step: children.tries.get(step, 0) + 1} if fresh else children.tries,
        },
    )


def _without(children: dict[str, T], *names: str) -> dict[str, T]:
    return {name: child for name, child in children.items() if name not in names}


def _apply_child_settled(task: Task, event: e.ChildSettled) -> Task:
    task = _charge_child(task, event)
    if event.shared and (event.decisions or event.dead_ends):
        # A step that shares its context with the task also shares its notes: add them to the task's.
        decisions = (Note("decision", text) for text in event.decisions)
        dead_ends = (Note("dead_end", text) for text in event.dead_ends)
        task = keep_notes(task, tuple(dict.fromkeys((*task.talk.notes, *decisions, *dead_ends))))
    allowed = tuple(dict.fromkeys((*task.test_changes.allowed, *event.allowed)))
    children, ends = task.children, tuple(f"{event.child}: {text}" for text in event.dead_ends)
    return change(
        task,
        tree=event.tree,
        children={
            "settled": children.settled | {event.child: event},
            "ended": children.ended | {event.child: event},
            "running": _without(children.running, event.child),
            "reopened": children.reopened - {event.child},
            "learned": tuple(dict.fromkeys((*children.learned, *ends)))[-task.rules.notes :],
        },
        test_changes={"allowed": allowed},
        examination={"probes": _merge_probes(task, event)},
    )


def _charge_child(task: Task, event: e.ChildSettled) -> Task:
    """Charge the task for what a step spent, minus what it was charged for that step before."""
    children = task.children
    child = children.running[event.child].task if event.child in children.running else event.child
    # A skipped or reused step has spent nothing; the spend of an earlier pass is already counted.
    if event.child not in children.running and event.spend == Spend():
        return task
    before = children.charged.get(child, Spend())
    return change(
        charge(task, event.spend.minus(before)), children={"charged": children.charged | {child: event.spend}}
    )


def _merge_probes(task: Task, event: e.ChildSettled) -> tuple[Probe, ...]:
    """Add a step's passed probes to the task's; drop older ones of the same name and those that nobody asked for."""
    if event.state is not State.COMPLETED:
        return task.examination.probes
    gone = {*event.not_asked, *(probe.name for probe in event.probes)}
    return (*(probe for probe in task.examination.probes if probe.name not in gone), *event.probes)


def _apply_transition_taken(task: Task, event: e.TransitionTaken) -> Task:
    children = task.children
    return change(
        task,
        children={
            "at_state": event.to,
            "turns": children.turns + 1,
            "settled": _without(children.settled, event.to),
            "tries": children.tries | {event.to: 0},
        },
    )


def _apply_command_finished(task: Task, event: e.CommandFinished) -> Task:
    outcome = {"commanding": None, "ran": event, "result": event.output.strip()}
    return change(charge(task, Spend(seconds=event.seconds)), tree=event.tree or task.tree, outcome=outcome)


CHILDREN_EVENTS: dict[type, Apply] = {
    e.ChildStarted: _apply_child_started,
    e.ChildHeld: lambda task, event: change(task, children={"held": task.children.held | {event.step: event}}),
    e.ChildMerged: lambda task, event: charge_check(task, event.verdict.seconds if event.verdict else 0.0),
    e.ChildSettled: _apply_child_settled,
    e.ChildrenReopened: lambda task, event: change(
        clear_trouble(task),
        children={
            "settled": _without(task.children.settled, *event.children),
            "reopened": frozenset(event.children),
        },
    ),
    e.PassEnded: lambda task, event: change(
        task, children={"passes": task.children.passes + 1, "settled": {}, "tries": {}}
    ),
    e.TransitionTaken: _apply_transition_taken,
    e.CommandStarted: lambda task, event: change(task, outcome={"commanding": event, "ran": None}),
    e.CommandFinished: _apply_command_finished,
    e.Summarized: lambda task, event: change(task, outcome={"result": event.text, "summarized": True}),
}
