"""A task's state as a pure fold over its events. Each event costs the same however many came before it.

Events about the task as a whole, people's messages and agents' notes are folded here; the other families of events have
files next to this one.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.requirements import Requirement, add_requirements
from bough.core.budget.limits import Spend
from bough.core.journal.acceptance_fold import ACCEPTANCE_EVENTS
from bough.core.journal.fold_changes import Apply, change, charge, clear_trouble, get_attempt, keep_notes
from bough.core.journal.plan_fold import PLAN_EVENTS
from bough.core.journal.round_fold import ROUND_EVENTS
from bough.core.tree.task import Task, quote_person
from bough.core.tree.task_groups import Note, TaskOrigin
from bough.core.tree.task_state import State, check_transition


def _apply_message_received(task: Task, event: e.MessageReceived) -> Task:
    """Add a person's message to the notes for later agents; the current agent gets it directly."""
    if event.requirements:
        task = change(task, inherited={"requirements": add_requirements(task.asked, event.requirements, {})})
    unheard = (*task.talk.unheard, event.text) if task.attempt is not None else task.talk.unheard
    return change(_note_said(task, event.text), talk={"heard": event.said, "unheard": unheard})


def _note_said(task: Task, text: str) -> Task:
    return keep_notes(task, (*task.talk.notes, Note("decision", quote_person(text))))


def change_asked(
    asked: Sequence[Requirement], event: e.MessageRead | e.RequirementRestored | e.RequirementsDropped
) -> tuple[Requirement, ...]:
    """Return the requirements after a person's message, with some restored, or with some marked as dropped."""
    match event:
        case e.MessageRead():
            return add_requirements(asked, event.requirements, event.replaces)
        case e.RequirementRestored(number=number):
            return tuple(replace(one, superseded=0, dropped="") if one.number == number else one for one in asked)
        case e.RequirementsDropped(numbers=numbers, by=by):
            return tuple(replace(one, dropped=by or "you") if one.number in numbers else one for one in asked)


def _apply_wish(task: Task, event: e.MessageRead | e.RequirementRestored) -> Task:
    return change(task, plan={"requirements": change_asked(task.asked, event)}, talk={"read": event.said})


def _apply_requirements_dropped(task: Task, event: e.RequirementsDropped) -> Task:
    asked = {"requirements": change_asked(task.asked, event)}
    if not task.plan.requirements:
        return change(task, inherited=asked)
    return change(task, plan=asked, talk={"read": max(task.talk.read, event.said)})


_LEAVE = ("", "leave it", "give up")
"""Answers that end the work as it is; no answer at all does the same."""


def _apply_person_answered(task: Task, event: e.PersonAnswered) -> Task:
    """Pass an answer to the next agent: a fresh one, or the planner if steps cannot continue. The counters that led to
    the question start from zero; the run's money, rounds and time do not."""
    task = change(task, talk={"question": "", "heard": max(task.talk.heard, event.said)})
    if event.text.strip(" .!").lower() in _LEAVE:
        return change(task, ladder={"rung": None})
    task = _note_said(task, event.text)
    if task.ladder.trouble is not None and task.ladder.trouble.cause == "children":
        return change(task, ladder={"rung": None}, plan={"hinted": True})
    return change(
        clear_trouble(task),
        attempt=None,
        round={"waiting": (), "faulty": "", "faults": 0, "empty": 0},
        progress={"signal": None},
        acceptance={"claim": None, "repairs": 0, "probe_repairs": 0, "findings": 0},
    )


def _apply_note_kept(task: Task, event: e.NoteKept) -> Task:
    note = Note(event.kind, event.text)
    others = (kept for kept in task.talk.notes if kept != note)  # A repeated note is news again, but stored once.
    return keep_notes(task, (*others, note))


STILL_FAILS = "The author of the work saw it and its output, and did not change the work to pass it."
"""Note for a judge about a critic's probe that fails again."""


def evolve_task(task: Task, record: e.Record) -> Task:
    """Return the task after one more event."""
    task = replace(task, version=record.version, at=record.at)
    apply = _APPLY.get(type(record.event))
    return apply(task, record.event) if apply is not None else task


def fold_task(task_id: str, records: Iterable[e.Record]) -> Task:
    """Return the task after all its events. Events that were rewound count only by their cost."""
    history: list[e.Record] = []
    task = Task(task_id)
    for record in records:
        if isinstance(record.event, e.TaskRewound):
            history = [r for r in history if r.version <= record.event.version]
            task = _rewind_task(fold_task(task_id, history), task, record.event)
            task = replace(task, version=record.version, at=record.at)
        else:
            task = evolve_task(task, record)
        history.append(record)
    return task


def drop_rewound(records: Iterable[e.Record]) -> list[e.Record]:
    """Return the records of one or more tasks without those that were rewound."""
    kept: list[e.Record] = []
    for record in records:
        if isinstance(record.event, e.TaskRewound):
            version = record.event.version
            kept = [each for each in kept if each.task != record.task or each.version <= version]
        else:
            kept.append(record)
    return kept


