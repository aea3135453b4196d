"""A folder that commands run in and that nothing is kept of: for a question to an agent, for a trial of the sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from bough.ports import Mount


class PlainFolder(Struct):
    """A `WorkFolder` that is nothing but its folders. It is no `Workspace`: it has no trees to go back to."""

    root: Path
    folder: Path
    scratch: Path
    mounts: Sequence[Mount] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    async def own(self, mount: Mount) -> bool:
        return False


def make_plain_folder(base: Path, name: str = "workspace") -> PlainFolder:
    """An empty one below `base`, its temporary files beside it."""
    root = base / name
    root.mkdir(parents=True, exist_ok=True)
    return PlainFolder(root, root, base / "scratch")
