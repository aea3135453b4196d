"""What identifies the environment of checks: interpreter, installed packages, variables, settings."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from bough.adapters.workspaces.shared_folders import find_candidates
from bough.adapters.workspaces.surroundings import Surroundings


def fingerprint_environment(
    root: Path, env: Mapping[str, str], surroundings: Surroundings, settings: Iterable[object]
) -> str:
    """Changes with everything besides the tree that a check may find different. `env`: the variables that commands
    see."""
    parts = [f"{name}={value}" for name, value in sorted({**env, **surroundings.variables}.items())]
    found = surroundings.environment
    places = [found.prefix] if found is not None else []
    places += [root / os.fsdecode(path) for path in find_candidates(os.fsencode(root))]
    places += [root / name for name in (*surroundings.link, *surroundings.copy)]
    parts += [mark for place in dict.fromkeys(places) for mark in _list_marks(place)]
    path = os.pathsep.join([*([str(found.prefix / "bin")] if found is not None else []), env.get("PATH", os.defpath)])
    parts += [os.path.realpath(shutil.which(name, path=path) or "") for name in ("python3", "node", "go", "cargo")]
    parts += [repr(setting) for setting in settings]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _list_marks(place: Path) -> list[str]:
    """When packages were last added or removed: package managers touch these."""
    inner = [*place.glob("lib/python*/site-packages"), place / "pyvenv.cfg", place / ".package-lock.json"]
    found = []
    for path in (place, *inner):
        try:
            found.append(f"{path} {path.stat().st_mtime_ns}")
        except OSError:
            continue
    return found
