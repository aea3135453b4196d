"""A task's checkout, whose files can be stored as trees and restored."""

import asyncio
import os
import re
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from msgspec import Struct, field

from bough.adapters.workspaces import disk, shared_folders
from bough.adapters.workspaces.agent_repository import Stamp, disarm
from bough.adapters.workspaces.apply import format_path
from bough.adapters.workspaces.checkout import restore
from bough.adapters.workspaces.file_index import NO_FOLDER, FileIndex, KeptPaths, join_path, write_tree
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
"""Folders that tools install into or build in, and maintain themselves. A clean-up leaves them, because recreating them
for every check would take minutes and a network."""
MADE = b"__pycache__"
"""The folder of Python's bytecode, removed even if it is in the tree, because it need not match the source beside
it."""


def in_thread(
    doing: str,
) -> Callable[[Callable[Concatenate[S, P], T]], Callable[Concatenate[S, P], Coroutine[Any, Any, T]]]:
    """Make a method run in a thread, since disks and programs are slow. An `OSError` becomes a sentence that bough
    could not do what `doing` says, where `{self.root}` and the like stand for arguments. Cancelling waits until the
    thread has ended, so that it does not recreate a checkout that was discarded."""

    def decorate(action: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
        @wraps(action)
        async def threaded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
            call = partial(copy_context().run, action, self, *args, **kwargs)
            work = asyncio.get_running_loop().run_in_executor(None, call)
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait((work,))
                if not work.cancelled():
                    work.exception()  # Mark the error as seen, or asyncio would report it.
                raise
            except OSError as error:
                named = signature(action).bind(self, *args, **kwargs).arguments
                raise disk.explain(error, doing.format(**named)) from error

        return threaded

    return decorate


class GitWorkspace(Struct, eq=False):
    """A task's checkout. Calls run one at a time. It remembers the last scan, so a snapshot reads only what changed."""

    root: Path
    folder: Path
    scratch: Path
    mounts: Sequence[Mount]
    _repository: Repository
    _branch: Path
    _scanner: Scanner
    _tracked: KeptPaths
    _found: FileIndex | None
    """The files as the last scan found them, if known."""
    _lenders: Sequence[Path]
    """The folders whose installed packages the checkout uses: another checkout, the person's project."""
    _furnish: Callable[[], None]
    """Puts back the untracked files that the person's settings add, but no links to large folders."""
    _remake: "Callable[[str], GitWorkspace]"
    """Recreates the checkout from a tree."""
    _last: str
    """The tree that was stored or restored last."""
    env: Mapping[str, str] = {}
    _busy: threading.Lock = field(default_factory=threading.Lock)
    _settings: Stamp | None = None

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

    @in_thread("keep the files of {self.root}")
    def snapshot(self) -> str:
        with self._busy, Batch(self._repository.objects) as batch:
            found = self._scanner.scan(self._found, self._tracked, batch)
            with self._scanner.telling():
                id = write_tree(found, batch)
                batch.flush()
            self._found = found
            # The agent may have changed its own .git, whose settings can make a person's shell prompt start programs.
            self._settings = disarm(os.fsencode(self.root), self._settings)
        self._repository.listings.know(id.hex(), found)
        self._repository.publish(id.hex(), self._last)
        self._last = id.hex()
        return self._last

    @in_thread("restore the files of {self.root}")
    def restore(self, tree: str) -> None:
        with self._busy:
            wanted = self._repository.listings.found(tree)
            self._last = tree
            # If restoring fails half-way, the files are no longer as the last scan found them.
            before, self._found = self._found, None
            try:
                self._found = restore(self._repository.git, self._scanner, before, self._tracked, wanted)
                find_start(self.root, self.folder.relative_to(self.root).as_posix())
            except (OSError, WorkspaceError):
                # Something in the checkout cannot even be read, so recreate it from the tree.
                made = self._remake(tree)
                self._found, self._tracked, self._scanner = made._found, made._tracked, made._scanner

    @in_thread("clear {self.root}")
    def clear(self, tree: str) -> None:
        # Commands' private home and /tmp hold temporary files, too.
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
        if self._found is None:
            with Batch(self._repository.objects) as batch:
                self._found = self._scanner.scan(None, self._tracked, batch)
                batch.flush()
        found = self._scanner.scan(self._found, self._tracked, None, wanted=self._found, keep=False)
        return sorted(find_others(found, self._repository.listings.found(tree)))

    @in_thread("keep a checkpoint")
    def checkpoint(self, tree: str, message: str) -> str:
        with self._busy:
            # The parent is empty if there is no checkpoint yet.
            text = self._branch.read_text(errors="replace").strip() if self._branch.is_file() else ""
            commit = self._repository.commit(tree, text if re.fullmatch("[0-9a-f]{40}", text) else "", message)
            self._branch.parent.mkdir(parents=True, exist_ok=True)
            disk.write_whole(self._branch, f"{commit}\n".encode(), parts=self._repository.path / "log")
        return commit


def find_start(root: Path, folder: str) -> Path:
    """Return the folder in which the agent starts. It is created if missing; if a link is in the way, it is `root`."""
    place = root
    for name in Path(folder).parts:
        place = place / name
        if not Place(root, place.relative_to(root).as_posix()).kind:
            place.mkdir()
        if not disk.is_folder(place):
            return root
    return place


def find_others(found: FileIndex, wanted: FileIndex) -> Iterator[bytes]:
    """Yield the topmost paths that exist and are not wanted, except installed packages. They are removed before a
    check, so that it tests the tree alone: ignored files are in no tree, survive a restore, and are not applied with
    the work. A check that needs one of them proves nothing, and a `conftest.py` among them could make it pass."""
    waiting = [b""]
    while waiting:
        path = waiting.pop()
        here, there = found.folders[path], wanted.folders.get(path, NO_FOLDER)
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
