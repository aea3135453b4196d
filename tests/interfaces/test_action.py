"""The GitHub action: what it declares is what its script takes, and the script carries a run out."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bough.testing import call
from tests.harness import git, make_project
from tests.interfaces.shell import environment
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

ROOT = Path(__file__).parents[2]


def test_what_is_declared_is_what_is_used() -> None:
    text = (ROOT / "action.yml").read_text()
    declared = set(re.findall(r"^  ([a-z-]+):$", text.partition("inputs:")[2].partition("outputs:")[0], re.MULTILINE))
    assert declared == set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", text))
    script = (ROOT / "scripts" / "action").read_text()
    for name in declared:
        assert f'"${name.upper().replace("-", "_")}"' in script or f"${{{name.upper()}:-" in script, name
    assert "inputs." not in re.sub(r"(?m)^        [A-Z_]+: .*$", "", text), "never as text of a script"
    for output in re.findall(r"steps\.run\.outputs\.([a-z]+)", text):
        assert f"tell {output} " in script


def run_action(
    tmp_path: Path, branch: str, check: str = "test -f calc.py", planted: Callable[[Path], None] | None = None
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], Path]:
    """As a runner does: in a fresh shallow checkout, where nobody is known to git."""
    origin = make_project(tmp_path / "origin")
    root = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--depth=1", origin.as_uri(), root], check=True)
    if planted is not None:
        planted(root)
    answers = [call("write", path="NOTES.txt", content="$(touch owned)\n"), call("done", summary="written")]
    with WireModel(answers, models=["test"]) as wire:
        env = environment(
            GOAL="Write NOTES.txt; `touch owned` $(touch owned)",
            MODEL="openai:test",
            CHECK=check,
            DIRECTORY=".",
            GITHUB_WORKSPACE=str(root),
            NETWORK="off",
            MAX_COST="",
            MAX_MINUTES="60",
            BRANCH=branch,
            ARGUMENTS=f"--flat\n--protocol\ntools\n--base-url\n{wire.base_url}",
            GITHUB_OUTPUT=str(tmp_path / "output"),
            GITHUB_ACTOR="octocat",
            RUNNER_TEMP=str(tmp_path),
            OPENAI_API_KEY="none",
            HOME=str(tmp_path),
            GIT_CONFIG_NOSYSTEM="1",
        )
        env = {key: value for key, value in env.items() if not key.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
        env["PATH"] = f".:{root}:{env['PATH']}"
        script = [str(ROOT / "scripts" / "action"), sys.executable]
        done = subprocess.run(script, cwd=root, env=env, capture_output=True, text=True)
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return done, told, root


@in_turn
def test_a_run_in_ci(tmp_path: Path) -> None:
    done, told, root = run_action(tmp_path, "from-ci")
    assert done.returncode == 0, done
    assert told["status"] == "completed" and told["branch"] == "from-ci" and "diff" not in told
    assert "NOTES.txt" in Path(told["description"]).read_text()
    assert not (root / "owned").exists()
    assert "octocat" in git(root, "log", "-1", "--format=%an %cn", "from-ci")


@in_turn
def test_work_that_cannot_be_put_on_a_branch_fails_the_step_and_is_kept(tmp_path: Path) -> None:
    done, told, _ = run_action(tmp_path, "no..branch")
    assert done.returncode == 1 and told["status"] == "completed" and "branch" not in told
    assert "NOTES.txt" in Path(told["diff"]).read_text()


@in_turn
def test_work_that_is_not_proven_is_kept_too(tmp_path: Path) -> None:
    done, told, _ = run_action(tmp_path, "from-ci", check="test -f other.txt")
    assert done.returncode not in (0, 1) and told["status"] != "completed" and "branch" not in told
    assert "NOTES.txt" in Path(told["diff"]).read_text()


# ── nothing of the checkout is loaded or started ────────────────────────────────────────────────────────────────────

PROGRAMS = ("python3", "python", "bash", "sh", "git", "pip", "bough", "pwd", "uname")


def plant_everything(root: Path) -> None:
    """A module of every standard name, and programs of the names that the steps use: all of them leave a mark."""
    for name in sys.stdlib_module_names | {"sitecustomize", "usercustomize", "pip", "msgspec", "click", "bough"}:
        (root / f"{name}.py").write_text("open('/proc/self/cwd/OWNED', 'w')\nraise SystemExit('owned')\n")
    for name in PROGRAMS:
        (root / name).write_text(f"#!/bin/sh\ntouch {root}/OWNED\n")
        (root / name).chmod(0o755)


def list_steps() -> list[tuple[str, str]]:
    """The folder and the script of each step that runs one."""
    text = (ROOT / "action.yml").read_text().partition("  steps:")[2]
    found = []
    for step in re.split(r"(?m)^    - ", text)[1:]:
        if script := re.search(r"(?m)^ *run: (?:\|\n((?:        .*\n)+)|'(.*)'$)", step):
            folder = re.search(r"working-directory: (.*)", step)
            found.append((folder[1] if folder else "", script[1] or script[2]))
    return found


@in_turn
def test_a_planted_checkout_is_neither_imported_nor_started_by_the_installation(tmp_path: Path) -> None:
    root, temp = make_project(tmp_path / "checkout"), tmp_path / "temp"
    temp.mkdir()
    plant_everything(root)
    install, run = list_steps()
    assert run[0] == install[0] == "${{ runner.temp }}" and "scripts/action" in run[1]
    # What it installs comes from a registry: only whether it would is run.
    script = re.sub(r"-m pip install .*", "-m pip --version", install[1])
    env = environment(RUNNER_TEMP=str(temp), GITHUB_ACTION_PATH=str(ROOT), HOME=str(tmp_path))
    bash = [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    done = subprocess.run([*bash, script], cwd=temp, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "pip " in done.stdout, done
    assert not (root / "OWNED").exists() and not (temp / "OWNED").exists()
    plain = script.replace("python3 -I", "python3")
    subprocess.run([*bash, plain], cwd=root, env={**env, "RUNNER_TEMP": str(tmp_path)}, capture_output=True)
    assert (root / "OWNED").exists(), "the attack works without the defence"


@in_turn
def test_a_planted_checkout_is_neither_imported_nor_started_by_the_run(tmp_path: Path) -> None:
    done, told, root = run_action(tmp_path, "from-ci", planted=plant_everything)
    assert done.returncode == 0 and told["status"] == "completed", done
    assert not (root / "OWNED").exists()
