"""Things that go wrong around bough, seen from outside: a clear sentence, the right exit status, nothing lost."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import CALC, FIXED, git, make_project
from tests.interfaces.shell import BOUGH, CommandOutput, act, bough, environment, repair, run_args
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.wire import Hang, WireModel


def one_sentence(said: CommandOutput, status: int, *parts: str) -> None:
    assert said.status == status, said
    last = said.err.strip().splitlines()[-1]
    assert last.startswith("bough: "), said.err
    for part in parts:
        assert part in said.err


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("kept", sample([0.3, 0.6, 0.9, 0.99], 4))
def test_a_journal_cut_off_in_mid_write(tmp_path: Path, kept: float) -> None:
    project = make_project(tmp_path / "p")
    with WireModel(repair()) as wire:
        assert bough(project, *run_args(wire.base_url)).status == 0
    for path in (project / ".bough").glob("journal.db*"):
        body = path.read_bytes()
        path.write_bytes(body[: int(len(body) * kept)])
    said = bough(project, "show")
    if said.status != 0:
        one_sentence(said, said.status, "journal.db")
        assert said.status in (1, 2)
    assert (project / "calc.py").read_text() == CALC
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_full_disk_is_reported_and_the_run_resumes_when_there_is_room(tmp_path: Path) -> None:
    """The system refuses to let any file grow past a limit: what a full disk looks like to a program."""
    project = make_project(tmp_path / "p")
    room, whole = 200_000, {"BOUGH_MODELS_WINDOW": "1000000"}  # nothing is compacted

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))

    big = "x" * 150_000
    script = [
        *repair()[:1],
        *[act("write", path=f"big{n}.txt", content=big) for n in range(4)],
        *repair()[1:],
    ]
    with WireModel(script) as wire:
        command = [*BOUGH, *run_args(wire.base_url, "--protocol", "tools")]
        done = subprocess.run(
            command,
            cwd=project,
            env=environment() | whole,
            preexec_fn=little_room,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert "bough: " in done.stderr
        again = bough(project, "resume", "--base-url", wire.base_url, "--protocol", "tools", **whole)
    assert again.status == 0, again
    assert bough(project, "apply").status == 0
    assert (project / "calc.py").read_text() == FIXED


@pytest.mark.parametrize("command", ["show", "status", "log", "diff", "apply", "rewind", "resume", "stop"])
def test_without_a_bough_folder_there_is_nothing_to_look_at(tmp_path: Path, command: str) -> None:
    project = make_project(tmp_path / "p")
    one_sentence(bough(project, command), 2, "no runs", "bough run GOAL")
    assert not (project / ".bough").exists()


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / ".bough").write_text("mine")
    with WireModel(repair()) as wire:
        said = bough(project, *run_args(wire.base_url))
    one_sentence(said, 2, ".bough", "it is not a folder")
    assert (project / ".bough").read_text() == "mine"


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_an_unborn_branch_is_a_project_like_any_other(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", repository=False)
    git(project, "init", "-q")
    with WireModel(repair()) as wire:
        assert bough(project, *run_args(wire.base_url)).status == 0
    assert bough(project, "apply").status == 0
    assert (project / "calc.py").read_text() == FIXED


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_dirty_tree_comes_along_and_stays_as_it_is(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "calc.py").write_text(CALC.replace("a, b", "a,  b"))
    (project / "new file ü.txt").write_text("untracked")
    before = git(project, "status", "--porcelain")
    with WireModel(repair()) as wire:
        assert bough(project, *run_args(wire.base_url)).status == 0
    assert git(project, "status", "--porcelain") == before
    assert bough(project, "diff", "--stat").out.count("|") == 1


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_model_that_never_answers(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    settings = "model_timeout = 1\nmodel_longest = 1.2\nbackoff_first = 0.01\nmax_transport_failures = 2\n"
    (project / "bough.toml").write_text(f"[limits]\n{settings}")
    with WireModel([Hang(), Hang(), *repair()]) as wire:
        said = bough(project, *run_args(wire.base_url))
        assert said.status == 7, said
        assert "bough resume" in said.out
        assert bough(project, "resume", "--base-url", wire.base_url).status == 0


def test_git_is_missing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", repository=False)
    only = tmp_path / "bin"
    only.mkdir()
    (only / "python3").symlink_to(sys.executable)
    (only / "bash").symlink_to(str(shutil.which("bash")))
    with WireModel(repair()) as wire:
        said = bough(project, *run_args(wire.base_url), PATH=str(only))
    one_sentence(said, 1, "git was not found")
