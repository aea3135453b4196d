"""`bough run --workflow`, as a person gives it, and `bough.load_workflow`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough import load_workflow
from bough.core.workflow.problems import WorkflowError
from tests.engine.workflow_runs import repository
from tests.interfaces.shell import bough

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
MODEL = ("--model", "ollama:nobody-is-asked")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "p", {"workflows/say.toml": WORKFLOW})


def test_a_workflow_by_name_and_by_path(project: Path) -> None:
    for said in ("say", "workflows/say.toml"):
        done = bough(project, "run", "--workflow", said, "--input", "word=hello there", *MODEL)
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
        (("--workflow", "say"), "The input `word` is needed (What is said.): give --input word=VALUE."),
        (("--workflow", "say", "--input", "wrod=x"), "There is no input `wrod` to give: did you mean `word`?"),
        (("--workflow", "sya"), "There is no workflow `sya` here: did you mean `say`?"),
        (("--workflow", "say", "a goal"), "--workflow and GOAL exclude each other"),
        (("--workflow", "say", "--check", "true"), "--workflow and --check exclude each other"),
        (("a goal", "--input", "a=b"), "--input is for a written plan"),
        (("a goal", "--fresh"), "--fresh is for a written plan"),
        (("--workflow", "say", "--input", "word"), "`word` is no input: write --input NAME=VALUE."),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(project: Path, args: tuple[str, ...], said: str) -> None:
    done = bough(project, "run", *args, *MODEL)
    assert done.status == 2
    assert said in " ".join(done.err.split()), done.err
    assert not (project / ".bough").exists()


def test_load_workflow(project: Path) -> None:
    plan = load_workflow(project / "workflows" / "say.toml", word="hi")
    assert [step.run for step in plan.goal.steps] == ["echo hi", "false"]
    with pytest.raises(WorkflowError, match=r"say.toml:4: The input `word` is needed"):
        load_workflow(project / "workflows" / "say.toml")