def _rewind_task(then: Task, now: Task, event: e.TaskRewound) -> Task:
    """Return the task as it was, except for the cost: its own spend, and that of all its children until now."""
    spend, charged = now.budget.spend, dict(now.children.charged)
    for child, total in event.children.items():
        spend = spend.plus(total.minus(charged.get(child, Spend())))
        charged[child] = total
    if then.round.asking:  # The round has been paid for, and asking again counts as another round.
        then = change(
            then,
            attempt={"rounds": get_attempt(then).rounds - 1},
            models={"transport_failures": 0, "retry_at": 0.0},
            round={"asking": False},
            ladder={"soft_rounds": max(0, then.ladder.soft_rounds - 1)},
        )
    return change(
        then,
        tree=event.tree,
        halt=None,
        budget={"spend": spend, "limits": now.budget.limits},
        children={"charged": charged},
        talk={"heard": now.talk.heard},
    )


def list_points(task_id: str, records: Sequence[e.Record]) -> list[Task]:
    """Return the task at each point to which it can be rewound: the end of each round of its agents and of each of its
    steps, and before these the beginning of its work."""
    task, rounds = Task(task_id), 0
    found: list[tuple[int, Task]] = []
    for index, record in enumerate(records):
        if isinstance(record.event, e.TaskRewound):
            version = record.event.version
            task = fold_task(task_id, records[: index + 1])
            found = [(number, point) for number, point in found if point.version <= version]
            rounds = found[-1][0] if found else 0
            continue
        before, task = task, evolve_task(task, record)
        if before.attempt and task.attempt and before.attempt.number == task.attempt.number:
            rounds += task.attempt.rounds - before.attempt.rounds
        counted = found[-1][0] if found else -1
        step_ended = isinstance(record.event, e.ChildSettled)
        under_way = task.attempt is None or task.round.asking or task.round.waiting or task.round.started
        round_ended = not under_way and task.state is State.IN_PROGRESS and rounds > counted
        if step_ended or (task.gathering and not found) or round_ended:
            found.append((rounds, task))
    return [point for _, point in found]


def _apply_task_created(task: Task, event: e.TaskCreated) -> Task:
    merge, subject = event.merge, event.subject
    steps, begun = event.step.steps, task.budget.spend != Spend()
    return change(
        task,
        step=event.step,
        rules=event.rules,
        base=event.base,
        tree=merge.tree if merge else event.step.given or event.base,
        inherited=event.inherited,
        origin=TaskOrigin(event.key, subject, merge),
        # A task that begins again after a rewind keeps its spend.
        budget={"limits": event.limits, "grows": event.grows, "spend": task.budget.spend if begun else event.spent},
        ladder={"means": event.means},
        plan={"steps": steps, "parallel": event.step.parallel, "approaches": int(bool(steps))},
        talk={"heard": event.heard},
        examination={
            "probes": merge.probes if merge else subject.probes if subject else (),
            "contested": {probe.name: STILL_FAILS for probe in subject.probes} if subject else {},
        },
    )


def _apply_state_changed(task: Task, event: e.StateChanged) -> Task:
    judged = task.acceptance.judged and event.to is not State.TESTING
    state = check_transition(task.state, event.to)
    return change(clear_trouble(task), halt=None, state=state, why=event.why, acceptance={"judged": judged})


def _apply_task_halted(task: Task, event: e.TaskHalted) -> Task:
    task = replace(charge(task, Spend(seconds=event.seconds)), halt=event)
    if event.reason not in ("unavailable", "quota"):
        return task
    # The last model of the chain failed, too: start again with the first.
    return replace(task, models=replace(task.models, serving={}, quota_until=0.0))


def _apply_task_resumed(task: Task, event: e.TaskResumed) -> Task:
    step, rules, judged, ran = task.step, task.rules, task.acceptance.judged, task.outcome.ran
    if event.check:  # The verdict of another check no longer counts.
        step, judged = replace(step, test_command=event.check), False
    if event.accept_failing is not None:
        rules, judged = replace(rules, accept_failing=event.accept_failing), False
    return change(
        task,
        halt=None,
        step=step,
        rules=rules,
        # The resumed task may have another model, with a larger window.
        attempt={"exceeded": ""} if task.attempt is not None else None,
        models={"windows": {}, "transport_failures": 0, "retry_at": 0.0},
        budget={"limits": event.limits, "grows": event.grows},
        ladder={"means": event.means},
        round={"handing_over": False, "handed_over": False},
        acceptance={"judged": judged},
        # A person saw that the command was interrupted, and resumes: it may run again.
        outcome={"ran": None if ran is not None and ran.interrupted else ran},
    )


_APPLY: dict[type, Apply] = {
    e.TaskCreated: _apply_task_created,
    e.StateChanged: _apply_state_changed,
    e.WorkspaceOpened: lambda task, event: replace(task, tree=event.tree),
    e.WorkspaceRestored: lambda task, event: replace(task, tree=event.tree),
    e.CheckpointMade: lambda task, event: change(
        task, tree=event.tree, outcome={"commit": event.commit, "files": event.files}
    ),
    e.TaskHalted: _apply_task_halted,
    e.TaskResumed: _apply_task_resumed,
    **ROUND_EVENTS,
    e.MessageReceived: _apply_message_received,
    e.MessageRead: _apply_wish,
    e.RequirementRestored: _apply_wish,
    e.RequirementsDropped: _apply_requirements_dropped,
    e.QuestionAsked: lambda task, event: change(task, talk={"question": event.question}),
    e.PersonAnswered: _apply_person_answered,
    e.NoteKept: _apply_note_kept,
    **ACCEPTANCE_EVENTS,
    **PLAN_EVENTS,
}
