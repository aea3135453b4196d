"""Recordings: written durably, replayed by the name of the call, and never a place for a key."""

import asyncio
import json
from pathlib import Path

import pytest

from bough.adapters.models.recording import (
    RecordedAnswer,
    RecordingModel,
    ReplayModel,
    read_recording,
)
from bough.core.conversation.persistent_list import PersistentList
from bough.core.errors import RequestRefused, TransientError, UsageError
from bough.core.messages import Answer, Call, ModelMessage, Prompt, ToolSpec, Usage, UserMessage
from bough.ports import Model
from bough.testing.scripted import ScriptedModel, call, say
from tests.wire import KEY

ANSWERS = [
    Answer(
        "Hello.", (Call("c1", "read", '{"path": "ü"}', '{"x": 1}'),), "calls", Usage(5, 6, 1, 2), 0.25, "m", '{"y": 2}'
    ),
    Answer("Again."),
    Answer("Bye.", model="m"),
]


def prompt(key: str, text: str = "Begin.") -> Prompt:
    return Prompt(key, "system", PersistentList((UserMessage(text),)), (ToolSpec("read", "", {}, False),))


def ask(model: Model, *keys: str) -> list[Answer]:
    async def go() -> list[Answer]:
        try:
            return [await model.ask(prompt(key), lambda text: None) for key in keys]
        finally:
            await model.close()

    return asyncio.run(go())


def record(path: Path, answers: list[Answer], *keys: str) -> list[Answer]:
    return ask(RecordingModel(ScriptedModel(answers, "openai:m"), path, "made for a test"), *keys)


def test_a_recording_replays_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.jsonl"
    said = record(path, ANSWERS, "goal#1#1", "goal#1#2", "goal#2#1")
    model = ReplayModel(path)
    assert model.name == f"replay:{path}"
    assert ask(model, "goal#2#1", "goal#1#1", "goal#1#2") == [said[2], said[0], said[1]]


def test_the_file_is_a_header_and_one_line_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ANSWERS[:2], "goal#1#1", "goal#1#2")
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert header == {"bough-recording": 1, "model": "openai:m", "note": "made for a test"}
    assert [line["key"] for line in lines] == ["goal#1#1", "goal#1#2"]
    assert set(lines[0]) == {"key", "model", "answer", "seconds", "prompt"}


def test_several_answers_of_one_call_come_in_order_and_none_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ANSWERS[:2], "goal#1#1", "goal#1#1")
    model = ReplayModel(path)
    assert [answer.text for answer in ask_open(model, "goal#1#1", "goal#1#1")] == ["Hello.", "Again."]
    with pytest.raises(RequestRefused, match="no further answer for the call goal#1#1"):
        ask(model, "goal#1#1")


def ask_open(model: Model, *keys: str) -> list[Answer]:
    async def go() -> list[Answer]:
        return [await model.ask(prompt(key), lambda text: None) for key in keys]

    return asyncio.run(go())


def test_a_call_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ANSWERS[:1], "goal#1#1")
    with pytest.raises(
        RequestRefused, match=r"no answer for the call other#1#1: it belongs to another goal or .* version"
    ):
        ask(ReplayModel(path), "other#1#1")


def test_a_rewound_run_finds_its_answers_under_other_numbers(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path, [*ANSWERS, Answer("Plan.")], "goal#1#1", "goal#1#2", "part#1#1", "goal#planner#3")
    heard = ask(ReplayModel(path), "goal#3#1", "goal#2#2", "goal#planner#9")
    assert [answer.text for answer in heard] == ["Hello.", "Again.", "Plan."]
    # A run whose model had to be tried first was one question further when it was recorded.
    assert ask(ReplayModel(path), "goal#planner#2")[0].text == "Plan."
    for key in ("goal#0#1", "goal#1#3", "part#planner#2", "other#2#1"):
        with pytest.raises(RequestRefused, match="has no answer"):
            ask(ReplayModel(path), key)


