"""Merges two trees with a common base by `git merge-tree`, which follows renames, also of folders, and needs no
checkout, index or ref.

Promises: the same three trees always give the same result, and a result is durable. Conflicting texts have both sides
between markers. Conflicts that need no decision are resolved: a text to which both sides only added at the same place
gets both additions, and a lock file that both changed stays ours until it is regenerated.
"""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct, field

from bough.adapters.workspaces.apply import format_path
from bough.adapters.workspaces.file_index import EXECUTABLE, PLAIN, Entry, File, FileIndex
from bough.adapters.workspaces.git_program import find_git_version
from bough.adapters.workspaces.objects import Batch
from bough.adapters.workspaces.repository import Repository
from bough.core.errors import WorkspaceError
from bough.core.merge import conflict_hunks
from bough.ports import MergeResult

NEEDS = (2, 38)
"""The first version of git that merges trees without a checkout."""

_SETTINGS = ("-c", "merge.conflictStyle=diff3", "-c", "merge.directoryRenames=true")
# A fixed time, so that the same trees give the same commits, and with them the same labels in conflict markers.
_WHO = "bough <bough@localhost> 0 +0000"
_REGULAR = (PLAIN, EXECUTABLE)

_Stages = dict[int, Entry]


class PathConflict(NamedTuple):
    """A path in conflict, as git reports it."""

    path: bytes
    says: str
    stages: Mapping[int, Entry]
    """The file in the base (1), ours (2) and theirs (3), where it exists."""


def merge_trees(repository: Repository, base: str, ours: str, theirs: str) -> MergeResult:
    """Merge the trees, and return the durable result with its conflicts."""
    if base in (ours, theirs) or ours == theirs:
        return MergeResult(theirs if base == ours else ours)
    # merge-tree finds the base by commits, since versions before 2.40 have no option to name it (--merge-base).
    with Batch(repository.objects) as batch:
        start = _commit(batch, base)
        sides = _commit(batch, ours, start), _commit(batch, theirs, start)
        batch.flush()
    try:
        # Exit status 1 means a conflict, not a failure.
        out = repository.write(*_SETTINGS, "merge-tree", "--write-tree", "-z", *sides, fine=(0, 1), strict=True)
    except WorkspaceError as error:
        raise _explain_error(error, repository, (base, ours, theirs)) from error
    tree, *parts = out.split(b"\0")
    conflicts = list(_parse_conflicts(parts))
    if not conflicts:
        return MergeResult(tree.decode())
    with Batch(repository.objects) as batch:
        found = repository.listings.found(tree.decode())
        return _Joining(repository, batch, tree.decode(), found, tuple(side.encode() for side in sides)).join(conflicts)


def _commit(batch: Batch, tree: str, *parents: str) -> str:
    """Create a commit for git to merge. Its id depends only on the trees, so it is the same every time."""
    lines = [f"tree {tree}", *(f"parent {each}" for each in parents), f"author {_WHO}", f"committer {_WHO}"]
    return batch.add(b"commit", ("\n".join(lines) + "\n\nmerge\n").encode()).hex()


def _explain_error(error: WorkspaceError, repository: Repository, trees: tuple[str, ...]) -> WorkspaceError:
    git = repository.git
    out = git.run("cat-file", "--batch-check", feed="".join(f"{tree}\n" for tree in trees).encode()).split(b"\n")
    for tree, line in zip(trees, out, strict=False):
        if b" tree " not in line:
            return WorkspaceError(f"{git.repo} is damaged: it does not have the folder {tree}.")
    if (there := find_git_version(git.repo.parent.parent)) < NEEDS:
        named, needs = (".".join(map(str, numbers)) for numbers in (there, NEEDS))
        return WorkspaceError(f"Merging needs git {needs} or newer, this is {named}: update git, then resume the run.")
    return error


class _Joining(Struct, eq=False):
    """Turns git's result into the merged tree: texts to which both sides only added get both additions, and lock files
    are ours."""

    repository: Repository
    batch: Batch
    tree: str
    found: FileIndex
    """The files of git's result."""
    labels: tuple[bytes, ...]
    """Git's names for our side and their side."""
    put: dict[bytes, File | None] = field(default_factory=dict)
    """The new files by path; None: the path is removed."""
    both: dict[bytes, File | None] = field(default_factory=dict)
    """The new files by path, where the additions of both sides were combined."""

    def join(self, found: list[PathConflict]) -> MergeResult:
        left = [each for each in map(self._rename_sides, found) if not self._settle(each)]
        marked = self.repository.alter(self.tree, self.put, self.batch) if self.put else self.tree
        return MergeResult(
            self.repository.alter(marked, self.both, self.batch) if self.both else marked,
            tuple(format_path(each.path) for each in left),
            tuple(each.says for each in left),
            tuple(map(format_path, self.both)),
            marked if self.both else "",
        )

    def _rename_sides(self, each: PathConflict) -> PathConflict:
        """Replace git's labels by bough's names of the sides, also in the name of a file that git had to rename."""
        path, says = each.path, each.says
        for label, name in zip(self.labels, (conflict_hunks.OURS, conflict_hunks.THEIRS), strict=True):
            says = says.replace(label.decode(), name)
            path = path.replace(b"~" + label, b"~" + name.encode())
        if path != each.path and (file := self.found.file(each.path)) is not None:
            self.put |= {each.path: None, path: file}
        return PathConflict(path, says, each.stages)

    def _settle(self, each: PathConflict) -> bool:
        """Resolve the conflict if it needs no decision. Return whether it is resolved."""
        path = each.path
        if conflict_hunks.find_remake_command(os.fsdecode(path)) and 2 in each.stages:
            # Markers in a lock file would break the tool that regenerates it.
            self.put[path] = File(*each.stages[2], b"", sure=False)
            return False
        file = self.found.file(path)
        if file is None or file.mode not in _REGULAR:
            return False
        ours, theirs = each.stages.get(2), each.stages.get(3)
        if ours and theirs and ours.id == theirs.id and {ours.mode, theirs.mode} == {*_REGULAR}:
            # Both sides created the same file, one of them executable.
            self.both[path] = File(EXECUTABLE, ours.id, b"", sure=False)
            return True
        text = b"".join(piece for pieces in self.repository.git.blobs([file.id]) for piece in pieces)
        if (clear := conflict_hunks.name_sides(text, *self.labels)) != text:
            self.put[path] = File(file.mode, self.batch.add(b"blob", clear), b"", sure=False)
        created_by_both = set(each.stages) == {2, 3} and each.says.startswith("CONFLICT (add/add")
        pieces = conflict_hunks.parse_conflicts(text, *self.labels)
        # Other kinds (renamed on both sides, a file against a folder) have no lines to combine.
        if pieces is None or not (created_by_both or each.says.startswith("CONFLICT (content")):
            return False
        if (whole := conflict_hunks.unite_additions(pieces, new=created_by_both)) is None:
            return False
        self.both[path] = File(file.mode, self.batch.add(b"blob", whole), b"", sure=False)
        return True


def _parse_conflicts(parts: list[bytes]) -> Iterator[PathConflict]:
    """Parse what `merge-tree -z` prints after the tree: the stages of unmerged paths, an empty part, then messages,
    each with the number of its paths, the paths, its kind and its text."""
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
