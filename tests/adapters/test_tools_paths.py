"""No path leads out of the workspace."""

import ctypes
import os
import socket
import threading
from pathlib import Path

import pytest

from bough.adapters.tools import paths
from bough.adapters.tools.tool import Refusal
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from tests.adapters.test_sandbox import linux
from tests.adapters.test_tools import use
from tests.sampling import in_turn

SECRET = "the person's own words"


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    return make_plain_folder(tmp_path)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace-of-the-person"  # its path begins like the workspace's
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


def try_everything(checkout: PlainFolder, path: str) -> None:
    """Every file tool refuses the path, and says nothing of what is there."""
    for name, more in {
        "read": {},
        "write": {"content": "overwritten"},
        "edit": {"old": "person", "new": "agent"},
        "search": {"pattern": "own"},
        "list": {},
    }.items():
        result = use(checkout, name, path=path, **more)
        assert not result.ok, f"{name} {path}: {result.output}"
        assert SECRET not in result.output and "secret.txt" not in result.output.replace(path, "")


ESCAPES = [
    "{outside}/secret.txt",
    "../workspace-of-the-person/secret.txt",
    "sub/../../workspace-of-the-person/secret.txt",
    "./././../workspace-of-the-person/secret.txt",
    "{root}/../workspace-of-the-person/secret.txt",
    "/proc/self/root{outside}/secret.txt",
    "/proc/self/cwd/../../../../../../../../../../../etc/passwd",
    "/dev/fd/0",
    "/etc/passwd",
    "link/secret.txt",
    "filelink",
    "sub/chain/secret.txt",
    "absolute/../workspace-of-the-person/secret.txt",
    "broken",
    "~/secret.txt",
    "~root/secret.txt",
    "loop/x",
    "loop",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_tool_leaves_the_workspace(checkout: PlainFolder, outside: Path, path: str) -> None:
    root = checkout.root
    (root / "sub").mkdir()
    (root / "link").symlink_to(outside)
    (root / "filelink").symlink_to(outside / "secret.txt")
    (root / "sub" / "chain").symlink_to("../link")
    (root / "absolute").symlink_to(outside.parent / "workspace-of-the-person")
    (root / "broken").symlink_to(outside / "new.txt")
    (root / "loop").symlink_to("loop")
    try_everything(checkout, path.format(outside=outside, root=root))
    assert (outside / "secret.txt").read_text() == SECRET
    assert [p.name for p in outside.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize("path", ["a\0b", "a" * 300, "a/" * 3000, "\x7f\x1b[31m", "a\nb", " ", "-rf", "ﾄ/‮evil"])
def test_odd_paths_are_answered(checkout: PlainFolder, path: str) -> None:
    for name in ("read", "list", "search"):
        more = {"pattern": "x"} if name == "search" else {}
        assert not use(checkout, name, path=path, **more).ok


def test_what_stays_inside_is_fine(checkout: PlainFolder) -> None:
    root = checkout.root
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("inside\n")
    (root / "link.txt").symlink_to("sub/../a.txt")
    (root / "linked").symlink_to(root / "sub")
    below = PlainFolder(root, root / "sub", checkout.scratch)
    for path in ("../a.txt", str(root / "a.txt"), "deep/../../a.txt", f"{root}/sub/../link.txt", "../linked/../a.txt"):
        assert "inside" in use(below, "read", path=path).output, path
    assert use(below, "write", path="../linked/new.txt", content="x").ok
    assert (root / "sub" / "new.txt").read_text() == "x"
    assert use(below, "edit", path="../link.txt", old="inside", new="still").ok
    assert (root / "link.txt").is_symlink() and (root / "a.txt").read_text() == "still\n"
    assert "a.txt" in use(below, "list", path="..").output
    assert "../a.txt:1:still" in use(below, "search", pattern="still", path="..").output


def test_a_workspace_that_is_reached_through_a_link(tmp_path: Path) -> None:
    checkout = make_plain_folder(tmp_path)
    (tmp_path / "alias").symlink_to(checkout.root)
    alias = PlainFolder(tmp_path / "alias", tmp_path / "alias", checkout.scratch)
    (checkout.root / "a.txt").write_text("inside\n")
    for path in ("a.txt", str(tmp_path / "alias/a.txt"), str(checkout.root / "a.txt")):
        assert "inside" in use(alias, "read", path=path).output


@pytest.mark.parametrize("path", [".git", ".git/config", ".GIT/hooks/pre-commit", "sub/.git/config", "x/../.git/HEAD"])
def test_git_cannot_be_written(checkout: PlainFolder, path: str) -> None:
    (checkout.root / ".git").write_text("gitdir: /elsewhere\n")
    assert not use(checkout, "write", path=path, content="[core]\nfsmonitor=evil").ok
    assert not use(checkout, "edit", path=path, old="gitdir", new="x").ok
    assert (checkout.root / ".git").read_text() == "gitdir: /elsewhere\n"
    assert use(checkout, "write", path=".gitignore", content="x").ok


def test_git_cannot_be_written_through_a_link(checkout: PlainFolder) -> None:
    (checkout.root / ".git").mkdir()
    (checkout.root / "alias").symlink_to(".git")
    assert not use(checkout, "write", path="alias/config", content="x").ok


def test_what_would_hang_is_not_opened(checkout: PlainFolder) -> None:
    os.mkfifo(checkout.root / "pipe")
    listening = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(checkout.root)  # the path of a socket must be short
    try:
        listening.bind("sock")
    finally:
        os.chdir(here)
        listening.close()
    (checkout.root / "device").symlink_to("/dev/zero")
    for path in ("pipe", "sock", "device"):
        for name, more in {"read": {}, "write": {"content": "x"}, "search": {"pattern": "x"}, "list": {}}.items():
            result = use(checkout, name, path=path, **more)
            assert not result.ok and not result.fault
    assert "is a pipe" in use(checkout, "read", path="pipe").output


def test_a_folder_that_becomes_a_link_after_the_check_is_not_followed(checkout: PlainFolder, outside: Path) -> None:
    (checkout.root / "sub").mkdir()
    (checkout.root / "sub" / "secret.txt").write_text("inside")
    place = paths.resolve_path(checkout, "sub/secret.txt", writing=True)
    (checkout.root / "sub").rename(checkout.root / "moved")
    (checkout.root / "sub").symlink_to(outside)
    with pytest.raises(OSError):
        paths.read_bytes(place, 100)
    with pytest.raises(OSError):
        paths.write_bytes(place, b"overwritten")
    assert (outside / "secret.txt").read_text() == SECRET


def test_a_file_that_becomes_a_link_after_the_check_is_not_followed(checkout: PlainFolder, outside: Path) -> None:
    (checkout.root / "a.txt").write_text("inside")
    place = paths.resolve_path(checkout, "a.txt", writing=True)
    (checkout.root / "a.txt").unlink()
    (checkout.root / "a.txt").symlink_to(outside / "secret.txt")
    with pytest.raises((OSError, Refusal)):
        paths.read_bytes(place, 100)
    with pytest.raises((OSError, Refusal)):
        paths.write_bytes(place, b"overwritten")
    assert (outside / "secret.txt").read_text() == SECRET


@in_turn
@linux
def test_swapping_a_folder_for_a_link_all_the_time_wins_nothing(checkout: PlainFolder, outside: Path) -> None:
    inside, link = checkout.root / "sub", checkout.root / "link"
    inside.mkdir()
    (inside / "secret.txt").write_text("inside")
    link.symlink_to(outside)
    libc = ctypes.CDLL(None)
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        here, exchange = -100, 2
        while not stop.is_set():
            assert libc.renameat2(here, bytes(inside), here, bytes(link), exchange) == 0
            swaps += 1

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        seen = set()
        for n in range(60):
            seen.add(use(checkout, "read", path="sub/secret.txt").output)
            use(checkout, "write", path="sub/written.txt", content=str(n))
            use(checkout, "edit", path="sub/secret.txt", old="person", new="agent")
            use(checkout, "list", path="sub")
    finally:
        stop.set()
        swapping.join()
    assert swaps > 100
    assert not any(SECRET in output for output in seen) and any("inside" in output for output in seen)
    assert (outside / "secret.txt").read_text() == SECRET
    assert [p.name for p in outside.iterdir()] == ["secret.txt"]
