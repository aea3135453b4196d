"""The projects that the person has run bough in: a list of folders, for `bough serve --all`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from bough.adapters.state_folder import find_state_folder, make_state_folder
from bough.app.journal_location import find_address
from bough.trust.files import Place

LIST, MOST = "projects", 200


def list_known_projects() -> list[Path]:
    """List the known projects that still exist, the latest first."""
    try:
        lines = (find_state_folder() / LIST).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    known = (root for root in map(Path, lines) if root.is_absolute() and (root / ".bough").is_dir())
    return [root for root in known if (root / ".bough" / "journal.db").is_file() or find_address(root)]


def remember_project(root: Path) -> None:
    """Put a project first in the list. Do nothing if the list cannot be written, as in a read-only home folder."""
    known = list_known_projects()
    if known[:1] == [root] or "\n" in str(root):
        return
    with suppress(OSError):
        lines = "".join(f"{each}\n" for each in [root, *(p for p in known if p != root)][:MOST])
        Place(make_state_folder(), LIST).write(lines.encode())


def write_private_page(name: str, page: str) -> Path | None:
    """Write a page into the person's state folder, and return its path; None if it cannot be written."""
    try:
        file = Place(make_state_folder(), name)
        file.write(page.encode(), 0o600)
    except OSError:
        return None
    return file.shown
