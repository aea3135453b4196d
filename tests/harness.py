"""A real project in a temporary folder, with everything real but the model."""

import asyncio
import atexit
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bough import app
from bough.app.run_ports import open_ports
from bough.core import events as e
from bough.core.journal.run_fold import Run
from bough.core.messages import Answer, ModelMessage, Prompt, Result
from bough.core.planning.plan import Plan, Step, build_goal_step
from bough.engine import run_loop
from bough.ports import Model, Ports
from bough.services.permission_store import answer_wishes, list_open_wishes
from bough.services.permissions import remember_run
from bough.testing import Fuse, ScriptedModel
from bough.views.run_view import Outcome

CALC = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest
from calc import add

class Adding(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""
CHECK = "python3 -m unittest -q test_calc"
QUICK_CHECK = "grep -q 'a + b' calc.py"
"""For what happens whatever the check is: a test runner takes longer to start than all else in a run. `CHECK` is for
what depends on the single tests of a check, and on what it says."""


def git(folder: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(folder), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def make_project(folder: Path, *, repository: bool = True) -> Path:
    """A tiny program with a bug and a test that shows it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calc.py").write_text(CALC)
    (folder / "test_calc.py").write_text(TEST)
    if repository:
        shutil.copytree(_make_repository(), folder / ".git")
    return folder


@cache
def _make_repository() -> Path:
    """The `.git` of the project, made once: four programs to start for each of a thousand tests."""
    folder = Path(tempfile.mkdtemp(prefix="bough-project-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make_project(folder, repository=False)
    git(folder, "init", "-q", "-b", "main", "--template=")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a bug")
    return folder / ".git"


@dataclass
class Journal:
    """What happened in a run, for assertions."""

    records: list[e.Record] = field(default_factory=list)

    def of(self, *kinds: type) -> list[Any]:
        return [record.event for record in self.records if isinstance(record.event, kinds)]

    def states(self) -> list[str]:
        return [event.to.value for event in self.of(e.StateChanged)]


@asynccontextmanager
async def ports_in(session: app.Session, model: Model, fuse: Fuse | None = None) -> AsyncIterator[Ports]:
    choices = app.Choices(model=model)
    async with open_ports(session, choices.models(session.config.models), choices, app.RunObserver()) as ports:
        yield fuse.wrap(ports) if fuse else ports


async def begin(
    folder: Path,
    model: Model,
    *,
    goal: str | Step = "Make add add.",
    check: str | None = QUICK_CHECK,
    fuse: Fuse | None = None,
    jobs: int = 1,
) -> str:
    """Start a run with the fuse in; returns its name."""
    async with app.open_session(folder, create=True) as session, ports_in(session, model, fuse) as ports:
        first = e.RunStarted(
            plan=Plan(build_goal_step(goal, check=check) if isinstance(goal, str) else goal),
            base=await session.workspaces.take(),
            folder="",
            models={"main": model.name, "strong": model.name},
            limits=session.config.budget,
            rules=session.config.limits,
            version="test",
            jobs=jobs,
        )
        ports = replace(ports, recorded=remember_run(session, Run(""), ports.recorded))  # As `Session.start` does.
        run = await run_loop.start_run("test-run", first, ports)
        assert run is not None
        return run.name


async def resume(folder: Path, model: Model, fuse: Fuse | None = None) -> Outcome:
    async with app.open_session(folder) as session, ports_in(session, model, fuse) as ports:
        run = await session.run("test-run")
        if run.end is not None:
            return await session.outcome("test-run")
        again = e.RunResumed(ports.worker, run.limits, run.models)
        await run_loop.resume_run("test-run", again, ports)
        return await session.outcome("test-run")


async def journal_of(folder: Path, run: str | None = None) -> Journal:
    async with app.open_session(folder) as session:
        return Journal(await session.store.read(await session.find(run)))


def run_to_end(
    folder: Path,
    script: Sequence[Any] | Callable[[Prompt], Answer] | Model,
    *,
    goal: str = "Make add add.",
    check: str | None = QUICK_CHECK,
    choices: app.Choices | None = None,
    watch: app.RunObserver | None = None,
) -> tuple[Outcome, Journal]:
    """A whole run from outside, as a program would make it."""
    model: Any = script if hasattr(script, "ask") else ScriptedModel(script)

    async def work() -> tuple[Outcome, Journal]:
        async with app.open_session(folder, create=True) as session:
            chosen = choices or app.Choices()
            chosen = replace(chosen, model=chosen.model or model)
            outcome = await session.start(build_goal_step(goal, check=check), chosen, watch or app.RunObserver())
            return outcome, Journal(await session.store.read(outcome.run))

    return asyncio.run(work())


def by_progress(*steps: Answer) -> Callable[[Prompt], Answer]:
    """A model that follows steps by what the conversation shows, so it may be killed and asked again at any point:
    the next step is the first whose call has no result yet; an interrupted call is made again."""

    def answer(prompt: Prompt) -> Answer:
        done = 0
        pending: list[str] = []
        for message in prompt.messages:
            if isinstance(message, ModelMessage):
                pending = [call.id for call in message.calls]
            elif isinstance(message, Result) and not message.text.startswith("Interrupted"):
                pending.remove(message.call)
                done += not pending
        return steps[done]

    return answer


def allow_settings(folder: Path) -> None:
    """The person's yes to what the settings of a project ask for."""
    root, wishes = list_open_wishes(folder)
    answer_wishes(root, wishes, allowed=True)
