"""What the person lets a run do: commands they want to see first, and what commands reach."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough import app
from bough.core import events as e
from bough.core.errors import Refused
from bough.testing import ScriptedModel, call
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


def test_a_resumed_run_reaches_what_the_person_opened_for_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    refused = Refused("no such model", 404)

    async def go_on(choices: app.Choices) -> tuple[str, str]:
        async with app.session(project, choices=choices) as session:
            name = await session.find(None)
            opened = await session.as_begun(name, choices)
            model = replace(choices, model=ScriptedModel([refused]))
            await opened.resume(name, model, app.Watch())
            return opened.network.mode, session.network.mode

    outcome, _ = carry_out(project, [refused], choices=app.Choices(network="registries"))
    assert not outcome.completed
    assert asyncio.run(go_on(app.Choices())) == ("allow", "off")
    assert asyncio.run(go_on(app.Choices(network="off"))) == ("off", "off")
    assert asyncio.run(go_on(app.Choices())) == ("off", "off")  # the last word counts
