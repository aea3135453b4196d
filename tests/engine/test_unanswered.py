"""Calls that no answer came of, and answers that nobody counted: what they cost, and what they do not."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Usage
from bough.testing import call
from bough.views.event_lines import EventFormatter
from bough.views.formatting import format_spend
from bough.views.run_view import Outcome
from tests.harness import FIXED, Journal, journal_of, make_project, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import Cut, Reply, Status, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

REFUSED = Status(401, body={"error": {"message": "wrong key"}})
FIX = call("write", path="calc.py", content=FIXED)
DONE = call("done", summary="added")


def resumed(project: Path, wire: WireModel, **chosen: int) -> Outcome:
    async def work() -> Outcome:
        async with app.open_session(project) as session:
            choices = app.Choices(model="openai:m", base_url=wire.base_url, **chosen)  # type: ignore[arg-type]
            return await session.resume(await session.find(None), choices, app.RunObserver())

    return asyncio.run(work())


def carried_out(project: Path, script: list[Reply], **chosen: int) -> tuple[Outcome, Journal]:
    with WireModel(script) as wire:
        choices = app.Choices(model="openai:m", base_url=wire.base_url, **chosen)  # type: ignore[arg-type]
        return run_to_end(project, [], choices=choices)


@in_turn
def test_a_wrong_key_does_not_spend_the_budget(tmp_path: Path) -> None:
    """However often it is tried: repaired, the run has all of its rounds."""
    project = make_project(tmp_path / "p")
    outcome, _ = carried_out(project, [REFUSED], rounds=3)
    assert (outcome.status, outcome.spend.rounds) == ("unavailable", 1)
    for _ in range(3):
        with WireModel([REFUSED]) as wire:
            outcome = resumed(project, wire)
            assert (outcome.status, outcome.spend.rounds) == ("unavailable", 1)
    with WireModel([FIX, DONE]) as wire:
        outcome = resumed(project, wire)
    assert (outcome.status, outcome.spend.rounds) == ("completed", 2)


def silent(answer: Answer) -> Answer:
    return replace(answer, usage=Usage())


def test_uncounted_tokens_are_estimated_and_marked_as_such(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = carried_out(project, [silent(FIX), silent(DONE)])
    assert outcome.status == "completed"
    assert outcome.spend.estimated == 2
    assert outcome.spend.tokens_in > 2_000, "the system prompt, the brief and the tools are more than that"
    assert outcome.spend.tokens_out > 10
    assert " · about " in format_spend(outcome.spend)
    teller = EventFormatter()
    told = [teller.tell(record)[0] for record in journal.records]
    assert any("(about " in line for line in told)


def test_a_token_limit_holds_for_estimated_tokens(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    looks: list[Reply] = [silent(call("bash", command=f"echo {n}")) for n in range(1, 34)]
    outcome, journal = carried_out(project, looks, tokens=20_000)
    assert outcome.status == "budget"
    assert len(journal.of(e.ModelAnswered)) < 12


@in_turn
def test_an_answer_that_broke_off_is_counted(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text("[limits]\nbackoff_first = 0.01\nbackoff_longest = 0.01\n")
    long = Answer("thinking " * 2_000, FIX.calls, "calls", Usage(500, 2_000))
    outcome, _ = carried_out(project, [Cut(long, 30_000), FIX, DONE])
    assert outcome.status == "completed"
    (failed,) = asyncio.run(journal_of(project)).of(e.ModelFailed)
    assert failed.usage.estimated
    assert failed.usage.output > 200
    assert failed.usage.input > 1_000
    assert outcome.spend.tokens > failed.usage.input + failed.usage.output
    assert outcome.spend.rounds == 2
