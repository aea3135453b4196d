"""The files of trees, and what differs between them. The latest few are remembered: mostly those of the base and of the
present are asked for, again and again, and what bough has just written it need not ask git for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType

from bough.adapters.workspaces.apply import Move
from bough.adapters.workspaces.scan import LINK, Entry, Found

Listing = Mapping[bytes, Entry]
REMEMBERED = 4


class Listings:
    """`ask` lists the files of a tree that is not remembered."""

    def __init__(self, ask: Callable[[str], Listing]) -> None:
        self._ask = ask
        self._remembered: dict[str, Callable[[], Listing]] = {}
        self._lock = threading.Lock()

    def know(self, tree: str, found: Found) -> None:
        """That these are the files of a tree."""
        self._remember(tree, cache(partial(_listed, found)))

    def know_of(self, *trees: str) -> bool:
        return all(tree in self._remembered for tree in trees)

    def of(self, tree: str) -> Listing:
        get = self._remembered.get(tree) or cache(partial(self._ask, tree))
        files = get()
        self._remember(tree, get)
        return files

    def _remember(self, tree: str, get: Callable[[], Listing]) -> None:
        with self._lock:
            self._remembered.pop(tree, None)
            self._remembered[tree] = get
            while len(self._remembered) > REMEMBERED:
                del self._remembered[next(iter(self._remembered))]


def _listed(found: Found) -> Listing:
    return MappingProxyType({path: Entry(file.mode, file.id) for path, file in sorted(found.files())})


def moves(base: Listing, tree: Listing) -> list[Move]:
    """What differs, in the order of paths."""
    differing = sorted({path for path, _ in base.items() ^ tree.items()})
    return [moved(path, base.get(path), tree.get(path)) for path in differing]


def moved(path: bytes, base: Entry | None, target: Entry | None) -> Move:
    """The kinds are git's: added, deleted, modified, of another type."""
    if base is None or target is None:
        return Move("A" if base is None else "D", path, base, target)
    return Move("T" if LINK in (base.mode, target.mode) and base.mode != target.mode else "M", path, base, target)
