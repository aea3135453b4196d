"""A folder in which commands run and whose files are not stored as trees, such as for a question to an agent."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from bough.ports import Mount


class PlainFolder(Struct):
    """A plain `WorkFolder`. It is not a `Workspace`, since it has no trees that could be restored."""

    root: Path
    folder: Path
    scratch: Path
    mounts: Sequence[Mount] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    async def own(self, mount: Mount) -> bool:
        return False


def make_plain_folder(base: Path, name: str = "workspace") -> PlainFolder:
    """Create a folder below `base`, with its temporary files beside it."""
    root = base / name
    root.mkdir(parents=True, exist_ok=True)
    return PlainFolder(root, root, base / "scratch")
