"""Nobody waits for a long suite: agents begin once it is seen to run a test, and hear of its failures when they are
there. The suite on the files as they are ends only after the model was asked, so waiting for it would never end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.sandboxes.process import ProcessSandbox
from bough.core import events as e
from bough.core.messages import Answer, Prompt, UserMessage
from bough.engine import run_loop
from bough.ports import CommandResult, Workspace
from bough.testing import call
from tests.harness import FIXED, Journal, make_project, run_to_end
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

SUITE = """\
echo 'ok 1 - something else'
sleep 0.3
python3 -c 'import calc; assert calc.add(2, 3) == 5' || {{ echo 'not ok 2 - addition'; {end}; }}
echo 'ok 2 - addition'
echo 1..2
"""
PATIENCE = 60.0


class Author:
    """Works once it has heard how the suite ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self.heard, self.began = asyncio.Event(), "", False
        run, waits = ProcessSandbox.run, [True]

        async def hold(sandbox: Any, argv: Sequence[str], *, workspace: Workspace, **more: Any) -> CommandResult:
            first = "baseline" in workspace.root.name and bool(waits)
            waits[:] = [] if first else waits
            finished = await run(sandbox, argv, workspace=workspace, **more)
            if first:
                await asyncio.wait_for(self.asked.wait(), PATIENCE)
            return finished

        monkeypatch.setattr(ProcessSandbox, "run", hold)
        monkeypatch.setattr(run_loop, "AHEAD", 0.0)

    def __call__(self, prompt: Prompt) -> Answer:
        self.asked.set()
        said = [message.text for message in prompt.messages if isinstance(message, UserMessage)]
        self.heard = next((text for text in said[1:] if "as they were" in text), "")
        if not self.heard:
            return call("bash", command=f"sleep 0.2; echo {len(prompt.messages)}")
        self.began, began = True, self.began
        return call("done", summary="added") if began else call("write", path="calc.py", content=FIXED)


def play(folder: Path, author: Author, end: str, suite: str = SUITE) -> tuple[Any, Journal]:
    root = make_project(folder / "project")
    (root / "suite.sh").write_text(suite.format(end=end))
    return run_to_end(root, author, check="sh suite.sh")


def test_the_agent_begins_while_the_suite_runs_and_hears_its_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    author = Author(monkeypatch)
    outcome, journal = play(tmp_path, author, "echo 1..2; exit 1")
    assert outcome.completed, outcome.summary
    assert "Before your work it fails with exit status 1 (1 test fails, 1 pass)" in author.heard
    kinds = [type(record.event) for record in journal.records]
    assert kinds.index(e.RoundStarted) < kinds.index(e.BaseChecked) < kinds.index(e.CheckFinished)
    (base,) = journal.of(e.BaseChecked)
    assert (base.failed, base.passed) == (1, 1)


def test_what_a_long_suite_lacks_at_its_end_halts_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, journal = play(tmp_path, Author(monkeypatch), "no_such_linter; exit 127")
    (halt,) = journal.of(e.RunHalted)
    assert outcome.exit_status == 2 and halt.reason == "environment", outcome.summary
    assert "no_such_linter" in halt.message and not journal.of(e.CheckFinished)


def test_what_cannot_run_is_found_before_any_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    author = Author(monkeypatch)
    author.asked.set()
    _, journal = play(tmp_path, author, "", "echo building; no_such_compiler\n")
    assert journal.of(e.RunHalted)[0].reason == "environment" and not journal.of(e.RoundStarted)
