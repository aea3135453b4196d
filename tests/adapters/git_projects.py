"""Projects in git as persons have them, and how bough keeps their files."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home

NOBODY = 65534


@pytest.fixture(autouse=True)
def git_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person whose git settings are in a file of the test's own."""
    home = tmp_path_factory.mktemp("home")
    settings = home / ".gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return settings


def git(folder: Path, *args: str, stdin: bytes = b"") -> bytes:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")  # A person's git may know no name.
    argv = ["git", *who, "-c", "protocol.file.allow=always", *args]
    return subprocess.run(argv, cwd=folder, input=stdin, capture_output=True, check=True).stdout


def project(root: Path, files: dict[str, str], commit: bool = True) -> Path:
    """A git repository with these files, committed."""
    write(root, files)
    git(root, "init", "-q")
    if commit:
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "Start")
    return root


def write(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def spaces(root: Path, link_ignored: bool = False) -> GitWorkspaces:
    return GitWorkspaces(root, prepare_home(root), link_ignored)


def take(root: Path) -> str:
    return asyncio.run(spaces(root).take())


def kept(root: Path, tree: str) -> dict[str, tuple[str, bytes]]:
    """Paths of a tree with mode and content, as git itself reads them."""
    repo = root / ".bough" / "repo.git"
    found = {}
    for line in git(repo, "ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, kind, id = head.decode().split()
            assert kind == "blob"
            found[os.fsdecode(path)] = (mode, git(repo, "cat-file", "blob", id))
    return found


def names(root: Path, tree: str) -> set[str]:
    return set(kept(root, tree))


def fingerprint(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Everything below a folder but bough's own: mode, times, contents."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.split("/")[0] == ".bough":
            continue
        info = path.lstat()
        body = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[name] = (info.st_mode, info.st_mtime_ns if not path.is_dir() else 0, info.st_ino, body)
    return found


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of somebody for whom permissions count, as whom the block runs."""
    folder = Path(tempfile.mkdtemp())
    root, home = os.geteuid() == 0, os.environ["HOME"]
    os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = str(folder)
    try:
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.setegid(NOBODY)
            os.seteuid(NOBODY)
        yield folder
    finally:
        os.environ["HOME"] = home
        if root:
            os.seteuid(0)
            os.setegid(0)
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False)
        shutil.rmtree(folder)
