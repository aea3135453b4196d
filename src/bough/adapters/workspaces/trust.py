"""Whether an existing `.bough` is one that bough made for this person.

It may have come with an unpacked archive or a clone, or belong to another user who can write to a folder above. Git
would take programs, objects and whole repositories from where it points, and bough would resume its runs.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bough.core.errors import WorkspaceError

_FOLDERS = ("", "work", "scratch", "repo.git", *(f"repo.git/{name}" for name in ("objects", "refs", "info", "log")))
_FILES = ("journal.db", "journal.db-wal", "journal.db-shm", "repo.git/config", "repo.git/HEAD", "repo.git/info/exclude")
_NEVER_MADE = ("commondir", "hooks", "config.worktree", "worktrees", "modules", "objects/info/alternates", "shallow")
"""In a repository: what leads git elsewhere or starts programs, and bough never creates."""


def is_mine(home: Path) -> bool:
    """A folder of this user's; another user's, above a project, does not concern it."""
    try:
        return home.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def check_home(home: Path) -> None:
    """`WorkspaceError` when it exists and cannot be trusted."""
    for name in (*_FOLDERS, *_FILES):
        _check(home, home / name, folder=name in _FOLDERS)
    for name in _NEVER_MADE:
        if os.path.lexists(home / "repo.git" / name):
            raise _make_distrust_error(home, f"it has repo.git/{name}, which bough never creates")


def _check(home: Path, path: Path, folder: bool) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _make_distrust_error(home, f"{path} cannot be read: {error.strerror}") from None
    named = "it" if path == home else str(path.relative_to(home))
    if stat.S_ISLNK(found.st_mode):
        raise _make_distrust_error(home, f"{named} is a link")
    if not (stat.S_ISDIR(found.st_mode) if folder else stat.S_ISREG(found.st_mode)):
        raise _make_distrust_error(home, f"{named} is not a {'folder' if folder else 'file'}")
    if found.st_uid != os.geteuid():
        raise _make_distrust_error(home, f"{named} belongs to another user (number {found.st_uid})")
    if found.st_mode & stat.S_IWOTH:
        raise _make_distrust_error(home, f"{named} is writable by anyone")


def _make_distrust_error(home: Path, why: str) -> WorkspaceError:
    return WorkspaceError(
        f"bough does not trust {home}, because {why}. It may have come with a download or from another user: look at "
        "it, then move it away or remove it, and run bough again."
    )
