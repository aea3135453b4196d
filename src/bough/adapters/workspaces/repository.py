"""bough's own git repository, with all trees, contents and checkpoint commits of a project's runs."""

import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from bough.adapters.workspaces.apply import Move, format_path
from bough.adapters.workspaces.file_index import LINK, Entry, File, FileIndex, find_differing, write_tree
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.objects import Batch, Objects, unpack
from bough.core.errors import WorkspaceError

REMEMBERED = 8
_UNSAFE = re.compile(rb"(?:^|/)(?:\.git|\.{0,2})(?:/|$)", re.IGNORECASE)
"""A path that git itself never has in a tree."""


class TreeCache:
    """Remembers the files of the latest few trees, because mostly those of the base and of the current tree are needed,
    and git need not be asked for what bough has just written. `ask` lists the files of any other tree."""

    def __init__(self, ask: Callable[[str], FileIndex]) -> None:
        self._ask = ask
        self._remembered: dict[str, FileIndex] = {}
        self._listed: dict[str, list[str]] = {}
        self._wanted: set[str] = set()
        """Trees whose files were asked for; those of most snapshots never are."""
        self._lock = threading.Lock()

    def know(self, tree: str, found: FileIndex) -> None:
        """Remember the files of a tree. The index must not be changed any more."""
        with self._lock:
            self._remembered.pop(tree, None)
            self._remembered[tree] = found
            while len(self._remembered) > REMEMBERED:
                # First drop trees that nobody has asked for: a base must outlast the many snapshots after it.
                oldest = min(self._remembered, key=self._wanted.__contains__)
                del self._remembered[oldest]
                self._listed.pop(oldest, None)
                self._wanted.discard(oldest)

    def know_of(self, *trees: str) -> bool:
        return all(tree in self._remembered for tree in trees)

    def found(self, tree: str) -> FileIndex:
        found = self._remembered.get(tree) or self._ask(tree)
        self._wanted.add(tree)
        self.know(tree, found)
        return found

    def paths(self, tree: str) -> list[str]:
        """List the paths of all files of a tree, in order. The cost grows with their number."""
        found = self.found(tree)
        if (listed := self._listed.get(tree)) is None:
            listed = [format_path(path) for path in sorted(path for path, _ in found.files())]
            with self._lock:
                if tree in self._remembered:
                    self._listed[tree] = listed
        return list(listed)


def find_moves(base: FileIndex, tree: FileIndex) -> list[Move]:
    """List the differences between two trees, in the order of paths."""
    found = sorted(find_differing(base, tree), key=lambda each: each[0])
    return [make_move(path, was and Entry(*was[:2]), now and Entry(*now[:2])) for path, was, now in found]


def make_move(path: bytes, base: Entry | None, target: Entry | None) -> Move:
    """Describe one difference with git's letters: A(dded), D(eleted), M(odified), T(ype changed)."""
    if base is None or target is None:
        return Move("A" if base is None else "D", path, base, target)
    return Move("T" if LINK in (base.mode, target.mode) and base.mode != target.mode else "M", path, base, target)


_TEXT = 16 << 20
"""The most bytes of a file that are read as text."""


