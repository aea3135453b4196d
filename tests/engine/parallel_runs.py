"""Projects, scripted agents and runs of steps that are at work at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

import bough
from bough import Step, app
from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.testing import ScriptedModel, call
from bough.views.run_view import Outcome
from tests.harness import Journal, by_progress, git, journal_of
from tests.spend import assert_spend

DONE = call("done", summary="done")
Says = Callable[[Prompt], Answer]


def make_project(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin", "--allow-empty")
    return folder


def writes(name: str, text: str = "done\n") -> Says:
    return by_progress(call("write", path=f"{name}.txt", content=text), DONE)


def edits(name: str, old: str, new: str) -> Says:
    return by_progress(call("edit", path=f"{name}.txt", old=old, new=new), DONE)


def step(name: str, check: str | None = None, **more: object) -> Step:
    return replace(Step(name, f"Make {name}.", test_command=check or f"test -f {name}.txt"), **more)


def both(*steps: Step, check: str = "true", **more: object) -> Step:
    return replace(Step("goal", "All of it.", test_command=check, parallel=True, steps=steps), **more)


def task_of(prompt: Prompt) -> str:
    return prompt.key.partition("#")[0]


class Agents:
    """A scripted model that knows which task asks; each says what is written down for it."""

    def __init__(self, **says: Says) -> None:
        self.says = {name.replace("__", "/"): answer for name, answer in says.items()}
        self.asked: list[str] = []
        self.before: Callable[[str], Awaitable[None]] | None = None

    async def __call__(self, prompt: Prompt) -> Answer:
        task = task_of(prompt)
        self.asked.append(task)
        if self.before is not None:
            await self.before(task)
        return self.says[task](prompt)


class Meeting:
    """None continues before all have arrived: proves that they work in parallel."""

    def __init__(self, *names: str) -> None:
        self.missing = set(names)
        self.here = asyncio.Event()

    async def __call__(self, task: str) -> None:
        self.missing.discard(task)
        if not self.missing:
            self.here.set()
        await asyncio.wait_for(self.here.wait(), 240)


def run_to_end(project: Path, goal: Step, agents: Agents, jobs: int = 2, **chosen: int) -> tuple[Outcome, Journal]:
    outcome = asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=jobs, **chosen))  # type: ignore[arg-type]
    return outcome, look(project)


def look(project: Path) -> Journal:
    journal = asyncio.run(journal_of(project))
    assert_spend(journal.records)
    return journal


def states(outcome: Outcome) -> dict[str, str]:
    return {task.path: task.state.value for task in outcome.tree}


def text_of(project: Path, outcome: Outcome, name: str) -> str:
    return git(project / ".bough" / "repo.git", "show", f"{outcome.tree[0].tree}:{name}.txt")


def files_of(project: Path, outcome: Outcome) -> set[str]:
    return set(git(project / ".bough" / "repo.git", "ls-tree", "-r", "--name-only", outcome.tree[0].tree).split())


def left_behind(project: Path) -> list[str]:
    return [path.name for path in (project / ".bough" / "work").glob("*/*")]


LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def a_first(project: Path, goal: Step, agents: Agents) -> tuple[Outcome, Journal]:
    """Both begin from the same files; `b` continues only when `a` has been merged."""
    taken_over = asyncio.Event()

    async def wait(task: str) -> None:
        if task == "b":
            await asyncio.wait_for(taken_over.wait(), 240)

    def recorded(record: e.Record) -> None:
        if isinstance(record.event, e.ChildSettled):
            taken_over.set()

    agents.before = wait
    watch = app.RunObserver(recorded=recorded)
    outcome = asyncio.run(bough.run(goal, dir=project, model=ScriptedModel(agents), jobs=2, watch=watch))
    return outcome, look(project)
