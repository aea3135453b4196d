"""What bough reads of its repository itself is what git would read, and what it cannot read git has to."""

import asyncio
import os
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.workspaces.objects import LOOSE_MOST, Batch, find_single
from bough.adapters.workspaces.saved_scan import build_index
from bough.core.errors import WorkspaceError
from tests.adapters.git_projects import git
from tests.adapters.merge_desk import LINK, PROGRAM, Desk, Files

FILES: Files = {
    "a": b"",
    "b.txt": "text\n",
    "bin/run": (PROGRAM, b"#!/bin/sh\n"),
    "bin/link": (LINK, b"run"),
    "bin.d/x": b"\0\xff" * 500,
    "caf\N{LATIN SMALL LETTER E WITH ACUTE}/" + "n" * 200: "a long name",
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "p")


def read(desk: Desk, ids: list[bytes]) -> list[bytes]:
    return [b"".join(pieces) for pieces in desk.repository.git.blobs(ids)]


def count_starts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every program that is started from here on."""
    started: list[object] = []

    class Program(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **named: Any) -> None:
            started.append(args)
            super().__init__(*args, **named)

    monkeypatch.setattr(subprocess, "Popen", Program)
    return started


def test_few_new_files_are_read_without_git(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    files = dict(desk.repository.listings.found(desk.tree(FILES)).files())
    contents = [git(desk.repo, "cat-file", "blob", file.id.hex()) for file in files.values()]
    started = count_starts(monkeypatch)
    assert read(desk, [file.id for file in files.values()]) == contents
    assert not started
    desk.repository.git.run("version")
    assert started


@pytest.mark.parametrize("how", ["gone", "cut", "no object", "shorter than it says"])
def test_a_damaged_object_is_said(desk: Desk, how: str) -> None:
    good, bad = (file.id for _, file in desk.repository.listings.found(desk.tree({"a": "one", "b": "two"})).files())
    file = Path(os.fsdecode(find_single(desk.repository.objects.folder, bad)))
    file.chmod(0o600)
    if how == "gone":
        file.unlink()
    else:
        damage = {
            "cut": file.read_bytes()[:-4],
            "no object": b"x",
            "shorter than it says": zlib.compress(b"blob 9\0tw"),
        }
        file.write_bytes(damage[how])
    with pytest.raises(WorkspaceError, match=r"damaged|stopped in the middle"):
        read(desk, [good, bad])


@pytest.mark.parametrize("size", [1 << 10, 1 << 20, 40 << 20], ids=["small", "large", "larger than git takes whole"])
def test_contents_of_every_size_single_and_in_packs(desk: Desk, size: int) -> None:
    body = os.urandom(1 << 10) * (size >> 10)
    many = {f"f{number}": f"{number}" for number in range(LOOSE_MOST + 5)}
    found = dict(desk.repository.listings.found(desk.tree({"big": body, "small": "x"})).files())
    found |= dict(desk.repository.listings.found(desk.tree({**many, "z": "x"})).files())
    wanted = {b"big": body, b"small": b"x", **{name.encode(): text.encode() for name, text in many.items()}, b"z": b"x"}
    assert dict(zip(found, read(desk, [file.id for file in found.values()]), strict=True)) == wanted


@pytest.mark.parametrize(
    "files", [{}, FILES, {f"d{n % 7}/f{n}": f"{n}" for n in range(400)}], ids=["none", "few", "many"]
)
def test_an_index_is_the_one_that_git_builds(desk: Desk, tmp_path: Path, files: Files) -> None:
    tree = desk.tree(files)
    own, theirs = tmp_path / "own", tmp_path / "theirs"
    own.write_bytes(build_index(desk.repository.listings.found(tree)))
    desk.repository.git.run("read-tree", tree, index=theirs)
    listed = [desk.repository.git.run("ls-files", "-s", "-z", index=index) for index in (own, theirs)]
    assert listed[0] == listed[1]
    assert listed[0].count(b"\0") == len(files)


@pytest.mark.parametrize("path", [".git/config", "a/.GIT/hooks/x", "../x", "a/./b"])
def test_a_tree_with_a_path_that_git_never_has_is_refused(desk: Desk, path: str) -> None:
    names = path.split("/")
    with Batch(desk.repository.objects) as batch:
        id, mode = batch.add(b"blob", b"x"), b"100644"
        for name in reversed(names):
            id, mode = batch.add(b"tree", b"%s %s\0" % (mode, name.encode()) + id), b"40000"
        batch.flush()
    with pytest.raises(WorkspaceError, match="has the invalid path"):
        asyncio.run(desk.workspaces.open("amber-heron", "goal", id.hex(), ""))
