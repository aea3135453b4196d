"""What a check left on disk: its report, and whether the files that it was to judge are unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from bough.adapters.workspaces import disk, handles
from bough.core.verdict.registry import RUNNERS
from bough.ports import WorkFolder

READ_MOST = 2_000_000
LARGEST_REPORT = 64 * 1024 * 1024


def touch_files(workspace: WorkFolder, paths: Collection[str]) -> None:
    """Make those of the files that exist look as if they had just been written."""
    for path in paths:
        folder, _, name = os.fsencode(path).rpartition(b"/")
        with suppress(OSError), handles.open_folder(os.fsencode(workspace.root), folder) as place:
            os.utime(name, dir_fd=place, follow_symlinks=False)


def load_report(path: Path) -> bytes | None:
    """The report, unless no runner would write it: the tests' own code could have made it."""
    fd = disk.open_regular(os.fsencode(path))
    if fd is None:
        return None
    with os.fdopen(fd, "rb") as file:
        return file.read(LARGEST_REPORT) if os.fstat(fd).st_size <= LARGEST_REPORT else None


def has_completed(report: Path) -> bool:
    """A runner left what it writes, next to the report, at the very end of a whole session."""
    return any(Path(f"{report}{runner.leaves}").is_file() for runner in RUNNERS if runner.leaves)


def read_altered(
    workspace: WorkFolder, texts: Mapping[str, str], altered: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Of the texts among the altered files, what they were and what they are; those that are gone are in the first
    only."""
    changed = [path for path in altered if path in texts]
    found = {}
    for path in changed:
        place = workspace.root / path
        with suppress(OSError):
            body = os.fsencode(place.readlink()) if place.is_symlink() else _read_beginning(workspace, path)
            if body is not None:
                found[path] = body.decode(errors="replace")
    return {path: texts[path] for path in changed}, found


def _read_beginning(workspace: WorkFolder, path: str) -> bytes | None:
    """A check may have made it a terabyte: a file longer than anything it is compared with is another file. Or a pipe,
    which is not a file."""
    return disk.read_below(os.fsencode(workspace.root), os.fsencode(path), LARGEST_REPORT)


def make_reader(workspace: WorkFolder) -> Callable[[str], str | None]:
    """Reads files of the workspace that a trace names; the trace is untrusted, so nothing outside it."""
    root = workspace.root.resolve()

    def read(path: str) -> str | None:
        place = (root / path).resolve()
        if not place.is_relative_to(root) or not place.is_file() or place.stat().st_size > READ_MOST:
            return None
        return place.read_text(errors="replace")

    return read
