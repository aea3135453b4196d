"""What all `Workspaces` and each `Workspace` promise, one function a promise. New ones add themselves to the list in
`test_workspaces.py`."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bough.adapters.workspaces import home
from bough.core.errors import UsageError, WorkspaceError
from bough.ports import Workspace, Workspaces
from tests.harness import git

FILES = {"a.txt": "one\ntwo\nthree\n", "src/b.py": "b = 1\n", "src/deep/c.py": "c = 1\n", ".gitignore": "*.log\n"}
RUN, TASK = "amber-heron", "goal"


@dataclass
class Project:
    """A person's project with `FILES` in it."""

    root: Path
    workspaces: Workspaces
    later: Callable[[], Workspaces]
    """As another process opens the same ones: after a crash, or beside the first."""

    async def open(self, task: str = TASK) -> tuple[Workspace, str]:
        base = await self.workspaces.take()
        return await self.workspaces.open(RUN, task, base, ""), base


Promise = Callable[[Project], Awaitable[None]]
PROMISES: list[Promise] = []


def promise(function: Promise) -> Promise:
    PROMISES.append(function)
    return function


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(top: Path) -> dict[str, str]:
    """Every file below but git's and bough's own."""
    paths = [path for path in top.rglob("*") if not {".git", ".bough"} & {*path.relative_to(top).parts}]
    return {str(path.relative_to(top)): path.read_text() for path in paths if path.is_file() and not path.is_symlink()}


# ── taking, opening, keeping ────────────────────────────────────────────────────────────────────────────────────


@promise
async def take_keeps_the_files_as_they_are(project: Project) -> None:
    write(project.root, {"a.txt": "changed since\n", "untracked": "u", "ignored.log": "no"})
    write(project.root, {"näme\n": "n"})
    (project.root / "bytes").write_bytes(b"caf\xe9")
    tree = await project.workspaces.take()
    later = project.later()
    assert sorted(await later.paths(tree)) == sorted([*FILES, "untracked", "näme\n", "bytes"])
    found = await later.texts(tree, ["a.txt", "untracked", "näme\n", "bytes", "not there"])
    assert found == {"a.txt": "changed since\n", "untracked": "u", "näme\n": "n", "bytes": "caf\ufffd"}
    assert await project.workspaces.take() == tree
    write(project.root, {"a.txt": "changed again\n"})
    assert await project.workspaces.take() != tree


@promise
async def open_gives_a_private_checkout(project: Project) -> None:
    workspace, _ = await project.open()
    assert read(workspace.root) == FILES and workspace.folder == workspace.root
    assert workspace.scratch.is_dir() and not workspace.scratch.is_relative_to(workspace.root)
    write(workspace.root, {"a.txt": "the task's", "new": "n"})
    assert read(project.root) == FILES, "the person's files are theirs"


@promise
async def the_agent_starts_where_the_person_stood(project: Project) -> None:
    base = await project.workspaces.take()
    below = await project.workspaces.open(RUN, TASK, base, "src/deep")
    assert below.folder == below.root / "src" / "deep"
    for outside in ("../out", "/etc", "src/../../out"):
        with pytest.raises(WorkspaceError, match="outside the project"):
            await project.workspaces.open(RUN, "other", base, outside)


@promise
async def opening_again_leaves_the_files_as_they_are(project: Project) -> None:
    workspace, base = await project.open()
    write(workspace.root, {"a.txt": "the task's", "new": "n"})
    for workspaces in (project.workspaces, project.later()):
        again = await workspaces.open(RUN, TASK, base, "")
        if again.root == workspace.root:  # and not on another machine
            assert read(again.root) == {**FILES, "a.txt": "the task's", "new": "n"}


@promise
async def a_snapshot_is_named_by_its_files(project: Project) -> None:
    first, base = await project.open("first")
    second, _ = await project.open("second")
    assert await first.snapshot() == await second.snapshot() == base
    for workspace in (first, second):
        write(workspace.root, {"new/file": "n", "a.txt": "2", "ignored.log": str(workspace.root)})
        (workspace.root / "src" / "b.py").unlink()
    assert await first.snapshot() == await second.snapshot() != base
    write(first.root, {"a.txt": "3"})  # as long as before
    assert await first.snapshot() != await second.snapshot()


