"""Git and the stamps of folders say what changed: that is never less than a look at everything finds."""

import asyncio
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.verifiers.tree_texts import SINGLE, Texts
from bough.adapters.workspaces import checkout, checkout_watch, file_index, saved_scan, scan
from bough.adapters.workspaces.file_index import FileIndex, KeptPaths
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import prepare_home
from bough.adapters.workspaces.repository import REMEMBERED, TreeCache
from bough.adapters.workspaces.workspace import GitWorkspace
from tests.adapters.checkouts import exactly
from tests.adapters.git_projects import git, project
from tests.adapters.test_workspaces_watch import FILES, at_once, change
from tests.sampling import sample

RULES = "ignored/\n*.log\n"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The folders that were looked through; small checkouts are recorded and watched too."""
    monkeypatch.setattr(checkout_watch, "WORTH", 0)
    found: list[bytes] = []
    entries, untouched = scan._Look._entries, checkout._untouched

    def noted(look: scan._Look, path: bytes, *rest: Any) -> list[scan.Item]:
        found.append(path)
        return entries(look, path, *rest)

    def reclaimed(handle: int, *rest: Any) -> dict[bytes, Any]:
        found.append(b"reclaimed")
        return untouched(handle, *rest)

    monkeypatch.setattr(scan._Look, "_entries", noted)
    monkeypatch.setattr(checkout, "_untouched", reclaimed)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The folders of which git was asked what had changed in them."""
    found: list[bytes] = []
    real = Git.list_altered

    def noted(git: Git, top: bytes, index: Path) -> list[bytes] | None:
        found.append(os.path.basename(top))  # noqa: PTH119
        return real(git, top, index)

    monkeypatch.setattr(Git, "list_altered", noted)
    return found


def pass_a_second() -> None:
    """Git tells times apart by the second; a person's disk may be a little behind the clock."""
    now = int(time.time())
    while int(time.time() - 0.1) <= now:
        time.sleep(0.01)


async def settled(tmp_path: Path) -> GitWorkspaces:
    """A project whose files were at rest when they were last looked at."""
    root = project(tmp_path / "project", {**FILES, ".gitignore": RULES})
    workspaces = GitWorkspaces(root, prepare_home(root), link_ignored=False)
    pass_a_second()
    await workspaces.take()
    return workspaces


async def opened(workspaces: GitWorkspaces, tree: str, name: str) -> GitWorkspace:
    """A checkout whose files were at rest when they were written down."""
    with pytest.MonkeyPatch.context() as at_rest:
        # A checkout that takes longer to fill than the clock's tick is sure of its stamps; this one waits for it.
        at_rest.setattr(file_index, "is_sure", lambda stamp, now: True)
        await workspaces.open("run", "first", tree, "")
    pass_a_second()
    await workspaces.discard("run", "first")
    return await workspaces.open("run", name, tree, "")


@at_once
async def test_what_the_person_left_alone_is_not_looked_at(tmp_path: Path, looked: list[bytes]) -> None:
    workspaces = await settled(tmp_path)
    root = tmp_path / "project"
    looked.clear()
    tree = await workspaces.take()
    assert set(looked) <= {b""}, "bough's own folder is made there"
    stamp = (root / "a" / "b" / "x.txt").stat()
    (root / "a" / "b" / "x.txt").write_text("A/B x\n")
    os.utime(root / "a" / "b" / "x.txt", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    (root / "d" / "new.txt").write_text("new\n")
    (root / "e" / "f" / "y.txt").unlink()
    looked.clear()
    changed = await workspaces.take()
    assert set(looked) - {b""} == {b"a/b", b"d", b"e/f"}
    assert [str(each.path) for each in await workspaces.changes(tree, changed)] == [
        "a/b/x.txt",
        "d/new.txt",
        "e/f/y.txt",
    ]


@pytest.mark.parametrize("seed", sample(range(3), 3))
@at_once
async def test_what_a_person_may_do_is_seen(tmp_path: Path, looked: list[bytes], seed: int) -> None:
    rng = random.Random(seed)
    workspaces = await settled(tmp_path)
    root = tmp_path / "project"
    kept = root / ".bough" / "repo.git" / "person"
    old = kept.read_bytes()
    for _ in range(8):
        for _ in range(rng.randint(1, 3)):
            change_as_a_person(root, rng)
        kept.write_bytes(old)
        found = await workspaces.take()
        kept.unlink()
        assert found == await workspaces.take()


def change_as_a_person(root: Path, rng: random.Random) -> None:
    path = rng.choice(("a/kept.log", "d/ignored/x.txt", "new.log", "e/f/x.txt"))
    match rng.randrange(6):
        case 0:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"{rng.random()}\n")
            git(root, "add", "-f", path)
        case 1:
            git(root, "rm", "-q", "--cached", "--ignore-unmatch", path)
        case 2 if not (root / "d" / ".git").exists() and (root / "d").is_dir():
            (root / "d" / "inner.log").write_text("tracked there\n")
            git(root / "d", "init", "-q")
            git(root / "d", "add", "-f", "inner.log")
        case 3:
            (root / ".git" / "info" / "exclude").write_text(rng.choice(("", "y.txt\n")))
        case _:
            inside = [path for path in root.iterdir() if path.name not in (".git", ".bough")]
            change(
                rng.choice([path for path in inside if path.is_dir() and not path.is_symlink()] or [root / "a"]), rng
            )


