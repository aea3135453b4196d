"""Fold the events of people's messages and agents' notes."""

from __future__ import annotations

from bough.core import events as e
from bough.core.acceptance.requirements import add_requirements, drop_requirements, restore_requirement
from bough.core.journal.fold_changes import Apply, change, clear_trouble, keep_notes
from bough.core.tree.task import Task, quote_person
from bough.core.tree.task_groups import Note


def _apply_message_received(task: Task, event: e.MessageReceived) -> Task:
    """Add a person's message to the notes for later agents; the current agent gets it directly."""
    if event.requirements:
        known = add_requirements(task.asked, event.requirements, {})
        task = change(task, inherited={"requirements": known})
    unheard = (*task.talk.unheard, event.text) if task.attempt is not None else task.talk.unheard
    return change(_note_said(task, event.text), talk={"heard": event.said, "unheard": unheard})


def _note_said(task: Task, text: str) -> Task:
    return keep_notes(task, (*task.talk.notes, Note("decision", quote_person(text))))


def _apply_wish(task: Task, event: e.MessageRead | e.RequirementRestored) -> Task:
    if isinstance(event, e.MessageRead):
        asked = add_requirements(task.asked, event.requirements, event.replaces)
    else:
        asked = restore_requirement(task.asked, event.number)
    return change(task, plan={"requirements": asked}, talk={"read": event.said})


def _apply_requirements_dropped(task: Task, event: e.RequirementsDropped) -> Task:
    asked = {"requirements": drop_requirements(task.asked, event.numbers, event.by)}
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


TALK_EVENTS: dict[type, Apply] = {
    e.MessageReceived: _apply_message_received,
    e.MessageRead: _apply_wish,
    e.RequirementRestored: _apply_wish,
    e.RequirementsDropped: _apply_requirements_dropped,
    e.QuestionAsked: lambda task, event: change(task, talk={"question": event.question}),
    e.PersonAnswered: _apply_person_answered,
    e.NoteKept: _apply_note_kept,
}
