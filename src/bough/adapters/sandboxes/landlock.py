"""Keeps commands from writing outside their workspace with Linux's Landlock alone: the fallback where namespaces are
forbidden.

Files can be created, changed and removed only in the workspace, its scratch folder, a private home and the usual device
files; so the person's tree, bough's repository and journal, the tools' caches and the targets of links in the workspace
are safe. What namespaces would hide cannot be read, unless it lies in a folder that must be readable. The memory and
environment of processes outside cannot be read, and from ABI 6 on these processes cannot be signalled. `levels.py`
lists what this does not stop.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.sandboxes.view import FileSystemView, find_private_folder
from bough.ports import WorkFolder

DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "shm", "mqueue"))
_TOOLCHAINS = {"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm", "RBENV_ROOT": ".rbenv"}
"""The folder in the home that each toolchain uses if its variable is not set."""
_DENIED = re.compile(rb"permission denied|EACCES|read-only file system|EROFS|operation not permitted", re.IGNORECASE)
_END = 20_000
"""How many bytes at the end of the output are searched for a message that access was denied."""


class Landlock:
    """Decides which paths a command may write to, and which it may read."""

    def __init__(self, view: FileSystemView, more: Sequence[Path] = ()) -> None:
        """Set up the paths. `more`: files and folders that the person makes writable besides the usual ones."""
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


def make_home_env(workspace: WorkFolder, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give commands a home of their own, since they may not write to the person's."""
    theirs, own = Path(env.get("HOME") or "/"), find_private_folder(workspace) / "home"
    own.mkdir(parents=True, exist_ok=True)
    tools = {name: str(theirs / folder) for name, folder in _TOOLCHAINS.items() if (theirs / folder).is_dir()}
    return {name: place for name, place in tools.items() if name not in env} | {"HOME": str(own)}


async def copy_denied_folders(workspace: WorkFolder, output: bytes) -> bytes:
    """Copy each folder that the workspace borrows from the person into the workspace if a command's output shows that
    it was denied writing there: Landlock cannot give it a copy-on-write view. Returns a message about the copies."""
    text = output[-_END:]
    if not workspace.mounts or not _DENIED.search(text):
        return b""
    told = b""
    for mount in workspace.mounts:
        name = mount.source.name
        if mount.mode == "overlay" and os.fsencode(f"{name}/") in text and await workspace.own(mount):
            told += os.fsencode(
                f"\nbough: {name} is now a copy that belongs to this workspace: run the command again.\n"
            )
    return told
