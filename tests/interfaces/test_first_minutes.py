"""What a newcomer types in the first minutes, one command after another in a fresh project."""

import subprocess
from pathlib import Path

import pytest

from bough.adapters.sandboxes import network
from tests.harness import CHECK, make_project
from tests.interfaces.shell import bough, live, until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LOOKS: tuple[tuple[str, ...], ...] = (("status",), ("show",), ("stop",), ("log",), ("runs",), ("report",))
BEFORE: tuple[tuple[str, ...], ...] = (
    ("check", "--check", CHECK),
    ("check", "--cached"),
    ("doctor",),
    ("config",),
    ("trust",),
    ("backlog", "list"),
    ("backlog", "add", "One goal."),
    ("prune",),
)


@in_turn
@pytest.mark.parametrize("first", BEFORE, ids=" ".join)
def test_no_command_before_the_first_run_looks_like_a_loss(tmp_path: Path, first: tuple[str, ...]) -> None:
    project = make_project(tmp_path / "p")
    bough(project, *first)
    for command in LOOKS:
        said = bough(project, *command)
        assert "backup" not in said.err + said.out, (first, command, said)
        assert said.status in (0, 2), (first, command, said)


@in_turn
def test_a_killed_check_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    """Its folders are no run's: the next look does not miss a run, and `prune` or the next check removes them."""
    project = make_project(tmp_path / "p")
    home = project / ".bough"

    def left() -> list[Path]:
        return [*home.glob("work/check-*"), *home.glob("scratch/check-*"), *home.glob("repo.git/histories/check-*")]

    for command in (("prune",), ("check", "--check", CHECK)):
        with live(project, "check", "--check", "touch started; sleep 600") as process:
            until(lambda: list(home.glob("work/check-*/*/started")) or process.poll() is not None)
            busy = left()
            assert bough(project, "prune").status == 0
            assert left() == busy != []  # It is in use.
        assert bough(project, "status").status == 2
        said = bough(project, *command)
        assert not left(), said
        if command == ("prune",):
            assert "1 killed check" in said.out
        copied = subprocess.run(["cp", "-a", project, tmp_path / f"copy-{command[0]}"], capture_output=True, text=True)
        assert copied.returncode == 0, copied.stderr


def test_a_message_without_a_run_names_what_is_missing(tmp_path: Path) -> None:
    for command in ("say", "answer"):
        said = bough(make_project(tmp_path / command), command, "hello there")
        assert said.status == 2 and f"name the RUN first: bough {command} latest 'hello there'" in said.err


def test_more_ports_than_are_passed_on_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "list_machine_ports", lambda: list(range(2000, 2070)))
    loopback = network.Network("loopback")
    assert "64 lowest ports; 6 more are not reached" in loopback.says and len(loopback.request()["ports"]) == 64
    monkeypatch.setattr(network, "list_machine_ports", lambda: [2000])
    assert "lowest" not in loopback.says


def test_a_group_of_commands_alone_prints_its_help(tmp_path: Path) -> None:
    said = bough(tmp_path, "backlog")
    assert (said.status, said.err) == (0, "") and "\nCommands:\n" in said.out and "\n  add " in said.out
