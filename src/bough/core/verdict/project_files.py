"""A view of a workspace from one of its folders: which files exist there and what they contain."""

import posixpath
from collections.abc import Collection, Iterator
from functools import cache
from shlex import quote

from bough.core.verdict.paths import is_made_folder, list_parents, parent_folder
from bough.core.verdict.texts import Read


class ProjectFiles:
    """The project's own files in a folder of the workspace, and their texts."""

    def __init__(self, files: Collection[str], read: Read, folder: str = "") -> None:
        self.folder, self._prefix = folder, f"{folder}/" if folder else ""  # Relative to the workspace.
        below = (path.removeprefix(self._prefix) for path in files if path.startswith(self._prefix))
        self.files = frozenset(path for path in below if path and not is_made_folder(parent_folder(path)))
        # Sorting by name and then by depth (stable) is much faster than one sort by pairs.
        self._in_order = sorted(sorted(self.files), key=lambda path: path.count("/"))
        self.near = [path for path in self._in_order if path.count("/") < 2]
        """The files in this folder and in the folders directly below it."""
        self._all, self._read = files, read if folder else cache(read)

    def __iter__(self) -> Iterator[str]:
        """Iterate over all files: those nearer the top come first, otherwise by name."""
        return iter(self._in_order)

    def text(self, path: str) -> str:
        """Return a file's content; empty if the file does not exist or is not text."""
        return self._read(self._prefix + path) or ""

    def inside(self, folder: str) -> "ProjectFiles":
        """Return the same view from a folder below this one."""
        return ProjectFiles(self._all, self._read, self._prefix + folder) if folder else self

    def has_folder(self, folder: str) -> bool:
        """Whether a folder exists below this one, as far as the files show; always true for folders outside it."""
        inside = posixpath.normpath(folder or ".")
        return inside == "." or inside.startswith("..") or any(path.startswith(f"{inside}/") for path in self.files)

    def home(self, path: str, *manifests: str) -> str:
        """Find the nearest folder above a file that holds one of the manifests; empty means the top, or no folder."""
        every = ((name, f"{name}/" if name else "") for name in list_parents(path))
        return next((name for name, inside in every if any(inside + each in self.files for each in manifests)), "")

    def has_in_workspace(self, listed: str, readable: str) -> bool:
        """Whether the workspace lists the file `listed`, or `readable` can be read, although it may not be listed."""
        return listed in self._all or self._read(readable) is not None


def run_in_folder(folder: str, command: str) -> str:
    """Return a command that is started in the workspace and runs in one of its folders."""
    return f"cd {quote(folder)} && {command}" if folder else command
