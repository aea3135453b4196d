"""Keeps commands from writing anywhere but in their workspace, by Linux's Landlock.

Everything may be read and executed. Files can be made, changed and removed only in the workspace, its scratch folder,
the usual device files and the tools' download caches; so the person's tree, bough's repository and journal and what
links in the workspace point to are safe. Processes outside cannot be signalled, nor their memory and environment
read. Landlock does not cover file modes, times and owners, and nothing here limits the network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bough.adapters.sandboxes.kernel import landlock_abi
from bough.ports import Workspace

__all__ = ["Landlock", "landlock_abi"]

DEVICES = tuple(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue")
)
CACHES = (".cache", ".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2", ".gradle/caches")
"""In the person's home: where tools keep what they downloaded."""


class Landlock:
    """Which paths a command may write to, and which version of the rules the kernel knows."""

    def __init__(self, abi: int, home: str | None, more: Sequence[Path] = ()) -> None:
        """`more`: files and folders that the person allows beside the usual ones."""
        self.abi = abi
        self._more = [str(path) for path in more]
        usual = (*DEVICES, *(f"{home}/{cache}" for cache in CACHES)) if home else DEVICES
        self._usual = [os.path.realpath(path) for path in usual]

    def writable(self, workspace: Workspace) -> list[str]:
        root = os.path.realpath(workspace.root)
        # Whoever works below such a folder has the original of this very workspace in there too.
        usual = (path for path in self._usual if not f"{root}/".startswith(f"{path}/"))
        return [root, str(workspace.scratch), *usual, *self._more]