@promise
async def what_a_snapshot_kept_is_there_for_others(project: Project) -> None:
    workspace, _ = await project.open()
    write(workspace.root, {"new": "n\n", "a.txt": "2\n"})
    (workspace.root / "run").symlink_to("a.txt")
    tree = await workspace.snapshot()
    later = project.later()
    assert sorted(await later.paths(tree)) == sorted([*FILES, "new", "run"])
    assert await later.texts(tree, ["new", "a.txt"]) == {"new": "n\n", "a.txt": "2\n"}
    opened = await later.open("other-run", TASK, tree, "")
    assert read(opened.root) == {**FILES, "new": "n\n", "a.txt": "2\n"}
    assert (opened.root / "run").readlink() == Path("a.txt")
    assert await opened.snapshot() == tree


@promise
async def restore_gives_exactly_the_tree(project: Project) -> None:
    workspace, base = await project.open()
    top = workspace.root
    write(top, {"new": "n", "made/f": "f", "a.txt": "2", "kept.log": "ignored"})
    shutil.rmtree(top / "src")
    (top / "src").symlink_to(project.root)
    later = await workspace.snapshot()
    await workspace.restore(base)
    assert read(top) == {**FILES, "kept.log": "ignored"} and not (top / "made").exists()
    assert await workspace.snapshot() == base
    await workspace.restore(later)
    assert await workspace.snapshot() == later and (top / "src").is_symlink()
    await workspace.restore(base)
    await workspace.restore(base)
    assert await workspace.snapshot() == base and read(project.root) == FILES


@promise
async def a_checkout_has_what_another_one_installed(project: Project) -> None:
    workspace, base = await project.open()
    assert not await workspace.lends(base)
    package = workspace.root / "node_modules" / "own"
    package.mkdir(parents=True)
    (package / "index.js").write_text("1\n")
    (workspace.root / ".gitignore").write_text("node_modules\n*.log\n")
    tree = await workspace.snapshot()
    assert await workspace.lends(tree)
    other = await project.workspaces.open(RUN, "other", tree, "", start=base, lender=workspace.root)
    assert (other.root / "node_modules" / "own" / "index.js").read_text() == "1\n"
    assert await other.snapshot() == tree, "it is in no tree"
    assert any(mount.source == workspace.root / "node_modules" for mount in other.mounts)
    assert git(other.root, "status", "--porcelain").split() == ["M", ".gitignore"], "git starts at the base"


@promise
async def what_clearing_would_remove_is_listed(project: Project) -> None:
    workspace, base = await project.open()
    (workspace.root / "kept.log").write_text("ignored")
    assert await workspace.list_others(base) == ["kept.log"]
    assert (workspace.root / "kept.log").exists()
    await workspace.clear(base)
    assert await workspace.list_others(base) == [] and not (workspace.root / "kept.log").exists()


@promise
async def furnishing_changes_no_file_of_the_tree(project: Project) -> None:
    workspace, base = await project.open()
    await workspace.furnish()
    await workspace.furnish()
    assert await workspace.snapshot() == base


@promise
async def a_checkpoint_may_be_made_twice(project: Project) -> None:
    workspace, base = await project.open()
    first = await workspace.checkpoint(base, "First\n\nWith ünicode")
    assert await workspace.checkpoint(base, "First\n\nWith ünicode") == first
    write(workspace.root, {"a.txt": "2"})
    assert await workspace.checkpoint(await workspace.snapshot(), "Second") != first


# ── trees ───────────────────────────────────────────────────────────────────────────────────────────────────────


@promise
async def changes_diff_and_contents_agree(project: Project) -> None:
    workspace, base = await project.open()
    write(workspace.root, {"a.txt": "one\n2\nthree\n", "ñew name": "n\n"})
    (workspace.root / "src" / "b.py").unlink()
    tree = await workspace.snapshot()
    for workspaces in (project.workspaces, project.later()):
        found = await workspaces.changes(base, tree)
        assert {(change.kind, change.path) for change in found} == {
            ("M", "a.txt"),
            ("A", "ñew name"),
            ("D", "src/b.py"),
        }
        text = await workspaces.diff(base, tree)
        assert "-two\n+2\n" in text and "\x1b" not in text
        assert "3 files changed" in await workspaces.diff(base, tree, stat=True)
        before, after = await workspaces.contents(base), await workspaces.contents(tree)
        assert before.id("src/deep/c.py") == after.id("src/deep/c.py") != before.id("a.txt") != after.id("a.txt")
        assert after.id("src/b.py") == "" and after.read(["a.txt"]) == {"a.txt": "one\n2\nthree\n"}
        assert await workspaces.changes(tree, tree) == [] and await workspaces.diff(tree, tree) == ""


