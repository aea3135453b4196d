"""bough's own git repository: all trees, contents and checkpoint commits of a project's runs."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bough.adapters.workspaces.apply import format_path
from bough.adapters.workspaces.file_index import File, FileIndex, find_differing
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.objects import Batch, Objects
from bough.adapters.workspaces.tree_cache import TreeCache
from bough.core.errors import WorkspaceError
from bough.ports import Contents

_TEXT = 16 << 20
"""Bytes of a file that are read as text."""


class Repository:
    """bough's own repository: what the workspaces and their owner share."""

    def __init__(self, home: Path) -> None:
        self.path = home / "repo.git"
        self.git = Git(self.path)
        self.objects = Objects(self.path, self.existing)
        self.listings = TreeCache(self._list)
        self._clock = os.fsencode(self.path / "clock")

    def existing(self, ids: Sequence[bytes]) -> set[bytes]:
        known = self.objects.durable.intersection(ids)
        if self.objects.empty():  # git is slow to say so for each
            return known
        # One git for all: starting it takes longer than its answer to a thousand ids.
        asked = b"".join(id.hex().encode() + b"\n" for id in ids if id not in known)
        out = self.git.run("cat-file", "--batch-check", "--buffer", feed=asked) if asked else b""
        there = (line.split()[0].decode() for line in out.splitlines() if not line.endswith(b" missing"))
        return known.union(map(bytes.fromhex, there))

    def clock(self) -> int:
        """The time that the disk stamps on files."""
        # Asked of the disk: a network disk stamps files with its server's time, and stamps are compared with each other
        # only.
        os.utime(self._clock)
        return os.stat(self._clock).st_mtime_ns  # noqa: PTH116

    def ignores(self, top: bytes, paths: Collection[bytes]) -> set[bytes]:
        # A path that begins with a colon would be misread; after `./` it is not.
        asked = b"".join(b"./%s\0" % path for path in paths)
        out = self.git.run("check-ignore", "-z", "--stdin", "--no-index", top=top, feed=asked, fine=(0, 1))
        return {path.removeprefix(b"./") for path in out.split(b"\0")}

    def _list(self, id: str) -> FileIndex:
        """The objects of a tree are durable, because its id was published."""
        found, folders = FileIndex(), {b"": bytes.fromhex(require_tree_id(id))}
        for line in self.git.run("ls-tree", "-r", "-t", "-z", "--full-tree", id).split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path:
                mode, kind, name = head.split()
                made = bytes.fromhex(name.decode())
                self.objects.durable.add(made)
                if kind == b"blob":
                    found.put(path, File(mode, made, b"", sure=False))
                elif kind == b"tree":
                    folders[path] = made
        for path, folder in found.folders.items():
            folder.id = folders[path]
        found.fresh = set()
        return found

    def at(self, tree: str, paths: Sequence[str]) -> dict[bytes, File]:
        """The files that a tree has among these paths, which are as people see them."""
        found = self.listings.found(tree)
        named = {path.encode(errors="surrogateescape"): path for path in paths}
        files = {path: file for path in named if (file := found.file(path)) is not None}
        # A name that is not text is shown with escapes, from which it cannot be recovered.
        escaped = {shown for path, shown in named.items() if path not in files and "\\" in shown}
        if escaped:
            files |= {path: file for path, file in found.files() if format_path(path) in escaped}
        return dict(sorted(files.items()))

    def commit(self, id: str, parent: str, message: str) -> str:
        """A commit with bough as its author; the same one again when the parent has the same tree and message."""
        require_tree_id(id)
        if parent:
            head, _, text = self.git.run("cat-file", "commit", parent).partition(b"\n\n")
            if head.startswith(f"tree {id}\n".encode()) and text == _encode_message(message):
                return parent
        return self.write_commit(id, parent, message)

    def write_commit(self, tree: str, parent: str, message: str) -> str:
        who = f"bough <bough@localhost> {int(time.time())} +0000"
        lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {who}", f"committer {who}", "", ""]
        with Batch(self.objects) as batch:
            made = batch.add(b"commit", "\n".join(lines).encode() + _encode_message(message))
            batch.flush()
        return made.hex()

    def branch(self, run: str, task: str) -> Path:
        return self.path / "refs" / "bough" / make_safe_name(run) / make_safe_name(task)

    def diff(self, base: str, tree: str, *options: str, paths: Sequence[str] = ()) -> bytes:
        if base == tree:
            return b""
        # No programs that attributes or settings of a repository name, which are part of what an agent may write.
        fixed = ("-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
        trees = (require_tree_id(base), require_tree_id(tree))
        return self.git.run("diff-tree", *fixed, *options, *trees, *(("--", *paths) if paths else ()))


def _encode_message(message: str) -> bytes:
    return message.encode(errors="replace").replace(b"\0", b"") + b"\n"


class TreeContents:
    """See `ports.Contents`."""

    def __init__(self, repository: Repository, tree: str) -> None:
        self._repository = repository
        self._tree = tree
        self._found = repository.listings.found(tree)

    def paths(self) -> list[str]:
        return self._repository.listings.paths(self._tree)

    def id(self, path: str) -> str:
        file = self._found.file(path.encode(errors="surrogateescape"))
        if file is None and "\\" in path:
            file = next(iter(self._repository.at(self._tree, [path]).values()), None)
        return f"{file.mode.decode()} {file.id.hex()}" if file is not None else ""

    def read(self, paths: Sequence[str]) -> dict[str, str]:
        found = {format_path(path): file.id for path, file in self._repository.at(self._tree, paths).items()}
        contents = self._repository.git.blobs(list(found.values()))
        return {path: _beginning(pieces).decode(errors="replace") for path, pieces in zip(found, contents, strict=True)}

    def differing(self, other: Contents) -> list[str]:
        assert isinstance(other, TreeContents)
        return [format_path(path) for path, _, _ in find_differing(self._found, other._found)]


def _beginning(pieces: Iterator[bytes]) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) >= _TEXT:
            break
    return bytes(body[:_TEXT])


def make_safe_name(name: str) -> str:
    """A run or task as the name of one folder or branch: unique on any file system."""
    text = "".join(_escape_letter(letter) for letter in name)
    if text and len(text) <= 100:
        return text
    return f"{text[:60]}__{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:24]}"


def _escape_letter(letter: str) -> str:
    if re.fullmatch("[a-z0-9-]", letter):
        return letter
    if letter == "/":
        return "+"
    return "".join(f"_{byte:02x}" for byte in letter.encode(errors="surrogatepass"))


def require_tree_id(tree: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}", tree):
        raise WorkspaceError(f"{tree!r} is not a tree id: the journal is damaged.")
    return tree
