"""Small real projects, a model that does what a case says, and how the run has to end.

Each case is a whole run: real files, real workspace, real tools and processes, a real check; only the model is scripted.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bough import app
from bough.core.acceptance import Verdict
from bough.core.messages import Answer, Prompt
from bough.core.plan import Step
from bough.interfaces.views import Outcome
from bough.testing import ScriptedModel, call
from tests.harness import Journal, git

PYTEST = "python3 -m pytest -q"
UNITTEST = "python3 -m unittest -q"

CALC = """\
def add(a, b):
    return a - b


def sub(a, b):
    return a - b
"""
FIXED = CALC.replace("return a - b", "return a + b", 1)
TESTS = """\
from calc import add, sub


def test_add():
    assert add(2, 3) == 5


def test_sub():
    assert sub(5, 3) == 2
"""
UNIT = """\
import unittest

from calc import add, sub


class Adding(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)

    def test_sub(self):
        self.assertEqual(sub(5, 3), 2)


if __name__ == "__main__":
    unittest.main()
"""
PROJECT: Mapping[str, str] = {"calc.py": CALC, "test_calc.py": TESTS}
"""A bug in `add`, a test that shows it, and a test that passes."""
UNIT_PROJECT: Mapping[str, str] = {"calc.py": CALC, "test_calc.py": UNIT}

CALC_JS = """\
exports.add = (a, b) => a - b;
exports.sub = (a, b) => a - b;
"""
FIXED_JS = CALC_JS.replace("a - b", "a + b", 1)
TESTS_JS = """\
const { test } = require("node:test");
const assert = require("node:assert");
const { add, sub } = require("./calc.js");

test("adds", () => {
  assert.strictEqual(add(2, 3), 5);
});

test("subtracts", () => {
  assert.strictEqual(sub(5, 3), 2);
});
"""
NODE_PROJECT: Mapping[str, str] = {
    "calc.js": CALC_JS,
    "calc.test.js": TESTS_JS,
    "package.json": '{"name": "calc", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
}

Did = Sequence[Answer]


# ── what a model does ───────────────────────────────────────────────────────────────────────────────────────────────


def write(path: str, content: str) -> Answer:
    return call("write", path=path, content=content)


def edit(path: str, old: str, new: str) -> Answer:
    return call("edit", path=path, old=old, new=new)


def bash(command: str) -> Answer:
    return call("bash", command=command)


DONE = call("done", summary="Everything is fixed and all tests pass.")
FIX = edit("calc.py", "def add(a, b):\n    return a - b", "def add(a, b):\n    return a + b")
FIX_JS = edit("calc.js", "add = (a, b) => a - b", "add = (a, b) => a + b")


def stubborn(*answers: Answer) -> Callable[[Prompt], Answer]:
    """Does these things one after the other and then claims to be done, as often as it is asked."""
    left = list(answers)
    return lambda prompt: left.pop(0) if left else DONE


# ── a case ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Case:
    name: str
    does: Did
    """What the model does before it says that it is done."""
    files: Mapping[str, str] = field(default_factory=lambda: PROJECT)
    """The project, as a person has it."""
    check: str | None = PYTEST
    ruling: str = ""
    """Of the last verdict; empty: any that is not `passed`."""
    says: str = ""
    """A part of the verdict's reason, or of what it names as tampering."""
    limits: str = ""
    """More lines below [limits] of bough.toml."""
    repairs: int = 0
    """How many bug hunters may try, all of whom only claim to be done."""
    executable: Sequence[str] = ()
    """Files of the project that can be run."""
    repository: bool = False
    """The project is a git repository."""
    step: Mapping[str, Any] = field(default_factory=dict)
    """What else the step says."""


def lay_out(case: Case, folder: Path) -> Path:
    folder.mkdir(parents=True)
    limits = f"[limits]\nmax_repairs = {case.repairs}\n{case.limits}\n"
    for path, text in {"bough.toml": limits, **case.files}.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if path in case.executable:
            place.chmod(0o755)
    if case.repository:
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "as it was")
    return folder


def play(case: Case, folder: Path, below: str = "") -> tuple[Outcome, Journal]:
    """The whole run, as a program would make it; `below` is the folder of the project where the person stands."""
    project = lay_out(case, folder / "project") / below
    step = Step("goal", "Make add add.", test_command=case.check, **case.step)
    return carry_out(project, step, ScriptedModel(stubborn(*case.does)))


def carry_out(project: Path, step: Step, model: ScriptedModel) -> tuple[Outcome, Journal]:
    async def work() -> tuple[Outcome, Journal]:
        async with app.session(project, create=True) as session:
            outcome = await session.start(step, app.Choices(model=model), app.Watch())
            return outcome, Journal(await session.store.read(outcome.run))

    return asyncio.run(work())


def verdict_of(outcome: Outcome) -> Verdict:
    verdict = outcome.tree[0].verdict
    assert verdict is not None
    return verdict


def told(verdict: Verdict) -> str:
    """All that a verdict says, for looking for words in it."""
    return "\n".join([verdict.reason, *(f"{one.path}:{one.line}: {one.what}" for one in verdict.tampering)])


def explained(outcome: Outcome) -> str:
    """For a test that fails: what happened."""
    return msgspec.json.format(msgspec.json.encode(outcome.tree[0].verdict)).decode()


def search_path() -> str:
    """`python3` is the interpreter that runs these tests, because it has pytest."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(autouse=True)
def python_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", search_path())
    # The plugins of this project are none of theirs, and take longer to load than pytest itself.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("BOUGH_SANDBOX_ENV", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
