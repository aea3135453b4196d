"""Two trees brought together: every kind of change against every other."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from bough.adapters.workspaces.git_program import Git
from bough.core.errors import WorkspaceError
from bough.ports import MergeResult
from tests.adapters.git_projects import (
    fingerprint,
    git,
    git_settings,  # noqa: F401 - used by every test
    kept,
    project,
    spaces,
    write,
)
from tests.adapters.merge_desk import LINES, LINK, PROGRAM, Desk, File, Files, changed


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "p")


def test_each_side_s_own_changes_are_taken(desk: Desk) -> None:
    base: Files = {"a": "a", "b": "b", "gone/x": "x", "left": "l", "deep/er/one": "1", "deep/er/two": "2"}
    ours: Files = base | {"a": "our a", "new": "n", "deep/er/one": "our 1"}
    theirs: Files = base | {"b": "their b", "deep/er/two": "their 2", "deep/new/three": "3", "run": (PROGRAM, b"#!")}
    del ours["left"]
    del theirs["gone/x"]
    assert desk.merge(base, ours, theirs) == (
        {
            "a": b"our a",
            "b": b"their b",
            "new": b"n",
            "deep/er/one": b"our 1",
            "deep/er/two": b"their 2",
            "deep/new/three": b"3",
            "run": (PROGRAM, b"#!"),
        },
        (),
    )


def test_when_one_side_did_nothing_the_other_is_the_result(desk: Desk) -> None:
    base, other = desk.tree({"a": "a"}), desk.tree({"a": "b", "c/d": "d"})

    def merge(*trees: str) -> MergeResult:
        return asyncio.run(desk.workspaces.merge(*trees))

    assert merge(base, other, base) == MergeResult(other)
    assert merge(base, base, other) == MergeResult(other)
    assert merge(base, other, other) == MergeResult(other)
    assert merge(base, base, base) == MergeResult(base)


def test_a_file_that_both_changed_is_merged_line_by_line(desk: Desk) -> None:
    files, conflicts = desk.merge({"f": LINES}, {"f": changed(1)}, {"f": changed(15)})
    assert (files, conflicts) == ({"f": changed(1, 15).encode()}, ())


def test_lines_that_both_changed_are_marked(desk: Desk) -> None:
    base: Files = {"d/f": LINES, "g": "g"}
    ours: Files = {"d/f": changed(1, 10, word="ours"), "g": "g"}
    theirs: Files = {"d/f": changed(10, 19, word="theirs"), "g": "their g"}
    files, conflicts = desk.merge(base, ours, theirs)
    marked = "<<<<<<< ours\nours 10\n||||||| base\nline 10\n=======\ntheirs 10\n>>>>>>> theirs\n"
    whole = LINES.replace("line 10\n", marked).replace("line 19\n", "theirs 19\n").replace("line 1\n", "ours 1\n")
    assert files == {"d/f": whole.encode(), "g": b"their g"}
    assert conflicts == ("d/f",)


def test_markers_in_a_file_are_not_taken_for_conflicts(desk: Desk) -> None:
    """Documentation about merging, or a conflict that somebody left behind."""
    old = "<<<<<<< ours\none\n||||||| base\n=======\ntwo\n>>>>>>> theirs\n"
    base, ours, theirs = old + LINES, old + changed(1), old + changed(15)
    assert desk.merge({"f": base}, {"f": ours}, {"f": theirs}) == ({"f": (old + changed(1, 15)).encode()}, ())
    files, conflicts = desk.merge({"f": base}, {"f": ours}, {"f": old + changed(1, word="other")})
    text = files["f"]
    assert isinstance(text, bytes)
    marked = b"\n<<<<<<< ours\nchanged 1\n||||||| base\nline 1\n=======\nother 1\n>>>>>>> theirs\n"
    assert text.startswith(old.encode()) and marked in text
    assert conflicts == ("f",)


def test_a_heading_that_looks_like_a_marker_is_not_guessed_at(desk: Desk) -> None:
    files, conflicts = desk.merge({"f": "f\n"}, {"f": "f\nChanges\n=======\n"}, {"f": "f\nAuthors\n=======\n"})
    assert isinstance(files["f"], bytes)
    assert files["f"].startswith(b"f\n<<<<<<< ours\nChanges\n=======\n")
    assert conflicts == ("f",)


def test_line_endings_are_kept(desk: Desk) -> None:
    def crlf(text: str) -> bytes:
        return text.replace("\n", "\r\n").encode()

    assert desk.merge({"f": crlf(LINES)}, {"f": crlf(changed(1))}, {"f": crlf(changed(15))}) == (
        {"f": crlf(changed(1, 15))},
        (),
    )
    files, conflicts = desk.merge({"f": crlf(LINES)}, {"f": crlf(changed(1))}, {"f": crlf(changed(1, word="x"))})
    assert conflicts == ("f",)
    assert isinstance(files["f"], bytes)
    assert files["f"].count(b"\n") == files["f"].count(b"\r\n")


def test_a_file_without_a_final_newline(desk: Desk) -> None:
    assert desk.merge({"f": LINES + "end"}, {"f": changed(1) + "end"}, {"f": LINES + "their end"}) == (
        {"f": (changed(1) + "their end").encode()},
        (),
    )
    files, conflicts = desk.merge({"f": "end"}, {"f": "our end"}, {"f": "their end"})
    assert conflicts == ("f",)
    assert files == {"f": b"<<<<<<< ours\nour end\n||||||| base\nend\n=======\ntheir end\n>>>>>>> theirs\n"}


def test_both_added_the_same_file(desk: Desk) -> None:
    assert desk.merge({}, {"f": "same", "d/g": "g", "o": "o"}, {"f": "same", "d/g": "g"}) == (
        {"f": b"same", "d/g": b"g", "o": b"o"},
        (),
    )


def test_both_added_different_files_of_one_name(desk: Desk) -> None:
    code = "def f():\n    return {}\n"
    files, conflicts = desk.merge({"o": "o"}, {"o": "o", "d/f": code.format(1)}, {"o": "o", "d/f": code.format(2)})
    marked = f"<<<<<<< ours\n{code.format(1)}||||||| base\n=======\n{code.format(2)}>>>>>>> theirs\n"
    assert files["d/f"] == marked.encode()
    assert conflicts == ("d/f",)


def test_a_file_is_executable_when_one_side_made_it_so(desk: Desk) -> None:
    text, ours, theirs = LINES.encode(), changed(1).encode(), changed(15).encode()
    both = changed(1, 15).encode()
    assert desk.merge({"f": text}, {"f": ours}, {"f": (PROGRAM, text)}) == ({"f": (PROGRAM, ours)}, ())
    assert desk.merge({"f": text}, {"f": (PROGRAM, ours)}, {"f": theirs}) == ({"f": (PROGRAM, both)}, ())
    assert desk.merge({"f": (PROGRAM, text)}, {"f": text}, {"f": (PROGRAM, theirs)}) == ({"f": theirs}, ())
    assert desk.merge({}, {"f": "same"}, {"f": (PROGRAM, b"same")}) == ({"f": (PROGRAM, b"same")}, ())


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (b"\0ours", b"\0theirs"),
        (b"text", b"\0theirs"),
        ((LINK, b"our/place"), (LINK, b"their/place")),
        ((LINK, b"our/place"), b"text"),
        (b"text", (LINK, b"their/place")),
        (b"edited", None),
        (None, b"edited"),
        ((PROGRAM, b"\0ours"), b"\0theirs"),
    ],
)
@pytest.mark.parametrize("base", [b"\0base", b"base\n", (LINK, b"base")])
def test_what_cannot_be_merged_by_lines_is_a_conflict(
    desk: Desk, base: File, ours: File | None, theirs: File | None
) -> None:
    """Of what both sides have, git keeps ours; of what one side deleted, the other's; of two kinds, both."""
    before: Files = {"keep": "k", "d/f": base}
    mine: Files = {"keep": "k"} | ({"d/f": ours} if ours is not None else {})
    other: Files = {"keep": "k"} | ({"d/f": theirs} if theirs is not None else {})
    files, conflicts = desk.merge(before, mine, other)
    assert conflicts and all(path.startswith("d/f") for path in conflicts)
    assert (ours or theirs) in files.values()
    assert files["keep"] == b"k"


