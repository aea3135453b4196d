"""The folder of what bough learns on a person's machine: `$XDG_STATE_HOME/bough`, or `~/.local/state/bough`."""

import errno
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path


def find_state_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Return the folder, which may not exist."""
    return _find_folder(env)[0]


def make_state_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Create and return the state folder. Raises `OSError` if there is no home: a system user may have none."""
    folder, home = _find_folder(env)
    if not os.path.isdir(home):  # noqa: PTH112
        raise FileNotFoundError(errno.ENOENT, "there is no such home folder", str(home))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def find_checkouts(root: Path, env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder for those checkouts of the project at `root` that must be outside the project; None if the
    person has no home."""
    folder, home = _find_folder(env)
    if not os.path.isdir(home):  # noqa: PTH112
        return None
    return folder / "checkouts" / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _find_folder(env: Mapping[str, str]) -> tuple[Path, Path]:
    """Return the state folder, and the folder that must exist so that the state folder may be created."""
    state, home = Path(env.get("XDG_STATE_HOME") or ""), Path(env.get("HOME") or "/nonexistent")
    # A relative path would lead into the repository, so it is ignored.
    return (state / "bough", Path("/")) if state.is_absolute() else (home / ".local" / "state" / "bough", home)
