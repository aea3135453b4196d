"""The GitHub action: what it declares is what its script takes, and the script carries a run out."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from bough.testing import call
from tests.harness import git, make_project
from tests.interfaces.shell import BOUGH, environment
from tests.wire import WireModel

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
    tmp_path: Path, branch: str, check: str = "test -f calc.py"
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], Path]:
    """As a runner does: in a fresh shallow checkout, where nobody is known to git."""
    origin = make_project(tmp_path / "origin")
    root = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--depth=1", origin.as_uri(), root], check=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bough").write_text(f'#!/bin/sh\nexec {shlex.join(BOUGH)} "$@"\n')
    (tmp_path / "bin" / "bough").chmod(0o755)
    answers = [call("write", path="NOTES.txt", content="$(touch owned)\n"), call("done", summary="written")]
    with WireModel(answers, models=["test"]) as wire:
        env = environment(
            GOAL="Write NOTES.txt; `touch owned` $(touch owned)",
            MODEL="openai:test",
            CHECK=check,
            DIRECTORY=str(root),
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
        env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
        done = subprocess.run([ROOT / "scripts" / "action"], cwd=root, env=env, capture_output=True, text=True)
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    return done, told, root


def test_a_run_in_ci(tmp_path: Path) -> None:
    done, told, root = run_action(tmp_path, "from-ci")
    assert done.returncode == 0, done
    assert told["status"] == "completed" and told["branch"] == "from-ci" and "diff" not in told
    assert "NOTES.txt" in Path(told["description"]).read_text()
    assert not (root / "owned").exists()
    assert "octocat" in git(root, "log", "-1", "--format=%an %cn", "from-ci")


def test_work_that_cannot_be_put_on_a_branch_fails_the_step_and_is_kept(tmp_path: Path) -> None:
    done, told, _ = run_action(tmp_path, "no..branch")
    assert done.returncode == 1 and told["status"] == "completed" and "branch" not in told
    assert "NOTES.txt" in Path(told["diff"]).read_text()


def test_work_that_is_not_proven_is_kept_too(tmp_path: Path) -> None:
    done, told, _ = run_action(tmp_path, "from-ci", check="test -f other.txt")
    assert done.returncode not in (0, 1) and told["status"] != "completed" and "branch" not in told
    assert "NOTES.txt" in Path(told["diff"]).read_text()
