"""A task's private checkout: snapshots, restoring, checkpoints, changes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bough.adapters.workspaces import scan
from bough.adapters.workspaces.file_index import STAMP, KeptPaths
from tests.adapters.checkouts import FILES, Task, agent, with_task
from tests.adapters.git_projects import (
    fingerprint,
    git,
    git_settings,  # noqa: F401 - used by every test
    kept,
    names,
    project,
    spaces,
    write,
)
from tests.sampling import in_turn


def test_snapshot_sees_every_kind_of_change(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {"x/y": "1", "m": "mode"})

    async def body(task: Task) -> None:
        top, snapshot = task.top, task.workspace.snapshot
        assert await snapshot() == task.base
        write(top, {"new.txt": "n", "made/dir/f": "f", "ignored.log": "no"})
        assert await task.names() == {*FILES, "x/y", "m", "new.txt", "made/dir/f"}
        (top / "a.txt").unlink()
        shutil.rmtree(top / "made")
        (top / "m").chmod(0o755)
        found = kept(root, await snapshot())
        assert found["m"][0] == "100755"
        assert set(found) == {"src/b.py", "src/deep/c.py", ".gitignore", "x/y", "m", "new.txt"}
        shutil.rmtree(top / "x")
        (top / "x").symlink_to("/etc")
        (top / "new.txt").unlink()
        write(top, {"new.txt/inside": "i"})
        found = kept(root, await snapshot())
        assert found["x"] == ("120000", b"/etc")
        assert found["new.txt/inside"] == ("100644", b"i")
        assert not any(name.startswith("x/") for name in found)
        (top / "x").unlink()
        write(top, {"x": "a file now"})
        assert kept(root, await snapshot())["x"] == ("100644", b"a file now")

    with_task(root, body)


def test_snapshot_sees_an_edit_of_the_same_length_at_once(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        trees = set()
        for count in range(100, 160):
            (task.top / "a.txt").write_text(str(count))
            trees.add(await task.workspace.snapshot())
        assert len(trees) == 60
        info = (task.top / "a.txt").stat()
        (task.top / "a.txt").write_text("999")
        os.utime(task.top / "a.txt", ns=(info.st_atime_ns, info.st_mtime_ns))
        assert kept(root, await task.workspace.snapshot())["a.txt"][1] == b"999"

    with_task(root, body)


def test_same_stamp_is_believed_only_of_files_that_were_at_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk whose clock ticks slowly two writes bear the same time. A person's files may be on another disk than
    the clock, which ticks more slowly still."""
    second, written = 1_000_000_000, 1_700_000_000_123_456_789
    monkeypatch.setattr(
        scan, "make_stamp", lambda info: STAMP.pack(written, written, info.st_size, 0, info.st_mode, 0, 0)
    )
    top = write(tmp_path / "p", {"f": "0"})

    def seen_after(now: int, own: bool = False) -> bool:
        """Whether an edit is seen that came after a look at this time."""
        scanner = scan.Scanner(os.fsencode(top), ignores=lambda paths: set(), clock=lambda: now, own=own)
        (top / "f").write_text("1")
        before = scanner.scan(None, KeptPaths(), None)
        (top / "f").write_text("2")
        return dict(scanner.scan(before, KeptPaths(), None).files()) != dict(before.files())

    assert seen_after(written, own=True)
    assert not seen_after(written + 1, own=True)
    assert seen_after(written)
    assert seen_after(written + second // 100)
    assert not seen_after(written + second)
    assert seen_after(written // second * second + second)  # this clock knows only whole seconds
    assert not seen_after(written // second * second + 3 * second)


def test_rules_that_the_agent_changes(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {"tracked.tmp": "t"})

    async def body(task: Task) -> None:
        write(task.top, {"junk.tmp": "j", "out/x.o": "o", "y.log": "ignored"})
        assert await task.names() == {*FILES, "tracked.tmp", "junk.tmp", "out/x.o"}
        write(task.top, {".gitignore": "*.tmp\n", "out/.gitignore": "*\n"})
        assert await task.names() == {*FILES, "tracked.tmp", "y.log"}
        (task.top / "tracked.tmp").unlink()
        assert "tracked.tmp" not in await task.names()
        (task.top / "tracked.tmp").write_text("back again")  # the project tracked it: a rule does not hide it
        assert "tracked.tmp" in await task.names()
        (task.top / "out" / ".gitignore").unlink()
        assert "out/x.o" in await task.names()

    with_task(root, body)


@pytest.mark.parametrize(
    "command",
    [
        "git add -A && git commit -q -m mine",
        "git add -A && git commit -q -m mine && git reset -q --soft HEAD~1 && git gc -q --prune=now",
        "git stash -q -u && git stash pop -q",
        "git checkout -q -b other && git branch -D bough/amber-heron/goal",
        "git update-index --assume-unchanged a.txt && git update-index --skip-worktree src/b.py",
        "rm -rf .git",
        "rm -rf .git && echo 'gitdir: /nowhere' > .git",
        "touch .git/index.lock && echo broken > .git/HEAD && echo broken > .git/index",
        "git config core.fsmonitor 'touch ran' && git config core.worktree /nowhere",
    ],
)
def test_whatever_the_agent_does_with_git(tmp_path: Path, command: str) -> None:
    root = project(tmp_path / "p", FILES)
    before = fingerprint(root)

    async def body(task: Task) -> None:
        write(task.top, {"a.txt": "changed", "src/b.py": "changed too", "new": "n"})
        agent(task.top, command)
        found = kept(root, await task.workspace.snapshot())
        assert {name: found[name][1] for name in ("a.txt", "src/b.py", "new")} == {
            "a.txt": b"changed",
            "src/b.py": b"changed too",
            "new": b"n",
        }
        await task.workspace.restore(task.base)
        assert await task.workspace.snapshot() == task.base
        again = await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert await again.snapshot() == task.base
        assert not (task.top / "ran").exists()

    with_task(root, body)
    assert fingerprint(root) == before


def test_git_without_its_repository_does_not_find_the_persons(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    before = fingerprint(root)

    async def body(task: Task) -> None:
        shutil.rmtree(task.top / ".git")
        for place in (task.top, task.workspace.scratch):
            with pytest.raises(subprocess.CalledProcessError) as tried:
                git(place, "clean", "-fdx")
            assert b"not a git repository" in tried.value.stderr
        await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert git(task.top, "status", "--porcelain") == b""

    with_task(root, body)
    assert fingerprint(root) == before


def test_repository_that_the_agent_embeds(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        write(task.top, {"sub/x": "x", "sub/y.log": "ignored"})
        agent(task.top / "sub", "git init -q")
        assert await task.names() == {*FILES, "sub/x"}
        agent(task.top / "sub", "git add -A && git -c user.name=a -c user.email=a@b commit -q -m x")
        (task.top / "sub" / "z").write_text("z")
        tree = await task.workspace.snapshot()
        assert names(root, tree) == {*FILES, "sub/x", "sub/z"}
        await task.workspace.restore(task.base)
        assert task.on_disk() == {*FILES, "sub/y.log"}
        (task.top / "sub" / "y.log").unlink()
        await task.workspace.restore(task.base)
        assert not (task.top / "sub").exists()
        await task.workspace.restore(tree)
        assert await task.workspace.snapshot() == tree

    with_task(root, body)


def test_names_that_are_never_kept(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        for name in (
            ".GIT/config",
            "src/.Git/hooks/x",
            "git~1/config",
            ".git /x",
            ".gi\u200ct/x",
            ".bough/repo.git/config",
        ):
            write(task.top, {name: "x"})
        write(task.top, {".github/x": "", ".gitx": "", "git": "", "src/.bough/x": ""})
        assert await task.names() == {*FILES, ".github/x", ".gitx", "git", "src/.bough/x"}

    with_task(root, body)


def test_restore_gives_exactly_the_tree(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {"x/y": "1", "z": "z", "forced.log": "tracked"}, commit=False)
    git(root, "add", "-f", ".")
    (root / "l").symlink_to("z")

    async def body(task: Task) -> None:
        top = task.top
        write(
            top, {"new": "n", "made/f": "f", "kept.log": "ignored", "z": "zz", ".gitignore": "hidden*\n", "hidden1": ""}
        )
        (top / "empty" / "folders").mkdir(parents=True)
        (top / "a.txt").unlink()
        (top / "forced.log").unlink()
        (top / "l").unlink()
        (top / "l").write_text("no link any more")
        shutil.rmtree(top / "x")
        (top / "x").symlink_to(tmp_path)
        (top / "src" / "b.py").unlink()
        write(top, {"src/b.py/in/the/way.log": ""})
        await task.workspace.restore(task.base)
        assert task.on_disk() == {*FILES, "x/y", "z", "l", "forced.log", "kept.log"}
        assert not (top / "empty").exists()
        assert (top / "l").readlink() == Path("z")
        assert await task.workspace.snapshot() == task.base
        fresh = await task.workspaces.open("amber-heron", "goal", task.base, "")
        assert await fresh.snapshot() == task.base

    with_task(root, body)


def test_restore_of_a_file_that_the_person_ignores_since(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        write(task.top, {"new": "1"})
        tree = await task.workspace.snapshot()
        (root / ".git" / "info" / "exclude").write_text("new\n")
        await task.workspaces.take()
        (task.top / "new").unlink()
        again = await task.workspaces.open("amber-heron", "goal", task.base, "")
        await again.restore(tree)
        assert (task.top / "new").read_text() == "1"

    with_task(root, body)


@in_turn
def test_many_new_files(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)

    async def body(task: Task) -> None:
        for i in range(1200):
            write(task.top, {f"many/{i % 50}/{i}": str(i)})
        tree = await task.workspace.snapshot()
        assert len(git(root / ".bough" / "repo.git", "ls-tree", "-r", "--name-only", tree).split()) == 1200 + len(FILES)
        packs = list((root / ".bough" / "repo.git" / "objects" / "pack").glob("*.pack"))
        for pack in packs:
            git(root, "verify-pack", str(pack))
        await task.workspace.restore(task.base)
        assert task.on_disk() == set(FILES)
        await task.workspace.restore(tree)
        assert await task.workspace.snapshot() == tree

    with_task(root, body)


def test_checkpoints_follow_each_other_on_the_tasks_branch(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES)
    repo = root / ".bough" / "repo.git"

    async def body(task: Task) -> None:
        first = await task.workspace.checkpoint(task.base, "First\n\nWith ünicode and \udcff")
        assert await task.workspace.checkpoint(task.base, "First\n\nWith ünicode and \udcff") == first
        (task.top / "a.txt").write_text("2")
        agent(task.top, "git commit -q -a -m 'the agent commits too'")
        tree = await task.workspace.snapshot()
        again = await task.workspaces.open("amber-heron", "goal", task.base, "")
        second = await again.checkpoint(tree, "Second")
        assert git(repo, "rev-parse", f"{second}^{{tree}}").decode().strip() == tree
        assert git(repo, "log", "--format=%H", "refs/bough/amber-heron/goal").decode().split() == [second, first]
        assert git(repo, "log", "-1", "--format=%an <%ae> %s", second) == b"bough <bough@localhost> Second\n"
        git(repo, "fsck", "--strict", "--no-dangling")
        (repo / "refs" / "bough" / "amber-heron" / "goal").write_text("")  # the machine was switched off
        assert await again.checkpoint(tree, "Third")

    with_task(root, body)


def test_changes_and_diff(tmp_path: Path) -> None:
    root = project(tmp_path / "p", FILES | {"bin": "b", "old name": "same\n" * 20, "kind": "file"})
    git(root, "config", "--global", "diff.external", "false")
    git(root, "config", "--global", "color.ui", "always")
    git(root, "config", "--global", "diff.noprefix", "true")

    async def body(task: Task) -> None:
        top = task.top
        (top / "a.txt").write_bytes(b"caf\xe9\n")
        (top / "bin").write_bytes(b"\0\1\2")
        (top / "old name").rename(top / "ñew\nname")
        (top / "kind").unlink()
        (top / "kind").symlink_to("a.txt")
        tree = await task.workspace.snapshot()
        known = await task.workspaces.changes(task.base, tree)
        assert known == await spaces(root).changes(task.base, tree), "who has seen the trees and who asks git agree"
        assert await task.workspaces.paths(tree) == await spaces(root).paths(tree)
        changes = {(change.kind, change.path) for change in known}
        assert changes == {("M", "a.txt"), ("M", "bin"), ("D", "old name"), ("A", "ñew\nname"), ("T", "kind")}
        text = await task.workspaces.diff(task.base, tree)
        assert "+caf\ufffd" in text
        assert "--- a/a.txt" in text
        assert "Binary files a/bin and b/bin differ" in text
        assert "\x1b" not in text
        stat = await task.workspaces.diff(task.base, tree, stat=True)
        assert "a.txt" in stat
        assert "6 files changed" in stat or "5 files changed" in stat
        assert await task.workspaces.changes(tree, tree) == []
        assert await task.workspaces.diff(tree, tree) == ""

    with_task(root, body)


_NAMES = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/f", "d.x", "d0", "z"])
_EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), _NAMES, st.sampled_from(["", "1", "2", "long" * 50])),
        st.tuples(st.just("link"), _NAMES, st.sampled_from(["a", "d", "/etc"])),
        st.tuples(st.just("remove"), _NAMES, st.just("")),
        st.tuples(st.just("mode"), _NAMES, st.just("")),
        st.tuples(st.just("snapshot"), st.just(""), st.just("")),
    ),
    max_size=14,
)


def _edit(top: Path, kind: str, name: str, text: str) -> None:
    path = top / name
    for parent in reversed(path.relative_to(top).parents[:-1]):
        if (top / parent).is_symlink() or (top / parent).is_file():
            (top / parent).unlink()
    if kind == "mode":
        if path.is_file() and not path.is_symlink():
            path.chmod(0o755)
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if kind != "remove":
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            path.symlink_to(text)
        else:
            path.write_text(text)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=_EDITS)
def test_any_edits_give_the_tree_that_git_gives(tmp_path: Path, edits: list[tuple[str, str, str]]) -> None:
    root = tmp_path / "p"
    if not root.exists():
        project(root, {"a": "1", "d/e/f": "2", "d/b": "3"})

    async def body(task: Task) -> None:
        for kind, name, text in edits:
            if kind == "snapshot":
                await task.workspace.snapshot()
            else:
                _edit(task.top, kind, name, text)
        tree = await task.workspace.snapshot()
        git(task.top, "add", "-A")
        assert tree == git(task.top, "write-tree").decode().strip()
        await task.workspace.restore(task.base)
        git(task.top, "add", "-A")
        assert git(task.top, "write-tree").decode().strip() == task.base
        await task.workspace.restore(tree)
        assert await task.workspace.snapshot() == tree
        await task.workspaces.discard("amber-heron", "goal")

    with_task(root, body)
