"""What one command may use of the machine."""

import asyncio
import os
from pathlib import Path

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode
from bough.adapters.sandboxes.limits import FILE, describe_hit, find_memory_limit
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.verifiers.check_runner import run_line
from bough.adapters.workspaces.plain_folder import make_plain_folder
from tests.adapters.test_sandbox import shell


@pytest.mark.parametrize("mode", ["auto", "landlock"])
def test_a_command_is_limited_and_bough_is_not(mode: Mode, tmp_path: Path) -> None:
    sandbox = make_sandbox(mode, make_env(os.environ))
    checkout = make_plain_folder(tmp_path)
    lines = "sleep 0.1; ulimit -f; ulimit -d; ulimit -c; cat /proc/self/oom_score_adj"
    said = shell(sandbox, checkout, f"bash -c '{lines}'").output.split()
    assert [int(word) for word in said] == [FILE >> 10, find_memory_limit() >> 10, 0, 800]
    assert Path("/proc/self/oom_score_adj").read_text().strip() != "800"


@pytest.mark.parametrize("mode", ["auto", "landlock"])
def test_a_sanitizer_runs_without_the_limit_of_its_data(mode: Mode, tmp_path: Path) -> None:
    sandbox, folder = make_sandbox(mode, make_env(os.environ)), make_plain_folder(tmp_path)
    fails = "echo ==7==ERROR: AddressSanitizer failed to allocate; exit 1"
    line = f"sleep 0.1; echo x >> runs; test `ulimit -d` = unlimited || {{ {fails}; }}"
    finished = asyncio.run(run_line(sandbox, line, workspace=folder, timeout=60, limit=1000))
    assert (finished.exit_status, (folder.root / "runs").read_text()) == (0, "x\nx\n")


def test_a_file_that_grows_too_big_is_named(tmp_path: Path) -> None:
    sandbox = make_sandbox("auto", make_env(os.environ))
    line = f"sleep 0.1; dd if=/dev/zero of=big bs=1 count=2 seek={FILE - 1} 2>/dev/null"
    finished = shell(sandbox, make_plain_folder(tmp_path), line)
    assert finished.exit_status == 153
    assert "8 GB" in describe_hit(finished.exit_status, finished.killed)


def test_memory_is_named() -> None:
    assert "memory" in describe_hit(137, "")
    assert describe_hit(137, "after 120 s") == ""
    assert describe_hit(0, "") == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel does not limit root")
def test_processes_are_limited(tmp_path: Path) -> None:
    sandbox = make_sandbox("namespaces", make_env(os.environ))
    assert int(shell(sandbox, make_plain_folder(tmp_path), "ulimit -u").output) == 4096
