"""One task's checkout: its files can be kept as trees and brought back."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from bough.adapters.workspaces import disk, shared_folders
from bough.adapters.workspaces.apply import format_path
from bough.adapters.workspaces.checkout import find_altered, restore
from bough.adapters.workspaces.file_index import FileIndex, Folder, Tracked, join_path, write_tree
from bough.adapters.workspaces.git_settings import Stamp, disarm
from bough.adapters.workspaces.objects import Batch
from bough.adapters.workspaces.repository import Repository
from bough.adapters.workspaces.scan import Scanner
from bough.adapters.workspaces.surroundings import copy_tree, rewrite_interpreters
from bough.core.errors import WorkspaceError
from bough.ports import Mount
from bough.trust import handles
from bough.trust.files import Place

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

INSTALLED = shared_folders.NAMES | shared_folders.BUILT | {b".gradle"}
"""Folders that tools install into or build in, and maintain themselves: recreating them for every check would take
minutes and a network."""
MADE = b"__pycache__"
"""Removed even when it is in the tree: bytecode need not match the source beside it."""


def in_thread(
    doing: str,
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]]:
    """Make a method one that waits for a thread, since disks and programs are slow. A system error becomes one
    sentence: bough could not do what `doing` says, in which arguments stand by name (`{self.root}`)."""

    def decorate(action: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
        @wraps(action)
        async def threaded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return await asyncio.to_thread(action, self, *args, **kwargs)
            except OSError as error:
                named = signature(action).bind(self, *args, **kwargs).arguments
                raise disk.explain(error, doing.format(**named)) from error

        return threaded

    return decorate


class GitWorkspace:
    """One task's checkout. Calls are serial; the last scan is remembered: a snapshot reads only what changed."""

    def __init__(
        self,
        repository: Repository,
        branch: Path,
        scanner: Scanner,
        folder: str,
        scratch: Path,
        remake: Callable[[str], GitWorkspace],
        mounts: tuple[Mount, ...] = (),
    ) -> None:
        """`remake` recreates the checkout from a tree."""
        self.root = Path(os.fsdecode(scanner.top))
        self.folder = _find_start(self.root, folder)
        self.scratch = scratch
        self._repository = repository
        self._branch = branch
        self._start = folder
        self.mounts = mounts
        self._scanner = scanner
        self._remake = remake
        self._tracked = Tracked()
        self._found: FileIndex | None = None
        self._marked = FileIndex()
        self._busy = threading.Lock()
        self._settings: Stamp | None = None
        self.env: Mapping[str, str] = {}
        self._furnish: Callable[[], None] = lambda: None
        self._lenders: tuple[Path, ...] = ()

    def surround(self, mounts: Sequence[Mount], env: Mapping[str, str], furnish: Callable[[], None]) -> None:
        """What comes from the person's set-up. `furnish` restores what is not a link to a heavy folder."""
        self.mounts, self.env, self._furnish = (*self.mounts, *mounts), env, furnish

    @in_thread("copy {mount.source}")
    def own(self, mount: Mount) -> bool:
        owner = next((place for place in self._lenders if mount.source.is_relative_to(place)), None)
        if owner is None:
            return False
        link = self.root / mount.source.relative_to(owner)
        with self._busy:
            if not link.is_symlink():
                return False
            copy_tree(mount.source, link)
            rewrite_interpreters(link, mount.source)
        return True

    @in_thread("set up {self.root}")
    def furnish(self) -> None:
        self._furnish()

    def begin(self, base: FileIndex, found: FileIndex | None, lenders: tuple[Path, ...] = ()) -> None:
        """What the task started from, the files as they are when that is known, and whose installed packages it has:
        another checkout's, the person's."""
        self._lenders = lenders
        self._tracked = Tracked(base=base)
        self._found = found

    @in_thread("keep the files of {self.root}")
    def snapshot(self, exact: bool = False) -> str:
        with self._busy, Batch(self._repository.objects) as batch:
            found = self._scanner.scan(self._found, self._tracked, batch, exact=exact)
            with self._scanner.telling():
                id = write_tree(found, batch)
                batch.flush()
            self._found = found
            # The agent may change its own .git. A person whose shell shows the branch there would run what it names.
            self._settings = disarm(os.fsencode(self.root), self._settings)
        self._repository.listings.know(id.hex(), found)
        return id.hex()

    @in_thread("restore the files of {self.root}")
    def restore(self, tree: str, exact: bool = False) -> None:
        with self._busy:
            wanted = self._repository.listings.found(tree)
            # Should this fail half-way, what was known no longer holds.
            before, self._found = self._found, None
            try:
                self._found = restore(self._repository.git, self._scanner, before, self._tracked, wanted, exact)
                _find_start(self.root, self._start)
            except (OSError, WorkspaceError):
                # Something in it cannot even be read. Only what the tree has matters.
                made = self._remake(tree)
                self._found, self._tracked, self._scanner = made._found, made._tracked, made._scanner

    @in_thread("clear {self.root}")
    def clear(self, tree: str) -> None:
        # The home and the /tmp of commands are temporary files too.
        for folder in (self.scratch, self.scratch.with_name(f"{self.scratch.name}.private")):
            for entry in disk.list_entries(os.fsencode(folder)) if folder.exists() else ():
                disk.remove(entry.path)
        with self._busy:
            for path in self._find_others(tree):
                handles.remove_below(self._scanner.top, path)

    @in_thread("look at the files of {self.root}")
    def lends(self, tree: str) -> bool:
        kept = self._repository.listings.found(tree).folders
        return any(path not in kept for path in shared_folders.find_candidates(self._scanner.top, layered=True))

    @in_thread("look at the files of {self.root}")
    def list_others(self, tree: str) -> list[str]:
        with self._busy:
            return [format_path(path) for path in self._find_others(tree)]

    def _find_others(self, tree: str) -> list[bytes]:
        return sorted(find_others(self._peek(), self._repository.listings.found(tree)))

    @in_thread("look at the files of {self.root}")
    def mark(self) -> None:
        with self._busy:
            self._marked = self._peek()

    def _peek(self) -> FileIndex:
        if self._found is None:
            with Batch(self._repository.objects) as batch:
                self._found = self._scanner.scan(None, self._tracked, batch)
                batch.flush()
        return self._scanner.peek(self._found, self._tracked)

    @in_thread("look at the files of {self.root}")
    def list_altered(self) -> list[str]:
        with self._busy:
            changed = self._scanner.compare(self._marked)
            folders = self._marked.folders if changed is None else changed.folders
            return [format_path(path) for path in find_altered(self._scanner.top, self._marked, folders)]

    @in_thread("keep a checkpoint")
    def checkpoint(self, tree: str, message: str) -> str:
        with self._busy:
            # Empty when there is none yet.
            text = self._branch.read_text(errors="replace").strip() if self._branch.is_file() else ""
            commit = self._repository.commit(tree, text if re.fullmatch("[0-9a-f]{40}", text) else "", message)
            self._branch.parent.mkdir(parents=True, exist_ok=True)
            disk.write_whole(self._branch, f"{commit}\n".encode(), parts=self._repository.path / "log")
        return commit


