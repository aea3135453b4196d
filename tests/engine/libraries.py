"""A library whose tests need a package that lies in its own environment and nowhere else."""

import asyncio
import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from bough.app import Choices, RunObserver, open_session
from bough.core import events as e
from bough.core.planning.plan import build_goal_step
from bough.testing import call
from tests.harness import git

PYPROJECT = """\
[project]
name = "pair"
version = "1.0"
[project.optional-dependencies]
tests = ["pytest", "only-here"]
[tool.pytest.ini_options]
testpaths = ["tests"]
"""
DONE = [call("write", path="NOTES.txt", content="x\n"), call("done", summary="written")]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library whose tests need a package that lies in its ignored, not activated environment and nowhere else."""
    root = tmp_path / "pair"
    (root / "tests").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PYPROJECT)
    (root / "pair.py").write_text("def pair(a, b):\n    return a, b\n")
    (root / "tests" / "test_pair.py").write_text(
        "import only_here\nfrom pair import pair\n\ndef test_pair():\n    assert pair(1, 2) == (1, 2)\n"
    )
    (root / ".gitignore").write_text(".venv/\n.env\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a library")
    return root


def environment(root: Path) -> Path:
    """A real one. It sees this Python's packages, and has one of its own."""
    shutil.copytree(_make_environment(), root / ".venv", symlinks=True)
    return next((root / ".venv" / "lib").glob("python*")) / "site-packages"


@cache
def _make_environment() -> Path:
    """Made once: nothing in it names its own place but the scripts for shells that activate it."""
    folder = Path(tempfile.mkdtemp(prefix="bough-environment-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    seen = Path(pytest.__file__).parents[1]
    (packages / "others.pth").write_text(f"{seen}\n")
    (packages / "only_here.py").write_text("")
    return folder


def look(root: Path, choices: Choices, *, cached: bool = False) -> tuple[e.BaseChecked, float]:
    async def check() -> tuple[e.BaseChecked, float]:
        async with open_session(root, create=True, choices=choices) as opened:
            return await opened.check(build_goal_step("Go."), choices, RunObserver(), cached=cached)

    return asyncio.run(check())
