"""A model that is spoken to in text ends in the same events, tools and verdicts as one that calls tools."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Call, Usage
from bough.core.planning.plan import build_goal_step
from tests.engine.telling import FinishedRun, told
from tests.harness import CHECK, FIXED, allow_settings, make_project
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.wire import Status

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GOOD = Answer(text=f"Here it is:\n\n```python\n{FIXED}```\n", usage=Usage(900, 60))
WRONG = Answer(text="```python\ndef add(a, b):\n    return a * b\n```", usage=Usage(900, 60))
TALK = Answer(text="I will look at calc.py and repair it.", usage=Usage(900, 20))
"""Says what it would do."""
GOAL = "Make add in calc.py add, so that test_calc.py passes."
SLUG = 'def slug(text):\n    """Say "a-b"."""\n    return "-".join(text.lower().split())\n'
ABLE = Answer(calls=(Call("t", "write", json.dumps({"path": "words.py", "content": SLUG})),), usage=Usage(400, 60))
"""The right answer to the trial."""


@pytest.fixture(autouse=True)
def _nothing_is_known_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another test learned about a model is none of this one's, whose server may have the same port."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def in_text(answers: list[Answer], tmp_path: Path, **chosen: Any) -> tuple[FinishedRun, list[dict[str, Any]]]:
    """A run whose model gives these answers, the last one again and again; and the requests that it got."""
    asked: list[dict[str, Any]] = []

    def reply(body: dict[str, Any]) -> Answer:
        asked.append(body)
        return answers[min(len(asked), len(answers)) - 1]

    project = tmp_path / "p"
    project = project if project.exists() else make_project(project)
    run = told(project, reply, goal=build_goal_step(GOAL, check=CHECK), **chosen)
    return run, asked


@in_turn
def test_a_file_in_a_block_is_written_checked_and_proven(tmp_path: Path) -> None:
    run, asked = in_text([GOOD], tmp_path, protocol="text")
    assert run.outcome.completed, run.outcome.summary
    assert len(asked) == 1 and "tools" not in asked[0]
    (answered,) = run.journal.of(e.ModelAnswered)
    assert [call.name for call in answered.calls] == ["write", "done"]
    assert [event.ok for event in run.journal.of(e.ToolFinished)] == [True, True]
    (checked,) = run.journal.of(e.CheckFinished)
    assert checked.verdict.ruling == "passed"


@in_turn
def test_the_prompt_is_short_and_shows_what_matters(tmp_path: Path) -> None:
    _, asked = in_text([GOOD], tmp_path, protocol="text")
    system, user = (message["content"] for message in asked[0]["messages"])
    assert "return a - b" in user and "def test_add" in user and GOAL in user
    files = user[: user.index("# The task")]
    # About four characters are a token of English.
    assert (len(system) + len(user) - len(files)) / 4 < 900


@in_turn
def test_a_repair_is_shown_the_best_attempt_and_how_it_fails(tmp_path: Path) -> None:
    (make_project(tmp_path / "p") / "bough.toml").write_text('[ladder]\ntactics = ["repair"]\n')
    allow_settings(tmp_path / "p")
    run, asked = in_text([WRONG, GOOD], tmp_path, protocol="text")
    assert run.outcome.completed
    assert [message["role"] for message in asked[1]["messages"]] == ["system", "user"]
    assert "return a * b" in asked[1]["messages"][1]["content"]
    assert "6 != 5" in asked[1]["messages"][1]["content"] and "def test_add" in asked[1]["messages"][1]["content"]
    assert [event.role for event in run.journal.of(e.AttemptStarted)] == ["builder", "bug_hunter"]
    assert [event.tactic for event in run.journal.of(e.AttemptStarted)] == ["whole", "repair"]


@in_turn
def test_a_command_is_run_and_its_output_told(tmp_path: Path) -> None:
    look = Answer(text="```bash\ncat calc.py; echo looked\n```", usage=Usage(900, 20))
    run, asked = in_text([look, GOOD], tmp_path, protocol="text")
    assert run.outcome.completed
    roles = [message["role"] for message in asked[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "looked" in asked[1]["messages"][3]["content"]


def get_lesson() -> dict[str, Any]:
    """What was remembered last."""
    kept = json.loads(Path(os.environ["XDG_STATE_HOME"], "bough", "models.json").read_text())
    lesson: dict[str, Any] = list(kept.values())[-1]
    return lesson


def write(content: str, path: str = "words.py") -> Answer:
    call = Call("t", "write", json.dumps({"path": path, "content": content}))
    return Answer(calls=(call,), usage=Usage(400, 60))


@in_turn
@pytest.mark.parametrize(
    "said",
    sample(
        [
            TALK,
            # As Qwen2.5-Coder 1.5B really answered.
            write("slug(text) = 'hello-world'"),
            write("slug(text) = text.lower().replace(' ', '-')"),
            Answer(calls=(Call("t", "read", '{"path": "words.py"}'),), usage=Usage(400, 60)),
            Answer(
                calls=(Call("t", "done", '{"summary": "The slug function is implemented."}'),), usage=Usage(400, 60)
            ),
            write(SLUG, "slug.py"),
            write(SLUG.replace("return", "raise NotImplementedError  #")),
            Answer(calls=(Call("t", "write", '{"path": 1, "content": []}'),), usage=Usage(400, 60)),
        ],
        4,
    ),
)
def test_one_tiny_question_shows_that_a_model_does_not_call_tools(tmp_path: Path, said: Answer) -> None:
    run, asked = in_text([said, GOOD], tmp_path, protocol="auto")
    assert run.outcome.completed and run.rungs() == []
    assert [[tool["function"]["name"] for tool in body.get("tools", ())] for body in asked] == [["write"], []]
    assert len(json.dumps(asked[0])) < 2_500
    (begun,) = run.journal.of(e.AttemptStarted)
    assert (begun.protocol, begun.may_change) == ("text", True)
    assert begun.why.startswith("this model does not call tools reliably")
    assert run.outcome.spend.tokens == said.usage.input + said.usage.output + 960

    # It is remembered for the model.
    assert get_lesson()["protocol"] == "text" and get_lesson()["why"] == begun.why


@in_turn
def test_a_server_that_refuses_tools_is_asked_in_text(tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> Answer | Status:
        if "tools" in body:
            return Status(400, body={"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}})
        return GOOD

    project = make_project(tmp_path / "p")
    run = told(project, reply, goal=build_goal_step(GOAL, check=CHECK), protocol="auto")
    assert run.outcome.completed and get_lesson()["protocol"] == "text"
    assert [event.helper for event in run.journal.of(e.HelperFailed)] == ["trial"]


@in_turn
def test_planners_speak_the_protocol_that_the_trial_showed(tmp_path: Path) -> None:
    doing: list[str] = []
    watch = app.RunObserver(doing=lambda task, what: doing.append(what))
    run, asked = in_text([TALK, TALK, TALK, GOOD], tmp_path, protocol="auto", flat=False, watch=watch)
    assert "testing whether the model calls tools" in doing
    assert run.outcome.completed
    assert ["tools" in body for body in asked] == [True, False, False, False]
    assert [event.helper for event in run.journal.of(e.HelperAnswered)] == ["trial", "gate", "gate"]


def test_three_answers_without_a_call_change_the_protocol(tmp_path: Path) -> None:
    run, asked = in_text([ABLE, TALK, TALK, TALK, GOOD], tmp_path, protocol="auto")
    assert run.outcome.completed
    assert run.rungs() == ["other_protocol"]
    assert ["tools" in body for body in asked] == [True, True, True, True, False]
    first, second = run.journal.of(e.AttemptStarted)
    assert (first.protocol, first.may_change, second.protocol) == ("tools", True, "text")
    (escalated,) = run.journal.of(e.Escalated)
    assert "without a usable tool call" in escalated.decision.reason
    assert get_lesson()["protocol"] == "text"


@in_turn
def test_a_model_without_a_usable_block_gets_other_views_and_then_tools(tmp_path: Path) -> None:
    fixed = Answer(calls=(*write(FIXED, "calc.py").calls, Call("3", "done", '{"summary": "ok"}')))
    run, asked = in_text([TALK, *[TALK] * 5, fixed], tmp_path, protocol="auto")
    assert run.outcome.completed
    assert run.rungs() == [*["attempts"] * 4, "other_protocol"]
    assert ["tools" in body for body in asked] == [True, *[False] * 5, True]
    assert len({body["messages"][1]["content"] for body in asked[1:4]}) == 3
    tactics = [event.tactic for event in run.journal.of(e.AttemptStarted)]
    assert tactics[:5] == ["tests_first", "short", "whole", "tests_first", "short"]
    # Once an answer in text could be checked, its protocol is not the trouble.
    run, asked = in_text([TALK, WRONG, TALK, TALK, TALK, TALK, GOOD], tmp_path / "2", protocol="text")
    assert run.outcome.completed and set(run.rungs()) == {"attempts"}


def call(name: str, **given: str) -> Answer:
    return Answer(calls=(Call("1", name, json.dumps(given)),), usage=Usage(900, 20))


def change(content: str) -> Answer:
    return Answer(
        calls=(*write(content, "calc.py").calls, Call("3", "done", '{"summary": "ok"}')), usage=Usage(900, 60)
    )


LOOK = [
    call("list", path="."),
    call("search", pattern="add"),
    call("read", path="calc.py"),
    call("read", path="test_calc.py"),
    call("bash", command="git log --oneline"),
    call("read", path="missing.py"),
    call("bash", command="python3 -c 'import calc'"),
    call("search", pattern="def"),
]
BROKEN = Answer(calls=(Call("1", "read", '{"path": "calc'),), usage=Usage(900, 20))
OPENINGS = {
    "it reads for eight rounds": [*LOOK, change(FIXED)],
    "it talks, then reads": [TALK, TALK, *LOOK, change(FIXED)],
    "it talks now and then": [LOOK[0], TALK, LOOK[1], TALK, LOOK[2], TALK, TALK, LOOK[3], change(FIXED)],
    "it talks for long after it has read": [*LOOK[:5], TALK, TALK, TALK, change(FIXED)],
    "its calls are broken now and then": [LOOK[0], BROKEN, BROKEN, LOOK[2], change(FIXED)],
    "its first change fails the check": [LOOK[0], change("def add(a, b):\n    return a\n"), *LOOK[2:6], change(FIXED)],
    "two repairs fail": [*[change(f"def add(a, b):\n    return {n}\n") for n in (1, 2)], LOOK[2], change(FIXED)],
    "an answer is empty": [LOOK[0], Answer(usage=Usage(900, 0)), LOOK[2], change(FIXED)],
}


@pytest.mark.parametrize("opening", sample(OPENINGS, 4), ids=str)
def test_a_model_that_calls_tools_keeps_them(tmp_path: Path, opening: str) -> None:
    """However long it reads, and whatever the check says: only answers without a usable call speak against it."""
    run, asked = in_text([ABLE, *OPENINGS[opening]], tmp_path, protocol="auto")
    assert run.outcome.completed and "other_protocol" not in run.rungs()
    assert all("tools" in body for body in asked) and len(asked) == len(OPENINGS[opening]) + 1


@in_turn
def test_empty_answers_come_to_an_end(tmp_path: Path) -> None:
    for protocol in ("text", "tools", "auto"):
        run, asked = in_text([ABLE, Answer(usage=Usage(900, 0))], tmp_path / protocol, protocol=protocol)
        rounds = len(asked) - (protocol == "auto")
        assert run.outcome.exit_status == 3 and rounds == 3 + (protocol != "auto")
        assert "3 empty answers in a row" in run.outcome.summary


@in_turn
@pytest.mark.parametrize("seed", sample([1, 2, 3, 4, 5, 6], 3))
def test_what_a_small_model_really_said_leads_to_text(tmp_path: Path, seed: int) -> None:
    """Recorded from Qwen2.5-Coder 1.5B: it reads a file or two, then talks. Its first test was luck."""
    recorded = json.loads((Path(__file__).parent / "recorded" / "small_model.json").read_text())
    chance, rounds = random.Random(seed), 0

    def reply(body: dict[str, Any]) -> Answer:
        nonlocal rounds
        if "tools" not in body:
            return GOOD
        if len(body["tools"]) == 1:
            return ABLE
        rounds += 1
        said = chance.choice(recorded["first" if rounds == 1 else "later"])
        calls = tuple(Call(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(said["calls"]))
        return Answer(text=said["text"], calls=calls, usage=Usage(2700, 60))

    project = make_project(tmp_path / "p")
    run = told(project, reply, goal=build_goal_step(GOAL, check=CHECK), protocol="auto")
    assert run.outcome.completed and rounds <= 8
    assert run.journal.of(e.AttemptStarted)[-1].protocol == "text"


@in_turn
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


@in_turn
def test_attempts_differ_and_start_from_the_beginning(tmp_path: Path) -> None:
    run, asked = in_text([WRONG, WRONG, WRONG, WRONG, GOOD], tmp_path, protocol="text")
    assert run.outcome.completed
    assert run.rungs() == ["attempts"] * 4
    assert asked[0].get("temperature") is None and len({body.get("temperature") for body in asked[1:]}) == 4
    tactics = [event.tactic for event in run.journal.of(e.AttemptStarted)]
    assert tactics == ["tests_first", "short", "whole", "hinted", "tests_first"]
    told = [body["messages"][1]["content"] for body in asked]
    assert all("return a - b" in text and "return a * b" not in text for text in told)
    assert "Mind what these tests expect" in told[3] and "6 != 5" in told[3]


def test_attempts_come_to_an_end(tmp_path: Path) -> None:
    (make_project(tmp_path / "p") / "bough.toml").write_text("[ladder]\nattempts = 5\n")
    run, _ = in_text([WRONG], tmp_path, protocol="text")
    assert not run.outcome.completed and run.outcome.status == "failed"
    assert run.rungs().count("attempts") == 5 and run.rungs()[-1] == "give_up"
    assert len(run.journal.of(e.AttemptStarted)) == 6


def wrong(sign: str) -> str:
    return f"```python\ndef add(a, b):\n    return a {sign} b\n```"


@in_turn
def test_further_attempts_try_several_answers_to_one_question(tmp_path: Path) -> None:
    several = replace(WRONG, others=(wrong("/"), WRONG.text, wrong("%"), GOOD.text, wrong("|")), usage=Usage(900, 300))
    run, asked = in_text([WRONG, several], tmp_path, protocol="text")
    assert run.outcome.completed
    assert [body.get("n") for body in asked] == [None, 8]
    answered = run.journal.of(e.ModelAnswered)
    assert [event.text for event in answered[2:]] == [wrong("/"), wrong("%"), GOOD.text]
    assert [event.spare for event in answered] == [False, False, True, True, True]
    assert run.outcome.spend.rounds == 2 and run.outcome.spend.tokens == 960 + 1200
    assert [event.tactic for event in run.journal.of(e.AttemptStarted)] == ["tests_first", *["short"] * 4]
    # The first answer to the second question is the one that failed before: the same files are not checked again.
    assert len(run.journal.of(e.CheckFinished)) == 4
    assert "the same files have failed before" in [event.why for event in run.journal.of(e.StateChanged)]


@in_turn
def test_answers_that_are_paid_for_are_tried_when_the_tokens_are_spent(tmp_path: Path) -> None:
    several = replace(WRONG, others=(wrong("/"), GOOD.text), usage=Usage(900, 200))
    run, asked = in_text([WRONG, several], tmp_path, protocol="text", tokens=1_000)
    assert run.outcome.completed and len(asked) == 2


@in_turn
def test_several_answers_count_as_one_attempt(tmp_path: Path) -> None:
    (make_project(tmp_path / "p") / "bough.toml").write_text("[ladder]\nattempts = 2\nanswers = 3\n")
    first, second = (replace(WRONG, text=wrong(a), others=(wrong(b), wrong(c))) for a, b, c in ("/%|", "^&+"))
    run, asked = in_text([WRONG, first, second], tmp_path, protocol="text")
    assert run.outcome.completed and [body.get("n") for body in asked] == [None, 3, 3]
    assert run.rungs() == ["attempts"] * 6


@in_turn
def test_the_best_attempt_is_kept_when_the_tokens_are_spent(tmp_path: Path) -> None:
    broken = Answer(text="```python\ndef add(a, b:\n```", usage=Usage(900, 60))
    test = make_project(tmp_path / "p") / "test_calc.py"
    test.write_text(
        f"{test.read_text()}\n\nclass More(unittest.TestCase):\n    def test_zero(self):\n        add(0, 0)\n"
    )
    run, _ = in_text([WRONG, broken], tmp_path, protocol="text", tokens=2_500)
    assert run.outcome.status != "completed"
    first, *others = (event.verdict for event in run.journal.of(e.CheckFinished))
    assert first.passed and not any(verdict.passed for verdict in others)
    assert run.journal.of(e.WorkspaceRestored)[-1].tree == first.tree


def test_unreadable_answers_in_text_are_said_and_bounded(tmp_path: Path) -> None:
    run, asked = in_text([TALK], tmp_path, protocol="text", rounds=30)
    assert not run.outcome.completed
    assert run.rungs()[:5] == ["attempts"] * 5 and "attempts" not in run.rungs()[5:]
    assert "no block that bough could use" in asked[6]["messages"][-1]["content"]
    assert len(asked) <= 30


@in_turn
def test_a_structured_answer_is_requested_by_schema_and_repaired_once(tmp_path: Path) -> None:
    """The estimate of a model that is spoken to in text; a goal of which nothing can be read is begun as one task."""
    run, asked = in_text([TALK, TALK, GOOD], tmp_path, protocol="text", flat=False)
    assert run.outcome.completed
    assert [body.get("response_format", {}).get("type") for body in asked] == ["json_schema", "json_schema", None]
    assert "tools" not in asked[0] and "one JSON object" in asked[0]["messages"][-1]["content"]
    (estimated,) = run.journal.of(e.Estimated)
    assert estimated.atomic and "no estimate was given" in estimated.reason
    assert [event.helper for event in run.journal.of(e.HelperAnswered)] == ["gate", "gate"]


@in_turn
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


@in_turn
def test_a_small_window_is_shown_the_files_at_once_with_tools_too(tmp_path: Path) -> None:
    (make_project(tmp_path / "p") / "bough.toml").write_text("[models]\nwindow = 16000\n")
    allow_settings(tmp_path / "p")
    _, asked = in_text([ABLE, TALK, GOOD], tmp_path, protocol="auto")
    assert "tools" in asked[1] and "return a - b" in asked[1]["messages"][1]["content"]
    (tmp_path / "p" / "bough.toml").write_text("[models]\nwindow = 200000\n")
    allow_settings(tmp_path / "p")
    _, asked = in_text([ABLE, TALK, GOOD], tmp_path, protocol="auto")
    assert "return a - b" not in asked[1]["messages"][1]["content"]


@in_turn
def test_a_model_that_calls_tools_sees_what_it_saw_without_the_text_protocol(tmp_path: Path) -> None:
    """Byte for byte, in every round: choosing the protocol by evidence costs a strong model the trial, or nothing if
    the price list knows it."""
    write = Call("1", "write", json.dumps({"path": "calc.py", "content": FIXED}))
    done = Call("2", "done", json.dumps({"summary": "adds"}))
    answers = [Answer(calls=(call,), usage=Usage(900, 60)) for call in (write, done)]
    asked = {
        "tools": in_text(answers, tmp_path / "tools", protocol="tools")[1],
        "auto": in_text([ABLE, *answers], tmp_path / "auto", protocol="auto")[1][1:],
    }
    assert len(asked["tools"]) == 2
    tools, auto = (json.dumps(asked[protocol]).replace(f"/{protocol}/", "/x/") for protocol in ("tools", "auto"))
    assert tools == auto
    assert asked["tools"][0]["tools"] and "```" not in asked["tools"][0]["messages"][0]["content"]
