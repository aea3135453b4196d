"""Where a sandbox can only deny writing to a folder of the person's, it is copied on the first write."""

from __future__ import annotations

import os
import re

from bough.ports import WorkFolder

_DENIED = re.compile(rb"permission denied|EACCES|read-only file system|EROFS|operation not permitted", re.IGNORECASE)
_END = 20_000
"""Bytes at the end of the output in which a denial is looked for."""


async def copy_denied_folders(workspace: WorkFolder, output: bytes) -> bytes:
    """Folders that a command tried to write to become the workspace's own copies. Returns what to say about it."""
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
