"""The texts in trees that define how tests run. Each is read on demand, and only once for all trees that contain it."""

import asyncio
from collections.abc import Collection, ItemsView, Iterable, Iterator, Mapping
from functools import cached_property

from bough.core.verdict.registry import MANIFESTS
from bough.core.verdict.test_files import is_watched
from bough.ports import Contents, Workspaces

KEPT = 8
SINGLE = 12
"""The most texts that are read one by one: for a caller that needs more, all are read at once."""


class TreeTexts(Mapping[str, str]):
    """The code of a tree, its configuration, and the files that a command names, by path."""

    def __init__(self, contents: Contents, command: str, known: dict[str, str]) -> None:
        """`known`: texts by their ids, for all trees."""
        self.contents, self._command, self._known, self._single = contents, command, known, 0

    @cached_property
    def _paths(self) -> list[str]:
        return [path for path in self.contents.paths() if is_watched(path, self._command)]

    def _id(self, path: str) -> str:
        return self.contents.id(path) if is_watched(path, self._command) else ""

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and bool(self._id(path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

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
        """Read all of these texts that are not known yet, at once."""
        wanted = {path: id for path in paths if (id := self._id(path)) and id not in self._known}
        texts = self.contents.read(list(wanted)) if wanted else {}
        self._known |= {id: texts.get(path, "") for path, id in wanted.items()}


class Texts:
    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces, self._known = workspaces, dict[str, str]()
        self._trees: dict[tuple[str, str], TreeTexts] = {}
        """The texts of each tree, by tree and command."""

    async def of(self, tree: str, command: str = "", needed: Collection[str] = ()) -> TreeTexts:
        """Return the texts of a tree. `needed`: texts to load together rather than one by one."""
        if (tree, command) not in self._trees:
            texts = TreeTexts(await self._workspaces.contents(tree), command, self._known)
            # Manifests are read again and again: load them now, in a thread, not one by one while everyone waits.
            await asyncio.to_thread(texts.load, MANIFESTS)
            self._trees[tree, command] = texts
            for old in list(self._trees)[:-KEPT]:
                del self._trees[old]
        found = self._trees[tree, command]
        if needed:
            await asyncio.to_thread(found.load, needed)
        return found
