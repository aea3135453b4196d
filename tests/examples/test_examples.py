"""Every example workflow runs on a small repository, with real checks and a scripted model."""

import os
import sys
from pathlib import Path

import pytest

from bough.app.workflow_files import plan_of
from bough.core import events as e
from bough.core.messages import Answer
from bough.core.planning.plan import count_leaves
from bough.core.workflow.loading import load
from bough.testing import ScriptedModel, call, say
from tests.engine.workflow_runs import Script, WorkflowRun, by_task, carried, done, finding, repository, review, told
from tests.examples import vi
from tests.sampling import in_turn, long
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

EXAMPLES = Path(__file__).parents[2] / "examples" / "workflows"


@pytest.fixture(autouse=True)
def _python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python` is this one, and its pytest starts without the plugins that only our own tests need."""
    shim = tmp_path / "bin" / "python"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nPYTEST_DISABLE_PLUGIN_AUTOLOAD=1 exec {sys.executable} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")


def writes(files: dict[str, str], summary: str) -> list[Answer]:
    return [*(call("write", path=path, content=text) for path, text in files.items()), done(summary)]


def example(folder: Path, name: str, model: ScriptedModel, **inputs: str) -> WorkflowRun:
    run = carried(folder, plan_of(EXAMPLES / f"{name}.toml", folder, inputs), model)
    assert run.outcome.completed, run.outcome.summary
    return run


MATHS = {
    "maths.py": "def double(n):\n    return 2 * n\n",
    "tests/test_maths.py": "from maths import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "conftest.py": "",
    "README.md": "# maths\n",
}


@in_turn
def test_sequential(tmp_path: Path) -> None:
    tests = (
        MATHS["tests/test_maths.py"]
        + "\n\ndef test_triple():\n    from maths import triple\n    assert triple(2) == 6\n"
    )
    built = {"maths.py": MATHS["maths.py"] + "\n\ndef triple(n):\n    return 3 * n\n", "tests/test_maths.py": tests}
    model = by_task(
        {
            "design": done("maths.py gets triple(n)"),
            "build": writes(built, "triple(n) is there"),
            "document": writes({"README.md": "# maths\n\n`triple` and `double`\n"}, "described"),
        }
    )
    run = example(repository(tmp_path / "p", MATHS), "sequential", model, feature="A function triple")
    assert "The design:\nmaths.py gets triple(n)" in told(model, "build#")
    assert "What was built:\ntriple(n) is there" in told(model, "document#")
    assert run.outcome.tree[0].verdict is not None and run.outcome.tree[0].verdict.passed == 2


@in_turn
def test_parallel(tmp_path: Path) -> None:
    faster = {"maths.py": "def double(n):\n    return n << 1\n"}
    model = by_task(
        {
            "look/profile": done("double is slow"),
            "look/data": done("no needless work"),
            "look/history": done("nothing in the history"),
            "look#summary": say("profile: double is slow"),
            "improve": writes(faster, "double shifts"),
        }
    )
    run = example(repository(tmp_path / "p", MATHS), "parallel", model, symptom="doubling takes minutes")
    assert "What was found out:\nprofile: double is slow" in told(model, "improve#")
    started = [r for r in run.journal.records if isinstance(r.event, e.ChildStarted) and r.task == "look"]
    ended = [r for r in run.journal.records if isinstance(r.event, e.ChildSettled) and r.task == "look"]
    assert max(r.seq for r in started) < min(r.seq for r in ended), "they were begun at once"


def component(name: str) -> dict[str, str]:
    test = f"def test_{name}():\n    from {name} import ready\n    assert ready()\n"
    return {f"tests/test_{name}.py": test}


@in_turn
def test_hierarchical(tmp_path: Path) -> None:
    app = {"app.py": "import pricing, storage\n", "tests/test_app.py": "def test_app():\n    import app\n"}
    scripts: dict[str, Script] = {"together": writes(app, "put together")}
    for name in ("storage", "pricing"):
        scripts[f"components/{name}/interface"] = writes(component(name), f"{name}.ready")
        implemented = {f"{name}.py": "def ready():\n    return True\n"}
        scripts[f"components/{name}/implementation"] = writes(implemented, f"{name} is ready")
    model = by_task(scripts)
    folder = repository(tmp_path / "p", {"conftest.py": "", "tests/test_one.py": "def test_one():\n    pass\n"})
    run = example(folder, "hierarchical", model)
    assert set(run.states.values()) == {"completed"}
    assert "storage: interface: storage.ready\n\nimplementation: storage is ready" in told(model, "together#")


@in_turn
def test_component_alone(tmp_path: Path) -> None:
    scripts: dict[str, Script] = {
        "interface": writes(component("storage"), "storage.ready"),
        "implementation": writes({"storage.py": "def ready():\n    return True\n"}, "ready"),
    }
    example(
        repository(tmp_path / "p", {"conftest.py": ""}),
        "component",
        by_task(scripts),
        component="storage",
        purpose="Keeps.",
    )


HALF = "def test_it():\n    from maths import half\n    assert half(3) == 1.5\n"
EMPTY = "def test_it():\n    from maths import double\n    assert double('') == ''\n"


@in_turn
def test_feedback_loop(tmp_path: Path) -> None:
    first = {"maths.py": MATHS["maths.py"] + "\n\ndef half(n):\n    return n // 2\n"}
    second = {"maths.py": MATHS["maths.py"] + "\n\ndef half(n):\n    return n / 2\n"}
    model = by_task(
        {
            "review-loop/builder": writes(first, "half(n)"),
            "review-loop/critic#critic": review(finding("half(3) is 1.5", "A function half", HALF)),
            "review-loop/builder@2": writes(second, "half(3) is 1.5"),
            "review-loop/critic@2#critic": review(),
        }
    )
    run = example(repository(tmp_path / "p", MATHS), "feedback-loop", model, change="A function half")
    assert "half(3) is 1.5" in told(model, "review-loop/builder@2#")
    assert run.text("maths.py").endswith("n / 2\n")


@in_turn
def test_test_first(tmp_path: Path) -> None:
    tests = {"tests/test_half.py": "def test_half():\n    from maths import half\n    assert half(4) == 2\n"}
    built = {"maths.py": MATHS["maths.py"] + "\n\ndef half(n):\n    return n / 2\n"}
    model = by_task(
        {"tests": writes(tests, "half(4) is 2"), "build": writes(built, "half"), "tidy": done("tidy enough")}
    )
    run = example(repository(tmp_path / "p", MATHS), "test-first", model, feature="half(n)", tests="tests/test_half.py")
    assert "1 failed" in run.settled("red")[0].result


ISSUE = "double(\"ab\") is wrong\n\nIt says `$(abab)`; it should say 'TypeError'."


@in_turn
def test_bug_fix(tmp_path: Path) -> None:
    shows = "import pytest\n\n\ndef test_text():\n    from maths import double\n    with pytest.raises(TypeError):\n"
    fixed = "def double(n):\n    if isinstance(n, str):\n        raise TypeError(n)\n    return 2 * n\n"
    model = by_task(
        {
            "reproduce": writes({"tests/test_issue.py": f'{shows}        double("ab")\n'}, "a text is doubled"),
            "fix": writes({"maths.py": fixed}, "a text is refused"),
        }
    )
    run = example(repository(tmp_path / "p", MATHS), "bug-fix", model, issue=ISSUE)
    assert ISSUE in told(model, "reproduce#") and "a text is doubled" in told(model, "fix#")
    assert run.states == dict.fromkeys(("goal", "reproduce", "red", "fix", "whole-suite"), "completed")


@in_turn
def test_refactor(tmp_path: Path) -> None:
    model = by_task(
        {
            "moves/move": writes({"maths.py": "def double(number):\n    return 2 * number\n"}, "a better name"),
            "moves/review#critic": review(),
            "moves/move@2": done("All is named. NOTHING LEFT"),
        }
    )
    run = example(
        repository(tmp_path / "p", MATHS), "refactor", model, target="maths.py", aim="Names that say something"
    )
    assert "The moves so far:\na better name" in told(model, "moves/move@2#")
    assert [event.state for event in run.settled("enough")] == ["skipped", "completed"]
    assert "left by `enough`" in " ".join(event.why for event in run.journal.of(e.StateChanged))


def package(name: str) -> dict[str, str]:
    code = "NEEDS = 'httpx 0.9'\n\n\ndef fetch():\n    return 'old'\n"
    test = f"from packages import {name} as it\n\n\ndef test_{name}():\n"
    test += "    assert it.fetch() == ('new' if '1.0' in it.NEEDS else 'old')\n"
    return {f"packages/{name}/__init__.py": code, f"packages/{name}/test_{name}.py": test}


@in_turn
def test_upgrade_monorepo(tmp_path: Path) -> None:
    names = ("api", "worker", "web")
    files = {path: text for name in names for path, text in package(name).items()}
    scripts: dict[str, Script] = {"changes": done("fetch() is new")}
    for name in names:
        file = f"packages/{name}/__init__.py"
        scripts[f"packages/{name}/require"] = [call("edit", path=file, old="0.9", new="1.0"), done("required")]
        scripts[f"packages/{name}/adapt"] = [call("edit", path=file, old="'old'", new="'new'"), done("adapted")]
    model = by_task(scripts)
    folder = repository(tmp_path / "p", {"conftest.py": "", "packages/__init__.py": "", **files})
    run = example(folder, "upgrade-monorepo", model, dependency="httpx", version="1.0")
    assert "What changed:\nfetch() is new" in told(model, "packages/web/adapt#")
    assert all("'new'" in run.text(f"packages/{name}/__init__.py") for name in names)


@in_turn
def test_upgrade_package_alone(tmp_path: Path) -> None:
    file = "packages/api/__init__.py"
    scripts: dict[str, Script] = {
        "require": [call("edit", path=file, old="0.9", new="1.0"), done("required")],
        "adapt": [call("edit", path=file, old="'old'", new="'new'"), done("adapted")],
    }
    folder = repository(tmp_path / "p", {"conftest.py": "", "packages/__init__.py": "", **package("api")})
    inputs = {"package": "packages/api", "dependency": "httpx", "version": "1.0"}
    example(folder, "upgrade-package", by_task(scripts), **inputs)


@in_turn
def test_triage(tmp_path: Path) -> None:
    once = "def double(n):\n    return 2 * (n or 0)\n"
    twice = "def double(n):\n    return 0 if n is None else 2 * n\n"
    model = by_task(
        {
            "reproduce": done("It crashes on None. REPRODUCED"),
            "fix": writes({"maths.py": once}, "None is 0"),
            "review/correct#critic": review(finding("An empty text stays one.", "Is the cause removed", EMPTY)),
            "review/safe#critic": review(),
            "fix@2": writes({"maths.py": twice}, "only None is 0"),
            "review@2/correct#critic": review(),
            "review@2/safe#critic": review(),
            "answer": writes({"ANSWER.md": "Thank you.\n"}, "answered"),
        }
    )
    run = example(repository(tmp_path / "p", MATHS), "triage", model, report="double(None) crashes")
    assert "correct: ### Probe" in (fix := told(model, "fix@2#")) and "An empty text stays one." in fix
    assert "+    return 2 * (n or 0)" in told(model, "review/safe#"), "critics see the fix, made before they were asked"
    taken = [event.to for event in run.journal.of(e.TransitionTaken)]
    assert taken == ["fix", "review", "fix", "review", "answer"]


@long  # Eight phases with a test runner in each; the other examples show that such files run.
@pytest.mark.timeout(1200)
def test_vi_editor(tmp_path: Path) -> None:
    """Eight phases, some of them at the same time, and everything is green at the end."""
    agents: dict[str, Script] = {path: writes(files, f"{path} is there") for path, files in vi.STEPS.items()}
    model = by_task({**agents, "goal#reviewer": review()})
    folder = repository(tmp_path / "p", {"LICENSE": "Free.\n"})
    run = example(folder, "vi-editor", model)
    assert set(run.states.values()) == {"completed"} and len(run.states) == 1 + 8 + 29
    verdict = run.outcome.tree[0].verdict
    assert verdict is not None and (verdict.passed, verdict.failed) == (15, 0)
    assert count_leaves(load((EXAMPLES / "vi-editor.toml").read_text()).plan.goal) == len(vi.STEPS) == 29


def test_every_example_is_here() -> None:
    here = Path(__file__).read_text()
    for file in EXAMPLES.glob("*.toml"):
        assert f'"{file.stem}"' in here, f"{file.name} is not carried out here"
