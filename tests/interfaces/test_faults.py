"""Odd surroundings, seen from outside: closed streams, a terminal that is gone, a proxy, a read-only folder."""

import os
import pty
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness import make_project
from tests.interfaces.shell import BOUGH, bough, environment, repair, run_args
from tests.interfaces.test_trouble import one_sentence
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.wire import Hang, WireModel


def finished(folder: Path) -> Path:
    project = make_project(folder)
    with WireModel(repair()) as wire:
        assert bough(project, *run_args(wire.base_url)).status == 0
    return project


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_resuming_a_finished_run_says_how_it_ended(tmp_path: Path) -> None:
    project = finished(tmp_path / "p")
    loop = f"until {shlex.join(BOUGH)} resume; do echo again; done"
    done = subprocess.run(
        ["bash", "-c", loop], cwd=project, env=environment(), capture_output=True, text=True, timeout=240, check=True
    )
    assert "is finished" in done.stdout
    assert "again" not in done.stdout


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("closed", sample(["<&-", ">&-", "2>&-", "<&- >&- 2>&-"], 2))
def test_closed_streams_do_no_harm(tmp_path: Path, closed: str) -> None:
    project = make_project(tmp_path / "p")
    with WireModel(repair()) as wire:
        line = f"{shlex.join([*BOUGH, *run_args(wire.base_url)])} {closed}"
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=project,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AttributeError" not in done.stderr
    for command in ("show", "status", "diff", "log", "runs"):
        line = f"{shlex.join([*BOUGH, command])} {closed}"
        shown = subprocess.run(["bash", "-c", line], cwd=project, env=environment(), capture_output=True, check=False)
        assert shown.returncode == 0, shown


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_terminal_that_is_closed_stops_the_run(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    with WireModel([Hang()]) as wire:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*BOUGH, *run_args(wire.base_url)],
            cwd=project,
            env=environment(),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        while not wire.requests:
            assert process.poll() is None
            time.sleep(0.02)
        os.close(ours)
        for _ in range(2):
            process.send_signal(signal.SIGHUP)
            time.sleep(0.3)
        assert process.wait(timeout=240) == 6
    assert bough(project, "status").status == 0


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_lost_wal_is_not_an_empty_project(tmp_path: Path) -> None:
    project = finished(tmp_path / "p")
    # As it is when the machine goes down before the first events reach the main file, and the -wal file is removed.
    journal = project / ".bough" / "journal.db"
    script = f"import sqlite3; db = sqlite3.connect({str(journal)!r}); db.execute('DELETE FROM events'); db.commit()"
    subprocess.run([sys.executable, "-c", script], check=True)
    one_sentence(bough(project, "show"), 1, "journal.db", "-wal")


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_proxy_is_not_asked_for_this_machine(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    with socket.socket() as deaf, WireModel(repair()) as wire:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        proxy = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        said = bough(project, *run_args(wire.base_url), http_proxy=proxy, HTTP_PROXY=proxy, all_proxy=proxy)
    assert said.status == 0, said


def test_a_path_that_is_too_long_is_called_that(tmp_path: Path) -> None:
    deep = tmp_path
    while len(str(deep)) < 490:
        deep /= "d" * min(100, max(1, 490 - len(str(deep))))
    project = make_project(deep)
    with WireModel(repair()) as wire:
        one_sentence(bough(project, *run_args(wire.base_url)), 1, "too long")


def test_too_little_memory_is_said(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (60_000_000, 60_000_000))

    done = subprocess.run(
        [*BOUGH, "show"], cwd=project, env=environment(), preexec_fn=little, capture_output=True, text=True, check=False
    )
    if done.returncode < 0 or "bough: " not in done.stderr:
        pytest.skip("Python itself does not start in so little")
    assert "internal error" not in done.stderr


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a folder can only be mounted by root")
    project = finished(tmp_path / "p")
    home = project / ".bough"
    subprocess.run(["mount", "--bind", home, home], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", home, home], check=True)
    yield project
    subprocess.run(["umount", "-l", home], check=True)


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.skipif(shutil.which("mount") is None, reason="needs mount")
def test_a_read_only_home_can_be_looked_at(read_only: Path) -> None:
    for command in (("show",), ("status",), ("diff",), ("log",), ("runs",), ("stats",), ("status", "--json")):
        said = bough(read_only, *command)
        assert said.status == 0, (command, said)
    one_sentence(bough(read_only, "run", "x", "--model", "replay:none"), 2, "writ")
    one_sentence(bough(read_only, "undo"), 2, "is read-only: make it writable, or run bough in a copy of the project.")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_the_folder_of_another_user_is_a_reason_not_to_begin(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / ".bough").mkdir()
    os.chown(project / ".bough", 12345, -1)
    for command in (("check",), ("status",), ("show",)):
        one_sentence(bough(project, *command), 2, "belongs to another user", "move it away")


def test_too_many_open_files_are_a_reason_not_to_begin(tmp_path: Path) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))

    done = subprocess.run(
        [*BOUGH, "check"],
        cwd=make_project(tmp_path / "p"),
        env=environment(),
        preexec_fn=few,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done
    assert "too many files are open" in done.stderr and "ulimit -n" in done.stderr and ".py" not in done.stderr
