"""At home: the person's own settings, presets, and a shell that completes."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from bough import app
from bough.adapters.stores.sqlite import SqliteStore
from bough.app import config
from bough.app.choices import Choices
from bough.core.errors import UsageError
from bough.core.messages import Answer, Prompt
from bough.core.planning.plan import Step
from bough.testing import ScriptedModel, call
from tests.harness import git, make_project, run_to_end
from tests.interfaces.shell import BOUGH, bough, environment, here
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

MINE = """
[models]
main = "local"
[models.presets.local]
main = "openai:big"
fast = "openai:small"
base_url = "http://127.0.0.1:9/v1"
[budget]
rounds = 100
[sandbox]
network = "registries"
"""


@pytest.fixture
def mine(tmp_path: Path) -> dict[str, str]:
    """Variables of somebody who has settings of their own."""
    file = tmp_path / "xdg" / "bough" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(MINE)
    return {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}


def test_a_person_may_what_a_repository_may_not(tmp_path: Path, mine: dict[str, str]) -> None:
    (tmp_path / "bough.toml").write_text('[budget]\nrounds = 1000\nminutes = 5\n[models]\nmain = "openai:theirs"\n')
    loaded = config.load_config(tmp_path, mine, allow=lambda wishes: pytest.fail(f"asked for {wishes}"))
    assert (loaded.budget.rounds, loaded.budget.minutes, loaded.models.main) == (100, 5, "local")
    assert loaded.sandbox.network == "registries"
    (tmp_path / "bough.toml").write_text("[budget]\nrounds = 60\n")
    assert config.load_config(tmp_path, mine).budget.rounds == 60, "beyond the default, but not beyond the person's"
    assert config.load_config(tmp_path, {**mine, "BOUGH_BUDGET_ROUNDS": "70"}).budget.rounds == 70
    (tmp_path / "bough.toml").write_text("[models.presets.local]\nmain = 'openai:x'\nbase_url = 'http://elsewhere'\n")
    with pytest.raises(UsageError, match="cannot be set in a repository"):
        config.load_config(tmp_path, mine)


def test_presets(tmp_path: Path, mine: dict[str, str]) -> None:
    models = config.load_config(tmp_path, mine).models
    at = "@http://127.0.0.1:9/v1"
    local = {"main": f"openai:big{at}", "fast": f"openai:small{at}", "strong": f"openai:big{at}"}
    assert Choices().models(models) == Choices(model="local").models(models) == local
    assert Choices(model="ollama:a", fast_model="local").models(models)["fast"] == f"openai:small{at}"
    with pytest.raises(UsageError, match="`lokal` is neither provider:model nor one of your presets"):
        Choices(model="lokal").models(models)


def test_config_says_what_is_in_force_and_where_from(tmp_path: Path, mine: dict[str, str]) -> None:
    (tmp_path / "bough.toml").write_text('[budget]\nminutes = 5\n[check]\ncommand = "make verify"\n')
    said = bough(tmp_path, "config", "--json", BOUGH_BUDGET_COST="3", **mine).json
    sources = {setting["name"]: (setting["value"], setting["source"]) for setting in said["settings"]}
    assert sources["budget.rounds"] == ("100", said["person_file"])
    assert sources["check.command"] == ('"make verify"', said["project_file"])
    assert sources["budget.cost"] == ("3.0", "$BOUGH_BUDGET_COST")
    assert "limits.max_repairs" not in sources
    assert "limits.max_repairs" in bough(tmp_path, "config", "--all").out


def test_bash_completes(tmp_path: Path) -> None:
    """The real script in a real bash."""
    (tmp_path / "bough").write_text(f'#!/bin/sh\nexec {" ".join(BOUGH)} "$@"\n')
    (tmp_path / "bough").chmod(0o755)
    script = (
        'eval "$(bough completion bash)"; complete -p bough; COMP_WORDS=(bough run --sandbox na); COMP_CWORD=3; '
        '_bough_completion bough; echo "${COMPREPLY[@]}"'
    )
    env = environment()
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "namespaces", done
    assert "_bough_completion bough" in done.stdout


# ── taking work home, and clearing up ───────────────────────────────────────────────────────────────────────────────


def made(root: Path, name: str) -> str:
    """A completed run that wrote a file."""
    script = [call("write", path=f"{name}.txt", content=f"{name}\n"), call("done", summary="written")]
    return run_to_end(root, script, goal=f"Write {name}.txt.", check="true")[0].run


def test_work_goes_to_a_branch_a_commit_and_a_pull_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_project(tmp_path / "p")
    git(root, "config", "user.name", "t")
    git(root, "config", "user.email", "t@example.org")
    run = made(root, "one")
    branch = here(root, capsys, "apply", "--branch", "try-it", "--json").json
    assert git(root, "show", "try-it:one.txt").startswith("one") and not (root / "one.txt").exists()
    assert branch["commit"] == git(root, "rev-parse", "try-it").strip()
    described = Path(here(root, capsys, "pr", run, "--json").json["description"]).read_text()
    assert "| Write one.txt. |" in described and "one.txt" in described.partition("## Changes")[2]
    (root / "calc.py").write_text("# mine\n")
    assert "committed as" in here(root, capsys, "apply", run, "--commit").out
    body = git(root, "log", "-1", "--format=%B")
    assert f"Bough-Run: {run}" in body and "Bough-Check: true" in body
    assert git(root, "status", "--short").strip() == "M calc.py", "what is not of the run is not committed"
    assert "completed, applied" in here(root, capsys, "runs").out


@in_turn
def test_runs_are_removed_with_all_that_only_they_need(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_project(tmp_path / "p")
    first, second = made(root, "one"), made(root, "two")
    refused = here(root, capsys, "rm", first)
    assert refused.status == 2 and "never applied" in refused.err
    assert here(root, capsys, "rm", first, "--yes").status == 0
    repository = root / ".bough" / "repo.git"
    assert "missing" not in git(repository, "fsck", "--full")
    assert not list((repository / "refs" / "bough").glob(f"{first}*"))
    third = made(root, "three")
    assert [run["run"] for run in here(root, capsys, "runs", "--json").json] == [second, third]
    assert here(root, capsys, "apply", second).status == 0 and (root / "two.txt").exists()
    assert "Nothing to remove" in here(root, capsys, "prune").out
    pruned = here(root, capsys, "prune", "--older-than", "0h", "--json").json
    assert set(pruned["runs"]) == {second, third} and pruned["after"] < pruned["before"]
    assert "no runs" in here(root, capsys, "runs").out

    async def verify() -> None:
        store = SqliteStore(root / ".bough" / "journal.db", create=False)
        assert await store.verify() and not await store.runs()
        await store.close()

    asyncio.run(verify())


@in_turn
def test_each_step_can_be_a_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_project(tmp_path / "p")
    git(root, "config", "user.name", "t")
    git(root, "config", "user.email", "t@example.org")
    steps = tuple(
        Step(name, f"Write {name}.txt.", title=f"The {name}", test_command=f"test -f {name}.txt")
        for name in ("one", "two")
    )

    def answer(prompt: Prompt) -> Answer:
        name = prompt.key.partition("#")[0].rpartition("/")[2]
        write = call("write", path=f"{name}.txt", content=f"{name}\n")
        return call("done", summary=f"Wrote {name}.txt.") if len(prompt.messages) > 1 else write

    async def work() -> str:
        async with app.open_session(root, create=True) as opened:
            goal = Step("goal", "Write both.", test_command="true", steps=steps)
            outcome = await opened.start(goal, Choices(model=ScriptedModel(answer)), app.RunObserver())
            assert outcome.completed, outcome
            return outcome.run

    run = asyncio.run(work())
    assert here(root, capsys, "apply", "--branch", "in-steps", "--steps").status == 0
    log = git(root, "log", "--format=%s", "--name-only", "main..in-steps").split("\n")
    assert [line for line in log if line] == ["The two", "two.txt", "The one", "one.txt"]
    assert "Bough-Step: two\nBough-Verdict: " in git(root, "log", "-1", "--format=%B", "in-steps")
    assert here(root, capsys, "apply", run, "--commit", "--steps").status == 0
    assert git(root, "diff", "in-steps", "HEAD") == "" == git(root, "status", "--short")
    assert here(root, capsys, "apply", run, "--steps").status == 2
