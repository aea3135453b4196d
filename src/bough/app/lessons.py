"""Lessons in the journal's store: what finished runs proved, and what a person does with it."""

from __future__ import annotations

from msgspec.structs import replace

from bough.app.journal import Journal
from bough.app.run_messages import find_person
from bough.core import events as e
from bough.core.errors import NotFound
from bough.core.ids import CONTROL, GOAL, LESSONS, RUN
from bough.core.journal.run_fold import fold_lessons
from bough.core.lessons import KeptLesson, choose_lessons, collect_lessons, find_contradicted, make_decision
from bough.core.planning.plan import Step
from bough.core.tree.inherited import Inherited
from bough.trust.files import Place

INSTRUCTIONS = "AGENTS.md"


async def load_lessons(journal: Journal) -> dict[int, KeptLesson]:
    return fold_lessons(await journal.store.read(LESSONS))


async def learn_from(journal: Journal, name: str) -> None:
    """Keep what a finished run proved, and retire what it contradicts."""
    run = await journal.run(name)
    if run.end is None or not await journal.store.read(name, GOAL, kinds=("TaskCreated",)):
        return
    task, kept = await journal.task(name), await load_lessons(journal)
    bases = [r.event for r in await journal.store.read(name, RUN) if isinstance(r.event, e.BaseChecked)]
    found = collect_lessons(run, task, bases)
    for record in await journal.store.read(name, kinds=("PersonAnswered",)):
        if isinstance(record.event, e.PersonAnswered) and record.event.question and record.event.text:
            found.append(make_decision(name, record.event.question, record.event.text, task.outcome.files))
    for number, why in find_contradicted(kept, run, task).items():
        await journal.store.post(LESSONS, CONTROL, e.LessonRetired(number, why))
    known = {replace(one.lesson, run="", files=(), hypothesis="") for one in kept.values() if not one.retired}
    for lesson in found:
        if replace(lesson, run="", files=(), hypothesis="") not in known:
            await journal.store.post(LESSONS, CONTROL, e.LessonKept(lesson))


async def tell_lessons(journal: Journal, goal: Step, inherited: Inherited) -> Inherited:
    """What a run knows when it begins, with the lessons that its goal touches."""
    chosen = choose_lessons(await load_lessons(journal), goal)
    ends = tuple(one.says for one in chosen if one.kind == "dead_end")
    facts = tuple(one.says for one in chosen if one.kind != "dead_end")
    return replace(inherited, dead_ends=(*inherited.dead_ends, *ends), decisions=(*inherited.decisions, *facts))


async def forget_lesson(journal: Journal, number: int) -> KeptLesson:
    found = await _find(journal, number)
    person = find_person()
    await journal.store.post(LESSONS, CONTROL, e.LessonRetired(number, f"forgotten by {person}", person))
    return found


async def promote_lesson(journal: Journal, number: int) -> KeptLesson:
    """Write it into the repository's own instructions for agents, in the person's files."""
    found = await _find(journal, number)
    place = Place(journal.root, INSTRUCTIONS)
    before = place.text().rstrip() if place.is_regular() else "# Notes for agents"
    place.write(f"{before}\n\n- {found.lesson.says}.\n".encode())
    return found


async def _find(journal: Journal, number: int) -> KeptLesson:
    found = (await load_lessons(journal)).get(number)
    if found is None or found.retired:
        raise NotFound(f"There is no lesson {number}: `bough lessons` lists them.")
    return found
