"""The texts of trees that say how tests are run: each is read on demand, and once for all trees that have it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, ItemsView, Iterable, Iterator, Mapping
from functools import lru_cache

from bough.adapters.verifiers import testside
from bough.ports import Contents, Workspaces

KEPT = 8
SINGLE = 12
"""Texts that are read one by one: a caller that needs more gets all."""
FIRST = """
    package.json pyproject.toml setup.cfg tox.ini pytest.ini conftest.py noxfile.py Makefile makefile GNUmakefile
    Cargo.toml go.mod justfile
""".split()  # noqa: SIM905
"""Files that are read again and again."""


class TreeTexts(Mapping[str, str]):
    """The code of a tree, its configuration, and what a command names, by path."""

    def __init__(self, contents: Contents, command: str, known: dict[str, str]) -> None:
        """`known`: texts by their ids, for all trees."""
        self.contents = contents
        self._command = command
        self._known = known
        self._paths: list[str] | None = None
        self._single = 0

    def _id(self, path: str) -> str:
        return self.contents.id(path) if watched(path, self._command) else ""

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and bool(self._id(path))

    def __iter__(self) -> Iterator[str]:
        if self._paths is None:
            self._paths = [path for path in self.contents.paths() if watched(path, self._command)]
        return iter(self._paths)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, path: str) -> str:
        id = self._id(path)
        if not id:
            raise KeyError(path)
        if id not in self._known:
            self._single += 1
            self.load([path] if self._single <= SINGLE else self)
        return self._known[id]

    def items(self) -> ItemsView[str, str]:
        self.load(self)
        return super().items()

    def load(self, paths: Iterable[str]) -> None:
        """Read what is not known yet, at once."""
        wanted = {path: id for path in paths if (id := self._id(path)) and id not in self._known}
        if not wanted:
            return
        texts = self.contents.read(list(wanted))
        self._known |= {id: texts.get(path, "") for path, id in wanted.items()}

    def differing(self, other: TreeTexts) -> set[str]:
        paths = self.contents.differing(other.contents)
        return {path for path in paths if watched(path, self._command) or watched(path, other._command)}


class Over(Mapping[str, str]):
    """Texts in front of others."""

    def __init__(self, front: Mapping[str, str], behind: Mapping[str, str]) -> None:
        self.front = front
        self.behind = behind

    def __contains__(self, path: object) -> bool:
        return path in self.front or path in self.behind

    def __getitem__(self, path: str) -> str:
        return self.front[path] if path in self.front else self.behind[path]

    def __iter__(self) -> Iterator[str]:
        yield from self.front
        yield from (path for path in self.behind if path not in self.front)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@lru_cache(maxsize=8)
def _kinds(command: str) -> dict[str, bool]:
    return {}


def watched(path: str, command: str) -> bool:
    """Like `testside.watched`, for hundreds of thousands of paths: what has a language is decided by folder and
    suffix."""
    folder, _, name = path.rpartition("/")
    kind = f"{folder}/.{name.rpartition('.')[2]}" if "." in name else ""
    known = _kinds(command).get(kind) if kind else None
    if known is None:
        known = testside.is_watched(path, command)
        if kind and testside.find_language(path):
            _kinds(command)[kind] = known
    return known


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """The paths whose texts differ."""
    if isinstance(before, Over):
        same = differing(before.behind, after)
        return {path for path in same | {*before.front} if before.get(path) != after.get(path)}
    if isinstance(before, TreeTexts) and isinstance(after, TreeTexts):
        return before.differing(after)
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


class Same(Collection[str]):
    """The paths that have the same text in both."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._before = before
        self._differing = differing(before, after)

    def __contains__(self, path: object) -> bool:
        return path in self._before and path not in self._differing

    def __iter__(self) -> Iterator[str]:
        return (path for path in self._before if path not in self._differing)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Texts:
    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._trees: dict[tuple[str, str], TreeTexts] = {}
        """By tree and command."""
        self._known: dict[str, str] = {}

    async def of(self, tree: str, command: str = "", needed: Collection[str] = ()) -> TreeTexts:
        """`needed`: texts that are going to be read, loaded together rather than one by one."""
        if (tree, command) not in self._trees:
            texts = TreeTexts(await self._workspaces.contents(tree), command, self._known)
            # Now, in a thread, rather than one by one while everyone waits.
            await asyncio.to_thread(texts.load, FIRST)
            self._trees[tree, command] = texts
            while len(self._trees) > KEPT:
                del self._trees[next(iter(self._trees))]
        found = self._trees[tree, command]
        if needed:
            await asyncio.to_thread(found.load, needed)
        return found