@at_once
async def test_what_becomes_tracked_is_kept_although_it_is_ignored(tmp_path: Path, looked: list[bytes]) -> None:
    root = project(tmp_path / "project", {**FILES, ".gitignore": RULES})
    (root / "a" / "kept.log").write_text("x\n")
    (root / "d" / "inner.log").write_text("x\n")
    workspaces = GitWorkspaces(root, prepare_home(root), link_ignored=False)
    pass_a_second()
    tree = await workspaces.take()
    git(root, "add", "-f", "a/kept.log")
    first = await workspaces.take()
    assert [each.path for each in await workspaces.changes(tree, first)] == ["a/kept.log"]
    git(root, "rm", "-q", "--cached", "a/kept.log")
    assert await workspaces.take() == tree
    git(root / "d", "init", "-q")
    git(root / "d", "add", "-f", "inner.log")
    second = await workspaces.take()
    assert [each.path for each in await workspaces.changes(tree, second)] == ["d/inner.log"]
    git(root / "d", "rm", "-q", "--cached", "inner.log")
    assert await workspaces.take() == tree


@at_once
async def test_rules_that_are_ignored_themselves(tmp_path: Path, looked: list[bytes]) -> None:
    root = project(tmp_path / "project", {**FILES, ".gitignore": ".gitignore\n"})
    (root / "d" / ".gitignore").write_text("nothing\n")
    (root / "d" / "more.txt").write_text("x\n")
    workspaces = GitWorkspaces(root, prepare_home(root), link_ignored=False)
    pass_a_second()
    tree = await workspaces.take()
    (root / "d" / ".gitignore").write_text("more.*\n")
    changed = await workspaces.take()
    assert [each.path for each in await workspaces.changes(tree, changed)] == ["d/more.txt"]


@at_once
async def test_a_write_in_the_second_of_the_look_is_seen(tmp_path: Path, looked: list[bytes]) -> None:
    """With the same size and its time set back, as unpacking does: git alone would take it for the same."""
    workspaces = await settled(tmp_path)
    place = tmp_path / "project" / "d" / "x.txt"
    pass_a_second()
    place.write_text("1\n")
    os.utime(place, (1_600_000_000, 1_600_000_000))
    await asyncio.sleep(0.1)  # long enough for stamps to be believed
    (tmp_path / "project" / ".bough" / "repo.git" / "person").unlink()
    tree = await workspaces.take()
    place.write_text("2\n")
    os.utime(place, (1_600_000_000, 1_600_000_000))
    changed = await workspaces.take()
    assert [each.path for each in await workspaces.changes(tree, changed)] == ["d/x.txt"]


@at_once
async def test_a_check_costs_no_look_at_what_nobody_touched(
    tmp_path: Path, looked: list[bytes], asked: list[bytes]
) -> None:
    workspaces = await settled(tmp_path)
    tree = await workspaces.take()
    await opened(workspaces, tree, "again")
    await workspaces.discard("run", "again")
    looked.clear()
    asked.clear()
    task = await workspaces.open("run", "task", tree, "")
    assert asked == [b"task.part"] and looked.count(b"reclaimed") <= 1, "the top, which git's folder was put into"
    (task.root / "a" / "x.txt").write_text("changed\n")
    (task.root / "ignored").mkdir()
    (task.root / "ignored" / "state").write_text("passed\n")
    changed = await task.snapshot()
    looked.clear()
    asked.clear()
    await exactly(task).restore(changed)
    assert await task.list_others(changed) == ["ignored"]
    await task.clear(changed)
    assert set(looked) <= {b"", b"a"}
    assert asked == [b"task"]


@at_once
async def test_what_no_watch_tells_is_found_before_a_verdict(tmp_path: Path, looked: list[bytes]) -> None:
    """A write by another name, in a folder that nobody watches."""
    workspaces = await settled(tmp_path)
    tree = await workspaces.take()
    task = await opened(workspaces, tree, "task")
    (task.root / "ignored").mkdir()
    (task.root / "ignored" / "y.txt").hardlink_to(task.root / "e" / "f" / "y.txt")
    await task.snapshot()
    (task.root / "ignored" / "y.txt").write_text("e/f!y\n")
    looked.clear()
    await exactly(task).restore(tree)
    assert (task.root / "e" / "f" / "y.txt").read_text() == FILES["e/f/y.txt"]
    assert b"a/b/c" not in looked


