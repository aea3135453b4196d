"""How much work is a goal? And what planners are told about the repository."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import PurePosixPath

from bough.core import commands as c
from bough.core import context, requirements
from bough.core import events as e
from bough.core.budget import left
from bough.core.errors import Unavailable
from bough.core.messages import Answer
from bough.core.planning import brief
from bough.core.planning.brief import Size
from bough.core.planning.estimate import Estimate, gate, proposal, starts
from bough.core.planning.outline import OWNERS, outlined
from bough.core.planning.specs import GATE, READING_GATE
from bough.core.structured import Problems
from bough.core.task import Task
from bough.engine.consult import Consulted, consult
from bough.engine.site import INSTRUCTIONS, INSTRUCTIONS_LIMIT, Site, check_command, halted
from bough.ports import Batches, Workspaces

COUNTED = 100
"""Files whose lines are counted; of more, so many from all over."""


async def estimate(command: c.Estimate, task: Task, site: Site) -> Batches:
    """The complexity gate. One question: when the answer cannot be read, the goal is taken as one piece of work."""
    rounds = left(task.spend, task.limits).rounds
    listed = requirements.given(task.step)
    size, known = await size_of(task, site), await known_of(task, site)
    values = brief.gate(context.following(task), size, rounds, grows=site.run.grows, **known)
    try:
        asked = await consult(task, site, "gate", "fast", values, GATE if listed else READING_GATE)
    except Unavailable as error:
        yield [e.HelperFailed("gate", str(error)), halted(error)]
        return
    if asked.answer is None:
        yield [*asked.events, e.TaskHalted("unavailable", asked.error)]
        return
    found = gate(asked.answer)
    if isinstance(found, Problems) and not asked.answer.calls and _in_text(site):
        yield asked.events  # What is answered in words may be mended once.
        try:
            asked = await consult(task, site, "gate", "fast", values, GATE, more=str(found))
        except Unavailable as error:
            asked = Consulted((e.HelperFailed("gate", str(error)),), None)
        found = gate(asked.answer) if asked.answer is not None else found
    if isinstance(found, Problems):
        found = Estimate(atomic=True, steps=1, reason=f"no estimate was given: {found.said[0]}")
    proposed = proposal(found, False, task.rules.planning.max_depth)
    estimated = e.Estimated(found.atomic, found.steps, found.phases, found.domains, found.reason, proposed)
    yield [*asked.events, requirements_read(task, asked.answer), estimated]


def requirements_read(task: Task, answer: Answer | None = None) -> e.RequirementsRead:
    """What the goal asks: as the person lists it, else as the answer says, else by the form of its text."""
    if known := requirements.given(task.step):
        listed = len(known) > 1 or bool(task.step.criteria)
        return e.RequirementsRead(known, "person" if listed else "rule")
    found = requirements.from_starts(task.step.instructions, starts(answer)) if answer is not None else ()
    return e.RequirementsRead(found or requirements.by_form(task.step), "model" if found else "rule")


def _in_text(site: Site) -> bool:
    ports = site.ports
    return ports.protocols.of(ports.models["fast"].name).protocol == "text"


async def known_of(task: Task, site: Site) -> dict[str, str]:
    """What every planning prompt says of the repository."""
    goal = "\n".join([task.step.instructions, *task.step.criteria])
    return await describe(site.ports.workspaces, task.tree, await check_command(task, site), goal)


async def describe(workspaces: Workspaces, tree: str, command: str, goal: str) -> dict[str, str]:
    """`goal`: what is to be done, which chooses what is shown of many files."""
    paths = await workspaces.paths(tree)
    own = await workspaces.texts(tree, [*INSTRUCTIONS, *BUILD_FILES, *OWNERS])
    owners = next((own[name] for name in OWNERS if name in own), "")
    built = (f"\n\n{name}:\n\n{own[name][:BUILD_LIMIT].strip()}" for name in BUILD_FILES if name in own)
    return {
        "command": command,
        "files": await asyncio.to_thread(outlined, paths, goal, brief.OUTLINE, owners),
        "built": "".join(built).strip(),
        "project": next((own[name] for name in INSTRUCTIONS if name in own), "")[:INSTRUCTIONS_LIMIT].strip(),
    }


async def size_of(task: Task, site: Site) -> Size:
    return await measure(site.ports.workspaces, task.tree)


async def measure(workspaces: Workspaces, tree: str) -> Size:
    paths = await workspaces.paths(tree)
    sample = paths[:: -(-len(paths) // COUNTED)] if paths else []
    texts = await workspaces.texts(tree, sample)
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
