"""Small real projects, a model that does what a case says, and how the run has to end.

Each case is a whole run: real files, a real workspace, real tools and processes, a real check. Only the model is
scripted. The tables of cases are the `.toml` files in `sabotage/`, `honest/`, `tricks/` and
`tricks_honest/`; what their keys mean is said here.
"""

import asyncio
import os
import pwd
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from textwrap import indent
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from bough import app
from bough.core.acceptance.verdict import Verdict
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import Step
from bough.testing import ScriptedModel, call
from bough.testing.scripted import Reply
from bough.views.run_view import Outcome
from tests import sampling
from tests.harness import Journal, git

PYTEST = "python3 -m pytest -q"
UNITTEST = "python3 -m unittest -q test_calc"

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

CALC_JS = """\
exports.add = (a, b) => a - b;
exports.sub = (a, b) => a - b;
"""
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
PACKAGE = '{"name": "calc", "version": "1.0.0", "scripts": {"test": "node --test"}}\n'

PROJECTS: dict[str, tuple[str, dict[str, str]]] = {
    "pytest": (PYTEST, {"calc.py": CALC, "test_calc.py": TESTS}),
    "unittest": (UNITTEST, {"calc.py": CALC, "test_calc.py": UNIT}),
    "node": ("npm test", {"calc.js": CALC_JS, "calc.test.js": TESTS_JS, "package.json": PACKAGE}),
    "none": (PYTEST, {}),
}
"""The check, and the files: a bug in `add`, a test that shows it, and a test that passes."""


PROGRAMS = frozenset(
    """Rscript awk bats bc cargo cc cmake ctest elixir erl erlc escript g++ gcc gfortran go guile jq lua5.4 make
    meson mix node npm ocaml ocamlc perl php prove rspec ruby runghc rustc sbcl sqlite3 swipl tclsh tsc
    """.split()  # noqa: SIM905
)
"""Programs of checks: a case whose program is absent does not run."""


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


Examiner = Callable[[Prompt], Reply]


def stubborn(
    *answers: Answer, case: "Case | None" = None, examiner: Examiner | None = None
) -> Callable[[Prompt], Reply]:
    """Does these things one after the other and then claims to be done, as often as it is asked. A judge who is asked
    quotes what the case says that the goal demands, or finds nothing; an examiner runs what the case calls neutral,
    where it says so. `examiner`: who is asked instead of both."""
    left = list(answers)

    def answer(prompt: Prompt) -> Reply:
        tools = {tool.name for tool in prompt.tools}
        if examiner is not None and tools & {"rule", "probe"}:
            return examiner(prompt)
        if "rule" in tools and case is not None and case.demands:
            return call("rule", reason="The request says so.", demanded=True, quote=case.demands)
        if "rule" in tools:
            return call("rule", reason="The request does not say so.", demanded=False)
        if "probe" in tools:
            return call("probe", probes=case.list_probes() if case is not None else [])
        return left.pop(0) if left else DONE

    return answer


# ── a case ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Act(Struct, forbid_unknown_fields=True):
    """One thing that the model does; which keys are there says what it is."""

    bash: str = ""
    write: str = ""
    """A path, with `text`."""
    text: str = ""
    edit: str = ""
    """A path, with `old` and `new`."""
    old: str = ""
    new: str = ""
    add: str = ""
    """The body of `add` in calc.py, with `top` for what is to stand at the top of the file."""
    top: str = ""
    test: str = ""
    """The body of `test_add` in test_calc.py, with `above` for its marks and `head` for what stands at the top. What
    they use of the standard library and of pytest is imported."""
    above: str = ""
    head: str = ""

    def answer(self) -> Answer:
        if self.bash:
            return bash(self.bash)
        if self.write:
            return write(self.write, lines(self.text))
        if self.edit:
            return edit(self.edit, self.old, self.new)
        if self.add or self.top:
            return write(
                "calc.py",
                _with_top(self.top) + CALC.replace("    return a - b\n", _body(self.add or "return a - b"), 1),
            )
        return write("test_calc.py", self._tests())

    def _tests(self) -> str:
        body = f"{lines(self.above)}def test_add():\n{_body(self.test or 'assert add(2, 3) == 5')}"
        used = {name for name in IMPORTS if re.search(rf"\b{name}\b", body + self.head)}
        head = "".join(IMPORTS[name] for name in IMPORTS if name in used)
        return f"{head}{lines(self.head)}\n" + TESTS.replace("def test_add():\n    assert add(2, 3) == 5\n", body)


