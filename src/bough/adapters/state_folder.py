"""Where bough keeps what it knows about a person's machine: `$XDG_STATE_HOME/bough`, or `~/.local/state/bough`."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path


def find_state_folder(env: Mapping[str, str] = os.environ) -> Path:
    """It may not exist."""
    state = Path(env.get("XDG_STATE_HOME") or "")
    # A path that is not absolute would be in the repository.
    return (state if state.is_absolute() else _find_home(env) / ".local" / "state") / "bough"


def make_state_folder(env: Mapping[str, str] = os.environ) -> Path:
    """The same, created. Not a home: a system user's does not exist on purpose, and `OSError` says so."""
    folder = find_state_folder(env)
    if not Path(env.get("XDG_STATE_HOME") or "").is_absolute() and not os.path.isdir(_find_home(env)):  # noqa: PTH112
        raise FileNotFoundError(errno.ENOENT, "there is no such home folder", str(_find_home(env)))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def find_checkouts(root: Path, env: Mapping[str, str] = os.environ) -> Path | None:
    """Where checkouts of the project at `root` lie that must have none of its files above them; None: there is no
    such place."""
    if not Path(env.get("XDG_STATE_HOME") or "").is_absolute() and not os.path.isdir(_find_home(env)):  # noqa: PTH112
        return None
    return find_state_folder(env) / "checkouts" / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]


def _find_home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or "/nonexistent")
