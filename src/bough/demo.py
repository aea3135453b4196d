"""A whole run on a recorded model: no key and no network, but real files, real edits and real tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from bough.core.errors import UsageError


@dataclass(frozen=True)
class Demo:
    name: str
    about: str
    goal: str
    check: str


DEMOS = {
    "fix": Demo(
        "fix",
        "finds and fixes real bugs in a small repository",
        "Some tests of this repository fail. Find the causes in calendar_slots.py and fix them.",
        "{python} -m pytest -q -p no:cacheprovider",
    ),
}


def find(name: str | None) -> Demo:
    if name is None:
        return DEMOS["fix"]
    if name not in DEMOS:
        raise UsageError(f"There is no demo `{name}`: there is {', '.join(DEMOS)}.")
    return DEMOS[name]


def unpack(demo: Demo, folder: Path) -> tuple[Path, Path]:
    """Put the demo's repository and recording into a folder, as a person would have them; returns both paths."""
    project, recording = folder / "repository", folder / "recording.jsonl"
    with as_file(files("bough.demos").joinpath(demo.name)) as source:
        shutil.copytree(source / "repository", project, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(source / "recording.jsonl", recording)
    _git(project, "init", "-q", "-b", "main")
    _git(project, "add", "-A")
    _git(project, "-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-q", "-m", "A demo")
    return project, recording


def check(demo: Demo) -> str:
    """The demo's check, run by the very interpreter that runs bough: its tests are there for sure."""
    from shlex import quote

    return demo.check.format(python=quote(sys.executable))


def _git(folder: Path, *arguments: str) -> None:
    try:
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        raise UsageError("git was not found on PATH: install git, then run the demo again.") from None
