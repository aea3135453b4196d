"""Demos: whole runs with recorded model answers, without key or network, but with real files, edits and tests."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.models.recording import ReplayModel
from bough.core.errors import UsageError
from bough.core.messages import Answer, Prompt
from bough.ports import Model
from bough.trust.programs import run_program

PACE = 0.03
"""How long a replayed answer takes, as a share of the time that the model took."""

NO_PLUGINS = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
SEEN_BY_COMMANDS = "BOUGH_SANDBOX_ENV"


class Demo(Struct, frozen=True):
    name: str
    goal: str
    check: str
    flat: bool = True
    """Whether the goal is done in one piece; otherwise it is planned first."""
    jobs: int = 1


BACKLOG = "backlog"
LIST = "goals.md"
"""The file with the goals of the backlog demo, in its repository."""
DEMOS = {
    "fix": Demo(
        "fix",
        "The tests of calendar_slots.py fail: find the causes and fix them. Every gap must lie between opening and "
        "closing time. Add first_free(slots, opens, closes, minutes): the earliest start of a gap of at least that "
        "many minutes, or None.",
        "python -m pytest -q",
    ),
    "project": Demo(
        "project",
        "Build tally, the expense tracker that SPEC.md describes: the store, recurring expenses, totals, budgets, the "
        "monthly report and the command line.",
        "python -m pytest -q",
        flat=False,
        jobs=2,
    ),
    BACKLOG: Demo(BACKLOG, "", "", jobs=3),
}


def find(name: str | None) -> Demo:
    if name is None:
        return DEMOS["fix"]
    if name not in DEMOS:
        raise UsageError(f"There is no demo `{name}`: choose from {', '.join(DEMOS)}.")
    return DEMOS[name]


def unpack(demo: Demo, folder: Path | None) -> tuple[Path, Path]:
    """Create the demo's git repository in a new folder, and return the paths of the repository and the recording."""
    place = folder or Path(tempfile.mkdtemp(prefix="bough-demo-"))
    if place.exists() and any(place.iterdir()):
        raise UsageError(f"{place} is not empty: give the demo a folder of its own with --dir.")
    project, recording = place / "repository", place / "recording.jsonl"
    with as_file(files("bough.demos").joinpath(demo.name)) as source:
        shutil.copytree(source / "repository", project, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(source / "recording.jsonl", recording)
    _git(project, "init", "-q", "-b", "main")
    for name, value in (("user.name", "demo"), ("user.email", "demo@localhost")):
        _git(project, "config", name, value)
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "A demo")
    return project, recording


def recorded_model(recording: Path) -> Model:
    return ReplayModel(recording, PACE)


class RecordedNight:
    """Replays the recorded answers for several goals. A call belongs to the goal whose text it contains."""

    window = 0

    def __init__(self, recording: Path, goals: Mapping[str, str]) -> None:
        """`goals`: the texts of the goals, by name."""
        self.name = f"replay:{recording}"
        self._goals = goals
        self._model = ReplayModel(recording, PACE)

    async def ask(self, prompt: Prompt, progress: Callable[[str], None]) -> Answer:
        said = "\n".join(getattr(message, "text", "") for message in prompt.messages)
        name = next((name for name, text in self._goals.items() if text in said), "")
        return await self._model.ask(replace(prompt, key=f"{name}/{prompt.key}"), progress)

    async def close(self) -> None:
        """Do nothing: the next goal uses the same recording."""


@contextmanager
def own_environment() -> Iterator[None]:
    """Make `python`, in this block, mean the interpreter that runs bough, which has pytest, and turn off pytest
    plugins. Of the person's `BOUGH_*` variables only those for the sandbox apply, because a recording fits only the
    rules that it was made with."""
    before = dict(os.environ)
    for name in before:
        if name.startswith("BOUGH_") and not name.startswith("BOUGH_SANDBOX_"):
            del os.environ[name]
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before.get("PATH", os.defpath)))
    os.environ[NO_PLUGINS] = "1"
    os.environ[SEEN_BY_COMMANDS] = ":".join(filter(None, (before.get(SEEN_BY_COMMANDS), NO_PLUGINS)))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _git(folder: Path, *arguments: str) -> None:
    try:
        run_program(["git", *arguments], project=None, cwd=folder).check_returncode()
    except FileNotFoundError:
        raise UsageError("git was not found on PATH: install git, then run the demo again.") from None