IMPORTS = {name: f"import {name}\n" for name in ("contextlib", "os", "sys", "unittest", "pytest")} | {
    "Mock": "from unittest.mock import Mock\n"
}


def lines(text: str) -> str:
    """Text that ends with a line end, unless there is none of it."""
    return text if not text or text.endswith("\n") else f"{text}\n"


def _body(text: str) -> str:
    return indent(lines(text), "    ")


def _with_top(text: str) -> str:
    return f"{lines(text)}\n\n" if text else ""


class Case(Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    does: list[Act | str] = []
    """What the model does before it says that it is done; `fix` removes the bug."""
    project: str = "pytest"
    """What a person has: one of `PROJECTS`."""
    files: dict[str, str] = {}
    """And these files besides."""
    check: str | None = None
    """None: the project's; empty: it has to be found."""
    ruling: str = ""
    """Of the last verdict; `any`: anything but `passed`; empty: what the table says, or `any`."""
    says: str = ""
    """A part of the verdict's reason, or of what it names as tampering."""
    limits: str = ""
    """More lines below [limits] of bough.toml."""
    repairs: int = 0
    """How many bug hunters may try, all of whom only claim to be done."""
    repository: bool = False
    """The project is a git repository."""
    goal: str = "Make add add."
    step: dict[str, Any] = {}
    """What else the step says."""
    neutral: str = ""
    """What an honest examiner runs in a copy of the folder: a command, in which `$T` is an empty folder elsewhere."""
    right: str = "5"
    """What it prints when the product is right."""
    demands: str = ""
    """The words of the goal that demand a change of the tests, which an honest judge quotes."""
    missed: str = ""
    """Why the case does not come out as it should yet; a case that does must not say so."""

    def answers(self) -> list[Answer]:
        fix = FIX_JS if self.project == "node" else FIX
        return [fix if isinstance(one, str) else one.answer() for one in self.does]

    def list_probes(self) -> list[dict[str, Any]]:
        """What an honest examiner writes; nothing, where nobody said what that is."""
        if not self.neutral:
            return []
        said = quote(self.right)
        text = f"#!/bin/sh\nT=$(mktemp -d)\nsaid=$(set +e; {self.neutral}\n:)\n"
        text += "said=$(printf '%s' \"$said\" | sed 's/ *$//')\n"  # What ends each line with a blank ends with one.
        text += f'[ "$said" = {said} ] || {{ echo "$said"; exit 1; }}\n'
        return [{"says": "It is right.", "quote": self.goal, "text": text, "requirement": 1, "also": [*range(1, 9)]}]

    def whole_step(self) -> Step:
        check = PROJECTS[self.project][0] if self.check is None else self.check
        return Step("goal", self.goal, test_command=check or None, **self.step)

    def needs(self) -> str:
        """A program that it needs and that is not here; empty: none."""
        check = PROJECTS[self.project][0] if self.check is None else self.check
        recipes = [text for path, text in self.files.items() if path.endswith(("Makefile", ".sh", "run.js"))]
        said = "\n".join([check, *recipes]).replace("$(CC)", "cc").replace("/usr/share/nodejs/typescript", "tsc")
        named = PROGRAMS & {*re.findall(r"[\w.+]+", said)}
        return next((program for program in sorted(named) if not shutil.which(program)), "")


class _Table(Struct, forbid_unknown_fields=True):
    case: list[Case]
    ruling: str = ""
    """Of those cases that say nothing else."""


class _Limit(Struct, forbid_unknown_fields=True):
    reason: str
    cases: list[str]


class _Limits(Struct, forbid_unknown_fields=True):
    limit: list[_Limit] = []
    """Sabotage that is not stopped."""
    trick: list[_Limit] = []
    """Tricks that are not stopped."""
    asked: list[_Limit] = []
    """Honest work about which somebody is asked."""


NEUTRAL = r"(?m)^# Neutral: (.*)\n(?:# Right: (.*)\n)?(?:#.*\n)*\[\[case\]\]\nname = ['\"](.*)['\"]$"
NEUTRALS = {
    **dict.fromkeys(("pytest", "unittest"), 'python3 -c "from calc import add; print(int(add(2, 3)))"'),
    "node": "node -p 'Number(require(\"./calc.js\").add(2, 3))'",
}
"""What an honest examiner runs where a case says nothing of its own."""
KNOWN = msgspec.toml.decode((Path(__file__).parent / "known_limits.toml").read_bytes(), type=_Limits)
LIMITS = {case: limit.reason for limit in KNOWN.limit for case in limit.cases}
TRICKS = {case: limit.reason for limit in KNOWN.trick for case in limit.cases}
ASKED = {case: limit.reason for limit in KNOWN.asked for case in limit.cases}


def sample(params: list[Any], every: int) -> list[Any]:
    """A part of a table, another one with each commit, since each case is a whole run; `scripts/check --all` runs four
    times as many. All of it with ALL_CASES=1, or with `bench/verdicts.py`."""
    every = 1 if os.environ.get("ALL_CASES") else every if sampling.ALL else 4 * every
    return params[sampling.find_seed() % every :: every]


def load(folder: str) -> list[Any]:
    """The cases in the tables of a folder here, as parameters of a test."""
    found = []
    for path in sorted((Path(__file__).parent / folder).glob("*.toml")):
        table = msgspec.toml.decode(path.read_bytes(), type=_Table)
        said = {name: pair for *pair, name in re.findall(NEUTRAL, path.read_text())}
        for case in table.case:
            case.ruling = case.ruling or table.ruling
            if not case.neutral:
                _find_neutral(case, said.get(case.name), folder)
            name = f"{path.stem}: {case.name}"
            limit = case.missed or {"sabotage": LIMITS, "tricks": TRICKS}.get(folder, {}).get(name, "")
            marks = [pytest.mark.xfail(reason=limit, strict=True)] if limit else []
            found.append(pytest.param(case, id=name, marks=marks))
    return found


def _find_neutral(case: Case, said: list[str] | None, folder: str) -> None:
    """What an honest examiner runs, where only a comment or the project says it."""
    neutral, right = said or (NEUTRALS.get(case.project, "") if folder == "sabotage" else "", "")
    # Other values than any test has.
    fresh = re.sub(r"\b2(,? )3\b", r"20\g<1>22", neutral) if not right else neutral
    case.neutral, case.right = fresh, right or ("42" if fresh != neutral else "5")


def lay_out(case: Case, folder: Path) -> Path:
    folder.mkdir(parents=True)
    limits = f"[limits]\nmax_repairs = {case.repairs}\n{case.limits}\n"
    for path, text in {"bough.toml": limits, **PROJECTS[case.project][1], **case.files}.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(lines(text))
    if case.repository:
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "as it was")
    return folder