def _find_start(root: Path, folder: str) -> Path:
    """Where the agent starts: it exists even when the folder has no files, and is never behind a link."""
    place = root
    for name in Path(folder).parts:
        place = place / name
        if not Place(root, place.relative_to(root).as_posix()).kind:
            place.mkdir()
        if not disk.is_folder(place):
            return root
    return place


def find_others(found: FileIndex, wanted: FileIndex) -> Iterator[bytes]:
    """The topmost paths that were found and are not wanted, except installed packages. They are removed before a check,
    so that it tests the tree alone: ignored files are in no tree, survive a restore, and applying the work does not
    bring them. A check that needs one of them proves nothing, and a `conftest.py` among them can make it pass."""
    waiting = [b""]
    while waiting:
        path = waiting.pop()
        here, there = found.folders[path], wanted.folders.get(path) or Folder()
        for name in here.folders:
            whole = join_path(path, name)
            known = wanted.folders.get(whole)
            if known is not None and known.id is not None and name != MADE:
                waiting.append(whole)
            elif name not in INSTALLED or name in there.folders:
                yield whole
        names = {name.rstrip(b"/") for name in here.ignored | here.other} - {b".git"}
        if path in found.fresh or here.id != there.id:
            names |= here.files.keys() - there.files.keys()
        for name in names:
            if name not in INSTALLED or name in there.folders or name in there.files:
                yield join_path(path, name)
