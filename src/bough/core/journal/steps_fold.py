"""How the fold takes the events by which a task grows: plans, smaller steps, and steps that run without an
agent. See `state.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.probes import Probe
from bough.core.budget.ledger import Spend
from bough.core.planning.plan import Step
from bough.core.tree.task import Note, Task
from bough.core.tree.task_state import State, check_transition

Apply = Callable[[Task, Any, float], Task]
"""The task after an event of one kind."""


def clear_trouble(task: Task) -> Task:
    """The rung that was under way is done, and the trouble with it."""
    return replace(task, trouble=None, rung=None, problems=(), soft_rounds=0)


def _apply_split_proposed(task: Task, event: e.SplitProposed, at: float) -> Task:
    """Who asks for smaller steps does not say that it is done; what was said last counts."""
    return replace(task, split=event.steps, claim=None)


def _apply_planned(task: Task, event: e.Planned, at: float) -> Task:
    """New smaller steps carry the task. What is completed stays as it is, whatever a plan says of it."""
    done = {name for name, child in task.settled.items() if child.state is State.COMPLETED}
    dropped = set(event.dropped) - done
    return replace(
        clear_trouble(task),
        step=replace(task.step, join=event.join) if event.join != task.step.join else task.step,
        steps=(
            *(step for step in task.steps if step.name not in dropped),
            *_reassign_coverage(task, event.steps, dropped),
        ),
        settled={name: child for name, child in task.settled.items() if name not in dropped},
        parallel=True,
        proposed=(),
        approaches=task.approaches + 1,
        conventions=event.conventions or task.conventions,
        hinted=False,
        attempt=None,
        claim=None,
        split=(),
        waiting=(),
        signal=None,
        faulty="",
        repairs=0,
        best=None,
    )


def _reassign_coverage(task: Task, steps: tuple[Step, ...], dropped: set[str]) -> tuple[Step, ...]:
    """New steps beside those of a plan that says who covers what: they take over what those covered that they stand
    for; where they stand for none, they are for all of it."""
    if any(step.covers for step in steps) or not any(step.covers for step in task.steps):
        return steps
    gone = {number for step in task.steps if step.name in dropped for number in step.covers}
    covers = tuple(sorted(gone or {one.number for one in task.asked}))
    return tuple(replace(step, covers=covers) for step in steps)


def _apply_estimated(task: Task, event: e.Estimated, at: float) -> Task:
    return replace(task, estimate=event, leaf=event.proposal == "leaf")


def _apply_plan_proposed(task: Task, event: e.PlanProposed, at: float) -> Task:
    return replace(task, proposed=event.steps, conventions=event.conventions, wish="", problems=())


def _apply_requirements_read(task: Task, event: e.RequirementsRead, at: float) -> Task:
    return replace(task, requirements=event.requirements)


def _apply_plan_answered(task: Task, event: e.PlanAnswered, at: float) -> Task:
    """Another proposal is made from the wish and from the one before; a refusal makes one leaf of it."""
    return replace(task, wish=event.wish, leaf=event.says == "no")


def _apply_plan_changed(task: Task, event: e.PlanChanged, at: float) -> Task:
    begun = tuple(step for step in task.steps if step.name in task.begun)
    return replace(task, steps=(*begun, *event.steps), review=False)


def _apply_granted(task: Task, event: e.Granted, at: float) -> Task:
    return replace(task, limits=event.limits, granted=True)


def _apply_plan_refused(task: Task, event: e.PlanRefused, at: float) -> Task:
    """For good, the rung came to nothing: the trouble is as it was, and the next rung applies."""
    if not event.final:
        return replace(task, problems=event.problems)
    # Without a rung it was the first plan: the work is begun as one leaf, and the ladder may still split it.
    return replace(task, rung=None, problems=(), leaf=task.leaf or task.rung is None, hinted=False)


def _apply_child_started(task: Task, event: e.ChildStarted, at: float) -> Task:
    times = int(event.task.rpartition("@")[2]) if "@" in event.task else 1
    fresh = times != task.begun.get(event.step)
    return replace(
        task,
        running=task.running | {event.step: event},
        held={name: each for name, each in task.held.items() if name != event.step},
        begun=task.begun | {event.step: times},
        tries=task.tries | {event.step: task.tries.get(event.step, 0) + 1} if fresh else task.tries,
    )


def _apply_child_held(task: Task, event: e.ChildHeld, at: float) -> Task:
    return replace(task, held=task.held | {event.step: event})


def _apply_child_merged(task: Task, event: e.ChildMerged, at: float) -> Task:
    seconds = event.verdict.seconds if event.verdict else 0.0
    return replace(task, spend=task.spend.plus(Spend(seconds=seconds, check_seconds=seconds)))


def _apply_child_settled(task: Task, event: e.ChildSettled, at: float) -> Task:
    ends = tuple(f"{event.child}: {text}" for text in event.dead_ends)
    notes = _list_shared_notes(event) if event.shared else ()
    child = task.running[event.child].task if event.child in task.running else event.child
    # A step that was left out or taken over has spent nothing; what an earlier pass of it spent is counted already.
    began = event.child in task.running or event.spend != Spend()
    before = task.charged.get(child, Spend()) if began else event.spend
    return replace(
        task,
        settled=task.settled | {event.child: event},
        ended=task.ended | {event.child: event},
        review=task.review or (event.state is State.COMPLETED and _is_phase_with_followers(task, event.child)),
        running={name: child for name, child in task.running.items() if name != event.child},
        reopened=task.reopened - {event.child},
        tree=event.tree,
        allowed=tuple(dict.fromkeys((*task.allowed, *event.allowed))),
        probes=_merge_probes(task, event),
        spend=task.spend.plus(event.spend.minus(before)),
        charged=task.charged | {child: event.spend} if began else task.charged,
        notes=tuple(dict.fromkeys((*task.notes, *notes)))[-task.rules.notes :] if notes else task.notes,
        learned=tuple(dict.fromkeys((*task.learned, *ends)))[-task.rules.notes :] if ends else task.learned,
    )


def _merge_probes(task: Task, event: e.ChildSettled) -> tuple[Probe, ...]:
    """With what a step has passed; what it passed in an earlier pass is replaced, what nobody asks is dropped."""
    if event.state is not State.COMPLETED:
        return task.probes
    gone = {*event.not_asked, *(probe.name for probe in event.probes)}
    return (*(probe for probe in task.probes if probe.name not in gone), *event.probes)


def _list_shared_notes(event: e.ChildSettled) -> tuple[Note, ...]:
    """What a step wrote into the context that it shares with the task."""
    return (
        *(Note("decision", text) for text in event.decisions),
        *(Note("dead_end", text) for text in event.dead_ends),
    )


def _is_phase_with_followers(task: Task, name: str) -> bool:
    """A phase whose end may change what follows it. A plan that a person wrote is theirs to change."""
    phase = not task.step.steps and any(step.name == name and step.plan_first for step in task.steps)
    return phase and any(step.name not in task.begun for step in task.steps)


def _apply_children_reopened(task: Task, event: e.ChildrenReopened, at: float) -> Task:
    settled = {name: child for name, child in task.settled.items() if name not in event.children}
    return replace(clear_trouble(task), settled=settled, reopened=frozenset(event.children))


def _apply_pass_ended(task: Task, event: e.PassEnded, at: float) -> Task:
    return replace(task, passes=task.passes + 1, settled={}, tries={})


def _apply_transition_taken(task: Task, event: e.TransitionTaken, at: float) -> Task:
    settled = {name: child for name, child in task.settled.items() if name != event.to}
    return replace(task, at_state=event.to, turns=task.turns + 1, settled=settled, tries=task.tries | {event.to: 0})


def _apply_command_started(task: Task, event: e.CommandStarted, at: float) -> Task:
    return replace(task, commanding=event, ran=None)


def _apply_command_finished(task: Task, event: e.CommandFinished, at: float) -> Task:
    spend = task.spend.plus(Spend(seconds=event.seconds))
    result = event.output.strip()
    return replace(task, commanding=None, ran=event, result=result, tree=event.tree or task.tree, spend=spend)


def _apply_reviewed(task: Task, event: e.Reviewed, at: float) -> Task:
    return replace(task, reviewed=event)


def _apply_summarized(task: Task, event: e.Summarized, at: float) -> Task:
    return replace(task, result=event.text, summarized=True)


def _apply_taken_up(task: Task, event: e.TakenUp, at: float) -> Task:
    state = check_transition(task.state, State.IN_PROGRESS)
    return replace(
        clear_trouble(task), state=state, why=event.why, tier=event.tier, attempt=None, claim=None, repairs=0
    )


def _apply_examined(task: Task, event: e.Examined, at: float) -> Task:
    return replace(task, examined=event, probes=(*task.probes, *event.probes), probed="")


def _apply_examination_skipped(task: Task, event: e.ExaminationSkipped, at: float) -> Task:
    return replace(task, examined=event)


def _apply_probes_started(task: Task, event: e.ProbesStarted, at: float) -> Task:
    return task


def _apply_probes_finished(task: Task, event: e.ProbesFinished, at: float) -> Task:
    spend = task.spend.plus(Spend(seconds=event.seconds, check_seconds=event.seconds))
    results = task.probe_results | {result.name: result for result in event.results}
    return replace(task, probed=event.tree, probe_results=results, spend=spend)


def _apply_probe_contested(task: Task, event: e.ProbeContested, at: float) -> Task:
    return replace(task, contested=task.contested | {event.probe: event.reason})


def _apply_probe_ruled(task: Task, event: e.ProbeRuled, at: float) -> Task:
    return replace(task, rulings=task.rulings | {event.probe: event.ruling})


GROWTH: dict[type, Apply] = {
    e.Examined: _apply_examined,
    e.ExaminationSkipped: _apply_examination_skipped,
    e.ProbesStarted: _apply_probes_started,
    e.ProbesFinished: _apply_probes_finished,
    e.ProbeContested: _apply_probe_contested,
    e.ProbeRuled: _apply_probe_ruled,
    e.Estimated: _apply_estimated,
    e.RequirementsRead: _apply_requirements_read,
    e.PlanProposed: _apply_plan_proposed,
    e.PlanAnswered: _apply_plan_answered,
    e.PlanChanged: _apply_plan_changed,
    e.Granted: _apply_granted,
    e.SplitProposed: _apply_split_proposed,
    e.Planned: _apply_planned,
    e.PlanRefused: _apply_plan_refused,
    e.ChildStarted: _apply_child_started,
    e.ChildHeld: _apply_child_held,
    e.ChildMerged: _apply_child_merged,
    e.ChildSettled: _apply_child_settled,
    e.ChildrenReopened: _apply_children_reopened,
    e.PassEnded: _apply_pass_ended,
    e.TransitionTaken: _apply_transition_taken,
    e.CommandStarted: _apply_command_started,
    e.CommandFinished: _apply_command_finished,
    e.Reviewed: _apply_reviewed,
    e.Summarized: _apply_summarized,
    e.TakenUp: _apply_taken_up,
}
