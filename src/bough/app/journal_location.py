"""Where a project's journal is: in its `.bough` folder, or in a PostgreSQL database that several machines share.

`--store` or the variable `BOUGH_STORE` sets the database. Once a run has started with it in a folder, it applies to
that folder. Its address is remembered in the person's own files, without the password; an address that comes with a
repository is never used. There is the list of their projects, too, for `bough serve --all`."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bough.adapters.state_folder import find_state_folder, make_state_folder
from bough.adapters.stores.sqlite import SqliteStore
from bough.core.errors import UsageError
from bough.trust.files import Place

if TYPE_CHECKING:
    from bough.adapters.stores.postgresql import PostgresStore

PROJECTS, MOST = "projects", 200
"""The file in the person's state folder that lists the projects, and how many it keeps."""
VARIABLE = "BOUGH_STORE"
FILE = "stores"
LOCAL = "local"
"""The value of `--store` that goes back to the journal in the project's folder."""


def find_address(root: Path) -> str:
    """Find the database address of a project's journal; empty if the journal is in the project's folder."""
    chosen = os.environ.get(VARIABLE, "").strip() or _read_remembered().get(str(root), "")
    if chosen in ("", LOCAL):
        return ""
    if chosen.partition("://")[0] not in ("postgresql", "postgres"):
        raise UsageError(
            f"`{chosen.partition('://')[0]}` is not an address of a journal: use `postgresql://USER@HOST/DATABASE`, or "
            f"`{LOCAL}` for the journal in the project's folder."
        )
    return chosen


def open_store(root: Path, home: Path, *, create: bool) -> "SqliteStore | PostgresStore":
    if not (chosen := find_address(root)):
        return SqliteStore(home / "journal.db", create=create)
    from bough.adapters.stores.postgresql import PostgresStore

    return PostgresStore(chosen, create=create)


def remember_store(root: Path) -> None:
    """Remember the value of `--store` or `BOUGH_STORE` for this project."""
    chosen = os.environ.get(VARIABLE, "").strip()
    known = _read_remembered()
    if chosen and chosen != LOCAL:
        from bough.adapters.stores.postgresql_server import strip_password

        chosen = strip_password(chosen)
    if not chosen or known.get(str(root), LOCAL) == chosen or "\n" in str(root):
        return
    known[str(root)] = chosen
    _write_lines(FILE, [f"{url}\t{root}" for root, url in known.items() if url != LOCAL])


def list_known_projects() -> list[Path]:
    """List the projects that the person has run bough in and that still exist, the latest first."""
    known = (root for root in map(Path, _read_lines(PROJECTS)) if root.is_absolute() and (root / ".bough").is_dir())
    return [root for root in known if (root / ".bough" / "journal.db").is_file() or find_address(root)]


def remember_project(root: Path) -> None:
    """Put a project first in the list. Do nothing if the list cannot be written, as in a read-only home folder."""
    known = list_known_projects()
    if known[:1] != [root] and "\n" not in str(root):
        _write_lines(PROJECTS, [str(each) for each in (root, *(other for other in known if other != root))][:MOST])


def _write_lines(name: str, lines: list[str]) -> None:
    with suppress(OSError):  # If an address cannot be stored, the person has to pass it each time.
        Place(make_state_folder(), name).write("".join(f"{line}\n" for line in lines).encode())


def write_private_page(page: str) -> Path | None:
    """Write a page into the person's state folder, and return its path; None if it cannot be written."""
    try:
        file = Place(make_state_folder(), "open.html")
        file.write(page.encode(), 0o600)
    except OSError:
        return None
    return file.shown


def _read_lines(name: str) -> list[str]:
    try:
        return (find_state_folder() / name).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _read_remembered() -> dict[str, str]:
    return {root: url for url, _, root in (line.partition("\t") for line in _read_lines(FILE)) if url and root}
