"""Waiting for a model is visible, and never in vain: no server, a transport error, an exhausted quota."""

import asyncio
import time
from pathlib import Path

import pytest

from bough import app
from bough.adapters.models.admission import Gate, PacedModel
from bough.adapters.models.faults import Endpoint, explain_status
from bough.adapters.models.pace import Pace
from bough.app import RunObserver
from bough.core import events as e
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import QuotaExhausted, RequestRefused, TransientError
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import build_goal_step
from bough.interfaces.cli.execution import JsonDisplay, retry_on_quota
from bough.ports.steering import Stop
from bough.testing import ScriptedModel, call
from tests.harness import FIXED, QUICK_CHECK, journal_of, make_project, run_to_end
from tests.interfaces.shell import bough
from tests.shipped import AGENT_ONLY

FIX, DONE = call("write", path="calc.py", content=FIXED), call("done", summary="fixed")


def refused_connection() -> TransientError:
    error = TransientError("Nothing answers there.")
    error.nobody = True
    return error


def paced(*answers: Answer | TransientError) -> PacedModel:
    return PacedModel(ScriptedModel(list(answers)), Gate("model.example", Pace(first=0.0)), Stop())


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_missing_server_is_reported_at_once_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "slow.sh").write_text("sleep 600\n")
    said = bough(  # It does not even run the check first, which would take longer than a test may.
        project, "run", "x", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--check", "sh slow.sh"
    )
    assert said.status == 7
    assert "Nothing answers at 127.0.0.1:9 for openai:m" in said.out and "bough resume" in said.out
    assert [type(event).__name__ for event in asyncio.run(journal_of(project)).of(e.Event)] == [
        "RunStarted",
        "RunHalted",
    ]


def test_only_the_first_connection_counts() -> None:
    prompt = Prompt("k", "", PersistentList(()), ())

    async def ask(model: PacedModel) -> None:
        await model.ask(prompt, lambda text: None)

    async def work() -> None:
        with pytest.raises(RequestRefused, match="Nothing answers"):
            await ask(paced(refused_connection()))
        for sign_of_life in (DONE, TransientError("503")):
            model = paced(sign_of_life, refused_connection())
            for _ in range(2):
                try:
                    await ask(model)
                except TransientError as error:
                    last = error
            assert last.nobody, "worth another try"

    asyncio.run(work())


AT = Endpoint("anthropic:m", "https://api.example", "k" * 20, "K")


@pytest.mark.parametrize("header", ["retry-after", "anthropic-ratelimit-unified-reset", "x-ratelimit-reset"])
def test_a_quota_names_its_end(header: str) -> None:
    until = int(time.time()) + 18_000
    values = {"retry-after": 18_000, "anthropic-ratelimit-unified-reset": until, "x-ratelimit-reset": until * 1000}
    error = explain_status(AT, 429, {header: str(values[header])}, b'{"error": {"message": "usage limit"}}')
    assert isinstance(error, QuotaExhausted) and "usage limit" in str(error)
    assert error.until == pytest.approx(until, abs=60)
    soon = explain_status(AT, 429, {"retry-after": "30"}, b"")
    assert isinstance(soon, TransientError) and soon.retry_after == 30


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_run_without_quota_waits_and_resumes_on_its_own(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    until = time.time() + 3600
    parked, journal = run_to_end(
        project, [FIX, QuotaExhausted("The quota is used up.", until)], choices=app.Choices(flat=True)
    )
    assert (parked.status, parked.exit_status, parked.until) == ("quota", 7, until)
    assert journal.of(e.RunHalted)[-1].until == until

    async def work() -> None:
        choices = app.Choices(
            model=ScriptedModel([FIX, QuotaExhausted("The quota is used up.", time.time() + 0.2), DONE]),
            flat=True,
            wait_for_quota=True,
        )
        async with app.open_session(project) as session:
            step = build_goal_step("Make add add.", check=QUICK_CHECK)
            patient = retry_on_quota(session, JsonDisplay(), choices, lambda watch: session.start(step, choices, watch))
            outcome = await patient(RunObserver())
            assert outcome.completed, outcome.summary
            kinds = [type(r.event).__name__ for r in await session.store.read(outcome.run, "")]
            assert kinds[-3:] == ["RunHalted", "RunResumed", "RunFinished"]

    asyncio.run(work())
