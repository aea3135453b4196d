"""The GitHub action: what it declares is what its script takes, and the script carries a run out."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from bough.testing import call
from tests.harness import make_project
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


def test_a_run_in_ci(tmp_path: Path) -> None:
    root = make_project(tmp_path / "p")
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "-C", root, "config", key, "t@example.org"], check=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bough").write_text(f'#!/bin/sh\nexec {shlex.join(BOUGH)} "$@"\n')
    (tmp_path / "bin" / "bough").chmod(0o755)
    answers = [call("write", path="NOTES.txt", content="$(touch owned)\n"), call("done", summary="written")]
    with WireModel(answers, models=["test"]) as wire:
        env = environment(
            GOAL="Write NOTES.txt; `touch owned` $(touch owned)",
            MODEL="openai:test",
            CHECK="test -f calc.py",
            DIRECTORY=str(root),
            NETWORK="off",
            MAX_COST="",
            MAX_MINUTES="60",
            BRANCH="from-ci",
            ARGUMENTS=f"--flat\n--base-url\n{wire.base_url}",
            GITHUB_OUTPUT=str(tmp_path / "output"),
            OPENAI_API_KEY="none",
        )
        env["PATH"] = f"{tmp_path / 'bin'}:{env['PATH']}"
        done = subprocess.run([ROOT / "scripts" / "action"], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert told["status"] == "completed" and told["branch"] == "from-ci"
    assert "NOTES.txt" in Path(told["description"]).read_text()
    assert not (root / "owned").exists()
