"""Limits of time hold while an effect is under way, whatever the clock says."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.testing import ScriptedModel, call
from bough.testing.scripted import Item
from bough.views.run_view import Outcome
from tests.harness import FIXED, make_project, run_to_end
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.wire import Hang, Slow, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

FIX = call("write", path="calc.py", content=FIXED)
DONE = call("done", summary="added")


async def think(prompt: Prompt) -> Answer:
    await asyncio.sleep(600)
    raise AssertionError("nobody ended it")


@in_turn
@pytest.mark.parametrize(
    ("script", "check"),
    [
        ([think], "true"),
        ([call("bash", command="sleep 600")], "true"),
        ([FIX, DONE], "grep -q 'a - b' calc.py || sleep 600"),
    ],
    ids=["model", "tool", "check"],
)
def test_minutes_end_what_is_under_way(tmp_path: Path, script: list[Item], check: str) -> None:
    """It halts with its budget spent, pays for what was cut off, and resumes with more."""
    project = make_project(tmp_path / "p")
    minutes = 0.05 if check == "true" else 0.1
    outcome, journal = run_to_end(project, ScriptedModel(script), check=check, choices=app.Choices(minutes=minutes))
    assert outcome.status == "budget"
    assert f"{minutes} minutes" in journal.of(e.TaskHalted)[-1].message
    assert minutes * 60 * 0.95 <= outcome.spend.seconds < 300

    async def resumed(minutes: float | None) -> Outcome:
        async with app.open_session(project) as session:
            model = ScriptedModel(lambda prompt: DONE if "calc.py" in str(prompt.messages.since(1)) else FIX)
            return await session.resume(outcome.run, app.Choices(model=model, minutes=minutes), app.RunObserver())

    again = asyncio.run(resumed(None))
    assert again.status == "budget", "what was cut off is paid for"
    if check == "true":
        assert asyncio.run(resumed(5.0)).status == "completed"


def test_minutes_end_the_check_of_the_base(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = run_to_end(project, ScriptedModel([]), check="sleep 600", choices=app.Choices(minutes=0.02))
    assert outcome.status == "budget"
    assert "0.02 minutes was spent before the base check finished" in journal.of(e.RunHalted)[-1].message


def test_minutes_end_the_question_how_the_project_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came before any task, and no limit but that of a call ended it."""
    monkeypatch.setenv("BOUGH_CHECK_SCOUT", "true")
    project = tmp_path / "p"
    project.mkdir()
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (project / name).write_text("x\n")
    outcome, journal = run_to_end(project, ScriptedModel([think]), check=None, choices=app.Choices(minutes=0.02))
    assert outcome.status == "budget"
    assert "0.02 minutes was spent before a model said how" in journal.of(e.RunHalted)[-1].message


def test_work_time_is_not_the_clocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path / "p")
    real = time.time

    def jump(prompt: Prompt) -> Answer:
        monkeypatch.setattr("time.time", lambda: real() + 3_600 * len(prompt.messages))
        return DONE if len(prompt.messages) > 1 else FIX

    outcome, _ = run_to_end(project, ScriptedModel(jump), choices=app.Choices(minutes=10))
    assert outcome.status == "completed"
    assert outcome.spend.seconds < 60


# ── one call ────────────────────────────────────────────────────────────────────────────────────────────────────


def asked(project: Path, script: list[Answer | Slow | Hang], settings: str) -> Outcome:
    (project / "bough.toml").write_text(f"[limits]\nbackoff_first = 0.01\nmax_transport_failures = 1\n{settings}")
    with WireModel(script) as wire:
        return run_to_end(project, [], choices=app.Choices(model="openai:m", base_url=wire.base_url))[0]


def test_an_answer_that_never_ends_is_given_up(tmp_path: Path) -> None:
    """A byte now and then keeps the silence from counting; the call as a whole has a limit of its own."""
    project = make_project(tmp_path / "p")
    endless = Slow(Answer("on and on " * 2_000), 0.05)
    outcome = asked(project, [endless], "model_timeout = 1\nmodel_longest = 1.5\n")
    assert outcome.status == "unavailable"
    assert 1 <= outcome.spend.seconds < 20
    assert outcome.spend.tokens_out > 0, "what had come is counted"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: "


@contextmanager
def drip(first: bytes, drop: bytes) -> Iterator[str]:
    """An endpoint that answers every request with these bytes, and then a few more for ever."""
    ending, server = threading.Event(), socket.create_server(("127.0.0.1", 0))

    def answer(link: socket.socket) -> None:
        with suppress(OSError), link:
            link.recv(65536)
            link.sendall(first)
            while not ending.wait(0.05):
                link.sendall(drop)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    finally:
        ending.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@in_turn
@pytest.mark.parametrize(
    ("first", "drop"),
    sample(
        [
            (HEAD + b"text/event-stream\r\n\r\n", b": still here\n\n"),
            (HEAD + b"text/event-stream\r\n\r\n", b"data: {}\n\n"),
            (HEAD + b"text/event-stream\r\n\r\ndata: ", b"x"),
            (HEAD + b"application/json\r\n\r\n{", b" "),
            (HEAD + b"text/event-stream\r\n\r\n", b"\n"),
            (HEAD + b"application/json\r\nX-Long: ", b"x"),
            (b"HTTP/1.1 503 Busy\r\n\r\n", b"x"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ],
        4,
    ),
    ids=sample(["comments", "events", "one event", "JSON", "empty lines", "headers", "an error", "informational"], 4),
)
def test_minutes_end_an_endpoint_that_drips(tmp_path: Path, first: bytes, drop: bytes) -> None:
    project = make_project(tmp_path / "p")
    with drip(first, drop) as url:
        chosen = app.Choices(model="openai:m", base_url=url, minutes=0.05, protocol="tools")
        outcome, journal = run_to_end(project, [], check="true", choices=chosen)
    assert outcome.status == "budget", journal.of(e.TaskHalted)
    assert outcome.spend.seconds < 6, "nothing but what was under way when the time was up"


@in_turn
def test_a_slow_first_byte_is_not_silence(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    slow = Slow(FIX, 1.5)
    outcome = asked(project, [slow, DONE], "model_timeout = 1\nmodel_longest = 60\n")
    assert outcome.status == "unavailable", "between two bytes it is"
    outcome = asked(project, [Hang()], "model_timeout = 1\nmodel_longest = 1\n")
    assert outcome.status == "unavailable"
    assert outcome.spend.seconds >= 0.9