def test_failures_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    async def go() -> None:
        model = RecordingModel(ScriptedModel([TransientError("busy"), say("ok")], "openai:m"), path)
        with pytest.raises(TransientError):
            await model.ask(prompt("goal#1#1"), lambda text: None)
        await model.ask(prompt("goal#1#1"), lambda text: None)

    asyncio.run(go())
    assert [line.answer.text for line in read_recording(path)[1]] == ["ok"]


def test_a_recording_continues_after_a_crash_in_mid_write(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ANSWERS[:1], "goal#1#1")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "goal#1#2", "ans')
    assert [line.key for line in read_recording(path)[1]] == ["goal#1#1"]
    record(path, ANSWERS[1:2], "goal#1#2")
    assert path.read_bytes().startswith(whole)
    assert [line.key for line in read_recording(path)[1]] == ["goal#1#1", "goal#1#2"]


def test_another_file_is_never_written_to(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(UsageError, match="not a recording"):
        RecordingModel(ScriptedModel([]), path)
    assert path.read_text() == "my notes"
    with pytest.raises(UsageError, match="cannot be written"):
        RecordingModel(ScriptedModel([]), path / "below" / "run.jsonl")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a header"),
        (b"hello\n", "not a header"),
        (b'{"bough-recording": 2, "model": "m"}\n', "newer bough"),
        (b'{"bough-recording": 1, "model": "m"}\nnonsense\n', "Line 2"),
        (b'{"bough-recording": 1, "model": "m"}\n\xff\xfe\n', "Line 2"),
    ],
)
def test_a_file_that_is_not_a_recording(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=complaint):
        ReplayModel(path)


def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        ReplayModel(tmp_path / "none.jsonl")


def test_secrets_are_struck_out(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    odd = 'quoted"and\\slashed-secret'
    said = [call("bash", command=f"echo {KEY}"), say(f"It is {KEY}, or {odd}.")]

    async def go() -> list[Answer]:
        model = RecordingModel(ScriptedModel(said, "openai:m"), path, secrets=[KEY, odd])
        return [await model.ask(prompt(f"goal#1#{n}"), lambda text: None) for n in (1, 2)]

    assert KEY in asyncio.run(go())[1].text
    assert KEY not in path.read_text() and "slashed-secret" not in path.read_text()
    assert read_recording(path)[1][1].answer.text == "It is [struck out], or [struck out]."


def test_agents_at_once_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    async def go() -> None:
        models = [RecordingModel(ScriptedModel(lambda p: say(p.key * 5000), name), path) for name in ("a:m", "b:m")]
        await asyncio.gather(*(models[n % 2].ask(prompt(f"task{n}#1#1"), lambda text: None) for n in range(40)))

    asyncio.run(go())
    header, lines = read_recording(path)
    assert header.model == "a:m" and len(lines) == 40
    assert all(line.answer.text == line.key * 5000 for line in lines)
    assert {line.model for line in lines} == {"a:m", "b:m"}


def test_pace_makes_an_answer_look_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    text = "A sentence that comes in pieces."
    record(path, [say(text), say("")], "a", "b")
    content = path.read_text().replace('"seconds":0.0', '"seconds":100.0')
    path.write_text(content)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("bough.adapters.models.recording.asyncio.sleep", sleep)
    pieces: list[str] = []

    async def go(pace: float) -> None:
        model = ReplayModel(path, pace)
        await model.ask(prompt("a"), pieces.append)
        await model.ask(prompt("b"), pieces.append)

    asyncio.run(go(0.5))
    assert "".join(pieces) == text and len(pieces) > 5
    assert sum(slept) == pytest.approx(1.2)
    slept.clear()
    pieces.clear()
    asyncio.run(go(0.0))
    assert pieces == [text] and not slept


def test_prompts_are_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    asked = Prompt("k", "a secret system", PersistentList((UserMessage("a secret brief"), ModelMessage("x"))), ())

    async def go() -> None:
        await RecordingModel(ScriptedModel([say("ok")], "openai:m"), path).ask(asked, lambda text: None)

    asyncio.run(go())
    assert "secret" not in path.read_text()
    assert isinstance(read_recording(path)[1][0], RecordedAnswer)
