"""A desk with trees to be merged, in bough's repository of one project."""

import asyncio
import os
from pathlib import Path

from bough.adapters.workspaces.home import prepare_home, prepare_repository
from bough.adapters.workspaces.objects import Batch
from bough.adapters.workspaces.repository import Repository
from bough.ports import MergeResult
from tests.adapters.git_projects import git, spaces

PLAIN, PROGRAM, LINK = "100644", "100755", "120000"

File = str | bytes | tuple[str, bytes]
Files = dict[str, File]
"""Contents by path, with the mode when it is not a plain file. Names that are no text have escapes (`os.fsdecode`)."""


class Desk:
    """Trees to be merged, in bough's repository of one project."""

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.repo = prepare_repository(prepare_home(root))
        self.repository = Repository(root / ".bough")
        self.workspaces = spaces(root)

    def tree(self, files: Files) -> str:
        with Batch(self.repository.objects) as batch:
            id = _put(batch, {path: _file(file) for path, file in files.items()})
            batch.flush()
        return id.hex()

    def merge(self, base: Files, ours: Files, theirs: Files) -> tuple[Files, tuple[str, ...]]:
        merged = self.merged(base, ours, theirs)
        return self.files(merged.tree), merged.conflicts

    def merged(self, base: Files, ours: Files, theirs: Files) -> MergeResult:
        return asyncio.run(self.workspaces.merge(self.tree(base), self.tree(ours), self.tree(theirs)))

    def files(self, tree: str) -> Files:
        """As git reads it; `fsck` has to be content with it first."""
        git(self.repo, "fsck", "--strict", "--full", "--no-dangling", tree)
        found: Files = {}
        for line in git(self.repo, "ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0"):
            if line:
                head, _, path = line.partition(b"\t")
                mode, _, id = head.decode().split()
                body = git(self.repo, "cat-file", "blob", id)
                found[os.fsdecode(path)] = body if mode == PLAIN else (mode, body)
        return found


def _file(file: File) -> tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    return PLAIN, file.encode() if isinstance(file, str) else file


def _put(batch: Batch, files: dict[str, tuple[str, bytes]]) -> bytes:
    entries, folders = [], {path.partition("/")[0] for path in files if "/" in path}
    for name in folders:
        inside = {path.partition("/")[2]: file for path, file in files.items() if path.startswith(f"{name}/")}
        entries.append((os.fsencode(name) + b"/", b"40000", _put(batch, inside)))
    for path, (mode, body) in files.items():
        if "/" not in path:
            entries.append((os.fsencode(path), mode.encode(), batch.add(b"blob", body)))
    body = b"".join(b"%s %s\0%s" % (mode, name.rstrip(b"/"), id) for name, mode, id in sorted(entries))
    return batch.add(b"tree", body)


LINES = "".join(f"line {number}\n" for number in range(20))


def changed(*lines: int, word: str = "changed") -> str:
    return "".join(f"{word} {number}\n" if number in lines else f"line {number}\n" for number in range(20))
