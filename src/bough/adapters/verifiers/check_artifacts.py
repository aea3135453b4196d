"""What a check left on disk: its report, and whether the files that it was to judge are unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from bough.adapters.workspaces import disk
from bough.core.verdict.registry import RUNNERS
from bough.ports import WorkFolder
from bough.trust import handles
from bough.trust.files import Place

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
    try:
        body = Place(path.parent, path.name).read(LARGEST_REPORT + 1)
    except OSError:
        return None
    return body if len(body) <= LARGEST_REPORT else None


def has_completed(report: Path) -> bool:
    """A runner left what it writes, next to the report, at the very end of a whole session."""
    ends = {runner.leaves for runner in RUNNERS if runner.leaves}
    return any(Place(report.parent, f"{report.name}{end}").is_regular() for end in ends)


def read_altered(
    workspace: WorkFolder, texts: Mapping[str, str], altered: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the altered texts as they were and as they are; the first has also those that are gone."""
    changed = [path for path in altered if path in texts]
    found = {}
    for path in changed:
        place = Place(workspace.root, path)
        # A check may have made it a terabyte: a file longer than anything it is compared with is another file. Or a
        # pipe, which is not a file. Or unreadable.
        with suppress(OSError):
            top = os.fsencode(workspace.root)
            body = (
                place.target().encode()
                if place.kind == "link"
                else disk.read_below(top, os.fsencode(path), LARGEST_REPORT)
            )
            if body is not None:
                found[path] = body.decode(errors="replace")
    return {path: texts[path] for path in changed}, found


def make_reader(workspace: WorkFolder) -> Callable[[str], str | None]:
    """Reads files of the workspace that a trace names; the trace is untrusted, so nothing outside it."""
    root = os.path.realpath(workspace.root)

    def read(path: str) -> str | None:
        inside = os.path.relpath(os.path.join(root, path), root)  # noqa: PTH118 - as text: nothing is looked at
        try:
            body = Place(root, inside, links=True).read(READ_MOST + 1)
        except OSError:
            return None
        return body.decode(errors="replace") if len(body) <= READ_MOST else None

    return read