def test_deleted_by_both(desk: Desk) -> None:
    assert desk.merge({"a": "a", "d/b": "b", "o": "o"}, {"o": "o"}, {"o": "p"}) == ({"o": b"p"}, ())
    assert desk.merge({"d/a": "a", "d/b": "b"}, {"d/a": "a"}, {"d/b": "b"}) == ({}, ())


def test_a_folder_deleted_on_one_side_keeps_what_was_added_on_the_other(desk: Desk) -> None:
    base: Files = {"d/a": "a", "d/b": "b", "o": "o"}
    assert desk.merge(base, {"o": "o"}, base | {"d/c": "c"}) == ({"o": b"o", "d/c": b"c"}, ())
    assert desk.merge(base, {"o": "o"}, base | {"d/a": "x"}) == ({"o": b"o", "d/a": b"x"}, ("d/a",))
    assert desk.merge(base, base | {"d/a": "x"}, {"o": "o"}) == ({"o": b"o", "d/a": b"x"}, ("d/a",))


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result", "conflicts"),
    [
        # Both new, one a file and one a folder: nothing is lost, and somebody has to say what is meant.
        ({}, {"f": "file"}, {"f/a": "a"}, {"f~ours": b"file", "f/a": b"a"}, ("f~ours",)),
        ({}, {"f/a": "a"}, {"f": "file"}, {"f~theirs": b"file", "f/a": b"a"}, ("f~theirs",)),
        # A file became a folder on one side and was edited on the other.
        ({"f": "f"}, {"f": "edited"}, {"f/a": "a"}, {"f~ours": b"edited", "f/a": b"a"}, ("f~ours",)),
        # … and untouched, or deleted, on the other.
        ({"f": "f", "o": "o"}, {"f/a": "a", "o": "o"}, {"f": "f", "o": "p"}, {"f/a": b"a", "o": b"p"}, ()),
        ({"f": "f", "o": "o"}, {"f/a": "a", "o": "o"}, {"o": "o"}, {"f/a": b"a", "o": b"o"}, ()),
        # A folder became a file on one side; on the other something in it was deleted.
        ({"f/a": "a", "f/b": "b"}, {"f": "file"}, {"f/a": "a"}, {"f": b"file"}, ()),
        ({"f/a": "a", "o": "o"}, {"o": "o"}, {"f": "file", "o": "o"}, {"f": b"file", "o": b"o"}, ()),
    ],
)
def test_files_and_folders_of_one_name(
    desk: Desk, base: Files, ours: Files, theirs: Files, result: Files, conflicts: tuple[str, ...]
) -> None:
    files, found = desk.merge(base, ours, theirs)
    expected: Files = {path: file.encode() if isinstance(file, str) else file for path, file in result.items()}
    assert (files, found) == (expected, conflicts)


