"""`bough run --workflow`, as a person gives it, and `bough.load_workflow`."""

from pathlib import Path

import pytest

from bough import load_workflow
from bough.core.workflow.problems import WorkflowError
from tests.engine.workflow_runs import repository
from tests.interfaces.shell import bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

WORKFLOW = """\
description = "Say {word}."
requires_testing = false
[inputs]
word = { description = "What is said." }
[[steps]]
name = "say"
action = { run = "echo {word}" }
[[steps]]
name = "never"
action = { run = "false" }
condition = "contains:nothing like it"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "p", {"workflows/say.toml": WORKFLOW})


@in_turn
def test_a_workflow_by_name_and_by_path(project: Path) -> None:
    for said in ("say", "workflows/say.toml"):
        done = bough(project, "run", "--workflow", said, "--input", "word=hello there")
        assert done.status == 0, done.err
    shown = bough(project, "show")
    assert "Say hello there." in shown.out
    never = next(line for line in shown.out.splitlines() if "never" in line)
    assert "skipped" in never and "its condition does not hold: contains:nothing like it" in never
    log = bough(project, "log").out
    assert "say: runs echo 'hello there'" in log and "its step never is skipped" in log


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--workflow", "say"), "The input `word` is required (What is said.): give --input word=VALUE."),
        (("--workflow", "say", "--input", "wrod=x"), "There is no input `wrod`: did you mean `word`?"),
        (("--workflow", "sya"), "There is no workflow `sya` here: did you mean `say`?"),
        (("--workflow", "say", "a goal"), "--workflow and GOAL are mutually exclusive"),
        (("--workflow", "say", "--check", "true"), "--workflow and --check are mutually exclusive"),
        (("a goal", "--input", "a=b"), "--input needs --workflow"),
        (("a goal", "--fresh"), "--fresh needs --workflow"),
        (("--workflow", "say", "--input", "word"), "`word` is not an input: write --input NAME=VALUE."),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(project: Path, args: tuple[str, ...], said: str) -> None:
    done = bough(project, "run", *args)
    assert done.status == 2
    assert said in " ".join(done.err.split()), done.err
    assert not (project / ".bough").exists()


COMMANDS = """\
[[steps]]
name = "make"
action = { run = "echo hello > out.txt" }
[[steps]]
name = "look"
action = { check = "grep -q WORD out.txt" }
"""
REVIEW = """\
[[steps]]
name = "review"
action = "Read the change."
role = "critic"
"""


@in_turn
def test_nothing_but_commands_and_checks_needs_no_model(project: Path) -> None:
    (project / "w.toml").write_text(COMMANDS.replace("WORD", "hello"))
    done = bough(project, "run", "--workflow", "w.toml")
    assert done.status == 0 and "only commands ran, and all succeeded" in done.out
    assert "already passed before the change" not in done.out and "model    none" in done.out
    (project / "w.toml").write_text(COMMANDS.replace("WORD", "bye"))
    done = bough(project, "run", "--workflow", "w.toml")
    assert done.status == 3 and "its step look failed: the check failed with exit status 1" in done.out


def test_a_step_for_an_agent_needs_a_model(project: Path) -> None:
    (project / "w.toml").write_text(COMMANDS.replace("WORD", "hello") + REVIEW)
    done = bough(project, "run", "--workflow", "w.toml")
    assert done.status == 7 and "No model is configured" in done.err


@in_turn
def test_a_run_that_turns_out_to_need_a_model_halts_until_there_is_one(project: Path) -> None:
    escalating = COMMANDS.replace("WORD", "bye").replace('name = "look"', 'name = "look"\non_error = "escalate"')
    (project / "w.toml").write_text(escalating)
    done = bough(project, "run", "--workflow", "w.toml")
    assert done.status == 7 and "use `bough resume --model NAME`" in done.out
    (project / "empty.jsonl").write_text('{"bough-recording":1,"model":"m"}\n')
    again = bough(project, "resume", "--model", "replay:empty.jsonl")
    assert "replay:empty.jsonl" in again.out and "This needs a model" not in again.out


def test_load_workflow(project: Path) -> None:
    plan = load_workflow(project / "workflows" / "say.toml", word="hi")
    assert [step.run for step in plan.goal.steps] == ['echo "$INPUT_word"', "false"]
    assert plan.goal.steps[0].env == {"INPUT_word": "hi"}
    with pytest.raises(WorkflowError, match=r"say.toml:4: The input `word` is required"):
        load_workflow(project / "workflows" / "say.toml")
