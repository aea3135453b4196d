"""Applies a run's changes to the person's files.

Promises: a file that is no longer as the run found it is never overwritten or removed; if there is one such file,
nothing at all is written. Each file is replaced as a whole. If bough is killed half-way, a second attempt completes the
work. The person's index and refs stay as they are, and nothing is written outside the project, through a link or into a
`.git`."""

# ruff: noqa: PTH102, PTH105, PTH106, PTH112, PTH115, PTH120, PTH211

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from msgspec import Struct, field

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.file_index import EXECUTABLE, LINK, PLAIN, Entry, KeptPaths, join_path, list_parents
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.objects import name_object
from bough.adapters.workspaces.scan import HOME, is_reserved
from bough.core.errors import UsageError, WorkspaceError
from bough.trust import handles


class ApplyConflict(UsageError):
    """The person changed files that the run changed."""

    def __init__(self, message: str, paths: list[str]) -> None:
        super().__init__(message)
        self.paths = paths


class Move(NamedTuple):
    """A change of one path, from `base` to `target`; either is None if there is no file."""

    kind: str
    path: bytes
    base: Entry | None
    target: Entry | None


class _Obstacle(NamedTuple):
    """A file or link at a path that should be a folder, since the wanted path lies below it."""

    path: bytes


_FOLDER = "folder"
_OTHER = "other"
_Present = Entry | _Obstacle | str | None


def format_path(path: bytes) -> str:
    return path.decode(errors="backslashreplace")


