"""A command that the person wants to see first, in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.testing import call
from tests.harness import carry_out, make_project

FIX = call("edit", path="calc.py", old="a - b", new="a + b")
PUSH = call("bash", command="echo git push > pushed.txt")
DONE = call("done", summary="add adds")


@pytest.mark.parametrize("answer", ["y", None])
def test_the_model_is_told_what_the_person_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    monkeypatch.setenv("BOUGH_APPROVE_COMMANDS", "git push")

    async def permit(line: str) -> str | None:
        assert line == "echo git push > pushed.txt"
        return answer

    watch = app.Watch(permit=permit if answer else None)
    outcome, journal = carry_out(make_project(tmp_path / "p"), [PUSH, FIX, DONE], watch=watch)
    assert outcome.completed  # a no does not end the work
    pushed, *_ = journal.of(e.ToolFinished)
    assert pushed.ok == bool(answer)
    assert ("nobody is there to ask" in pushed.output) == (answer is None)
    assert ("pushed.txt" in outcome.tree[0].files) == bool(answer)
