"""From a goal to a tree: is it one piece of work or many, which steps, and does the person agree?

The same acts serve a goal and a phase: a phase is planned when it starts, and when it is over the steps after it may
change. Whatever a planner answers, work goes on: a goal whose plan is refused twice is carried out as one leaf.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import context, grants, planning
from bough.core import events as e
from bough.core.budget import left
from bough.core.errors import Unavailable
from bough.core.ids import depth
from bough.core.messages import Answer
from bough.core.plan import Plan, Step, checked, leaves
from bough.core.planning import Estimate, Problems, brief
from bough.core.planning.brief import Past, Size
from bough.core.task import Task
from bough.engine.consult import consult
from bough.engine.site import INSTRUCTIONS, INSTRUCTIONS_LIMIT, Site, check_command
from bough.engine.steps import ask_for_steps
from bough.ports import Batches

COUNTED = 100
"""Files whose lines are counted; of more, so many from all over."""


async def estimate(command: c.Estimate, task: Task, site: Site) -> Batches:
    """The complexity gate. One question: when the answer cannot be read, the goal is taken as one piece of work."""
    rounds = left(task.spend, task.limits).rounds
    values = brief.gate(task.step, await _size(task, site), rounds, **await _known(task, site))
    try:
        asked = await consult(task, site, "gate", "fast", values, planning.GATE)
    except Unavailable as error:
        yield [e.HelperFailed("gate", str(error)), e.TaskHalted("unavailable", str(error))]
        return
    if asked.answer is None:
        yield [*asked.events, e.TaskHalted("unavailable", asked.error)]
        return
    found = planning.gate(asked.answer)
    if isinstance(found, Problems):
        found = Estimate(atomic=True, steps=1, reason=f"no estimate was given: {found.said[0]}")
    proposal = planning.proposal(found, False, task.rules.planning.max_depth)
    estimated = e.Estimated(found.atomic, found.steps, found.phases, found.domains, found.reason, proposal)
    yield [*asked.events, estimated]


async def plan(command: c.MakePlan, task: Task, site: Site) -> Batches:
    """Ask the planner; a bad plan may be mended once, then the task is carried out as one leaf."""
    room = task.rules.planning.max_depth - depth(task.id)
    if task.proposal == "flat":
        room = min(room, 1)
    helper, values = await _question(task, site, room)
    ask = site.ports.approve is not None and _advice(task) != "take"

    def read(answer: Answer) -> tuple[Step, ...] | Problems:
        return planning.planned(task.step, answer, room)

    def proposed(steps: tuple[Step, ...]) -> list[e.AnyEvent]:
        return [e.PlanProposed(steps), *([] if ask else _taken(task, steps, site, "the plan"))]

    async for batch in ask_for_steps(task, site, helper, values, planning.PLAN, read, proposed):
        yield batch


def _taken(task: Task, steps: tuple[Step, ...], site: Site, why: str) -> list[e.AnyEvent]:
    """The plan holds from here on. The ledger follows its leaves, unless a person has set it."""
    events: list[e.AnyEvent] = [e.Planned(steps, why)]
    if depth(task.id) == 0 and site.run.grows:
        known = task.estimate.steps if task.estimate else 0
        rounds = grants.root_grant(max(known, sum(map(leaves, steps))))
        if rounds > task.limits.rounds:
            events.append(e.Granted(replace(task.limits, rounds=rounds)))
    return events


def _advice(task: Task) -> planning.Advice:
    found = task.estimate
    if found is None:
        return "take"
    return planning.advice(Estimate(found.atomic, found.steps, found.phases, found.domains, found.reason))


async def agree(command: c.Agree, task: Task, site: Site) -> Batches:
    """Show the proposal and hear what the person says: yes, no (one leaf), words for another proposal, or own steps."""
    assert site.ports.approve is not None, "nobody is there to be asked"
    answer = await site.ports.approve(task.proposed, _advice(task))
    if answer is None:
        return
    events: list[e.AnyEvent] = [e.PlanAnswered(answer.says, answer.wish)]
    if answer.says == "yes":
        events += _taken(task, task.proposed, site, "the plan")
    elif answer.says == "own":
        checked(Plan(replace(task.step, steps=answer.steps)))
        events += _taken(task, answer.steps, site, "the person's plan")
    yield events


async def review(command: c.Review, task: Task, site: Site) -> Batches:
    """A phase is over: does the rest of the plan still hold? A refused change leaves it as it is."""
    begun = frozenset(task.begun)
    later = [step for step in task.steps if step.name not in begun]
    values = brief.change(task.step, _past(task), later, context.learned(task))
    try:
        asked = await consult(task, site, "plan_change", "main", values, planning.CHANGE)
    except Unavailable as error:
        yield [e.HelperFailed("plan_change", str(error)), e.PlanChanged(tuple(later))]
        return
    changed = _changed(task, asked.answer, begun) if asked.answer else None
    if changed is None or isinstance(changed, Problems):
        refused = [e.PlanRefused("plan_change", changed.said, final=True)] if changed else []
        yield [*asked.events, *refused, e.PlanChanged(tuple(later))]
        return
    following = tuple(step for step in changed.steps if step.name not in begun)
    yield [*asked.events, e.PlanChanged(following, changed.said)]


def _changed(task: Task, answer: Answer, begun: frozenset[str]) -> planning.Changed | Problems:
    room = task.rules.planning.max_depth - depth(task.id)
    return planning.changed_plan(replace(task.step, steps=task.steps), answer, begun, room)


def _past(task: Task) -> list[Past]:
    return [Past(child.child, child.state, child.result or child.why, child.files) for child in task.settled.values()]


async def _question(task: Task, site: Site, room: int) -> tuple[str, dict[str, str]]:
    size, known = await _size(task, site), await _known(task, site)
    if depth(task.id):
        above = task.inherited.above[0] if task.inherited.above else ""
        goal = Step("goal", above.partition(": ")[2] or above)
        told = (result.partition(": ") for result in task.inherited.results)
        past = [Past(name, "completed", text) for name, _, text in told]
        values = brief.phase_planner(
            task.step,
            task.id,
            goal,
            size,
            room,
            past=past,
            later=task.inherited.later,
            kept=context.learned(task),
            command=known["command"],
            files=known["files"],
            built=known["built"],
            project=known["project"],
        )
        return "phase_planner", values
    found = task.estimate
    guess = Estimate(found.atomic, found.steps, found.phases, found.domains, found.reason) if found else None
    return "planner", brief.planner(
        task.step, size, room, estimate=guess, wish=task.wish, proposed=task.proposed, **known
    )


async def _known(task: Task, site: Site) -> dict[str, str]:
    """What every planning prompt says of the repository."""
    workspaces = site.ports.workspaces
    paths = await workspaces.paths(task.tree)
    own = await workspaces.texts(task.tree, [INSTRUCTIONS, *(name for name in BUILD_FILES if name in paths)])
    built = (f"\n\n{name}:\n\n{own[name][:BUILD_LIMIT].strip()}" for name in BUILD_FILES if name in own)
    return {
        "command": await check_command(task, site),
        "files": "\n".join(sorted(paths, key=lambda path: (path.count("/"), path))),
        "built": "".join(built).strip(),
        "project": own.get(INSTRUCTIONS, "")[:INSTRUCTIONS_LIMIT].strip(),
    }


async def _size(task: Task, site: Site) -> Size:
    paths = await site.ports.workspaces.paths(task.tree)
    sample = paths[:: -(-len(paths) // COUNTED)] if paths else []
    texts = await site.ports.workspaces.texts(task.tree, sample)
    lines = sum(text.count("\n") for text in texts.values() if "\0" not in text[:1_000])
    kinds = Counter(PurePosixPath(path).suffix.lstrip(".") for path in paths)
    languages = tuple(LANGUAGES[kind] for kind, _ in kinds.most_common() if kind in LANGUAGES)
    about = len(sample) < len(paths)
    lines = int(round(lines * len(paths) / len(sample), -2)) if about else lines
    return Size(len(paths), lines, tuple(dict.fromkeys(languages)), about)


BUILD_FILES = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile")
"""Say in few words what the project is made with."""
BUILD_LIMIT = 2_000

LANGUAGES = {
    "c": "C",
    "cc": "C++",
    "cpp": "C++",
    "cs": "C#",
    "css": "CSS",
    "go": "Go",
    "h": "C",
    "html": "HTML",
    "java": "Java",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "kt": "Kotlin",
    "md": "Markdown",
    "mjs": "JavaScript",
    "php": "PHP",
    "py": "Python",
    "rb": "Ruby",
    "rs": "Rust",
    "scala": "Scala",
    "sh": "shell",
    "sql": "SQL",
    "swift": "Swift",
    "toml": "TOML",
    "ts": "TypeScript",
    "tsx": "TypeScript",
}
"""Kinds of files that say something about a project, by suffix."""
