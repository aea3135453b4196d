"""Keeps the file tools inside the workspace, even if a path contains links or a folder is replaced by a link meanwhile.

A path is resolved once, must then lie below the workspace's real root, and is opened from there without following any
link, so that what is opened is what was checked. Only files and folders are ever opened: a pipe or a device could block
the call, or do worse.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from bough.adapters.tools.output_text import format_size
from bough.adapters.tools.tool import Refusal
from bough.core.conversation.context import GOAL_FILE
from bough.ports import WorkFolder
from bough.trust.files import Place


class WorkspacePath(Struct, frozen=True):
    """A path inside the workspace, with all links resolved."""

    root: str
    steps: tuple[str, ...]
    """The names of the folders from the root to it, and its own name."""
    shown: str
    """The path as the model knows it: relative to its starting folder."""

    @property
    def beneath(self) -> Place:
        return Place(self.root, "/".join(self.steps))


def resolve_path(workspace: WorkFolder, path: str, *, writing: bool = False) -> WorkspacePath:
    """Resolve a path that a model gave. Raises `Refusal` if the model may not use it."""
    if "\0" in path:
        raise Refusal(f"`{path!r}` is not a path: it contains a NUL character.", fault=True)
    if path.startswith("~"):
        raise Refusal(f"`{path}`: `~` is not expanded here; paths are relative to your starting folder.")
    if (kept := _find_beside(workspace, path)) and not writing:
        return kept
    root, folder = _resolve_folder(workspace.root), _resolve_folder(workspace.folder)
    try:
        real = os.path.realpath(workspace.folder / path)
    except (OSError, ValueError) as error:
        raise Refusal(f"`{path[:200]}` is not a path: {error}.", fault=True) from None
    # Compare with the separator, because the root `/a/b` must not admit `/a/bc`.
    if real != root and not real.startswith(f"{root}{os.sep}"):
        if os.path.normpath(workspace.folder / path).startswith(f"{workspace.root}{os.sep}"):
            where = "leads out of the workspace through a link: it can be read with `bash`, but not changed."
        else:
            where = f"is outside the workspace: use a path inside, relative to {workspace.folder}."
        raise Refusal(f"`{path}` {where}")
    steps = Path(real).parts[len(Path(root).parts) :]
    # Compare in lower case, because some file systems do not tell `.GIT` from `.git`.
    if writing and any(step.lower() == ".git" for step in steps):
        raise Refusal(
            f"`{path}` belongs to git: it cannot be written. Change the files themselves; bough commits them."
        )
    return WorkspacePath(root, steps, os.path.relpath(real, folder))


def _find_beside(workspace: WorkFolder, path: str) -> WorkspacePath | None:
    """Find the goal's file, which bough puts next to the checkout for the agent, if that is what `path` names."""
    if not path.endswith(f"/{GOAL_FILE}"):
        return None
    scratch = _resolve_folder(workspace.scratch)
    if path in (f"$TMPDIR/{GOAL_FILE}", f"${{TMPDIR}}/{GOAL_FILE}", f"{scratch}/{GOAL_FILE}"):
        return WorkspacePath(scratch, (GOAL_FILE,), f"$TMPDIR/{GOAL_FILE}")
    return None


@lru_cache(maxsize=256)
def _resolve_folder(folder: Path) -> str:
    """Resolve a workspace's own folder, and remember the result: if the folder is later replaced by a link, paths below
    it count as outside the workspace."""
    return os.path.realpath(folder)


def read_bytes(place: WorkspacePath, limit: int) -> bytes:
    """Read a whole file. Raises `Refusal` if it has more than `limit` bytes, and `OSError` if it is not there."""
    body = place.beneath.read(limit + 1)
    if len(body) > limit:
        raise Refusal(
            f"`{place.shown}` is too large for this (more than {format_size(limit)}): use `search`, or `bash` with "
            "sed, head or tail, to see parts of it."
        )
    return body


def write_bytes(place: WorkspacePath, content: bytes) -> None:
    """Replace a file's content atomically, and keep its mode. Missing folders are created."""
    place.beneath.make_parents()
    if (what := place.beneath.kind) not in ("", "file", "folder"):
        raise Refusal(f"`{place.shown}` is a {what}, not a file.")
    place.beneath.write(content, 0o666, keep_mode=True)