@promise
async def a_graft_takes_some_paths_from_another_tree(project: Project) -> None:
    workspace, base = await project.open()
    write(workspace.root, {"a.txt": "2", "new": "n", "src/b.py": "b = 2\n"})
    tree = await workspace.snapshot()
    made = await project.workspaces.graft(tree, base, ["a.txt", "new"], {"more/told": "t"})
    found = await project.later().texts(made, ["a.txt", "new", "src/b.py", "more/told"])
    assert found == {"a.txt": FILES["a.txt"], "src/b.py": "b = 2\n", "more/told": "t"}


@promise
async def a_merge_has_both_sides_and_conflicts_are_a_result(project: Project) -> None:
    ours, base = await project.open("ours")
    theirs, _ = await project.open("theirs")
    write(ours.root, {"a.txt": "1\ntwo\nthree\n", "ours": "o"})
    write(theirs.root, {"a.txt": "one\ntwo\n3\n", "src/b.py": "b = 2\n"})
    mine, other = await ours.snapshot(), await theirs.snapshot()
    merged = await project.workspaces.merge(base, mine, other)
    assert merged.conflicts == ()
    found = await project.later().texts(merged.tree, ["a.txt", "ours", "src/b.py"])
    assert found == {"a.txt": "1\ntwo\n3\n", "ours": "o", "src/b.py": "b = 2\n"}
    write(theirs.root, {"a.txt": "eins\ntwo\nthree\n"})
    merged = await project.workspaces.merge(base, mine, await theirs.snapshot())
    assert merged.conflicts == ("a.txt",) and merged.says
    told = await project.workspaces.texts(merged.tree, ["a.txt"])
    assert "<<<<<<<" in told["a.txt"] and "eins" in told["a.txt"]
    assert read(ours.root)["a.txt"] == "1\ntwo\nthree\n", "no checkout is touched"


@promise
async def a_tree_that_is_not_there_is_an_error_for_the_person(project: Project) -> None:
    workspace, base = await project.open()
    for tree in ("0" * 40, "--help", "", "HEAD"):
        with pytest.raises(WorkspaceError):
            await project.workspaces.open(RUN, "new", tree, "")
        with pytest.raises(WorkspaceError):
            await workspace.restore(tree)
        with pytest.raises(WorkspaceError):
            await project.workspaces.changes(base, tree)
        with pytest.raises(WorkspaceError):
            await project.workspaces.apply(base, tree)
    assert await workspace.snapshot() == base


# ── applying ────────────────────────────────────────────────────────────────────────────────────────────────────


@promise
async def apply_brings_the_changes_in_and_takes_them_back(project: Project) -> None:
    workspace, base = await project.open()
    write(workspace.root, {"a.txt": "2", "new/f": "n"})
    (workspace.root / "src" / "b.py").unlink()
    tree = await workspace.snapshot()
    write(project.root, {"untracked": "the person's"})
    done = await project.workspaces.apply(base, tree)
    assert {change.path: change.kind for change in done} == {"a.txt": "M", "new/f": "A", "src/b.py": "D"}
    assert (project.root / "a.txt").read_text() == "2" and not (project.root / "src" / "b.py").exists()
    await project.workspaces.apply(tree, base)
    assert read(project.root) == {**FILES, "untracked": "the person's"}


@promise
async def apply_refuses_as_a_whole(project: Project) -> None:
    workspace, base = await project.open()
    write(workspace.root, {"a.txt": "2", "src/b.py": "b = 2\n"})
    tree = await workspace.snapshot()
    write(project.root, {"src/b.py": "b = 'the person'\n"})
    with pytest.raises(UsageError, match=r"src/b\.py"):
        await project.workspaces.apply(base, tree)
    assert read(project.root) == {**FILES, "src/b.py": "b = 'the person'\n"}


# ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────