def test_a_rename_survives_an_edit_of_the_old_name(desk: Desk) -> None:
    base: Files = {"old.py": LINES, "lib/a.py": LINES + "a", "lib/b.py": LINES + "b"}
    renamed: Files = {"new.py": changed(1), "pkg/a.py": LINES + "a", "pkg/b.py": LINES + "b"}
    edited: Files = base | {"old.py": changed(15), "lib/c.py": "c = 1\n"}
    expected: Files = {
        "new.py": changed(1, 15).encode(),
        "pkg/a.py": (LINES + "a").encode(),
        "pkg/b.py": (LINES + "b").encode(),
        "pkg/c.py": b"c = 1\n",
    }
    assert desk.merge(base, renamed, edited) == (expected, ())
    assert desk.merge(base, edited, renamed) == (expected, ())


def test_additions_at_the_same_place_are_both_taken(desk: Desk) -> None:
    merged = desk.merged({"d/f": LINES, "g": "g"}, {"d/f": LINES + "o\n", "g": "g"}, {"d/f": LINES + "t\n", "g": "G"})
    assert (merged.conflicts, merged.both) == ((), ("d/f",))
    assert desk.files(merged.tree) == {"d/f": f"{LINES}o\nt\n".encode(), "g": b"G"}
    marked = f"{LINES}<<<<<<< ours\no\n||||||| base\n=======\nt\n>>>>>>> theirs\n"
    assert desk.files(merged.marked) == {"d/f": marked.encode(), "g": b"G"}


