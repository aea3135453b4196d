"""Merging two trees that grew from one base: git merges them (`git merge-tree`: renames, renamed folders) outside
bough's objects, so that no checkout, index or ref is touched.

Promises: the same three trees always give the same result, and a result is durable. Where the sides disagree, a text
has both between markers. What needs no decision is resolved: a text to which both only added at the same place gets
both additions, and a lock file that both changed stays ours until it is regenerated.
"""

# Paths are bytes: a name on disk need not be text.
# ruff: noqa: PTH103, PTH104, PTH110, PTH120, PTH123

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from bough.adapters.workspaces.apply import format_path
from bough.adapters.workspaces.file_index import EXECUTABLE, FOLDER, PLAIN, Entry, format_tree
from bough.adapters.workspaces.git_program import Git, find_git_version
from bough.adapters.workspaces.objects import Batch, Objects, find_single, name_object, unpack
from bough.core.errors import WorkspaceError
from bough.core.merge.conflict_hunks import (
    OURS,
    THEIRS,
    find_remake_command,
    name_sides,
    parse_conflicts,
    unite_additions,
)
from bough.ports import Merged

NEEDS = (2, 38)
"""The first git that merges trees without a checkout."""

_SETTINGS = ("-c", "merge.conflictStyle=diff3", "-c", "merge.directoryRenames=true")
# A fixed time, so that the same trees give the same commits, and with them the same labels in conflict markers.
_WHO = "bough <bough@localhost> 0 +0000"
_REGULAR = (PLAIN, EXECUTABLE)

_Tree = dict[bytes, Entry]
_Stages = dict[int, Entry]


class PathConflict(NamedTuple):
    """What git reports on one path that needs a decision."""

    path: bytes
    says: str
    stages: Mapping[int, Entry]
    """The file in the base (1), ours (2) and theirs (3), where it exists."""