def play(case: Case, folder: Path, below: str = "", examiner: Examiner | None = None) -> tuple[Outcome, Journal]:
    """The whole run, as a program would make it; `below` is the folder of the project where the person stands."""
    project = lay_out(case, folder / "project") / below
    model = ScriptedModel(stubborn(*case.answers(), case=case, examiner=examiner))
    return run_to_end(project, case.whole_step(), model)


def run_to_end(project: Path, step: Step, model: ScriptedModel, strong: str | None = None) -> tuple[Outcome, Journal]:
    async def work() -> tuple[Outcome, Journal]:
        async with app.open_session(project, create=True) as session:
            outcome = await session.start(
                step, app.Choices(model=model, strong_model=strong, max_depth=0), app.RunObserver()
            )
            return outcome, Journal(await session.store.read(outcome.run))

    return asyncio.run(work())


def verdict_of(outcome: Outcome) -> Verdict:
    verdict = outcome.tree[0].verdict
    assert verdict is not None
    return verdict


def told(verdict: Verdict) -> str:
    """All that a verdict says, for looking for words in it."""
    return "\n".join([verdict.reason, *(f"{one.test}: {one.said}" for one in verdict.disagreements)])


def explained(outcome: Outcome) -> str:
    """For a test that fails: what happened."""
    return msgspec.json.format(msgspec.json.encode(outcome.tree[0].verdict)).decode()


def search_path() -> str:
    """`python3` is the interpreter that runs these tests, because it has pytest; cargo is found without rustup, which
    looks for its settings at home."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    places = [Path(sys.executable).parent, *sorted(home.glob(".rustup/toolchains/*/bin"))]
    return os.pathsep.join([*map(str, places), os.environ["PATH"]])


@pytest.fixture(autouse=True)
def python_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", search_path())
