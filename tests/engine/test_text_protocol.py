"""A model that is spoken to in text ends in the same events, tools and verdicts as one that calls tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bough.core import events as e
from bough.core.messages import Answer, Call, Usage
from bough.core.planning.plan import build_goal_step
from bough.core.tree.task_state import State
from tests.engine.telling import Told, told
from tests.harness import CHECK, FIXED, allow_settings, make_project
from tests.wire import Status

GOOD = Answer(text=f"Here it is:\n\n```python\n{FIXED}```\n", usage=Usage(900, 60))
WRONG = Answer(text="```python\ndef add(a, b):\n    return a * b\n```", usage=Usage(900, 60))
TALK = Answer(text="I will look at calc.py and repair it.", usage=Usage(900, 20))
"""Says what it would do."""
GOAL = "Make add in calc.py add, so that test_calc.py passes."


def in_text(answers: list[Answer], tmp_path: Path, **chosen: Any) -> tuple[Told, list[dict[str, Any]]]:
    """A run whose model gives these answers, the last one again and again; and the requests that it got."""
    asked: list[dict[str, Any]] = []

    def reply(body: dict[str, Any]) -> Answer:
        asked.append(body)
        return answers[min(len(asked), len(answers)) - 1]

    project = tmp_path / "p"
    project = project if project.exists() else make_project(project)
    run = told(project, reply, goal=build_goal_step(GOAL, check=CHECK), **chosen)
    return run, asked


def test_a_file_in_a_block_is_written_checked_and_proven(tmp_path: Path) -> None:
    run, asked = in_text([GOOD], tmp_path, protocol="text")
    assert run.outcome.completed, run.outcome.summary
    assert len(asked) == 1 and "tools" not in asked[0]
    (answered,) = run.journal.of(e.ModelAnswered)
    assert [call.name for call in answered.calls] == ["write", "done"]
    assert [event.ok for event in run.journal.of(e.ToolFinished)] == [True, True]
    (checked,) = run.journal.of(e.CheckFinished)
    assert checked.verdict.ruling == "passed"


def test_the_prompt_is_short_and_shows_what_matters(tmp_path: Path) -> None:
    _, asked = in_text([GOOD], tmp_path, protocol="text")
    system, user = (message["content"] for message in asked[0]["messages"])
    assert "return a - b" in user and "def test_add" in user and GOAL in user
    files = user[user.index("## Files") : user.index("## The check")]
    # About four characters are a token of English.
    assert (len(system) + len(user) - len(files)) / 4 < 900


def test_what_fails_comes_back_with_the_file_as_it_is(tmp_path: Path) -> None:
    run, asked = in_text([WRONG, GOOD], tmp_path, protocol="text")
    assert run.outcome.completed
    assert [message["role"] for message in asked[1]["messages"]] == ["system", "user"]
    assert "return a * b" in asked[1]["messages"][1]["content"]
    assert "6 != 5" in asked[1]["messages"][1]["content"]
    assert [event.role for event in run.journal.of(e.AttemptStarted)] == ["builder", "bug_hunter"]


def test_a_command_is_run_and_its_output_told(tmp_path: Path) -> None:
    look = Answer(text="```bash\ncat calc.py; echo looked\n```", usage=Usage(900, 20))
    run, asked = in_text([look, GOOD], tmp_path, protocol="text")
    assert run.outcome.completed
    roles = [message["role"] for message in asked[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "looked" in asked[1]["messages"][3]["content"]


def test_two_answers_without_a_call_change_the_protocol(tmp_path: Path) -> None:
    run, asked = in_text([TALK, TALK, GOOD], tmp_path, protocol="auto")
    assert run.outcome.completed
    assert run.rungs() == ["other_protocol"]
    assert ["tools" in body for body in asked] == [True, True, False]
    first, second = run.journal.of(e.AttemptStarted)
    assert (first.protocol, first.may_change, second.protocol) == ("tools", True, "text")
    (escalated,) = run.journal.of(e.Escalated)
    assert "without a usable tool call" in escalated.decision.reason

    # It is remembered for the model.
    kept = json.loads((tmp_path / "p" / ".bough" / "models.json").read_text())
    assert [lesson["protocol"] for lesson in kept.values()] == ["text"]
    again, asked = in_text([GOOD], tmp_path, protocol="auto")
    assert again.rungs() == [] and "tools" not in asked[0]


def test_a_model_that_has_called_a_tool_keeps_its_tools(tmp_path: Path) -> None:
    look = Answer(calls=(Call("1", "read", '{"path": "calc.py"}'),), usage=Usage(900, 20))
    fixed = Answer(
        calls=(
            Call("2", "write", json.dumps({"path": "calc.py", "content": FIXED})),
            Call("3", "done", '{"summary": "ok"}'),
        )
    )
    run, asked = in_text([look, TALK, TALK, fixed], tmp_path, protocol="auto")
    assert run.outcome.completed and run.rungs() == []
    assert all("tools" in body for body in asked)


def test_a_model_that_is_set_to_tools_is_told_and_not_changed(tmp_path: Path) -> None:
    fixed = Answer(
        calls=(
            Call("1", "write", json.dumps({"path": "calc.py", "content": FIXED})),
            Call("2", "done", '{"summary": "ok"}'),
        )
    )
    run, asked = in_text([TALK, TALK, fixed], tmp_path, protocol="tools")
    assert run.outcome.completed and run.rungs() == []
    assert all("tools" in body for body in asked)


def test_fresh_attempts_follow_a_repair_that_failed(tmp_path: Path) -> None:
    run, asked = in_text([WRONG, WRONG, WRONG, WRONG, GOOD], tmp_path, protocol="text")
    assert run.outcome.completed
    assert run.rungs() == ["attempts"]
    assert [body.get("temperature") for body in asked] == [None, None, 0.8, 0.8, 0.6]
    assert "return a - b" in asked[2]["messages"][1]["content"], "an attempt starts from the beginning"
    ended = {event.child: event.state for event in run.journal.of(e.ChildSettled)}
    assert ended["attempt-1"] is State.BLOCKED and ended["attempt-2"] is State.COMPLETED
    assert all(state in (State.SKIPPED, State.CANCELLED) for name, state in ended.items() if name > "attempt-2")


def test_attempts_come_to_an_end(tmp_path: Path) -> None:
    run, asked = in_text([WRONG], tmp_path, protocol="text")
    assert not run.outcome.completed and run.outcome.status == "failed"
    assert len(asked) == 2 + 8 * 2
    assert run.rungs()[-1] == "give_up"


def test_best_of_begins_with_attempts_and_the_first_that_is_proven_counts(tmp_path: Path) -> None:
    run, asked = in_text([WRONG, WRONG, GOOD], tmp_path, protocol="text", best_of=3, jobs=1)
    assert run.outcome.completed
    assert len({body.get("temperature") for body in asked}) == 2
    assert run.outcome.spend.rounds == len(asked) == 3


def test_unreadable_answers_in_text_are_said_and_bounded(tmp_path: Path) -> None:
    run, asked = in_text([TALK], tmp_path, protocol="text", rounds=30)
    assert not run.outcome.completed
    assert "no block that bough could use" in asked[1]["messages"][-1]["content"]
    assert len(asked) <= 30


def test_a_structured_answer_is_requested_by_schema_and_repaired_once(tmp_path: Path) -> None:
    """The estimate of a model that is spoken to in text; a goal of which nothing can be read is begun as one task."""
    run, asked = in_text([TALK, TALK, GOOD], tmp_path, protocol="text", flat=False)
    assert run.outcome.completed
    assert [body.get("response_format", {}).get("type") for body in asked] == ["json_schema", "json_schema", None]
    assert "tools" not in asked[0] and "one JSON object" in asked[0]["messages"][-1]["content"]
    (estimated,) = run.journal.of(e.Estimated)
    assert estimated.atomic and "no estimate was given" in estimated.reason
    assert [event.helper for event in run.journal.of(e.HelperAnswered)] == ["gate", "gate"]


def test_a_server_that_knows_no_schemas_is_asked_in_words(tmp_path: Path) -> None:
    said = Answer(text='Sure: {"atomic": true, "steps": 1, "reason": "one line"}', usage=Usage(900, 20))
    asked: list[dict[str, Any]] = []

    def reply(body: dict[str, Any]) -> Answer | Status:
        asked.append(body)
        if "response_format" in body:
            return Status(400, body={"error": {"message": "response_format is not supported"}})
        return said if len(asked) == 2 else GOOD

    project = make_project(tmp_path / "p")
    run = told(project, reply, goal=build_goal_step(GOAL, check=CHECK), protocol="text", flat=False)
    assert run.outcome.completed
    assert [event.reason for event in run.journal.of(e.Estimated)] == ["one line"]


def test_a_small_window_is_shown_the_files_at_once_with_tools_too(tmp_path: Path) -> None:
    (make_project(tmp_path / "p") / "bough.toml").write_text("[models]\nwindow = 16000\n")
    allow_settings(tmp_path / "p")
    _, asked = in_text([TALK, TALK, GOOD], tmp_path, protocol="auto")
    assert "tools" in asked[0] and "return a - b" in asked[0]["messages"][1]["content"]
    (tmp_path / "p" / "bough.toml").write_text("[models]\nwindow = 200000\n")
    allow_settings(tmp_path / "p")
    (tmp_path / "p" / ".bough" / "models.json").unlink()
    _, asked = in_text([TALK, TALK, GOOD], tmp_path, protocol="auto")
    assert "return a - b" not in asked[0]["messages"][1]["content"]


def test_a_model_that_calls_tools_sees_what_it_saw_without_the_text_protocol(tmp_path: Path) -> None:
    """Byte for byte, in every round: choosing the protocol by evidence costs a strong model nothing."""
    write = Call("1", "write", json.dumps({"path": "calc.py", "content": FIXED}))
    done = Call("2", "done", json.dumps({"summary": "adds"}))
    answers = [Answer(calls=(call,), usage=Usage(900, 60)) for call in (write, done)]
    asked = {protocol: in_text(answers, tmp_path / protocol, protocol=protocol)[1] for protocol in ("tools", "auto")}
    assert len(asked["tools"]) == 2
    tools, auto = (json.dumps(asked[protocol]).replace(f"/{protocol}/", "/x/") for protocol in ("tools", "auto"))
    assert tools == auto
    assert asked["tools"][0]["tools"] and "```" not in asked["tools"][0]["messages"][0]["content"]
