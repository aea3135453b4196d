"""A place to be asked something: no checkout, and nothing is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.ports import Mount


class Desk:
    """A folder with nothing in it, to be asked questions in."""

    def __init__(self, folder: Path) -> None:
        self.root = self.folder = folder / "empty"
        self.scratch = folder / "scratch"
        self.root.mkdir(parents=True, exist_ok=True)

    mounts: Sequence[Mount] = ()
    env: Mapping[str, str] = {}

    async def own(self, mount: Mount) -> bool:
        return False

    async def furnish(self) -> None:
        """There is nothing to bring in."""

    async def snapshot(self) -> str:
        raise NotImplementedError("nothing is kept of it")

    async def restore(self, tree: str, exact: bool = False) -> None:
        raise NotImplementedError("nothing is kept of it")

    async def checkpoint(self, tree: str, message: str) -> str:
        raise NotImplementedError("nothing is kept of it")