class Repository:
    """bough's own repository, which all workspaces of a project share."""

    def __init__(self, home: Path) -> None:
        self.path = home / "repo.git"
        self.git = Git(self.path)
        self.objects = Objects(self.path, self.existing)
        self.listings = TreeCache(self._list)
        self._clock = os.fsencode(self.path / "clock")
        self.fetch: Callable[[str], None] = lambda tree: None
        """Fetches a tree that another machine made; see `exchange.share`."""
        self.publish: Callable[[str, str], None] = lambda tree, base: None
        """Sends a tree to other machines before its name is published. Second argument: a similar tree, or empty."""

    def existing(self, ids: Sequence[bytes]) -> set[bytes]:
        known = self.objects.durable.intersection(ids)
        if self.objects.empty():  # Nothing is stored yet: git would take long to say so for each id.
            return known
        # Run git once for all, because starting it takes longer than answering for a thousand ids.
        asked = b"".join(id.hex().encode() + b"\n" for id in ids if id not in known)
        out = self.git.run("cat-file", "--batch-check", "--buffer", feed=asked) if asked else b""
        there = (line.split()[0].decode() for line in out.splitlines() if not line.endswith(b" missing"))
        return known.union(map(bytes.fromhex, there))

    def clock(self) -> int:
        """Return the time that the disk stamps on files."""
        # Take the time from the disk itself, because a network disk uses its server's time for stamps.
        os.utime(self._clock)
        return os.stat(self._clock).st_mtime_ns  # noqa: PTH116

    def ignores(self, top: bytes, paths: Collection[bytes]) -> set[bytes]:
        # The `./` keeps git from taking a path that begins with a colon for a pattern.
        asked = b"".join(b"./%s\0" % path for path in paths)
        out = self.git.run("check-ignore", "-z", "--stdin", "--no-index", top=top, feed=asked, fine=(0, 1))
        return {path.removeprefix(b"./") for path in out.split(b"\0")}

    def _list(self, id: str) -> FileIndex:
        """List the files of a tree. Its objects are durable, because its id was published."""
        self.fetch(id)
        found, folders = FileIndex(), {b"": bytes.fromhex(require_tree_id(id))}
        for line in self.git.run("ls-tree", "-r", "-t", "-z", "--full-tree", id).split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path:
                if _UNSAFE.search(path):
                    bad = f"The tree {id[:10]} has the invalid path {format_path(path)}, which git never writes"
                    raise WorkspaceError(f"{bad}: use another commit.")
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
        """Return those files of a tree that are among these paths, which are written as bough shows them to people."""
        found = self.listings.found(tree)
        named = {path.encode(errors="surrogateescape"): path for path in paths}
        files = {path: file for path in named if (file := found.file(path)) is not None}
        # A name that is not text is shown with escapes, which cannot be undone: compare the shown forms of all names.
        escaped = {shown for path, shown in named.items() if path not in files and "\\" in shown}
        if escaped:
            files |= {path: file for path, file in found.files() if format_path(path) in escaped}
        return dict(sorted(files.items()))

    def read(self, tree: str, paths: Sequence[str], most: float = inf) -> Iterator[tuple[str, File, bytes]]:
        """Read those files of a tree that are among these paths, of each at least the first `most` bytes."""
        found = self.at(tree, paths)
        contents = self.git.blobs([file.id for file in found.values()])
        for (path, file), pieces in zip(found.items(), contents, strict=True):
            body = bytearray()
            while len(body) < most and (piece := next(pieces, b"")):
                body += piece
            yield format_path(path), file, bytes(body)

    def commit(self, id: str, parent: str, message: str) -> str:
        """Create a commit with bough as its author. If the parent has the same tree and message, return the parent."""
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

    def write(self, *args: str, **how: Any) -> bytes:
        """Run a git command that writes objects. They go to a separate folder first, because git flushes objects one by
        one or not at all; from there they are added as a batch, which becomes durable together."""
        aside = tempfile.mkdtemp(prefix="tmp_bough_", dir=self.path / "log")
        try:
            out = self.git.run(*args, objects=os.fsencode(aside), **how)
            with Batch(self.objects) as batch:
                for path in Path(aside).glob("??/*"):
                    batch.add(*unpack(path.read_bytes()))
                batch.flush()
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return out

    def alter(self, tree: str, put: Mapping[bytes, File | None], batch: Batch) -> str:
        """Return a tree like this one, but with these files; None removes a path. This flushes the batch."""
        found = self.listings.found(tree).copy()
        for path, file in put.items():
            if file is not None:
                found.replace(path, file)
            elif found.file(path) is not None:
                found.remove(path)
        made = write_tree(found, batch).hex()
        batch.flush()
        self.listings.know(made, found)
        return made

    def branch(self, run: str, task: str) -> Path:
        return self.path / "refs" / "bough" / make_safe_name(run) / make_safe_name(task)

    def diff(self, base: str, tree: str, *options: str, paths: Sequence[str] = ()) -> bytes:
        if base == tree:
            return b""
        # These options keep git from starting programs that attributes or settings name: an agent may have set those.
        fixed = ("-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
        trees = (require_tree_id(base), require_tree_id(tree))
        return self.git.run("diff-tree", *fixed, *options, *trees, *(("--", *paths) if paths else ()))


def _encode_message(message: str) -> bytes:
    return message.encode(errors="replace").replace(b"\0", b"") + b"\n"


class TreeContents:
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
        read = self._repository.read(self._tree, paths, _TEXT)
        return {path: body[:_TEXT].decode(errors="replace") for path, _, body in read}


def make_safe_name(name: str) -> str:
    """Make a folder or branch name from the name of a run or task, which stays unique on any file system."""

    def escape(found: re.Match[str]) -> str:
        return "+" if found[0] == "/" else "".join(f"_{byte:02x}" for byte in found[0].encode(errors="surrogatepass"))

    text = re.sub("[^a-z0-9-]", escape, name)
    if text and len(text) <= 100:
        return text
    return f"{text[:60]}__{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:24]}"


def require_tree_id(tree: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}", tree):
        raise WorkspaceError(f"{tree!r} is not a tree id: the journal is damaged.")
    return tree
