"""Where a sandbox can only deny writing to a folder of the person's, a copy is made on the first write."""

from __future__ import annotations

import os
import re

from bough.ports import WorkFolder

_DENIED = re.compile(rb"permission denied|EACCES|read-only file system|EROFS|operation not permitted", re.IGNORECASE)
_END = 20_000
"""Bytes of the output, from its end, in which a refusal is looked for."""


async def copy_denied_folders(workspace: WorkFolder, output: bytes) -> bytes:
    """The folders that a command wanted to write to are the workspace's own from now on. What to tell about that."""
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
