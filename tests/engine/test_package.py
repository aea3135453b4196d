"""A package with five modules, each with tests, all of which must pass: too much for the rounds of one agent."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.messages import Answer
from bough.core.planning.plan import build_goal_step
from bough.core.tree.task_state import State
from tests.engine.cast import DONE, Cast, Request, act, split
from tests.engine.telling import told
from tests.harness import git
from tests.sampling import long
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

MODULES = {
    "area": ("square(side)", "return side * side", "square(3) == 9"),
    "words": ("count(text)", "return len(text.split())", 'count("a b") == 2'),
    "dates": ("leap(year)", "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)", "leap(2000)"),
    "money": ("cents(euros)", "return round(euros * 100)", "cents(1.5) == 150"),
    "lists": ("last(items)", "return items[-1]", "last([1, 2]) == 2"),
}
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider"
INSTRUCTIONS = (
    "Create a package `kit` with five modules (area, words, dates, money, lists), each with tests in tests/; all must "
    "pass pytest and ruff."
)


def module(name: str) -> str:
    signature, body, _ = MODULES[name]
    return f"def {signature}:\n    {body}\n"


def test_of(name: str) -> str:
    signature, _, holds = MODULES[name]
    function = signature.partition("(")[0]
    return f"from kit.{name} import {function}\n\n\ndef test_{function}():\n    assert {holds}\n"


test_of.__test__ = False  # type: ignore[attr-defined]


def writes(name: str) -> list[Answer]:
    return [
        act("write", path=f"kit/{name}.py", content=module(name)),
        act("write", path=f"tests/test_{name}.py", content=test_of(name)),
    ]


def dawdles(asked: Request) -> Answer:
    """Gets on, but far too slowly: eight ways to look at each thing that it writes."""
    first = [act("write", path="kit/__init__.py", content=""), *writes("area"), *writes("words")]
    at = len(asked.results)
    if at % 4 == 0 and at // 4 < len(first):
        return first[at // 4]
    return act("bash", command=f"ls -R kit tests; echo looking for the {at}. time")


def step(name: str, *modules: str) -> dict[str, Any]:
    files = [path for each in modules for path in (f"kit/{each}.py", f"tests/test_{each}.py")]
    told = "; ".join(f"kit/{each}.py with {MODULES[each][0]}, proven in tests/test_{each}.py" for each in modules)
    return {
        "name": name,
        "instructions": f"Write {told}.",
        "criteria": [f"`{MODULES[each][2]}`" for each in modules],
        "files": files,
        "test_command": f"{PYTEST} {' '.join(path for path in files if path.startswith('tests/'))}",
        "needs": [],
    }


def careful(asked: Request) -> Answer:
    """Writes what its own step asks for, and nothing else."""
    mine = [
        name for name in MODULES if f"kit/{name}.py with" in asked.brief.partition("## What the task is part of")[0]
    ]
    answers = [answer for name in mine for answer in writes(name)]
    return answers[len(asked.results)] if len(asked.results) < len(answers) else DONE


@long  # The same way with a check that starts no pytest: tests/engine/test_ladder.py.
def test_it_runs_out_of_rounds_is_split_and_succeeds(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (project / "README.md").write_text("# kit\n")
    (project / "pyproject.toml").write_text(
        '[project]\nname = "kit"\nversion = "1"\n[tool.pytest.ini_options]\npythonpath = ["."]\n'
    )
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "nothing yet")
    names = ("texts", "words"), ("calendar", "dates"), ("cash", "money"), ("sequences", "lists")
    cast = Cast(
        dawdles,
        {title: careful for title, _ in names},
        decomposer=lambda asked: split(*(step(title, name) for title, name in names)),
    )
    goal = build_goal_step(INSTRUCTIONS, check=PYTEST)
    run = told(project, cast, goal=goal, rounds=None)
    assert run.outcome.completed, run.outcome.summary
    (raised,) = run.journal.of(e.SignalRaised)
    assert raised.signal.pattern == "max_rounds"
    assert run.rungs() == ["decompose"]
    assert run.states() == ["in_progress", "decomposed", "testing", "completed"]
    assert {task.state for task in run.outcome.tree} == {State.COMPLETED}
    goal_task = run.tree[GOAL]
    assert goal_task.verdict is not None
    assert goal_task.verdict.passed == 5, "a real pytest ran the tests of all five modules at the merged head"
    (question,) = [asked for asked in cast.asked if asked.tools == ["split"]]
    assert "+++ b/kit/area.py" in question.brief, "what is done already is shown to the decomposer"
    shown = git(project / ".bough" / "repo.git", "ls-tree", "-r", "--name-only", goal_task.commit).split()
    assert {f"kit/{name}.py" for name in MODULES} < set(shown)
    for name in MODULES:
        source = git(project / ".bough" / "repo.git", "show", f"{goal_task.commit}:kit/{name}.py")
        checked = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--isolated", "-"],
            input=source,
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout
