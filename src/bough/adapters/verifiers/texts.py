"""The texts of trees that say how tests are run: read once, and only what differs from a tree that is known."""

from __future__ import annotations

from bough.adapters.verifiers import testside
from bough.ports import Workspaces

KEPT = 8


class Texts:
    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._known: dict[tuple[str, str], dict[str, str]] = {}
        """By tree and command."""

    async def of(self, tree: str, command: str = "", base: str = "") -> dict[str, str]:
        """The code of a tree, its configuration, and what the command names. With a base whose texts are known, only
        what differs from it is read."""
        if (tree, command) in self._known:
            return self._known[tree, command]
        known = dict(self._known.get((tree, ""), {}))
        if not known and (base, command) in self._known:
            known = dict(self._known[base, command])
            changes = await self._workspaces.changes(base, tree)
            for change in changes:
                known.pop(change.path, None)
            paths = [change.path for change in changes if change.kind != "D"]
        else:
            paths = await self._workspaces.paths(tree)
        wanted = [path for path in paths if path not in known and testside.watched(path, command)]
        known |= await self._workspaces.texts(tree, wanted) if wanted else {}
        self._known[tree, command] = known
        while len(self._known) > KEPT:
            del self._known[next(iter(self._known))]
        return known
