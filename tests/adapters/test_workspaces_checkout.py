"""A task's private checkout: opening, shared folders, discarding."""

import asyncio
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from bough.adapters.workspaces import home
from bough.adapters.workspaces.git import GitWorkspaces
from bough.core.errors import WorkspaceError
from tests.adapters.checkouts import FILES, Task, with_task
from tests.adapters.git_projects import (
    fingerprint,
    git,
    git_settings,  # noqa: F401 - used by every test
    kept,
    names,
    ordinary_user,
    project,
    spaces,
    write,
)
from tests.sampling import in_turn


def test_open_gives_the_files_and_git_works_there(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("src")

    async def body(task: Task) -> None:
        assert task.on_disk() == {*FILES, "run", "link"}
        assert (task.top / "link").readlink() == Path("src")
        assert (task.top / "run").stat().st_mode & 0o111 == 0o111
        assert (task.top / "a.txt").stat().st_mode & 0o111 == 0
        assert task.workspace.folder == task.top
        assert task.workspace.scratch.is_dir()
        assert not task.workspace.scratch.is_relative_to(task.top)
        assert git(task.top, "status", "--porcelain") == b""
        assert git(task.top, "rev-parse", "HEAD^{tree}").decode().strip() == task.base
        assert git(task.top, "branch", "--show-current") == b"bough/amber-heron/goal\n"
        (task.top / "a.txt").write_text("changed")
        assert b"+changed" in git(task.top, "diff")

    with_task(root, body)


def test_the_agent_starts_where_the_person_stood(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        opened = await task.workspaces.open("amber-heron", "other", task.base, "src/deep")
        assert opened.folder == opened.root / "src" / "deep"
        hollow = await task.workspaces.open("amber-heron", "third", task.base, "not/kept")
        assert hollow.folder.is_dir()
        for folder in ("../out", "/etc", "src/../../out"):
            with pytest.raises(WorkspaceError, match="outside the project"):
                await task.workspaces.open("amber-heron", "fourth", task.base, folder)
        shutil.rmtree(opened.root / "src")
        (opened.root / "src").symlink_to(tmp_path)
        again = await task.workspaces.open("amber-heron", "other", task.base, "src/deep")
        assert again.folder == again.root
        assert not (tmp_path / "deep").exists()

    with_task(root, body)


def test_open_again_leaves_the_files_as_they_are(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        write(task.top, {"a.txt": "agent's", "new": "n"})
        again = await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert again.root == task.top
        assert (task.top / "a.txt").read_text() == "agent's"
        assert names(root, await again.snapshot()) == {*FILES, "new"}
        shutil.rmtree(task.top)
        shutil.rmtree(task.workspace.scratch)
        again = await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert task.on_disk() == set(FILES)
        assert again.scratch.is_dir()
        assert await again.snapshot() == task.base

    with_task(root, body)


def test_open_after_being_killed_half_way(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        place = task.top.with_name("half.part")
        write(place, {"a.txt": "half", "other/junk": "x"})
        write(task.top.parent / "half.git.part", {"HEAD": "x"})
        half = await task.workspaces.open("amber-heron", "half", task.base, "")
        assert await half.snapshot() == task.base
        assert not place.exists()
        assert git(half.root, "status", "--porcelain") == b""

    with_task(root, body)


def test_what_is_in_the_place_of_a_checkout_is_not_followed(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    target = write(tmp_path / "target", {"precious": "x"})

    async def body(task: Task) -> None:
        (task.top.parent / "evil").symlink_to(target)
        opened = await task.workspaces.open("amber-heron", "evil", task.base, "")
        assert not opened.root.is_symlink()
        assert await opened.snapshot() == task.base

    with_task(root, body)
    assert (target / "precious").read_text() == "x"


def test_names_of_tasks_never_meet(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"a": "1"})
    tasks = [
        "a",
        "a/b",
        "a+b",
        "a_2b",
        "a-b",
        "A",
        "ä",
        "a.b",
        "a.lock",
        "../x",
        ".",
        "..",
        "x" * 300,
        "x" * 301,
        "a b",
        "-x",
    ]

    async def body(task: Task) -> None:
        places = set()
        for name in tasks:
            opened = await task.workspaces.open("amber-heron", name, task.base, "")
            await opened.checkpoint(task.base, name)
            assert opened.root.parent == task.top.parent
            places.add(str(opened.root).lower())
        assert len(places) == len(tasks)
        refs = git(root / ".bough" / "repo.git", "for-each-ref", "--format=%(refname)").split()
        assert len(refs) == len(tasks)

    with_task(root, body)


def test_permissions_do_not_hinder() -> None:
    with ordinary_user() as folder:
        root = write(folder / "p", FILES | {"lib/x": "x"})

        async def body(task: Task) -> None:
            top = task.top
            write(top, {"secret": "s", "made/f": "f", "lib/new": "n"})
            (top / "secret").chmod(0)
            (top / "made").chmod(0o500)
            (top / "lib" / "x").chmod(0)
            (top / "lib").chmod(0o400)
            (top / "src" / "deep").chmod(0)
            tree = await task.workspace.snapshot()
            found = kept(root, tree)
            assert found["secret"][1] == b"s"
            assert found["lib/x"][1] == b"x"
            assert set(found) == {*FILES, "secret", "made/f", "lib/x", "lib/new"}
            for name in ("lib", "src/deep", "src"):
                (top / name).chmod(0o500)
            (top / "lib" / "x").chmod(0o400)
            await task.workspace.restore(task.base)
            assert task.on_disk() == {*FILES, "lib/x"}
            assert await task.workspace.snapshot() == task.base
            write(top, {"made/again/f": "f"})
            for name in ("made/again", "made", "src/deep", "src"):
                (top / name).chmod(0o500)
            (task.workspace.scratch / "t").mkdir(mode=0o700)
            (task.workspace.scratch / "t" / "f").write_text("")
            (task.workspace.scratch / "t").chmod(0)
            await task.workspaces.discard("amber-heron", "goal")
            assert not top.exists()
            assert not task.workspace.scratch.exists()

        with_task(root, body)


def test_ignored_heavy_folders_are_shared_by_links(tmp_path: Path) -> None:
    root = project(
        tmp_path / "p", FILES | {".gitignore": "vendor/\n/packages/web/node_modules/\n", "packages/web/x": ""}
    )
    write(
        root,
        {
            "node_modules/lib/index.js": "precious",
            "packages/web/node_modules/lib/index.js": "precious",
            "vendor/lib": "precious",
            ".venv/bin/python": "precious",
            "other/vendor/x": "its folder has no kept file",
            ".tox/x": "not shared",
        },
    )
    (root / "env").mkdir()  # not ignored: an ordinary folder
    links = {"node_modules", "packages/web/node_modules", "vendor", ".venv"}
    before = fingerprint(root)

    async def body(task: Task) -> None:
        found = {name for name in task.on_disk() if (task.top / name).is_symlink()}
        assert found == links
        assert (task.top / "node_modules" / "lib" / "index.js").read_text() == "precious"
        assert git(task.top, "status", "--porcelain") == b""
        assert await task.workspace.snapshot() == task.base
        write(task.top, {"new": ""})
        shutil.rmtree(task.top / "packages" / "web" / "x", ignore_errors=True)
        (task.top / "packages" / "web" / "x").unlink()
        await task.workspace.restore(task.base)
        assert {name for name in task.on_disk() if (task.top / name).is_symlink()} == links
        assert await task.workspace.snapshot() == task.base
        (task.top / "packages" / "web" / "x").unlink()
        await task.workspace.restore(await task.workspace.snapshot())
        assert (task.top / "packages" / "web" / "node_modules").is_symlink()
        await task.workspace.restore(task.base)
        (task.top / "vendor").unlink()
        write(task.top, {"vendor/own": "the agent's"})
        again = await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert (again.root / "vendor" / "own").read_text() == "the agent's"
        assert await again.snapshot() == task.base
        closed = await spaces(root, link_ignored=False).open("amber-heron", "goal", task.base, "")
        assert not any((closed.root / name).is_symlink() for name in links)
        await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert (task.top / ".venv").is_symlink()
        await task.workspaces.discard("amber-heron", "goal")
        assert not task.top.exists()

    with_task(root, body, link_ignored=True)
    assert fingerprint(root) == before


def test_tracked_folder_is_not_shared(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {"vendor/tracked": "t"})
    write(root, {".gitignore": "vendor/\n", "vendor/untracked": "u"})

    async def body(task: Task) -> None:
        assert not (task.top / "vendor").is_symlink()
        assert "vendor/tracked" in task.on_disk()

    with_task(root, body, link_ignored=True)


@in_turn
def test_a_task_that_ends_takes_no_folder_from_one_that_begins(tmp_path: Path) -> None:
    place, stop = tmp_path / "work" / "run", threading.Event()

    def end_tasks() -> None:
        while not stop.wait(0.0003):
            with suppress(OSError):
                place.rmdir()

    ending = threading.Thread(target=end_tasks)
    ending.start()
    try:
        for _ in range(2000):
            home.claim_checkout(place / "goal", "goal")
            (place / "goal.owner").unlink()
    finally:
        stop.set()
        ending.join()


def test_a_checkout_outside_the_project_has_its_history(tmp_path: Path) -> None:
    (tmp_path / "state" / "deeper").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "state" / "deeper")
    root, outside = project(tmp_path / "p", FILES), tmp_path / "link" / "checkouts"
    (root / "new.txt").write_text("in no commit of the person's\n")

    async def go() -> bytes:
        workspaces = GitWorkspaces(root, root / ".bough", link_ignored=False, outside=outside)
        base = await workspaces.take()
        workspace = await workspaces.open("amber-heron", "goal", base, "")
        assert workspace.root.resolve().is_relative_to(outside.resolve())
        return git(workspace.root, "show", "--name-only", "--format=%s", "HEAD")

    assert b"new.txt" in asyncio.run(go())


def test_a_kill_at_any_moment_leaves_no_owner_without_a_name(tmp_path: Path) -> None:
    """A limit on file sizes stops the process where a kill between making a file and filling it would."""
    took = """
import resource, sys
from pathlib import Path
from bough.adapters.workspaces import home

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
home.claim_checkout(Path(sys.argv[1]), "goal--baseline")
"""
    place = tmp_path / "work" / "run"
    subprocess.run([sys.executable, "-c", took, str(place / "goal")], check=False, capture_output=True)
    notes = list(place.glob("*"))
    assert list(home.list_abandoned(place, "--baseline")) == ["goal--baseline" for _ in notes]


def test_discard_keeps_the_commits_and_other_tasks(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        other = await task.workspaces.open("amber-heron", "goal/other", task.base, "")
        (task.top / "outside").symlink_to(root)
        commit = await task.workspace.checkpoint(task.base, "Kept")
        await task.workspaces.discard("amber-heron", "goal")
        await task.workspaces.discard("amber-heron", "goal")
        await task.workspaces.discard("never", "was")
        assert not task.top.exists()
        assert await other.snapshot() == task.base
        assert git(root / ".bough" / "repo.git", "cat-file", "-t", commit) == b"commit\n"
        await task.workspaces.discard("amber-heron", "goal/other")
        assert not other.root.parent.exists()

    before = fingerprint(root)
    with_task(root, body)
    assert fingerprint(root) == before


@in_turn
def test_eight_tasks_at_once(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {f"d{i % 5}/f{i}": str(i) for i in range(60)})

    async def body(task: Task) -> None:
        async def one(number: int) -> str:
            workspace = await task.workspaces.open("amber-heron", f"t{number}", task.base, "")
            trees = []
            for count in range(5):
                write(workspace.root, {"a.txt": f"{number} {count}", f"new{count}": "n"})
                trees.append(await workspace.snapshot())
            await workspace.checkpoint(trees[-1], f"Task {number}")
            await workspace.restore(trees[2])
            assert await workspace.snapshot() == trees[2]
            return trees[-1]

        trees = await asyncio.gather(*(one(number) for number in range(8)))
        for number, tree in enumerate(trees):
            assert kept(root, tree)["a.txt"][1] == f"{number} 4".encode()
        git(root / ".bough" / "repo.git", "fsck", "--strict", "--no-dangling")

    with_task(root, body)


def test_empty_folders_of_the_persons_are_there(tmp_path: Path) -> None:
    """A program writes its log into one; the agent may have put something else there."""
    root = project(tmp_path, FILES)
    (root / "logs" / "old").mkdir(parents=True)
    (root / "spool").mkdir()
    (root / "kept.log").write_text("ignored\n")

    async def body(task: Task) -> None:
        assert (task.top / "logs" / "old").is_dir() and (task.top / "spool").is_dir()
        assert await task.workspace.snapshot() == task.base
        (task.top / "spool").rmdir()
        (task.top / "spool").symlink_to(tmp_path)
        (task.top / "logs" / "old").rmdir()
        await task.workspace.furnish()
        assert (task.top / "logs" / "old").is_dir() and (task.top / "spool").is_symlink()

    with_task(root, body)
