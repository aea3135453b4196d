"""Keeps commands from writing anywhere but in their workspace, by Linux's Landlock alone: the fallback where namespaces
are forbidden.

Files can be created, changed and removed only in the workspace, its scratch folder, a private home and the usual device
files; so the person's tree, bough's repository and journal, the tools' caches and the targets of links in the workspace
are safe. What namespaces would hide cannot be read, unless it lies in a folder that must be readable. The memory and
environment of processes outside cannot be read, and from ABI 6 they cannot be signalled. What this does not stop is in
`levels.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.sandboxes.view import FileSystemView, find_private_folder
from bough.ports import WorkFolder

DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "shm", "mqueue"))
_TOOLCHAINS = {"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm", "RBENV_ROOT": ".rbenv"}
"""Where tools look in the home, unless told otherwise."""


class Landlock:
    """Which paths a command may write to, and the home it has."""

    def __init__(self, view: FileSystemView, more: Sequence[Path] = ()) -> None:
        """`more`: files and folders that the person makes writable besides the usual ones."""
        self._view = view
        self._more = [os.path.realpath(path) for path in (*map(Path, DEVICES), *more)]

    def writable(self, workspace: WorkFolder) -> list[str]:
        return [
            os.path.realpath(workspace.root),
            str(workspace.scratch),
            str(find_private_folder(workspace)),
            *self._more,
        ]

    def readable(self, workspace: WorkFolder) -> list[str]:
        lines, _ = self._view.of(workspace, network=True)
        sources = [source for kind, _, source, _ in lines if kind in ("read", "lent", "over", "cache")]
        return ["/proc", *DEVICES, *sources]

    def home(self, workspace: WorkFolder, env: Mapping[str, str]) -> dict[str, str]:
        return make_home_env(workspace, env)


def make_home_env(workspace: WorkFolder, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that give commands a home of their own, since they may not write to the person's."""
    theirs, own = Path(env.get("HOME") or "/"), find_private_folder(workspace) / "home"
    own.mkdir(parents=True, exist_ok=True)
    tools = {name: str(theirs / folder) for name, folder in _TOOLCHAINS.items() if (theirs / folder).is_dir()}
    return {name: place for name, place in tools.items() if name not in env} | {"HOME": str(own)}
