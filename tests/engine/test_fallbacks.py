"""A chain of models: the next one answers while the one before it is unavailable. Nothing is lost or asked twice."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bough import app
from bough.adapters.models.capabilities import KnownProtocols
from bough.adapters.state_folder import find_state_folder
from bough.app.run_models import MEMORY
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.messages import Answer, Usage
from bough.interfaces.terminal.run_tree import render_heading
from bough.testing import ScriptedModel, call
from bough.views.event_lines import EventFormatter
from bough.views.run_view import Outcome, RunView
from tests.harness import FIXED, Journal, journal_of, make_project, run_to_end
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.spend import assert_spend
from tests.wire import Cut, Hang, Reply, Status, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LOOK = replace(call("read", path="calc.py"), usage=Usage(100, 10))
FIX = replace(call("write", path="calc.py", content=FIXED), usage=Usage(200, 20))
DONE = replace(call("done", summary="added"), usage=Usage(300, 30))
GONE = Status(404, body={"error": {"code": "model_not_found", "message": "no such model"}})
FAULTS: dict[str, list[Reply]] = {
    "overloaded": [Status(503)] * 3,
    "busy": [Status(429)] * 3,
    "quota": [Status(429, {"retry-after": "7200"})],
    "credit": [Status(402, body={"error": {"message": "no credit"}})],
    "gone": [GONE],
    "cut": [Cut(replace(FIX, text="I think. " * 2000), 30_000)] * 3,
    "silent": [Hang()] * 3,
}


@pytest.fixture(autouse=True)
def _no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_LIMITS_BACKOFF_FIRST", "0.01")
    monkeypatch.setenv("BOUGH_LIMITS_MODEL_TIMEOUT", "0.5")
    monkeypatch.setenv("BOUGH_LIMITS_MODEL_LONGEST", "1.5")


def chained(project: Path, first: WireModel, second: WireModel, **chosen: Any) -> tuple[Outcome, Journal]:
    names = {"model": f"openai:a@{first.base_url}", "fallback_model": (f"openai:b@{second.base_url}",)}
    goal = "Make add in calc.py add, so that test_calc.py passes."
    return run_to_end(project, [], goal=goal, choices=app.Choices(**(names | chosen)))


def list_switches(journal: Journal) -> list[tuple[str, str]]:
    return [(event.to, event.model) for event in journal.of(e.ModelSwitched)]


@in_turn
@pytest.mark.parametrize("fault", sample(FAULTS, 3))
def test_the_next_model_goes_on_in_the_same_round(tmp_path: Path, fault: str) -> None:
    with WireModel([LOOK, *FAULTS[fault]]) as first, WireModel([FIX, DONE]) as second:
        outcome, journal = chained(make_project(tmp_path / "p"), first, second)
    assert outcome.completed and outcome.spend.rounds == 3, "no round is lost"
    assert list_switches(journal) == [("main+1", "openai:b"), ("main", "openai:a")]
    told = second.requests[0].json["messages"]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "tool"]
    assert len(second.requests) == 2, "its answer is used, and not asked for twice"
    assert_spend(journal.records)
    broken = sum(event.usage.input + event.usage.output for event in journal.of(e.ModelFailed))
    assert outcome.spend.tokens == 660 + broken and (broken > 0) == (fault == "cut")


def test_a_dead_server_is_left_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with WireModel([FIX, DONE]) as second:
        names = {"model": f"openai:a@http://127.0.0.1:{port}/v1", "fallback_model": (f"openai:b@{second.base_url}",)}
        outcome, journal = run_to_end(make_project(tmp_path / "p"), [], choices=app.Choices(**names))  # type: ignore[arg-type]
    assert outcome.completed and outcome.spend.rounds == 2
    assert [event.wait for event in journal.of(e.ModelFailed)] == [0.0]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_bad_request_or_a_wrong_key_is_said_and_not_hidden(tmp_path: Path, status: int) -> None:
    with WireModel([LOOK, Status(status)]) as first, WireModel([]) as second:
        outcome, journal = chained(make_project(tmp_path / "p"), first, second)
    assert (outcome.status, outcome.exit_status) == ("unavailable", 7) and str(status) in outcome.summary
    assert not second.requests and list_switches(journal) == []


def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    refused = Answer("I cannot help with that.", stop="refusal", usage=Usage(10, 1))
    with WireModel([refused, FIX, DONE]) as first, WireModel([]) as second:
        outcome, _ = chained(make_project(tmp_path / "p"), first, second)
    assert outcome.completed and not second.requests


def resumed(project: Path, **chosen: Any) -> Outcome:
    async def work() -> Outcome:
        async with app.open_session(project) as session:
            return await session.resume(await session.find(None), app.Choices(**chosen), app.RunObserver())

    return asyncio.run(work())


def test_all_down_is_as_without_a_chain_and_a_resumed_run_begins_with_the_first(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    with WireModel([LOOK, GONE, FIX, DONE]) as first, WireModel([GONE]) as second:
        outcome, _ = chained(project, first, second)
        assert (outcome.status, outcome.exit_status) == ("unavailable", 7) and "openai:b" in outcome.summary
        outcome = resumed(project)
    assert outcome.completed and outcome.spend.rounds == 3 and len(second.requests) == 1


def test_a_quota_is_waited_for_when_the_rest_is_down(tmp_path: Path) -> None:
    quota = Status(429, {"retry-after": "7200"})
    with WireModel([LOOK, quota]) as first, WireModel([GONE]) as second:
        outcome, _ = chained(make_project(tmp_path / "p"), first, second)
    assert outcome.status == "quota" and 7000 < outcome.until - time.time() < 7300


def test_each_tier_has_its_own_chain_and_each_helper_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "false")
    gate = replace(call("estimate", atomic=True, steps=1, reason="small"), usage=Usage(50, 5))
    project = make_project(tmp_path / "p")
    with WireModel([GONE]) as fast, WireModel([gate]) as next_, WireModel([FIX, DONE]) as main:
        configured = tmp_path / "config" / "bough" / "config.toml"
        configured.parent.mkdir(parents=True)
        configured.write_text(f'[models]\nfallback = {{ fast = ["openai:b@{next_.base_url}"] }}\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        names = {"model": f"openai:a@{main.base_url}", "fast_model": f"openai:f@{fast.base_url}"}
        outcome, journal = run_to_end(project, [], choices=app.Choices(**names))  # type: ignore[arg-type]
    assert outcome.completed
    assert list_switches(journal) == [("fast+1", "openai:b"), ("fast", "openai:f")]
    assert [event.helper for event in journal.of(e.HelperAnswered)] == ["gate"] and len(next_.requests) == 1
    assert_spend(journal.records)


def test_a_model_without_tools_takes_over_with_a_fresh_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_MODELS_PROTOCOL", "auto")
    written = Answer(f"Here it is:\n\n```python\n{FIXED}```", usage=Usage(70, 7))
    with WireModel([LOOK, GONE]) as first, WireModel([written]) as second:
        places = {"openai:a": first.base_url, "openai:b": second.base_url}
        known = KnownProtocols(find_state_folder(os.environ) / MEMORY, {}, {}, places)
        known.learn("openai:a", "tools", "a test")
        known.learn("openai:b", "text", "a test")
        outcome, journal = chained(make_project(tmp_path / "p"), first, second)
    assert outcome.completed and outcome.spend.rounds == 2, outcome.summary
    assert [event.protocol for event in journal.of(e.AttemptStarted)] == ["tools", "text"]
    assert_spend(journal.records)


class WindowedModel(ScriptedModel):
    def __init__(self, name: str, script: list[Any], window: int) -> None:
        super().__init__(script)
        self.name, self.window = name, window


def test_a_conversation_that_is_too_long_for_the_next_model_is_compacted_first(tmp_path: Path) -> None:
    from bough.core.errors import NotServed

    project = make_project(tmp_path / "p")
    (project / "long.txt").write_text("".join(f"line {n} of many\n" for n in range(3000)))
    read = replace(call("read", path="long.txt"), usage=Usage(60_000, 10))
    small = WindowedModel("small", [FIX, DONE], 24_000)
    large = WindowedModel("large", [read, read, read, NotServed("it is gone")], 200_000)
    fast = WindowedModel("fast", [Answer("## Key decisions\n- none", usage=Usage(10, 1))] * 9, 200_000)
    choices = app.Choices(model=large, fast_model=fast, fallback_model=(small,))
    outcome, journal = run_to_end(project, large, choices=choices)
    assert outcome.completed, outcome.summary
    kinds = [type(event).__name__ for event in (record.event for record in journal.records)]
    assert (
        kinds.index("ModelSwitched") < kinds.index("Compacted") < kinds.index("ModelAnswered", kinds.index("Compacted"))
    )
    (compacted,) = journal.of(e.Compacted)
    assert compacted.after < 24_000 * 0.8


def test_a_bad_chain_is_refused_before_anything_starts(tmp_path: Path) -> None:
    def refuse(says: str, **chosen: Any) -> None:
        with pytest.raises(UsageError, match=says):
            run_to_end(tmp_path, [], choices=app.Choices(**({"model": "openai:a"} | chosen)))

    make_project(tmp_path)
    here = "http://127.0.0.1:9/v1"
    refuse("has no name", fallback_model=("",))
    refuse("Unknown provider 'opanai'", fallback_model=("opanai:b",), base_url=here)
    refuse("named twice", fallback_model=("openai:b", "openai:b"))
    refuse("named twice", fallback_model=("openai:a",))
    refuse("The price of openai:b is unknown", model="ollama:a", fallback_model=(f"openai:b@{here}",), cost=1.0)


def test_a_repository_s_chain_is_a_wish(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    with WireModel([FIX, DONE]) as second, WireModel([GONE]) as first:
        (project / "bough.toml").write_text('[models]\nfallback = ["openai:b"]\n')
        outcome, journal = run_to_end(project, [], choices=app.Choices(model="openai:a", base_url=first.base_url))
    assert outcome.status == "unavailable" and not second.requests and list_switches(journal) == []


def test_everybody_says_who_answered(tmp_path: Path) -> None:
    with WireModel([GONE]) as first, WireModel([FIX, DONE]) as second:
        outcome, journal = chained(make_project(tmp_path / "p"), first, second)
    view, teller = RunView(outcome.run), EventFormatter()
    lines = []
    for record in journal.records:
        view.see(record)
        lines.append(teller.tell(record)[0])
    assert view.fallbacks == ["openai:b"]
    assert "openai:a then openai:b" in "".join(
        text for line in render_heading(view, "completed") for text, _ in line
    ).replace(f"@{first.base_url}", "")
    assert any(line.startswith("openai:b answers from here on: ") and "(404)" in line for line in lines)


@in_turn
def test_a_killed_run_goes_on_with_the_same_model(tmp_path: Path) -> None:
    """kill -9 while the second model thinks: the first one, which is back by then, is not asked."""
    project = make_project(tmp_path / "p")
    with WireModel([LOOK, GONE, FIX, DONE]) as first, WireModel([Hang(), FIX, DONE]) as second:
        names = ["--model", f"openai:a@{first.base_url}", "--fallback-model", f"openai:b@{second.base_url}"]
        arguments = ["run", "Make add add.", "--dir", str(project), "--check", "python3 -m unittest", *names]
        env = {**os.environ, "BOUGH_LIMITS_MODEL_TIMEOUT": "60", "BOUGH_LIMITS_MODEL_LONGEST": "60"}
        with subprocess.Popen([sys.executable, "-m", "bough", *arguments], env=env) as process:
            deadline = time.monotonic() + 60
            while not second.requests and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
        assert len(second.requests) == 1, "it was killed while the second model was asked"
        outcome = resumed(project)
    journal = asyncio.run(journal_of(project))
    assert outcome.completed and outcome.spend.rounds == 3
    assert len(first.requests) == 2 and len(second.requests) == 3
    assert list_switches(journal) == [("main+1", "openai:b"), ("main", "openai:a")]


@pytest.mark.usefixtures("acceptance_as_shipped")
def test_an_examiner_of_its_own_is_asked_in_place_of_the_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WireModel([FIX, DONE]) as author, WireModel([Answer("No probe.", usage=Usage(40, 4))] * 9) as examiner:
        monkeypatch.setenv("BOUGH_MODELS_EXAMINER", f"openai:e@{examiner.base_url}")
        choices = app.Choices(model=f"openai:a@{author.base_url}")
        _, journal = run_to_end(make_project(tmp_path / "p"), [], choices=choices)
    assert len(author.requests) == 2 and examiner.requests
    assert {request.json["model"] for request in examiner.requests} == {"e"}
    assert {event.helper for event in journal.of(e.HelperAnswered)} == {"examiner"}
    assert_spend(journal.records)
