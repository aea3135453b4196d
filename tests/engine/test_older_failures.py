"""What failed before the work, and what the goal does not speak of, is named and not hunted."""

import asyncio
from pathlib import Path

import pytest

from bough.app import Choices, RunObserver, open_session
from bough.core import events as e
from bough.core.acceptance.requirements import speaks_of
from tests.engine.libraries import DONE
from tests.harness import git, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

FAILS = "test_invoice.py::TestInvoice::test_total\nAssertionError: 3 != 4\n    self.assertEqual(invoice.total(1, 2), 4)"


@pytest.mark.parametrize(
    ("goal", "speaks"),
    [
        ("Add a page about installing.", False),
        ("Write NOTES.txt.", False),
        ("Add a column to every invoice.", True),
        ("Write NOTES.txt and make the tests green.", True),
        ("Add what is missing.", True),
        ("Totals are off by one cent.", True),
        ("Do it.", True),
    ],
)
def test_a_goal_speaks_of_a_failure_in_doubt(goal: str, speaks: bool) -> None:
    assert speaks_of(goal, [FAILS]) is speaks


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_older_failures_are_named_and_not_hunted(tmp_path: Path) -> None:
    (tmp_path / "invoice.py").write_text("def total(a, b):\n    return a + b\n")
    (tmp_path / "test_invoice.py").write_text(
        "import unittest\nimport invoice\n\n\nclass TestInvoice(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(invoice.total(1, 2), 4)\n\n"
        "    def test_zero(self):\n        self.assertEqual(invoice.total(0, 0), 0)\n"
    )
    git(tmp_path, "init", "-q")
    outcome, journal = run_to_end(tmp_path, DONE, goal="Write NOTES.txt.", check=None)
    (base,) = journal.of(e.BaseChecked)
    assert len(base.failing) == 1 and "test_total" in base.failing[0]
    (attempt,) = journal.of(e.AttemptStarted)
    assert "leave them alone" in attempt.brief and "has to make them pass" not in attempt.brief
    ended = journal.of(e.RunFinished)[-1]
    assert ended.end == "not_proven"
    assert "test_total" in ended.summary and "bough verify --accept-failing" in ended.summary

    async def verify() -> e.Judged:
        async with open_session(tmp_path) as opened:
            return await opened.verify(outcome.run, Choices(accept_failing=True), RunObserver())

    assert asyncio.run(verify()).verdict.ruling == "passed"
