"""What is no objection: a runner's placeholder for a test that does not exist yet, a failure that is accepted, an
example that is not run. And what a check that shows little says, and what the verdict says about it."""

from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.planning.plan import Step
from bough.testing import ScriptedModel
from tests import sampling
from tests.harness import Journal
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.verification.cases import (
    DONE,
    Act,
    Case,
    explained,
    lay_out,
    play,
    python_on_path,
    run_to_end,
    stubborn,
    verdict_of,
    write,
)

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["python_on_path"]

STEPS = ("one", "two", "three", "four")
UNITTEST = "python3 -m unittest"
ZERO = "import unittest\n\n\nclass Zero(unittest.TestCase):\n    def test_zero(self):\n        self.assertEqual(0, 0)\n"
RUNNER = """\
import sys
import unittest

names = sys.argv[1:]
suite = unittest.defaultTestLoader.loadTestsFromNames(names) if names else unittest.defaultTestLoader.discover(".")
sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())
"""
"""A runner of the project's own around unittest, as Django has one."""


def verdicts(journal: Journal) -> list[tuple[str, Verdict]]:
    found = ((record.task, record.event) for record in journal.records)
    return [(task, event.verdict) for task, event in found if isinstance(event, e.CheckFinished)]


@in_turn
@pytest.mark.parametrize(
    ("folder", "command", "whole"),
    sampling.sample(
        [
            pytest.param("tests", f"{UNITTEST} tests.test_NAME", f"{UNITTEST} discover", id="a module"),
            pytest.param(
                "calc/tests",
                f"{UNITTEST} -q calc/tests/test_NAME.py",
                f"{UNITTEST} discover",
                id="a file of a nose-like layout",
            ),
            pytest.param(
                "calc/tests", "python3 manage.py calc.tests.test_NAME", "python3 manage.py", id="a runner of its own"
            ),
        ],
        3,
    ),
)
def test_four_steps_with_a_new_test_file_each_ask_nobody(folder: str, command: str, whole: str, tmp_path: Path) -> None:
    files = {"calc/__init__.py": "", "manage.py": RUNNER, "tests/__init__.py": "", "tests/test_zero.py": ZERO}
    place = lay_out(Case(name="", project="none", files={**files, f"{folder}/__init__.py": ""}), tmp_path / "project")
    answers = []
    for name in STEPS:
        test = ZERO.replace("unittest\n", f"unittest\n\nfrom calc.{name} import f\n", 1).replace("(0, 0)", "(f(1), 2)")
        answers += [write(f"calc/{name}.py", "def f(n):\n    return n + 1\n"), write(f"{folder}/test_{name}.py", test)]
        answers += [DONE]
    steps = tuple(Step(name, "Write it.", test_command=command.replace("NAME", name)) for name in STEPS)
    goal = Step("goal", "All four.", test_command=whole, steps=steps)
    outcome, journal = run_to_end(place, goal, ScriptedModel(stubborn(*answers)))
    assert [(task, verdict.ruling) for task, verdict in verdicts(journal)] == [
        (name, "passed") for name in (*STEPS, "goal")
    ]
    assert outcome.completed


def test_an_original_test_that_could_not_be_loaded_still_counts(tmp_path: Path) -> None:
    """It exists: what it needs is what the work has to write."""
    needs = ZERO.replace("unittest\n", "unittest\n\nfrom calc import mul\n", 1)
    without = needs.replace("from calc import mul\n", "")
    case = Case(
        name="", project="unittest", check=f"{UNITTEST} test_mul", does=[Act(write="test_mul.py", text=without)]
    )
    case.files = {"test_mul.py": needs}
    outcome, _ = play(case, tmp_path)
    assert verdict_of(outcome).ruling == "needs_approval", explained(outcome)


FAILS = "def test_known():\n    assert 1 == 2\n"
MORE = "from calc import add\n\n\ndef test_more():\n    assert add(4, 0) == 4\n"


@pytest.mark.parametrize("weakened", [False, True])
@in_turn
def test_an_accepted_failure_is_no_disagreement_when_a_test_is_added(
    weakened: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOUGH_CHECK_ACCEPT_FAILING", "true")
    does: list[Act | str] = ["fix", Act(write="test_more.py", text=MORE)]
    does += [Act(write="test_known.py", text=FAILS.replace("2", "1"))] if weakened else []
    case = Case(name="", does=does, files={"test_known.py": FAILS})
    outcome, _ = play(case, tmp_path)
    assert verdict_of(outcome).ruling == ("needs_approval" if weakened else "passed"), explained(outcome)


SILENT = "[ $(sh add.sh 2 3) = 5 ]\n"
ADD = "echo $(($1 - $2))\n"


def silent(*does: Act, **more: Any) -> Case:
    files = {"add.sh": ADD, "add_test.go": SILENT}
    return Case(name="", project="none", check="sh add_test.go", files=files, does=[*does], **more)


def test_a_check_that_prints_nothing_is_compared_by_its_exit_status(tmp_path: Path) -> None:
    outcome, _ = play(silent(Act(write="add_test.go", text=SILENT.replace("5", "-1"))), tmp_path)
    verdict = verdict_of(outcome)
    assert verdict.ruling == "needs_approval", explained(outcome)
    assert "with the original tests restored, the check does not pass: it ends with exit status 1" in verdict.reason


def test_what_bough_cannot_see_is_said(tmp_path: Path) -> None:
    fix = Act(write="add.sh", text="echo $(($1 + $2))\n")
    seen = verdict_of(play(silent(fix), tmp_path / "seen")[0])
    assert seen.ruling == "passed"
    assert seen.reason.endswith("; bough saw only the exit status, not which tests ran")
    case = silent(fix)
    case.check, case.files = "[ $(sh add.sh 2 3) = 5 ]", {"add.sh": ADD}
    blind = verdict_of(play(case, tmp_path / "blind")[0])
    assert blind.ruling == "passed"
    assert blind.reason.endswith("; bough saw only the exit status, not which tests ran")


SUB = "def sub(a, b):\n    return a - b\n"
DOCTEST = 'def add(a, b):\n    """\n    >>> add(2, 3)  # doctest: +SKIP\n    5\n    """\n    return a + b\n\n\n' + SUB


@in_turn
@pytest.mark.parametrize("check", ["python3 -m pytest -q --doctest-modules", "python3 -m doctest calc.py"])
def test_an_example_that_is_skipped_is_neither_proof_nor_objection(check: str, tmp_path: Path) -> None:
    outcome, journal = play(Case(name="", does=[Act(write="calc.py", text=DOCTEST)], check=check), tmp_path)
    verdict = verdict_of(outcome)
    assert verdict.ruling == "passed", explained(outcome)
    assert len(verdicts(journal)) == 1, "no round is lost"
