"""`bough optimise planner`: what finished runs teach, the comparison, and runs that use what was learned.

The search itself needs the extra: `pip install 'bough-agent[dspy]'`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.app.optimise import FEWEST, HELPERS, Comparison, PlannerBench
from bough.core.errors import Refused, UsageError
from bough.core.messages import Answer, Call, Prompt
from bough.core.planning.guidance import Lesson, places
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel
from tests.harness import FIXED, QUICK_CHECK, make_project, ports_in, run_to_end
from tests.interfaces.shell import bough, here
from tests.wire import Reply, WireModel

WRITE = Call("c1", "write", json.dumps({"path": "calc.py", "content": FIXED}))
DONE = Call("c2", "done", '{"summary": "It adds."}')
BETTER = "Everything here is one piece of work. {Braces} do no harm."


def estimate(steps: int) -> Answer:
    arguments = {"atomic": steps == 1, "steps": steps, "phases": [], "domains": [], "reason": "so it looks"}
    return Answer(calls=(Call("e", "estimate", json.dumps(arguments)),))


def reply(request: dict[str, Any]) -> Reply:
    """A model that thinks too big, unless its guidance says otherwise."""
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    text = json.dumps(request["messages"])
    if "estimate" in tools:
        return estimate(1 if BETTER in text else 9)
    if "Improve the guidance" in text:
        assert "It took" in text
        return Answer(BETTER)
    return Answer(calls=(DONE,) if '"role": "tool"' in text else (WRITE,))


def project_with_runs(folder: Path, wire: WireModel, runs: int) -> tuple[str, ...]:
    """How the model is named there."""
    make_project(folder)
    model = ("--model", "openai:m", "--base-url", wire.base_url)
    for _ in range(runs):
        run = bough(folder, "run", "Make add add.", "--check", QUICK_CHECK, *model)
        assert run.status == 0, run.out + run.err
    return model


def test_runs_use_what_was_learned_once_they_are_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_project(tmp_path / "project")
    monkeypatch.setenv("BOUGH_PLANNING_PROMPTS", "optimised")
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "false")
    with WireModel(reply) as wire:
        choices = app.Choices(model="openai:m", base_url=wire.base_url)
        with pytest.raises(UsageError, match="`bough optimise planner` looks for some"):
            run_to_end(folder, [], check=QUICK_CHECK, choices=choices)
        learned = {"gate": {"guidance": BETTER, "plain": 0.1, "optimised": 0.9, "runs": 2, "model": "openai:m"}}
        (folder / ".bough" / "optimised.json").write_text(json.dumps(learned))
        outcome, _ = run_to_end(folder, [], check=QUICK_CHECK, choices=choices)
    assert outcome.completed
    (gate,) = [request.body.decode() for request in wire.requests if b'"estimate"' in request.body]
    assert BETTER in gate and "Call `estimate` once" in gate and "calc.py" in gate

    asked = here(folder, capsys, "optimise", "planner", "--model", "openai:m", "--base-url", wire.base_url)
    assert asked.status != 0
    assert ("[dspy]" if find_spec("dspy") is None else "Optimising needs 4") in asked.err


@pytest.mark.skipif(find_spec("dspy") is None, reason="the extra dspy is not installed")
def test_the_plain_prompt_and_the_optimised_one_are_compared(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    with WireModel(reply) as wire:
        model = project_with_runs(folder, wire, 4)
        found = bough(folder, "optimise", "planner", "--calls", "8", *model)
    assert found.status == 0, found.out + found.err
    assert "gate: plain 0.00, optimised 1.00 of 1, on 2 held-out runs" in found.out
    assert "planner: not optimised: only 0 completed runs were large enough for a plan" in found.out
    kept = json.loads((folder / ".bough" / "optimised.json").read_text())
    assert kept["gate"]["guidance"] == BETTER and list(kept) == ["gate"]


def planned(*files: str) -> Answer:
    steps = [
        {"name": f"s{n}", "instructions": f"Write {file}, part {n}.", "criteria": [f"{file} is there"], "files": [file]}
        for n, file in enumerate(files)
    ]
    return Answer(calls=(Call("p", "plan", json.dumps({"approach": "x", "steps": steps})),))


def compare(folder: Path, answer: Callable[[Prompt], Answer]) -> Comparison:
    """The planner, on four runs that took two steps in two files."""
    told = dict.fromkeys(places(app.load_prompt("planner")), "…")
    lessons = [
        Lesson(f"run-{n}", build_goal_step("Do both."), {}, told, (), 1, 90, 2, ("a.py", "b.py")) for n in range(FEWEST)
    ]

    async def go() -> Comparison:
        async with app.open_session(folder, create=True) as session, ports_in(session, ScriptedModel(answer)) as ports:
            return await PlannerBench(HELPERS[1], ports, lambda words: None).compare(lessons, 8)

    return asyncio.run(go())


@pytest.mark.skipif(find_spec("dspy") is None, reason="the extra dspy is not installed")
def test_the_planner_learns_which_files_its_steps_change(tmp_path: Path) -> None:
    def answer(prompt: Prompt) -> Answer:
        text = prompt.messages[0].text
        if not prompt.tools:
            return Answer("Name every file.") if "named by no step: b.py" in text else Answer("Nonsense.")
        return planned("a.py", "b.py") if "Name every file." in text else planned("a.py", "c.py")

    found = compare(make_project(tmp_path / "project"), answer)
    assert found.better and found.guidance == "Name every file." and found.optimised == (1.0, 1.0)


@pytest.mark.skipif(find_spec("dspy") is None, reason="the extra dspy is not installed")
def test_a_model_that_cannot_be_asked_any_more_ends_the_search(tmp_path: Path) -> None:
    asked: list[Prompt] = []

    def answer(prompt: Prompt) -> Answer:
        asked.append(prompt)
        if len(asked) > 3:
            raise Refused("The key was taken back.")
        return planned("a.py", "c.py")

    with pytest.raises(Refused, match="taken back"):
        compare(make_project(tmp_path / "project"), answer)
    assert len(asked) == 4