@promise
async def discarding_twice_is_discarding_once(project: Project) -> None:
    workspace, base = await project.open("first")
    other, _ = await project.open("second")
    write(workspace.root, {"new": "n"})
    (workspace.root / "outside").symlink_to(project.root)
    tree = await workspace.snapshot()
    for _ in range(2):
        await project.workspaces.discard(RUN, "first")
    await project.workspaces.discard("never", "was")
    assert not workspace.root.exists() and not workspace.scratch.exists()
    assert await other.snapshot() == base and read(project.root) == FILES
    assert "new" in await project.workspaces.paths(tree), "what was kept is kept"
    assert read((await project.workspaces.open(RUN, "first", base, "")).root) == FILES


def disown(checkout: Path) -> None:
    """As if the process that made the checkout had been killed."""
    note = checkout.with_name(checkout.name + home.OWNER)
    ended = subprocess.run(
        [sys.executable, "-c", "from bough.adapters.stores.liveness import worker_id; print(worker_id())"],
        capture_output=True,
        text=True,
        check=True,
    )
    task = str(note.readlink()).partition("\n")[2]
    note.unlink()
    note.symlink_to(f"{ended.stdout.strip()}\n{task}")


@promise
async def a_sweep_removes_the_checkouts_with_the_mark_of_processes_that_have_ended(project: Project) -> None:
    long = "a-task-with-a-long-name/" * 5
    names = ("goal", "goal--baseline", f"{long}--baseline", "other--baseline")
    opened = {task: (await project.open(task))[0] for task in names}
    await project.workspaces.sweep(RUN, "--baseline")
    assert all(workspace.root.exists() for workspace in opened.values()), "they belong to this process, which lives"
    for task in (*names[:1], *names[2:]):
        disown(opened[task].root)
    await project.workspaces.sweep(RUN, "--baseline")
    assert [task for task, workspace in opened.items() if workspace.root.exists()] == ["goal", "goal--baseline"]
    await project.workspaces.sweep(RUN, "")
    await project.workspaces.sweep(RUN, "")
    assert not opened["goal"].root.exists() and read(project.root) == FILES


@promise
async def many_tasks_work_at_once(project: Project) -> None:
    base = await project.workspaces.take()

    async def work(number: int) -> str:
        workspace = await project.workspaces.open(RUN, f"t{number}", base, "")
        trees = []
        for count in range(3):
            write(workspace.root, {"a.txt": f"{number} {count}", f"new{count}": "n"})
            trees.append(await workspace.snapshot())
        await workspace.checkpoint(trees[-1], f"Task {number}")
        await workspace.restore(trees[1])
        assert await workspace.snapshot() == trees[1]
        return trees[-1]

    trees = await asyncio.gather(*map(work, range(4)))
    for number, tree in enumerate(trees):
        assert await project.workspaces.texts(tree, ["a.txt"]) == {"a.txt": f"{number} 2"}


@promise
async def a_cancelled_caller_does_not_meet_its_own_leftovers(project: Project) -> None:
    workspace, base = await project.open()
    write(workspace.root, {f"many/{number}": "n" for number in range(50)})
    full = await workspace.snapshot()
    for steps in range(4):
        restoring = asyncio.create_task(workspace.restore((base, full)[steps % 2]))
        for _ in range(steps):
            await asyncio.sleep(0.001)
        restoring.cancel()
        await asyncio.gather(restoring, return_exceptions=True)
        await workspace.restore(base)
        assert await workspace.snapshot() == base
    assert read(workspace.root) == FILES


@promise
async def what_a_killed_process_left_is_made_whole(project: Project) -> None:
    """Half of the files gone, half a file written, a folder in the way; or no checkout at all."""
    workspace, base = await project.open()
    write(workspace.root, {"new": "n", "a.txt": "2"})
    tree = await workspace.snapshot()
    shutil.rmtree(workspace.root / "src")
    (workspace.root / "new").unlink()
    write(workspace.root, {"new/in/the/way": ""})
    (workspace.root / "a.txt").write_bytes(b"\0" * 3)
    again = await project.later().open(RUN, TASK, base, "")
    await again.restore(tree)
    assert read(again.root) == {**FILES, "new": "n", "a.txt": "2"}
    shutil.rmtree(again.root)
    again = await project.later().open(RUN, TASK, base, "")
    assert read(again.root) == FILES
    await again.restore(tree)
    assert await again.snapshot() == tree
