"""`bough-optimise planner`: what finished runs teach, and the comparison. The search itself needs DSPy."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import bough_optimise
import pytest
from bough_optimise.planner import FEWEST, HELPERS, Comparison, PlannerBench
from bough_optimise.scoring import Lesson
from tests.harness import FIXED, QUICK_CHECK, make_project, ports_in
from tests.interfaces.shell import BOUGH, CommandOutput, bough, environment
from tests.wire import Reply, WireModel

from bough import app
from bough.core.errors import RequestRefused
from bough.core.messages import Answer, Call, Prompt
from bough.core.planning.guidance import places
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel

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


def optimise(folder: Path, *args: str) -> CommandOutput:
    argv = [BOUGH[0], "-m", "bough_optimise", "planner", *args]
    env = environment(PYTHONPATH=str(Path(bough_optimise.__file__).parents[1]))
    ended = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return CommandOutput(ended.returncode, ended.stdout, ended.stderr)


def project_with_runs(folder: Path, wire: WireModel, runs: int) -> tuple[str, ...]:
    """How the model is named there."""
    make_project(folder)
    model = ("--model", "openai:m", "--base-url", wire.base_url)
    for _ in range(runs):
        run = bough(folder, "run", "Make add add.", "--check", QUICK_CHECK, *model)
        assert run.status == 0, run.out + run.err
    return model


def test_few_runs_or_no_dspy_are_said_in_a_sentence(tmp_path: Path) -> None:
    with WireModel(reply) as wire:
        folder = tmp_path / "project"
        asked = optimise(folder, *project_with_runs(folder, wire, 1))
    assert asked.status == 2
    assert ("needs DSPy" if find_spec("dspy") is None else "Optimising needs 4") in asked.err


@pytest.mark.skipif(find_spec("dspy") is None, reason="the extra dspy is not installed")
def test_the_plain_prompt_and_the_optimised_one_are_compared(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    with WireModel(reply) as wire:
        model = project_with_runs(folder, wire, 4)
        found = optimise(folder, "--calls", "8", *model)
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
            raise RequestRefused("The key was taken back.")
        return planned("a.py", "c.py")

    with pytest.raises(RequestRefused, match="taken back"):
        compare(make_project(tmp_path / "project"), answer)
    assert len(asked) == 4