class Applying(Struct, eq=False):
    git: Git
    top: bytes
    moves: dict[bytes, Move]
    _touched: set[bytes] = field(default_factory=set)
    _done: int = 0

    def run(self) -> None:
        for path in self.moves:
            parts = path.split(b"/")
            if parts[0].lower() == HOME or any(part in (b"", b".", b"..") or is_reserved(part) for part in parts):
                raise WorkspaceError(
                    f"bough does not write {format_path(path)}: the run's tree contains an invalid path."
                )
        # Check everything before the first write, so that all or nothing is applied.
        verdicts = [(move, self._needs_change(move)) for move in self.moves.values()]
        waiting = [move for move, verdict in verdicts if verdict]
        conflicts = [move.path for move, verdict in verdicts if verdict is None]
        if conflicts:
            names = [format_path(path) for path in conflicts]
            listed = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
            raise ApplyConflict(
                f"Nothing was applied, because you changed what the run changed: {listed}. Set your changes to these "
                "files aside (git stash, or copies elsewhere) and run `bough apply` again, or copy the run's work "
                "manually from `bough diff`.",
                names,
            )
        removals = [move for move in waiting if move.target is None]
        writes = [move for move in waiting if move.target is not None]
        written = KeptPaths(move.path for move in writes)
        # `blocking`: files where a folder must be, or files in a folder where a file must be.
        blocking = {
            move.path
            for move in removals
            if move.path in written.folders or not written.paths.isdisjoint(list_parents(move.path))
        }
        try:
            # Files are removed last, unless one blocks a new file.
            self._remove_all([move for move in removals if move.path in blocking])
            self._write_all(writes)
            self._remove_all([move for move in removals if move.path not in blocking])
        finally:
            # Flush the folders even after a failure, because a second attempt builds on what was written.
            for folder in self._touched:
                if os.path.isdir(folder):
                    disk.flush_folder(folder)

    def _needs_change(self, move: Move) -> bool | None:
        """Return whether a path must still be changed; None if the person changed it, which is a conflict."""
        present = self._read_present(move.path)
        if present == move.target:
            return False
        if move.target is None and (present == _FOLDER or isinstance(present, _Obstacle)):
            return False
        if isinstance(present, _Obstacle):
            return True if move.base is None and self._is_removed(present.path) else None
        if present == _FOLDER:
            return True if all(map(self._is_removed, self._list_inside(move.path))) else None
        return True if present == move.base else None

    def _is_removed(self, path: bytes) -> bool:
        move = self.moves.get(path)
        return move is not None and move.target is None and self._read_present(path) == move.base

    def _list_inside(self, path: bytes) -> Iterator[bytes]:
        folders = [path]
        for folder in folders:  # the list grows during the walk
            for entry in disk.list_entries(join_path(self.top, folder)):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(join_path(folder, entry.name))
                else:
                    yield join_path(folder, entry.name)

    def _read_present(self, path: bytes) -> _Present:
        """Return what is at a path now, as the entry that a git tree would have for it."""
        for parent in list_parents(path):
            mode = _read_mode(join_path(self.top, parent))
            if mode is None:
                return None
            if not stat.S_ISDIR(mode):
                return _Obstacle(parent)
        full = join_path(self.top, path)
        mode = _read_mode(full)
        if mode is None:
            return None
        if stat.S_ISLNK(mode):
            return Entry(LINK, name_object(b"blob", os.readlink(full))[0])
        if stat.S_ISDIR(mode):
            return _FOLDER
        id = disk.compute_blob_id(full) if stat.S_ISREG(mode) else None
        return _OTHER if id is None else Entry(EXECUTABLE if mode & stat.S_IXUSR else PLAIN, id)

    def _check_unchanged(self, move: Move) -> None:
        """Raise `ApplyConflict` if a file has changed since everything was checked."""
        present = self._read_present(move.path)
        if present != move.base and present != (_FOLDER if move.target is not None else None):
            raise ApplyConflict(
                f"{format_path(move.path)} changed while bough was applying the run: {self._done} of "
                f"{len(self.moves)} files "
                "are in place, the others are as they were; set your change aside and run `bough apply` again.",
                [format_path(move.path)],
            )

    def _remove_all(self, moves: list[Move]) -> None:
        for move in moves:
            self._check_unchanged(move)
            full = join_path(self.top, move.path)
            disk.remove(full)
            self._done += 1
            folder = os.path.dirname(full)
            self._touched.add(folder)
            with suppress(OSError):  # the folder is not empty
                while folder != self.top:
                    os.rmdir(folder)
                    folder = os.path.dirname(folder)
                    self._touched.add(folder)

    def _write_all(self, moves: list[Move]) -> None:
        contents = self.git.blobs([move.target.id for move in moves if move.target is not None])
        for move, pieces in zip(moves, contents, strict=True):
            assert move.target is not None
            full = join_path(self.top, move.path)
            folder = os.path.dirname(full)
            for above in (join_path(self.top, parent) for parent in list_parents(move.path)):
                mode = _read_mode(above)
                if mode is None:
                    os.mkdir(above)
                    self._touched.add(os.path.dirname(above))
                elif not stat.S_ISDIR(mode):
                    raise WorkspaceError(
                        f"bough does not write {format_path(move.path)}: {os.fsdecode(above)} is not a folder."
                    )
            part = b"%s/.bough-apply-%s" % (folder, name_object(b"blob", move.path)[0].hex()[:16].encode())
            try:
                _write_part(part, full, move.target.mode, pieces)
                self._check_unchanged(move)
                if stat.S_ISDIR(_read_mode(full) or 0):  # Whatever folder is here has only empty folders in it by now.
                    for inner, _, _ in os.walk(full, topdown=False):
                        os.rmdir(inner)
                os.replace(part, full)
            except BaseException:
                disk.remove(part)
                raise
            self._done += 1
            self._touched.add(folder)


def _look(full: bytes) -> os.stat_result | None:
    try:
        return os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _read_mode(full: bytes) -> int | None:
    return found.st_mode if (found := _look(full)) is not None else None


def _write_part(part: bytes, full: bytes, mode: bytes, pieces: Iterator[bytes]) -> None:
    """Write the new file next to the old one, with the old owner and permissions except for the executable bit."""
    disk.remove(part)
    if mode == LINK:
        os.symlink(b"".join(pieces), part)
        return
    fd = os.open(part, handles.NEW_FILE, 0o777 if mode == EXECUTABLE else 0o666)
    with os.fdopen(fd, "wb") as file:
        file.writelines(pieces)
        file.flush()
        old = _look(full)
        if old is not None and stat.S_ISREG(old.st_mode):
            kept = stat.S_IMODE(old.st_mode)
            kept = kept | (kept & 0o444) >> 2 if mode == EXECUTABLE else kept & ~0o111
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                try:
                    os.fchown(fd, old.st_uid, old.st_gid)
                except PermissionError:
                    kept &= 0o777  # The new file belongs to the person, as with any editor that saves by replacing.
            os.fchmod(fd, kept)
        # Flush before the rename, or a power cut could leave an empty file under the new name.
        disk.flush(fd)
