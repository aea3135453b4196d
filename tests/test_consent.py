"""A repository's wishes: asked about once, answered by the person, kept outside of the repository."""

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bough.app import Choices
from bough.services.permission_store import Permissions, make_consent
from tests.engine.libraries import look

WISHES = {"budget.rounds": "1000", "models.main": "openai:x"}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home")}


@pytest.mark.parametrize("answer", [True, False])
def test_the_person_is_asked_once_for_each_folder(tmp_path: Path, env: dict[str, str], answer: bool) -> None:
    asked: list[tuple[str, Mapping[str, str]]] = []
    ignored: list[Mapping[str, str]] = []

    def ask(folder: Path, wishes: Mapping[str, str]) -> bool:
        asked.append((folder.name, wishes))
        return answer

    def allow(folder: str, wishes: Mapping[str, str]) -> set[str]:
        return set(make_consent(tmp_path / folder, env, ask=ask, tell=ignored.append)(wishes))

    for _ in range(2):
        assert allow("a", WISHES) == (set(WISHES) if answer else set())
    assert asked == [("a", WISHES)]
    more = {**WISHES, "budget.rounds": "2000"}
    allow("a", more)  # another wish is another question
    allow("b", WISHES)  # and so is another folder
    assert asked[1:] == [("a", {"budget.rounds": "2000"}), ("b", WISHES)]
    assert ignored == ([] if answer else [WISHES, WISHES, more, WISHES])
    assert (tmp_path / "home/.local/state/bough").stat().st_mode & 0o077 == 0


def test_no_person_means_no_answer(tmp_path: Path, env: dict[str, str]) -> None:
    assert not make_consent(tmp_path, env)(WISHES)
    assert not Permissions(env, tmp_path).path.exists()
    assert make_consent(tmp_path, env, trust=True)(WISHES)
    assert set(make_consent(tmp_path, env)(WISHES)) == set(WISHES)


def test_answers_are_kept_where_no_repository_is(tmp_path: Path) -> None:
    kept = Permissions({"HOME": "/home/p", "XDG_STATE_HOME": "state"}, tmp_path).path
    assert kept.parent == Path("/home/p/.local/state/bough/permissions")
    assert Permissions({"XDG_STATE_HOME": "/state"}, tmp_path).path.parent == Path("/state/bough/permissions")


def start(project: Path, env: dict[str, str], *arguments: str, terminal: int = subprocess.DEVNULL) -> str:
    command = [sys.executable, "-m", "bough", "run", "x", "--flat", *arguments]
    out = subprocess.PIPE if terminal == subprocess.DEVNULL else terminal
    done = subprocess.run(
        command, cwd=project, env={**os.environ, **env}, stdin=terminal, stdout=out, stderr=subprocess.PIPE, text=True
    )
    return done.stderr


def test_on_the_command_line(tmp_path: Path, env: dict[str, str]) -> None:
    project = tmp_path / "p"
    project.mkdir()
    (project / "bough.toml").write_text('[models]\nmain = "nobody:x"\n')
    said = start(project, env)
    assert "Settings of this repository are ignored (models.main = nobody:x): allow them with --trust-config" in said
    assert "No model is configured" in said
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"maybe\ny\n")
        assert "nobody" in start(project, env, terminal=theirs)  # allowed: there is no such provider
        shown = os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "models.main = nobody:x  (default: none)" in shown and shown.count("Allow that here") == 2
    said = start(project, env)
    assert "ignored" not in said and "nobody" in said


@pytest.mark.parametrize("named", ["by a Makefile", "by bough.toml", "by a planted proposal"])
def test_without_a_sandbox_a_check_that_only_the_repository_names_waits(tmp_path: Path, named: str) -> None:
    """A fresh clone's check would run with all of the person's rights."""
    project, ran = tmp_path / "p", tmp_path / "ran"
    project.mkdir()
    (project / "run.sh").write_text(f"touch {ran}\n")
    if named == "by a Makefile":
        (project / "Makefile").write_text("test:\n\tsh run.sh\n")
    elif named == "by bough.toml":
        (project / "bough.toml").write_text('[check]\ncommand = "sh run.sh"\n')
    else:
        (project / ".bough").mkdir()
        (project / ".bough" / "scout.json").write_text('{"command": "sh run.sh", "why": "planted"}')

    def check(*given: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "bough", "check", "--sandbox", "none", *given]
        return subprocess.run(argv, cwd=project, capture_output=True, text=True)

    refused = check()
    assert not ran.exists(), refused
    if named != "by bough.toml":  # that is ignored, and there is no other
        assert refused.returncode == 2 and "only the repository names it" in refused.stdout, refused
    check("--check", "sh run.sh")
    assert ran.exists(), "the person's own word is enough"
    ran.unlink()
    found, _ = look(project, Choices(sandbox="none", trust_config=True))
    assert ran.exists() and found.command, "and so is their consent"
    ran.unlink()
    (project / "run.sh").write_text(f"touch {ran} # and more\n")
    if named != "by a Makefile":  # what it runs is not seen from its command
        check()
        assert not ran.exists(), "it is given for what the script said"