def test_a_decision_in_one_file_leaves_the_additions_in_another(desk: Desk) -> None:
    merged = desk.merged({"l": "1\n", "c": "c\n"}, {"l": "1\no\n", "c": "C\n"}, {"l": "1\nt\n", "c": "cc\n"})
    assert (merged.conflicts, merged.both) == (("c",), ("l",))
    assert desk.files(merged.tree)["l"] == b"1\no\nt\n"
    assert "CONFLICT (content)" in merged.says[0]


def test_a_lock_file_stays_ours_without_markers(desk: Desk) -> None:
    files, conflicts = desk.merge({"a/uv.lock": "1\n"}, {"a/uv.lock": "1\n2\n"}, {"a/uv.lock": "1\n3\n"})
    assert (files, conflicts) == ({"a/uv.lock": b"1\n2\n"}, ("a/uv.lock",))


def test_unusual_names(desk: Desk) -> None:
    odd = ["with space", "new\nline", "tab\t", os.fsdecode(b"not\xffutf8"), "-L", ":(top)x", 'quo"te', "a.b", "a"]
    base: Files = {f"{name}/{name}": LINES for name in odd}
    ours: Files = {f"{name}/{name}": changed(1) for name in odd}
    theirs: Files = {f"{name}/{name}": changed(15) for name in odd}
    files, conflicts = desk.merge(base, ours, theirs)
    assert files == {path: changed(1, 15).encode() for path in base}
    assert conflicts == ()
    files, conflicts = desk.merge(base, ours, {path: changed(1, word="x") for path in base})
    assert set(files) == set(base)
    assert len(conflicts) == len(odd)
    assert {"new\nline/new\nline", "not\\xffutf8/not\\xffutf8"} < set(conflicts)


def test_the_same_merge_again_is_the_same_and_writes_nothing(desk: Desk) -> None:
    sides: tuple[Files, Files, Files] = ({"f": LINES}, {"f": changed(1), "n": "n"}, {"f": changed(1, word="x")})
    first = desk.merged(*sides)
    before = sorted((desk.repo / "objects").rglob("*"))
    assert desk.merged(*sides) == first
    trees = [desk.tree(side) for side in sides]
    assert asyncio.run(spaces(desk.root).merge(*trees)) == first  # by somebody who does not know what is there
    assert sorted((desk.repo / "objects").rglob("*")) == before


def test_a_merge_that_comes_out_as_ours_writes_only_commits(desk: Desk) -> None:
    """Although its contents had to be merged; and what is there is in a pack, where one cannot just look."""
    many: Files = {f"d/{number}": f"{number}" for number in range(30)}
    ours, base, theirs = (desk.tree(many | {"d/f": text}) for text in (changed(1, 15), LINES, changed(15)))
    before = set((desk.repo / "objects").rglob("*"))
    assert asyncio.run(spaces(desk.root).merge(base, ours, theirs)) == MergeResult(ours)
    new = [path for path in set((desk.repo / "objects").rglob("*")) - before if path.is_file()]
    assert [git(desk.repo, "cat-file", "-t", path.parent.name + path.name) for path in new] == [b"commit\n"] * 3


def test_the_person_s_git_settings_have_no_say(desk: Desk, git_settings: Path) -> None:  # noqa: F811
    git_settings.write_text("[merge]\n\tconflictStyle = diff3\n[core]\n\tautocrlf = true\n")
    (desk.root / ".gitattributes").write_text("* merge=union text\n")
    files, conflicts = desk.merge(
        {"f": "a\n", ".gitattributes": "* merge=union\n"},
        {"f": "b\n", ".gitattributes": "* merge=union\n"},
        {"f": "c\n", ".gitattributes": "* merge=union\n"},
    )
    assert files["f"] == b"<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n"
    assert conflicts == ("f",)


