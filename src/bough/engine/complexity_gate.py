"""Estimates a goal's size before planning (the gate), and describes the repository for planners."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance.goal_reading import read_goal
from bough.core.acceptance.requirements import By, number_from_one
from bough.core.budget.limits import compute_remaining
from bough.core.conversation.structured_answer import Problems
from bough.core.planning import prompt_values
from bough.core.planning.guidance import (
    GateReading,
    SizeEstimate,
    choose_proposal,
    read_estimate,
    read_gate_reading,
)
from bough.core.planning.outline import outlined
from bough.core.planning.prompt_values import RepositoryFacts, Size
from bough.core.planning.tool_specs import GATE
from bough.core.textual.paths import NAMES
from bough.core.tree.task import Task
from bough.engine.consult import acts_in_text, try_consult
from bough.engine.task_workspace import INSTRUCTIONS, INSTRUCTIONS_LIMIT, TaskRuntime, find_check_command
from bough.ports import Batches, Workspaces

BUILD_FILES = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile")
"""Files that show what the project is built with."""
BUILD_LIMIT = 2_000
COUNTED = 100
"""How many files have their lines counted at most; for more files, the total is estimated from a sample."""


async def estimate_goal(command: c.Estimate, task: Task, runtime: TaskRuntime) -> Batches:
    """Ask a model how large the goal is. An unreadable answer means that it is done as one piece of work."""
    rounds = compute_remaining(task.budget.spend, task.budget.limits).rounds
    known = await describe_repository(task, runtime)
    values = prompt_values.build_gate_values(task, known, rounds, grows=runtime.run.grows)
    asked = await try_consult(task, runtime, "gate", "fast", values, GATE)
    if asked.answer is None:
        yield [*asked.events, *asked.halt]
        return
    found = read_estimate(asked.answer)
    in_text = acts_in_text(runtime.ports, runtime.find_key(task, "fast"))
    if isinstance(found, Problems) and not asked.answer.calls and in_text:
        yield asked.events  # A model that answers in text gets a second chance.
        asked = await try_consult(task, runtime, "gate", "fast", values, GATE, more=str(found))
        found = read_estimate(asked.answer) if asked.answer is not None else found
    if isinstance(found, Problems):
        found = SizeEstimate(atomic=True, steps=1, reason=f"no estimate was given: {found.said[0]}")
    proposed = choose_proposal(found, task.rules.planning.max_depth)
    read = read_gate_reading(asked.answer) if asked.answer is not None else GateReading()
    estimated = e.Estimated(found.atomic, found.steps, found.phases, found.domains, found.reason, proposed)
    yield [*asked.events, read_requirements(task, read), estimated]


def read_requirements(task: Task, read: GateReading = GateReading()) -> e.RequirementsRead:  # noqa: B008 - it is frozen
    """Split the goal into requirements: by the form of its text, or into finer ones by the model's answer (`read`)."""
    plain = read_goal(task.step)
    finer = read_goal(task.step, read.requirements, read.kinds)
    earlier = number_from_one(task.inherited.requirements)  # Those of the earlier run that this one continues.
    later = number_from_one(finer.requirements, len(earlier))
    by: By = "person" if task.step.criteria else "rule" if plain == finer else "model"
    return e.RequirementsRead((*earlier, *later), by, finer.background)


async def describe_repository(task: Task, runtime: TaskRuntime) -> RepositoryFacts:
    goal = "\n".join([task.step.instructions, *task.step.criteria])
    return await describe(runtime.ports.workspaces, task.tree, await find_check_command(task, runtime), goal)


async def describe(workspaces: Workspaces, tree: str, command: str, goal: str) -> RepositoryFacts:
    """Describe the repository for a planner. If it has many files, those that the goal names are listed first."""
    paths = await workspaces.paths(tree)
    own = await workspaces.texts(tree, [*INSTRUCTIONS, *BUILD_FILES])
    built = (f"\n\n{name}:\n\n{own[name][:BUILD_LIMIT].strip()}" for name in BUILD_FILES if name in own)
    return RepositoryFacts(
        size=await _measure(workspaces, tree, paths),
        command=command,
        files=await asyncio.to_thread(outlined, paths, goal, prompt_values.OUTLINE),
        built="".join(built).strip(),
        project=next((own[name] for name in INSTRUCTIONS if name in own), "")[:INSTRUCTIONS_LIMIT].strip(),
    )


async def _measure(workspaces: Workspaces, tree: str, paths: Sequence[str]) -> Size:
    sample = paths[:: -(-len(paths) // COUNTED)] if paths else []
    texts = await workspaces.texts(tree, sample)
    lines = sum(text.count("\n") for text in texts.values() if "\0" not in text[:1_000])
    kinds = Counter(PurePosixPath(path).suffix.lstrip(".") for path in paths)
    languages = tuple(NAMES[kind] for kind, _ in kinds.most_common() if kind in NAMES)
    about = len(sample) < len(paths)
    lines = int(round(lines * len(paths) / len(sample), -2)) if about else lines
    return Size(len(paths), lines, tuple(dict.fromkeys(languages)), about)


def describe_means(jobs: int, rounds: int) -> str:
    """Describe the means for a plan: how many engineers work at once, processor cores, and rounds per step."""
    cores = os.cpu_count() or 1
    at_once = "one engineer works at a time" if jobs == 1 else f"up to {jobs} engineers work at the same time"
    return f"- {at_once}, on {cores} core{'s' if cores > 1 else ''}; a step has about {rounds} rounds."
