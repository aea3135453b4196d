"""Where a project's journal is: in its `.bough` folder, or in a PostgreSQL database that several machines share.

`--store` or the variable `BOUGH_STORE` sets the database. Once a run has started with it in a folder, it applies to
that folder. Its address is remembered in the person's own files, without the password; an address that comes with a
repository is never used.
"""

from __future__ import annotations

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


def open_store(root: Path, home: Path, *, create: bool) -> SqliteStore | PostgresStore:
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
    lines = [f"{url}\t{root}\n" for root, url in known.items() if url != LOCAL]
    with suppress(OSError):  # If the address cannot be stored, the person has to pass it each time.
        Place(make_state_folder(), FILE).write("".join(lines).encode())


def _read_remembered() -> dict[str, str]:
    try:
        lines = (find_state_folder() / FILE).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.partition("\t") for line in lines)
    return {root: url for url, _, root in pairs if url and root}
