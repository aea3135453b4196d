"""Writes a note beside each checkout, which names the process that works in it; the note exists before the checkout
does. A clean-up removes only checkouts whose process is no longer alive."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bough.adapters.stores.liveness import is_gone, worker_id
from bough.adapters.workspaces import disk

ENDING = ".owner"


def take(checkout: Path, task: str) -> None:
    """Claim the checkout for this process and task."""
    note, owner = checkout.with_name(checkout.name + ENDING), f"{worker_id()}\n{task}".encode("utf-8", "surrogatepass")

    def write() -> None:
        # The note is the target of a symbolic link, which is complete at once: a kill never leaves an empty note.
        disk.remove(bytes(note))
        os.symlink(owner, bytes(note))  # noqa: PTH211 - a `Path` would rewrite the text

    disk.in_folder(note.parent, write)


def list_abandoned(folder: Path, mark: str) -> Iterator[str]:
    """Yield the tasks with `mark` in their names whose checkouts in the folder belong to a process that has ended."""
    for note in sorted(folder.glob(f"*{ENDING}")):
        with suppress(OSError):  # another process has just removed it, or an older version wrote it as a file
            text = os.readlink(bytes(note))  # noqa: PTH115 - as above
            worker, _, task = text.decode("utf-8", "surrogatepass").partition("\n")
            if mark in task and is_gone(worker):
                yield task
