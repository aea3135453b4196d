"""What one command may use of the machine."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from bough.adapters.sandboxes import crew, groups
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode
from bough.adapters.sandboxes.limits import FILE, PROCESSES, describe_hit, find_memory_limit
from bough.adapters.sandboxes.process import make_sandbox
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


# ── a control group for all commands together, on a tree like that of a session under systemd ─────────────────────────


class Tree:
    """What the kernel would show and take: here, files."""

    def __init__(self, top: Path, own: str) -> None:
        self.top = top / "cgroup"
        (self.top / own.strip("/")).mkdir(parents=True)
        self.mounts, self.own = top / "mountinfo", top / "own"
        self.mounts.write_text(f"30 23 0:26 / {self.top} rw,nosuid - cgroup2 cgroup2 rw\n")
        self.own.write_text(f"1:name=systemd:/\n0::{own}\n")

    def delegate(self, path: str, controllers: str) -> None:
        (self.top / path / "cgroup.subtree_control").write_text(controllers)

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> groups.Group | None:
        mkdir = os.mkdir

        def make(path: str) -> None:
            mkdir(path)
            for name in ("memory.max", "pids.max", "cgroup.procs"):
                Path(path, name).touch()

        monkeypatch.setattr(os, "mkdir", make)
        return groups.enter_group(str(self.mounts), str(self.own))


def test_all_commands_together_are_limited_where_a_part_of_the_tree_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path, "/user.slice/user@1.service/app.slice/shell.scope")
    tree.delegate("user.slice/user@1.service", "cpu memory pids")
    tree.delegate("user.slice/user@1.service/app.slice", "memory pids")
    place = tree.top / "user.slice/user@1.service/app.slice"
    (place / "bough-999999999").mkdir()  # of one that is gone
    group = tree.enter(monkeypatch)
    assert group is not None
    assert [path.name for path in place.glob("bough-*")] == [f"bough-{os.getpid()}"]
    place /= f"bough-{os.getpid()}"
    assert group.path == str(place)
    assert (place / "memory.max").read_text() == str(find_memory_limit())
    assert (place / "pids.max").read_text() == str(PROCESSES)
    assert (place / "cgroup.procs").read_text() == str(os.getpid())
    before = group.hits()
    assert group.hit_since(before) == ""
    (place / "pids.events").write_text("max 3\n")
    assert group.hit_since(before) == "processes" and "4,096" in groups.describe_limit("processes")
    (place / "memory.events").write_text("low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n")
    assert group.hit_since(before) == "memory" and "GB" in groups.describe_limit("memory")


@pytest.mark.parametrize(
    ("own", "delegated"),
    [("/a/b", {"a": "cpu"}), ("/a/b", {}), ("/", {}), ("/../outside", {"": "memory"}), ("/a/b", {"a/b": "memory"})],
)
def test_without_one_the_limits_of_single_processes_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, delegated: dict[str, str]
) -> None:
    tree = Tree(tmp_path, own)
    for path, controllers in delegated.items():
        tree.delegate(path, controllers)
    assert tree.enter(monkeypatch) is None
    assert groups.enter_group(str(tmp_path / "nothing"), str(tree.own)) is None


def test_the_model_is_told_which_limit_was_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = make_sandbox("none", make_env(os.environ))
    monkeypatch.setattr(crew.Command, "report", AsyncMock(return_value={"status": 137, "hit": "memory"}))
    finished = shell(sandbox, make_plain_folder(tmp_path), "echo ate; sleep 0.1")
    assert b"(A limit was hit: together, this run's commands exceeded their memory limit" in finished.output