@pytest.mark.parametrize("seed", sample(range(3), 3))
@at_once
async def test_an_exact_look_finds_what_a_look_at_everything_does(
    tmp_path: Path, looked: list[bytes], seed: int
) -> None:
    rng = random.Random(seed)
    workspaces = await settled(tmp_path)
    tree = await workspaces.take()
    task = await opened(workspaces, tree, "task")
    for _ in range(10):
        for _ in range(rng.randint(1, 4)):
            change(task.root, rng)
        exact = await exactly(task).snapshot()
        whole = scan.Scanner(task._scanner.top, task._scanner.ignores, lambda: 0).scan(
            None, KeptPaths(base=workspaces.repository.listings.found(tree)), None
        )
        found = workspaces.repository.listings.found(exact)
        assert {path: file[:2] for path, file in whole.files()} == {path: file[:2] for path, file in found.files()}
    await workspaces.discard("run", "task")
    next_one = await workspaces.open("run", "next", tree, "")
    assert {str(path.relative_to(next_one.root)) for path in next_one.root.rglob("*.txt")} == set(FILES)
    assert all((next_one.root / path).read_text() == text for path, text in FILES.items())


@at_once
async def test_a_resumed_run_scans_only_what_changed(tmp_path: Path, looked: list[bytes]) -> None:
    workspaces = await settled(tmp_path)
    tree = await workspaces.take()
    task = await opened(workspaces, tree, "task")
    (task.root / "a" / "b" / "x.txt").write_text("changed\n")
    shutil.rmtree(task.root / "e")
    (task.root / "new").mkdir()
    (task.root / "new" / "x.txt").write_text("new\n")
    changed = await task.snapshot()
    other = GitWorkspaces(tmp_path / "project", tmp_path / "project" / ".bough", link_ignored=False)
    again = await other.open("run", "task", tree, "")
    looked.clear()
    assert await again.snapshot() == changed
    assert set(looked) == {b"", b"a/b", b"new"}
    looked.clear()
    assert await again.snapshot() == changed
    assert looked == [], "from here on the watch reports what changed"
    for place in ("d/x.txt", "new/x.txt", "a/b/c/y.txt"):
        (again.root / place).write_text("later\n")
    assert len(await other.changes(changed, await again.snapshot())) == 3
    assert set(looked) == {b"d", b"new", b"a/b/c"}
    await exactly(again).restore(tree)
    assert await exactly(again).snapshot() == tree


@at_once
async def test_an_index_that_is_gone_or_another_is_not_believed(tmp_path: Path, looked: list[bytes]) -> None:
    workspaces = await settled(tmp_path)
    kept = tmp_path / "project" / ".bough" / "repo.git" / "person"
    known = saved_scan.load(kept)
    assert known is not None
    record, found = known
    top = os.fsencode(tmp_path / "project")
    assert record.list_changed(workspaces.repository.git, top, found) is not None
    shutil.copy(kept, tmp_path / "copy")
    kept.unlink()
    assert record.list_changed(workspaces.repository.git, top, found) is None
    kept.write_bytes((tmp_path / "copy").read_bytes()[:-1] + b"x")
    assert record.list_changed(workspaces.repository.git, top, found) is None
    assert saved_scan.load(kept) is None


def test_a_base_outlasts_the_snapshots_made_since() -> None:
    asked: list[str] = []

    def ask(tree: str) -> FileIndex:
        asked.append(tree)
        return FileIndex()

    trees = TreeCache(ask)
    trees.found("base")
    for number in range(3 * REMEMBERED):
        trees.know(f"snapshot {number}", FileIndex())
    trees.found("base")
    trees.found(f"snapshot {3 * REMEMBERED - 1}")
    assert asked == ["base"]
    for number in range(REMEMBERED):
        trees.found(f"other {number}")
    trees.found("base")
    assert asked.count("base") == 2, "no more are kept for that"


@at_once
async def test_of_very_many_texts_only_those_that_are_needed_are_read(tmp_path: Path) -> None:
    root = project(tmp_path / "project", {f"m{number}.py": f"x = {number}\n" for number in range(3 * SINGLE)})
    workspaces = GitWorkspaces(root, prepare_home(root), link_ignored=False)
    tree = await workspaces.take()
    needed = [f"m{number}.py" for number in range(2 * SINGLE)]
    texts = await Texts(workspaces).of(tree, "pytest", needed)
    assert [texts[path] for path in needed] == [f"x = {number}\n" for number in range(2 * SINGLE)]
    assert texts._known.keys() == {texts.contents.id(path) for path in needed}
