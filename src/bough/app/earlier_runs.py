"""What earlier runs leave to later ones: lessons in the journal's store, and all that a run knew on which another one
follows up, which starts where that one ended."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from bough import config as settings
from bough.app.journal import Journal
from bough.app.run_messages import find_person
from bough.core import events as e
from bough.core.acceptance.requirements import list_active
from bough.core.conversation import context
from bough.core.errors import NotFound, UsageError
from bough.core.ids import CONTROL, GOAL, LESSONS, RUN
from bough.core.journal.run_fold import fold_lessons
from bough.core.lessons import KeptLesson, choose_lessons, collect_lessons, find_contradicted, make_decision
from bough.core.planning.plan import Step
from bough.core.tree import task_result
from bough.core.tree.inherited import Inherited
from bough.trust.files import Place

INSTRUCTIONS = "AGENTS.md"
ENDS = {
    "completed": "which was completed",
    "not_proven": "which finished without being proven",
    "failed": "which was given up",
}


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


# ── follow-ups ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Followed(Struct, frozen=True):
    """What a finished run leaves to the one that follows up on it."""

    run: str
    base: str
    """Where it starts; empty: at the person's files, which already have the work."""
    origin: str
    """The person's files as the earlier run found them: the base of both runs' changes."""
    inherited: Inherited
    models: settings.Models
    endpoints: dict[str, str]
    check: str | None


async def load_followed(journal: Journal, name: str) -> Followed:
    run = await journal.run(name)
    if run.end is None:
        raise UsageError(
            f'{name} is not finished: `bough resume {name}` continues it, `bough say {name} "…"` messages its agents.'
        )
    task = await journal.task(name, GOAL)
    applied = run.applied == task.tree
    earlier = f"a follow-up on an earlier goal, {ENDS[run.end.end]}: {run.plan.goal.instructions.strip()}"
    said = task_result.render_task_result(task) or task.outcome.report or run.end.summary
    files = f" (changed {', '.join(task.outcome.files)})" if task.outcome.files else ""
    return Followed(
        run=name,
        base="" if applied else task.tree,
        origin="" if applied or task.tree == task.base else run.origin or task.base,
        inherited=Inherited(
            above=(*task.inherited.above, earlier),
            results=(*task.inherited.results, f"{name}: {said}{files}"),
            dead_ends=context.list_lessons(task),
            decisions=context.list_decisions(task),
            requirements=tuple(
                replace(one, kind="unchanged", start=0, end=0, step="", source=one.source or f"the goal of {name}")
                for one in list_active(task.asked)
                if one.kind != "background"
            ),
        ),
        models=settings.Models(run.models.get("main"), run.models.get("fast"), run.models.get("strong")),
        endpoints=run.endpoints,
        check=run.plan.goal.test_command,
    )