def merge_trees(git: Git, objects: Objects, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """The merged tree, which is durable, and what in it needs a decision."""
    if base in (ours, theirs) or ours == theirs:
        return Merged((theirs if base == ours else ours).hex())
    aside = _Aside(objects)
    # merge-tree wants commits to find the base by; older versions have no option to name it (--merge-base came with
    # 2.40).
    start = aside.commit(base)
    sides = aside.commit(ours, start), aside.commit(theirs, start)
    try:
        argv = (*_SETTINGS, "merge-tree", "--write-tree", "-z", *sides)
        # Exit status 1 is a conflict, not a failure. Objects go aside because git does not flush them one by one the
        # way that bough's promise needs.
        out = git.run(*argv, fine=(0, 1), strict=True, objects=aside.folder)
    except WorkspaceError as error:
        raise _explain_error(error, git, (base, ours, theirs)) from error
    tree, *parts = out.split(b"\0")
    with Batch(objects) as batch:
        labels = tuple(side.encode() for side in sides)
        merged = _Joining(git, aside, batch, bytes.fromhex(tree.decode()), labels).join(list(_parse_conflicts(parts)))
        batch.flush()
    return merged


def _explain_error(error: WorkspaceError, git: Git, trees: tuple[bytes, ...]) -> WorkspaceError:
    asked = "".join(f"{tree.hex()}\n" for tree in trees)
    out = git.run("cat-file", "--batch-check", feed=asked.encode()).split(b"\n")
    for tree, line in zip(trees, out, strict=False):
        if b" tree " not in line:
            return WorkspaceError(f"{git.repo} is damaged: it does not have the folder {tree.hex()}.")
    if (there := find_git_version(git.repo.parent.parent)) < NEEDS:
        named, needs = (".".join(map(str, numbers)) for numbers in (there, NEEDS))
        return WorkspaceError(f"Merging needs git {needs} or newer, this is {named}: update git, then resume the run.")
    return error


class _Aside:
    """A folder for what git writes while it merges, outside bough's objects: what is wanted of it becomes durable in
    the same way as everything else of bough's. It stays while the process lives, since removing files takes longer than
    a merge; `recover` removes what earlier processes left."""

    def __init__(self, objects: Objects) -> None:
        self.folder = objects.aside
        os.makedirs(self.folder, exist_ok=True)

    def commit(self, tree: bytes, *parents: str) -> str:
        """A commit for git to merge. The same one each time: its id depends only on the trees."""
        lines = [f"tree {tree.hex()}", *(f"parent {each}" for each in parents), f"author {_WHO}", f"committer {_WHO}"]
        name, whole = name_object(b"commit", ("\n".join(lines) + "\n\nmerge\n").encode())
        path = find_single(self.folder, name)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            part = b"%s.%s" % (path, os.urandom(4).hex().encode())
            with open(part, "xb") as out:
                out.write(zlib.compress(whole, 1))
            os.rename(part, path)
        return name.hex()

    def read(self, id: bytes) -> tuple[bytes, bytes] | None:
        """Kind and body of what git wrote here; None: it existed before."""
        try:
            with open(find_single(self.folder, id), "rb") as file:
                return unpack(file.read())
        except FileNotFoundError:
            return None


class _Joining(Struct, eq=False):
    """The final form of a merged tree: texts to which both only added have both, lock files are ours."""

    git: Git
    aside: _Aside
    batch: Batch
    tree: bytes
    labels: tuple[bytes, ...]
    """The names that git shows for ours and theirs."""
    put: dict[bytes, Entry | None] = field(default_factory=dict)
    """New contents of paths; None: the path is removed."""
    both: dict[bytes, Entry | None] = field(default_factory=dict)
    """The same where both sides only added."""
    made: dict[bytes, bytes] = field(default_factory=dict)
    """Folders that were written here, and are not on disk yet."""
    adopted: set[bytes] = field(default_factory=set)

    def join(self, found: list[PathConflict]) -> Merged:
        left = [each for each in map(self._rename_sides, found) if not self._settle(each)]
        marked = self._replace_contents(self.tree, self.put) if self.put else self.tree
        tree = self._replace_contents(marked, self.both) if self.both else marked
        self._adopt(marked)
        self._adopt(tree)
        return Merged(
            tree.hex(),
            tuple(format_path(each.path) for each in left),
            tuple(each.says for each in left),
            tuple(map(format_path, self.both)),
            marked.hex() if self.both else "",
        )

    def _rename_sides(self, each: PathConflict) -> PathConflict:
        """The conflict with the usual names of the sides, even in the name of a file whose own was taken."""
        path, says = each.path, each.says
        for label, name in zip(self.labels, (OURS, THEIRS), strict=True):
            says = says.replace(label.decode(), name)
            path = path.replace(b"~" + label, b"~" + name.encode())
        if path != each.path and (entry := self._find_entry(each.path)) is not None:
            self.put |= {each.path: None, path: entry}
        return PathConflict(path, says, each.stages)

    def _adopt(self, tree: bytes) -> None:
        """Keep everything that is new below a folder."""
        found = self._find(tree)
        if found is None or tree in self.adopted:
            return
        self.adopted.add(tree)
        self.batch.add(*found)
        for entry in _parse_tree(found[1]).values():
            if entry.mode == FOLDER:
                self._adopt(entry.id)
            elif entry.id not in self.batch and (new := self.aside.read(entry.id)) is not None:
                self.batch.add(*new)

    def _settle(self, each: PathConflict) -> bool:
        """Whether it needs no decision."""
        path = each.path
        if find_remake_command(os.fsdecode(path)) and 2 in each.stages:
            # Markers in a lock file would break the very tool that makes it again.
            self.put[path] = each.stages[2]
            return False
        entry = self._find_entry(path)
        if entry is None or entry.mode not in _REGULAR:
            return False
        ours, theirs = each.stages.get(2), each.stages.get(3)
        if ours and theirs and ours.id == theirs.id and {ours.mode, theirs.mode} == {*_REGULAR}:
            self.both[path] = Entry(EXECUTABLE, ours.id)  # Both created the same file, and one made it executable.
            return True
        text = self._read(entry.id)
        if (clear := name_sides(text, *self.labels)) != text:
            self.put[path] = Entry(entry.mode, self.batch.add(b"blob", clear))
        created_by_both = set(each.stages) == {2, 3} and each.says.startswith("CONFLICT (add/add")
        pieces = parse_conflicts(text, *self.labels)
        # Other kinds (renamed on both sides, a file against a folder) have no lines to put together.
        if pieces is None or not (created_by_both or each.says.startswith("CONFLICT (content")):
            return False
        if (whole := unite_additions(pieces, new=created_by_both)) is None:
            return False
        self.both[path] = Entry(entry.mode, self.batch.add(b"blob", whole))
        return True

    def _find(self, id: bytes) -> tuple[bytes, bytes] | None:
        """Kind and body of a new object."""
        return (b"tree", self.made[id]) if id in self.made else self.aside.read(id)

    def _read(self, id: bytes) -> bytes:
        """The body of an object: mostly one that git has just written."""
        if (found := self._find(id)) is not None:
            return found[1]
        out = self.git.run("cat-file", "--batch", feed=id.hex().encode() + b"\n")
        return out.partition(b"\n")[2][:-1]

    def _find_entry(self, path: bytes) -> Entry | None:
        """What the merged tree has at a path."""
        found: Entry | None = Entry(FOLDER, self.tree)
        for name in path.split(b"/"):
            found = _parse_tree(self._read(found.id)).get(name) if found and found.mode == FOLDER else None
        return found

    def _replace_contents(self, tree: bytes, put: Mapping[bytes, Entry | None]) -> bytes:
        """The tree with other contents at some paths."""
        entries = _parse_tree(self._read(tree))
        below: dict[bytes, dict[bytes, Entry | None]] = {}
        for path, entry in put.items():
            name, _, rest = path.partition(b"/")
            if rest:
                below.setdefault(name, {})[rest] = entry
            elif entry is None:
                entries.pop(name, None)
            else:
                entries[name] = entry
        for name, inside in below.items():
            entries[name] = Entry(FOLDER, self._replace_contents(entries[name].id, inside))
        body = format_tree((name, *entry) for name, entry in entries.items())
        id = self.batch.add(b"tree", body)
        self.made[id] = body
        return id


def _parse_conflicts(parts: list[bytes]) -> Iterator[PathConflict]:
    """What `merge-tree -z` prints after the tree: the stages of unmerged paths, an empty part, then messages, each with
    the number of its paths, these, its kind and its text."""
    stages: dict[bytes, _Stages] = {}
    says: dict[bytes, list[str]] = {}
    at = 0
    while at < len(parts) and parts[at]:
        head, _, path = parts[at].partition(b"\t")
        mode, id, stage = head.split()
        stages.setdefault(path, {})[int(stage)] = Entry(mode, bytes.fromhex(id.decode()))
        at += 1
    at += 1
    while at < len(parts) and parts[at].isdigit():
        count = int(parts[at])
        paths, kind, text = parts[at + 1 : at + 1 + count], parts[at + 1 + count], parts[at + 2 + count]
        if kind.startswith(b"CONFLICT"):
            says.setdefault(paths[0], []).append(text.decode(errors="replace").strip())
        at += count + 3
    for path in sorted({*stages, *says}):
        yield PathConflict(path, " ".join(says.get(path, ())), stages.get(path, {}))


def _parse_tree(body: bytes) -> _Tree:
    tree, at = {}, 0
    while at < len(body):
        end = body.index(b"\0", at)
        mode, _, name = body[at:end].partition(b" ")
        at = end + 21
        tree[name] = Entry(mode, body[end + 1 : at])
    return tree
