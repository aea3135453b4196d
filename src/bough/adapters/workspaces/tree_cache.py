"""The files of trees, and what differs between them. The latest few are remembered: mostly the base's and the current
ones are needed, again and again, and git need not be asked for what bough has just written."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bough.adapters.workspaces.apply import Move, format_path
from bough.adapters.workspaces.file_index import LINK, Entry, File, FileIndex, find_differing

REMEMBERED = 8


class TreeCache:
    """`ask` finds the files of a tree that is not remembered."""

    def __init__(self, ask: Callable[[str], FileIndex]) -> None:
        self._ask = ask
        self._remembered: dict[str, FileIndex] = {}
        self._listed: dict[str, list[str]] = {}
        self._wanted: set[str] = set()
        """Trees that somebody asked for; most snapshots of a task nobody ever does."""
        self._lock = threading.Lock()

    def know(self, tree: str, found: FileIndex) -> None:
        """Remember the files of a tree; they no longer change."""
        with self._lock:
            self._remembered.pop(tree, None)
            self._remembered[tree] = found
            while len(self._remembered) > REMEMBERED:
                # A base must outlast the many snapshots made since.
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
        """The paths of all its files, in order: the cost grows with their number."""
        found = self.found(tree)
        if (listed := self._listed.get(tree)) is None:
            listed = [format_path(path) for path in sorted(path for path, _ in found.files())]
            with self._lock:
                if tree in self._remembered:
                    self._listed[tree] = listed
        return list(listed)


def find_moves(base: FileIndex, tree: FileIndex) -> list[Move]:
    """What differs, in the order of paths."""
    found = [make_move(path, _to_entry(was), _to_entry(now)) for path, was, now in find_differing(base, tree)]
    return sorted(found, key=lambda move: move.path)


def _to_entry(file: File | None) -> Entry | None:
    return Entry(file.mode, file.id) if file is not None else None


def make_move(path: bytes, base: Entry | None, target: Entry | None) -> Move:
    """The kinds are git's: added, deleted, modified, of another type."""
    if base is None or target is None:
        return Move("A" if base is None else "D", path, base, target)
    return Move("T" if LINK in (base.mode, target.mode) and base.mode != target.mode else "M", path, base, target)
