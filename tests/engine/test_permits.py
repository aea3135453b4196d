"""What the person lets a run do: commands they want to see first, and what commands reach."""

import asyncio
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import bough
from bough import app
from bough.app import run_ports
from bough.core import events as e
from bough.core.errors import RequestRefused, UsageError
from bough.services import run_messages
from bough.testing import ScriptedModel, call
from tests.harness import journal_of, make_project, run_to_end
from tests.sampling import sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

FIX = call("edit", path="calc.py", old="a - b", new="a + b")
PUSH = call("bash", command="echo git push > pushed.txt")
DONE = call("done", summary="add adds")


@pytest.mark.parametrize("answer", ["y", None])
def test_the_model_is_told_what_the_person_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    monkeypatch.setenv("BOUGH_APPROVE_COMMANDS", "git push")
    monkeypatch.setenv("BOUGH_APPROVE_WAIT", "0")

    async def permit(line: str, task: str) -> str | None:
        assert (line, task) == ("echo git push > pushed.txt", "goal")
        return answer

    watch = app.RunObserver(permit=permit if answer else None)
    outcome, journal = run_to_end(make_project(tmp_path / "p"), [PUSH, FIX, DONE], watch=watch)
    assert outcome.completed  # a no does not end the work
    pushed, *_ = journal.of(e.ToolFinished)
    assert pushed.ok == bool(answer)
    assert ("nobody is there to ask" in pushed.output) == (answer is None)
    assert ("pushed.txt" in outcome.tree[0].files) == bool(answer)


async def ruled_elsewhere(project: Path, allow: bool, say: str) -> None:
    """As the dashboard or `bough approve --command` does, in a session of its own."""
    async with app.open_session(project) as session:
        while not (runs := await session.store.runs()) or not (await session.view(runs[0])).held:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert await run_messages.rule_on_command(session, runs[0], allow, say) == "echo git push > pushed.txt"
        assert not (await session.view(runs[0])).held
        with pytest.raises(UsageError, match="already answered, by"):
            await run_messages.rule_on_command(session, runs[0], allow)


@pytest.mark.parametrize(("allow", "terminal"), sample(product([True, False], repeat=2), 2))
def test_a_command_is_ruled_on_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allow: bool, terminal: bool
) -> None:
    monkeypatch.setenv("BOUGH_APPROVE_COMMANDS", "git push")
    monkeypatch.setenv("BOUGH_APPROVE_WAIT", "120")
    project = make_project(tmp_path / "p")
    taken_back: list[str] = []

    async def never(line: str, task: str) -> str | None:
        try:
            await asyncio.Event().wait()
        finally:
            taken_back.append(line)
        return None

    async def both() -> None:
        (project / ".bough").mkdir(exist_ok=True)
        watch = app.RunObserver(permit=never if terminal else None)
        run = bough.run("Make add add.", dir=project, model=ScriptedModel([PUSH, FIX, DONE]), watch=watch)
        outcome, _ = await asyncio.gather(run, ruled_elsewhere(project, allow, "Never push."))
        assert outcome.completed
        assert ("pushed.txt" in outcome.tree[0].files) == allow

    asyncio.run(both())
    journal = asyncio.run(journal_of(project))
    assert ("they said: Never push." in journal.of(e.ToolFinished)[0].output) == (not allow)
    assert bool(taken_back) == terminal, "the question at the terminal is taken back"


def test_no_answer_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_APPROVE_COMMANDS", "git push")
    monkeypatch.setenv("BOUGH_APPROVE_WAIT", "0.05")
    outcome, journal = run_to_end(make_project(tmp_path / "p"), [PUSH, FIX, DONE])
    assert outcome.completed
    assert "nobody answered" in journal.of(e.ToolFinished)[0].output
    assert [event.by for event in journal.of(e.CommandRuled)] == [""]


def test_a_resumed_run_reaches_what_the_person_opened_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path / "p")
    refused = RequestRefused("no such model", 404)
    outcome, _ = run_to_end(project, [refused], choices=app.Choices(network="registries"))
    assert not outcome.completed
    opened, reached, told = run_ports.open_ports, list[str](), list[str]()

    def note(session: app.Session, *rest: Any) -> Any:
        reached.append(session.network.mode)
        return opened(session, *rest)

    monkeypatch.setattr(run_ports, "open_ports", note)

    async def go_on(choices: app.Choices) -> str:
        async with app.open_session(project, choices=choices) as session:
            model = replace(choices, model=ScriptedModel([refused]))
            await session.resume(await session.find(None), model, app.RunObserver(opened=told.append))
            return session.network.mode

    # In the end the last word counts.
    assert {asyncio.run(go_on(choices)) for choices in (app.Choices(), app.Choices(network="off"), app.Choices())} == {
        "off"
    }
    assert reached == ["allow", "off", "off"]
    assert ["registries" in text for text in told] == [True, False, False], "the first lines say what is mounted"
