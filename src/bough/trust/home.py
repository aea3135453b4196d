"""Checks that an existing `.bough` folder was made by bough for this person.

It may have come with an unpacked archive or a clone, or belong to another user who can write to a folder above. Then
its files could make git start programs or read other repositories, and bough would resume runs of strangers."""

import os
import stat
from pathlib import Path

from bough.core.errors import AccessRefused
from bough.trust.files import Place

_FOLDERS = ("", "work", "scratch", "repo.git", *(f"repo.git/{name}" for name in ("objects", "refs", "info", "log")))
_FILES = ("journal.db", "journal.db-wal", "journal.db-shm", "repo.git/config", "repo.git/HEAD", "repo.git/info/exclude")
_NEVER_MADE = ("commondir", "hooks", "config.worktree", "worktrees", "modules", "objects/info/alternates", "shallow")
"""Files of a git repository that make git read other folders or start programs, and that bough never creates."""


_CHECKOUTS = ("work", "scratch", "spare", "trash", "desk")
"""Folders that may hold links and pipes, because they have files of the project. bough opens these by handle only."""


def is_mine(home: Path) -> bool:
    """Return whether a folder belongs to this user."""
    try:
        return home.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def check_home(home: Path) -> None:
    """Raise `AccessRefused` if the `.bough` folder exists and cannot be trusted."""
    for name in (*_FOLDERS, *_FILES):
        _check(home, home / name, folder=name in _FOLDERS)
    for name in _NEVER_MADE:
        if Place(home, f"repo.git/{name}").kind:
            raise _make_distrust_error(home, f"it has repo.git/{name}, which bough never creates")
    _check_below(home, Place(home), 3)


def _check_below(home: Path, folder: Place, depth: int) -> None:
    """Check that a folder holds no link, pipe or device, because bough, git and SQLite open its files by path."""
    for name, kind in folder.list():
        place = folder / name
        if kind not in ("file", "folder"):
            what = "a link" if kind == "link" else "neither a file nor a folder"
            raise _make_distrust_error(home, f"{place.name} is {what}")
        if kind == "folder" and depth and place.name not in _CHECKOUTS:
            _check_below(home, place, 0 if name in ("objects", "pack") else depth - 1)


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


def _make_distrust_error(home: Path, why: str) -> AccessRefused:
    return AccessRefused(
        f"bough does not trust {home}, because {why}. It may have come with a download or from another user: look at "
        "it, then move it away or remove it, and run bough again."
    )
