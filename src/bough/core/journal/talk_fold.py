"""Fold what people say and what agents note for later agents."""

from __future__ import annotations

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.requirements import add_requirements, restore_requirement
from bough.core.journal.fold_changes import Apply, clear_trouble, keep_notes
from bough.core.tree.task import Task, quote_person
from bough.core.tree.task_groups import Note


def _apply_message_received(task: Task, event: e.MessageReceived) -> Task:
    """Later agents find it among the notes; the current one is told."""
    if event.requirements:
        known = add_requirements(task.asked, event.requirements, {})
        task = replace(task, inherited=replace(task.inherited, requirements=known))
    unheard = (*task.talk.unheard, event.text) if task.attempt is not None else task.talk.unheard
    task = keep_notes(task, (*task.talk.notes, Note("decision", quote_person(event.text))))
    return replace(task, talk=replace(task.talk, heard=event.said, unheard=unheard))


def _apply_message_read(task: Task, event: e.MessageRead) -> Task:
    asked = add_requirements(task.asked, event.requirements, event.replaces)
    return replace(task, plan=replace(task.plan, requirements=asked), talk=replace(task.talk, read=event.said))


def _apply_requirement_restored(task: Task, event: e.RequirementRestored) -> Task:
    asked = restore_requirement(task.asked, event.number)
    return replace(task, plan=replace(task.plan, requirements=asked), talk=replace(task.talk, read=event.said))


def _apply_person_answered(task: Task, event: e.PersonAnswered) -> Task:
    """An answer goes to the next agent: a fresh one, or for steps that cannot continue, the planner."""
    task = replace(task, talk=replace(task.talk, question="", heard=max(task.talk.heard, event.said)))
    if not event.text:
        return replace(task, ladder=replace(task.ladder, rung=None))
    task = keep_notes(task, (*task.talk.notes, Note("decision", quote_person(event.text))))
    if task.ladder.trouble is not None and task.ladder.trouble.cause == "children":
        return replace(task, ladder=replace(task.ladder, rung=None), plan=replace(task.plan, hinted=True))
    task = clear_trouble(task)
    return replace(
        task,
        attempt=None,
        round=replace(task.round, waiting=(), faulty="", faults=0),
        progress=replace(task.progress, signal=None),
        acceptance=replace(task.acceptance, claim=None, repairs=0),
    )


def _apply_note_kept(task: Task, event: e.NoteKept) -> Task:
    note = Note(event.kind, event.text)
    others = (kept for kept in task.talk.notes if kept != note)  # Said again, it is news again, and once is enough.
    return keep_notes(task, (*others, note))


TALK_EVENTS: dict[type, Apply] = {
    e.MessageReceived: _apply_message_received,
    e.MessageRead: _apply_message_read,
    e.RequirementRestored: _apply_requirement_restored,
    e.QuestionAsked: lambda task, event: replace(task, talk=replace(task.talk, question=event.question)),
    e.PersonAnswered: _apply_person_answered,
    e.NoteKept: _apply_note_kept,
}
