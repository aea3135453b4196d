"""Reads, compares, merges and applies the trees of a project's runs, without a checkout."""

import errno
import os
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.workspaces.apply import Applying, Move, format_path
from bough.adapters.workspaces.file_index import LINK, Entry, File
from bough.adapters.workspaces.home import prepare_repository
from bough.adapters.workspaces.merge import merge_trees
from bough.adapters.workspaces.objects import Batch
from bough.adapters.workspaces.repository import Repository, TreeContents, find_moves, make_move, require_tree_id
from bough.adapters.workspaces.workspace import in_thread
from bough.core.errors import UsageError, WorkspaceError
from bough.core.merge.active_files import ActiveFile, find_edge
from bough.core.verdict.texts import LineCount
from bough.ports import FileChange, MergeResult

_LEFTOVER = 24 * 3600.0


class GitTrees:
    """The trees that bough stores for the project at `root`; `home` is its `.bough`."""

    def __init__(self, root: Path, home: Path) -> None:
        self._root = root
        self._home = home
        self.repository = Repository(home)
        self._top = os.fsencode(root)
        self._ready = False
        self._lock = threading.Lock()

    def _prepared(self, *trees: str) -> Repository:
        """Return the repository, ready for use, with these trees in it."""
        with self._lock:
            if not self._ready:
                try:
                    prepare_repository(self._home)
                    # A file that another process is writing looks like a leftover of a crash, so remove only old ones.
                    self.repository.objects.recover(time.time() - _LEFTOVER)
                except OSError as error:
                    # Continue if nothing can be written, because existing objects can still be read.
                    if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS) or not self.repository.path.is_dir():
                        raise
                self._ready = True
        for tree in trees:
            self.repository.fetch(tree)
        return self.repository

    @in_thread("compare")
    def changes(self, base: str, tree: str) -> list[FileChange]:
        return [FileChange(move.kind, format_path(move.path)) for move in self._list_moves(base, tree)]

    def _list_moves(self, base: str, tree: str) -> list[Move]:
        repository = self._prepared(base, tree)
        if repository.listings.know_of(base, tree):  # Both trees are known, so git need not be asked.
            return find_moves(repository.listings.found(base), repository.listings.found(tree))
        parts = repository.diff(base, tree, "--raw", "-z", "--no-abbrev").split(b"\0")
        moves = []
        for head, path in zip(parts[::2], parts[1::2], strict=False):
            old_mode, new_mode, old, new, _ = head.removeprefix(b":").split()
            before = None if old_mode == b"000000" else Entry(old_mode, bytes.fromhex(old.decode()))
            after = None if new_mode == b"000000" else Entry(new_mode, bytes.fromhex(new.decode()))
            moves.append(make_move(path, before, after))
        return moves

    @in_thread("list files")
    def paths(self, tree: str) -> list[str]:
        return self._prepared(tree).listings.paths(tree)

    @in_thread("read files")
    def texts(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        return TreeContents(self._prepared(tree), tree).read(paths)

    @in_thread("list files")
    def contents(self, tree: str) -> TreeContents:
        return TreeContents(self._prepared(tree), tree)

    @in_thread("read the trees of {self._root}")
    def bring(self, tree: str) -> None:
        """Copy a tree of the person's repository into bough's. Fails if a path in it is `.git` or leaves it."""
        repository, git = self._prepared(), self.repository.git
        if bytes.fromhex(tree) not in repository.existing([bytes.fromhex(tree)]):
            asked = ("pack-objects", "--revs", "--stdout", "-q")
            status, pack, complaint = git.ask(*asked, folder=self._root, feed=f"{tree}\n".encode())
            if status != 0:
                raise WorkspaceError(f"git cannot read the tree {tree[:10]} of {self._root}: {complaint}.")
            git.run("index-pack", "--stdin", feed=pack)
        with tempfile.TemporaryDirectory(prefix="bough-tree-") as aside:
            git.run("read-tree", tree, index=Path(aside) / "index")
        repository.publish(tree, "")

    @in_thread("apply the patch")
    def patch(self, base: str, patch: bytes) -> str:
        """Apply a patch to the tree `base`, and return the resulting tree."""
        repository = self._prepared(base)
        with tempfile.TemporaryDirectory(prefix="bough-tree-") as aside:
            index = Path(aside) / "index"
            repository.git.run("read-tree", base, index=index)
            try:
                repository.write("apply", "--cached", "--whitespace=nowarn", feed=patch, index=index)
            except WorkspaceError as error:
                why = str(error).partition(": ")[2].rstrip(".")
                way = "name the commit that it starts from with --base"
                raise UsageError(f"The patch does not apply to its base ({why}): {way}.") from None
            tree = repository.write("write-tree", index=index).decode().strip()
        repository.publish(tree, base)
        return tree

    @in_thread("combine files")
    def graft(self, tree: str, base: str, paths: Sequence[str], texts: Mapping[str, str]) -> str:
        repository = self._prepared(tree, base)
        found, back = repository.listings.found(tree), repository.at(base, paths)
        # Where one tree has a file and the other a folder, the base's is taken.
        put: dict[bytes, File | None] = {**dict.fromkeys(repository.at(tree, paths)), **back}
        with Batch(repository.objects) as batch:
            for name, text in texts.items():
                path = os.fsencode(name)
                known = put[path] if path in put else found.file(path)
                id = batch.add(b"blob", text.encode(errors="surrogateescape"))
                put[path] = File(known.mode if known is not None else b"100644", id, b"", sure=False)
            made = repository.alter(tree, put, batch)
        repository.publish(made, tree)
        return made

    @in_thread("read files")
    def files(self, tree: str, paths: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Return the mode and content of each of these files that the tree has."""
        return {path: (file.mode.decode(), body) for path, file, body in self._prepared(tree).read(tree, paths)}

    @in_thread("compare")
    def diff(self, base: str, tree: str, stat: bool = False) -> str:
        return self._diff(base, tree, "--stat" if stat else "-p")

    @in_thread("compare")
    def count_changes(self, base: str, tree: str) -> list[LineCount]:
        """List every changed file with how many lines were added and removed."""
        said = self._diff(base, tree, "--numstat", "-z")
        entries = [entry.split("\t", 2) for entry in said.split("\0") if entry.count("\t") > 1]
        return [
            LineCount(path, 0, 0, True) if added == "-" else LineCount(path, int(added), int(removed))
            for added, removed, path in entries
        ]

    @in_thread("compare")
    def diff_file(self, base: str, tree: str, path: str) -> str:
        """Return the diff of one file; its path is not taken for a pattern."""
        return self._diff(base, tree, "-p", paths=[f":(literal,top){path}"])

    def _diff(self, base: str, tree: str, *form: str, paths: Sequence[str] = ()) -> str:
        return self._prepared(base, tree).diff(base, tree, *form, paths=paths).decode(errors="replace")

    @in_thread("merge the work of two tasks")
    def merge(self, base: str, ours: str, theirs: str) -> MergeResult:
        repository = self._prepared(base, ours, theirs)
        merged = merge_trees(repository, *map(require_tree_id, (base, ours, theirs)))
        for tree in filter(None, (merged.tree, merged.marked)):
            repository.publish(tree, ours)
        return merged

    @in_thread("compare")
    def edges(self, base: str, tree: str) -> list[ActiveFile]:
        moves = [(move, move.target) for move in self._list_moves(base, tree) if move.target is not None]
        links = {after.id for _, after in moves if after.mode == LINK}
        contents = self.repository.git.blobs(list(links))
        targets = {id: b"".join(pieces) for id, pieces in zip(links, contents, strict=True)}
        found = []
        for move, after in moves:
            was, target = move.base.mode.decode() if move.base is not None else "", targets.get(after.id, b"")
            found.append(find_edge(format_path(move.path), was, after.mode.decode(), format_path(target)))
        return [each for each in found if each is not None]

    @in_thread("write to {self._root}")
    def apply(self, base: str, tree: str) -> list[FileChange]:
        moves = self._list_moves(base, tree)
        Applying(self.repository.git, self._top, {move.path: move for move in moves}).run()
        return [FileChange(move.kind, format_path(move.path)) for move in moves]
