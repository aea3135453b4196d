"""Fold the events that plan a task's steps, those of the steps themselves, and those of escalation (the ladder), which
replans stuck work."""

from typing import TypeVar

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.budget.limits import Spend
from bough.core.journal.fold_changes import Apply, change, charge, charge_check, clear_trouble, count_tactic, keep_notes
from bough.core.journal.round_fold import charge_failure
from bough.core.planning.plan import Step
from bough.core.stuck.patterns import reset_memory
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Note
from bough.core.tree.task_state import State, check_transition


def _apply_planned(task: Task, event: e.Planned) -> Task:
    """Set the plan's new smaller steps. Completed steps stay as they are, whatever the plan says."""
    settled, plan = task.children.settled, task.plan
    dropped = set(event.dropped) - {name for name, child in settled.items() if child.state is State.COMPLETED}
    kept = (step for step in plan.steps if step.name not in dropped)
    return change(
        clear_trouble(task),
        step={"join": event.join},
        attempt=None,
        round={"waiting": (), "faulty": ""},
        progress={"signal": None},
        plan={
            "steps": (*kept, *_reassign_coverage(task, event.steps, dropped)),
            "parallel": True,
            "proposed": (),
            "approaches": plan.approaches + 1,
            "conventions": event.conventions or plan.conventions,
            "hinted": False,
            "split": (),
        },
        children={"settled": {name: child for name, child in settled.items() if name not in dropped}},
        acceptance={"claim": None, "repairs": 0, "best": None},
    )


def _reassign_coverage(task: Task, steps: tuple[Step, ...], dropped: set[str]) -> tuple[Step, ...]:
    """Let new steps cover what the steps they replace covered; if they replace none, everything."""
    if any(step.covers for step in steps) or not any(step.covers for step in task.plan.steps):
        return steps
    gone = {number for step in task.plan.steps if step.name in dropped for number in step.covers}
    covers = tuple(sorted(gone or {one.number for one in task.asked}))
    return tuple(replace(step, covers=covers) for step in steps)


def _apply_plan_refused(task: Task, event: e.PlanRefused) -> Task:
    """Record that the plan was rejected. If that is final, this rung of the ladder (step of escalation) has failed, and
    the next rung deals with the same trouble."""
    if not event.final:
        return change(task, plan={"problems": event.problems})
    # If no rung was taken, the first plan was rejected: the work starts as one leaf, and the ladder may still split it.
    leaf = task.plan.leaf or task.ladder.rung is None
    return change(task, ladder={"rung": None}, plan={"problems": (), "leaf": leaf, "hinted": False})


EXAMINERS = frozenset({"examiner", "reviewer", "judge"})
"""Helpers that compare the work with the goal."""


def _apply_escalated(task: Task, event: e.Escalated) -> Task:
    rung, pattern = event.decision.rung, event.trouble.pattern
    taken, nudged = task.ladder.taken, task.progress.nudged
    tactics, spare = task.ladder.tactics, rung == "attempts" and bool(task.ladder.spare)
    if rung == "attempts" and event.trouble.cause == "faults" and task.attempt is not None and not spare:
        # Count the tactic as tried: after an unusable answer it fails again on the same task at least half of the time.
        tactics = count_tactic(tactics, task.attempt.tactic)
    counted = taken | {rung: taken.get(rung, 0) + (not spare)}
    now = {"trouble": event.trouble, "rung": event.decision, "taken": counted, "soft_rounds": 0, "tactics": tactics}
    return change(
        task,
        ladder=now,
        progress={"nudged": nudged | {pattern} if rung == "nudge" and pattern else nudged},
        round={"faults": 0 if event.trouble.cause == "faults" else task.round.faults},
    )


def _apply_helper_answered(task: Task, event: e.HelperAnswered) -> Task:
    cost = Spend().called(event.usage, event.cost, event.seconds).plus(Spend(rounds=1))
    examining = task.budget.examining.plus(cost) if event.helper in EXAMINERS else task.budget.examining
    return change(charge(task, cost), plan={"answered": event.text}, budget={"examining": examining})


def _apply_taken_up(task: Task, event: e.TakenUp) -> Task:
    state, again = check_transition(task.state, State.IN_PROGRESS), {"claim": None, "repairs": 0}
    models = {"tier": event.tier}
    return change(clear_trouble(task), state=state, why=event.why, attempt=None, models=models, acceptance=again)


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


PLAN_EVENTS: dict[type, Apply] = {
    e.Estimated: lambda task, event: change(task, plan={"estimate": event, "leaf": event.proposal == "leaf"}),
    e.RequirementsRead: lambda task, event: change(task, plan={"requirements": event.requirements}),
    e.PlanProposed: lambda task, event: change(
        task, plan={"proposed": event.steps, "conventions": event.conventions, "wish": "", "problems": ()}
    ),
    # If the person has a wish, another plan is proposed; if they say no, the task is done in one piece (a leaf).
    e.PlanAnswered: lambda task, event: change(task, plan={"wish": event.wish, "leaf": event.says == "no"}),
    e.PlanChanged: lambda task, event: change(
        task, plan={"steps": (*(one for one in task.plan.steps if one.name in task.children.begun), *event.steps)}
    ),
    e.PlanRefused: _apply_plan_refused,
    e.Planned: _apply_planned,
    # An agent that asks for smaller steps takes back an earlier claim to be done.
    e.SplitProposed: lambda task, event: change(task, plan={"split": event.steps}, acceptance={"claim": None}),
    e.Granted: lambda task, event: change(task, budget={"limits": event.limits, "granted": True}),
    e.SignalRaised: lambda task, event: change(
        task, progress={"signal": None, "memory": reset_memory(task.progress.memory)}
    ),
    e.Escalated: _apply_escalated,
    e.HelperAnswered: _apply_helper_answered,
    e.HelperFailed: charge_failure,
    e.TakenUp: _apply_taken_up,
    e.Reported: lambda task, event: change(task, outcome={"report": event.text}),
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
    e.TransitionTaken: lambda task, event: change(
        task,
        children={
            "at_state": event.to,
            "turns": task.children.turns + 1,
            "settled": _without(task.children.settled, event.to),
            "tries": task.children.tries | {event.to: 0},
        },
    ),
    e.CommandStarted: lambda task, event: change(task, outcome={"commanding": event, "ran": None}),
    e.CommandFinished: lambda task, event: change(
        charge(task, Spend(seconds=event.seconds)),
        tree=event.tree or task.tree,
        outcome={"commanding": None, "ran": event, "result": event.output.strip()},
    ),
    e.Summarized: lambda task, event: change(task, outcome={"result": event.text, "summarized": True}),
}
