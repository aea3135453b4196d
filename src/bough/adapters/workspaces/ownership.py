"""Notes which process works in a checkout, beside it and before there is anything to own. Whoever clears up can then
ask whether that process lives, and leaves alone what belongs to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bough.adapters.stores.liveness import is_gone, worker_id
from bough.adapters.workspaces import disk

ENDING = ".owner"


def take(checkout: Path, task: str) -> None:
    """Make the checkout belong to this process, for this task."""
    note, owner = checkout.with_name(checkout.name + ENDING), f"{worker_id()}\n{task}"
    disk.in_folder(note.parent, lambda: note.write_text(owner, "utf-8", "surrogatepass"))


def list_abandoned(folder: Path, mark: str) -> Iterator[str]:
    """The tasks with the mark in their names whose checkouts in the folder belong to a process that has ended."""
    for note in sorted(folder.glob(f"*{ENDING}")):
        try:
            worker, _, task = note.read_text("utf-8", "surrogatepass").partition("\n")
        except FileNotFoundError:  # another process clears up too
            continue
        if mark in task and is_gone(worker):
            yield task
