"""What the verdict costs: the commands that it runs, counted where all of them start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.sandboxes.process import ProcessSandbox
from bough.ports import Finished, Workspace
from tests.verification.cases import Act, Case, play, python_on_path, verdict_of

__all__ = ["python_on_path"]

MORE = Act(edit="test_calc.py", old="assert add(2, 3) == 5", new="assert add(2, 3) == 5\n    assert add(1, 1) == 2")
DEADLOCK = 60.0


class Commands:
    """The commands that a run starts, by where they run. `beside`: the check ends only after another one began."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, beside: bool = False) -> None:
        self.started: list[str] = []
        self.waited = False
        asked = asyncio.Event()
        run = ProcessSandbox.run

        async def counted(sandbox: Any, argv: Sequence[str], *, workspace: Workspace, **more: Any) -> Finished:
            apart = "baseline" in workspace.root.name
            self.started.append("fresh checkout" if apart else "workspace")
            if self.started.count("fresh checkout") == 2:
                asked.set()
            finished = await run(sandbox, argv, workspace=workspace, **more)
            if beside and not apart:
                await asyncio.wait_for(asked.wait(), DEADLOCK)
                self.waited = True
            return finished

        monkeypatch.setattr(ProcessSandbox, "run", counted)


def test_an_unchanged_test_side_costs_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands(monkeypatch)
    outcome, _ = play(Case(name="", does=["fix"]), tmp_path)
    assert outcome.completed
    assert sorted(commands.started) == ["fresh checkout", "workspace"], "the check at the base, and the check"


def test_a_changed_test_side_costs_one_more_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    commands = Commands(monkeypatch, beside=True)
    outcome, _ = play(Case(name="", does=["fix", MORE]), tmp_path)
    assert outcome.completed
    assert commands.waited, "the original tests were under way when the check ended"
    assert commands.started.count("workspace") == 1
    assert commands.started.count("fresh checkout") == 3, "the base, the original tests, and the canary"
    assert verdict_of(outcome).changed == ("test_calc.py",)