def test_work_of_two_workspaces(tmp_path: Path) -> None:
    """The whole way: two tasks work in their checkouts, and what they made is opened in a third."""
    root = project(tmp_path / "p", {"main.py": LINES, "docs/a.md": "a\n"})
    write(root, {"mine.txt": "not committed\n"})
    before = fingerprint(root)

    async def go() -> tuple[MergeResult, str]:
        workspaces = spaces(root)
        base = await workspaces.take()
        one = await workspaces.open("run", "one", base, "")
        two = await workspaces.open("run", "two", base, "")
        write(one.root, {"main.py": changed(1), "one.py": "1\n"})
        write(two.root, {"main.py": changed(15), "docs/b.md": "b\n"})
        merged = await workspaces.merge(base, await one.snapshot(), await two.snapshot())
        joint = await workspaces.open("run", "joint", merged.tree, "")
        return merged, await joint.snapshot()

    merged, tree = asyncio.run(go())
    assert tree == merged.tree
    files = {path: body.decode() for path, (_, body) in kept(root, tree).items()}
    assert merged.conflicts == ()
    assert files == {
        "main.py": changed(1, 15),
        "docs/a.md": "a\n",
        "docs/b.md": "b\n",
        "one.py": "1\n",
        "mine.txt": "not committed\n",
    }
    assert fingerprint(root) == before


def test_a_merge_survives_a_power_cut(desk: Desk) -> None:
    """What is not flushed is lost: every single object file, but not the log."""
    base, ours, theirs = desk.tree({"d/f": LINES}), desk.tree({"d/f": changed(1)}), desk.tree({"d/f": changed(15)})
    loose = set((desk.repo / "objects").glob("??/*"))
    merged = asyncio.run(desk.workspaces.merge(base, ours, theirs))
    new = set((desk.repo / "objects").glob("??/*")) - loose
    assert len(new) == 6  # Three of them are the commits that git was given.
    for path in new:
        path.unlink()
    del desk.workspaces
    gc.collect()
    asyncio.run(spaces(desk.root).changes(base, ours))  # another process, later
    assert desk.files(merged.tree) == {"d/f": changed(1, 15).encode()}


def test_merges_at_the_same_time(desk: Desk) -> None:
    base = desk.tree({"f": LINES})

    async def go() -> list[MergeResult]:
        trees = [(desk.tree({"f": changed(n)}), desk.tree({"f": changed(n + 10)})) for n in range(8)]
        return await asyncio.gather(*(desk.workspaces.merge(base, ours, theirs) for ours, theirs in trees))

    for number, merged in enumerate(asyncio.run(go())):
        assert desk.files(merged.tree) == {"f": changed(number, number + 10).encode()}


def test_a_tree_that_is_not_there(desk: Desk) -> None:
    known, other = desk.tree({"a": "a"}), desk.tree({"a": "b"})
    with pytest.raises(WorkspaceError, match="damaged: it does not have the folder 1111"):
        asyncio.run(desk.workspaces.merge(known, other, "1" * 40))
    with pytest.raises(WorkspaceError, match="is not a tree id"):
        asyncio.run(desk.workspaces.merge(known, other, "HEAD"))
    with pytest.raises(WorkspaceError, match="damaged"):
        asyncio.run(desk.workspaces.merge(known, other, Git(desk.repo).run("rev-parse", f"{known}:a").decode().strip()))


def test_the_cost_follows_what_changed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 files, two of them merged: git is asked once."""
    base: Files = {f"area{n % 20}/part{n % 10}/file{n}.py": LINES for n in range(2000)}
    ours: Files = base | {"area3/part3/file3.py": changed(1), "area5/part5/file5.py": "x"}
    theirs: Files = base | {"area3/part3/file3.py": changed(15), "area6/part6/file6.py": "y"}
    trees = [desk.tree(side) for side in (base, ours, theirs)]
    asked: list[str] = []
    read: list[int] = []
    run = Git.run

    def counted(self: Git, *args: str, **options: object) -> bytes:
        asked.append(next(arg for arg in args if arg[0] != "-" and "=" not in arg))
        out: bytes = run(self, *args, **options)  # type: ignore[arg-type]
        read.append(len(out))
        return out

    monkeypatch.setattr(Git, "run", counted)
    merged = asyncio.run(desk.workspaces.merge(*trees))
    assert merged.conflicts == ()
    assert asked == ["merge-tree"]
    assert sum(read) < 100
