"""Private workspaces next to the person's files, in a git repository of bough's own.

Promises: a tree that `take` or `snapshot` returned is exactly the bytes, executable bits and links that were on disk,
and survives the machine being switched off. The person's files, index, refs, hooks and settings are only read, except
by `apply`. Everything is safe to kill and to call again, and may be used by several runs and processes at once.

    .bough/repo.git            all trees, contents and checkpoint commits (refs/bough/RUN/TASK)
    .bough/work/RUN/TASK       a task's checkout, with a small git repository of its own for the agent's use
    .bough/scratch/RUN/TASK    its temporary files
    .bough/spare, trash        checkouts for the next task, and what waits to be removed (see spares.py)

A checkout's own repository (see agents.py) only borrows objects: whatever an agent does with git (commit, stash, gc,
odd settings, deleting it) stays there, and bough neither needs it nor runs git in it.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.workspaces import (
    agent_repository,
    compiled_modules,
    disk,
    ownership,
    person_repository,
    removal,
    saved_scan,
    shared_folders,
    spares,
    watch,
)
from bough.adapters.workspaces.apply import ApplyConflict, Applying, Move, format_path
from bough.adapters.workspaces.checkout import find_altered, reclaim, restore, stamp_folders
from bough.adapters.workspaces.clearing import find_others
from bough.adapters.workspaces.file_index import (
    LINK,
    Entry,
    File,
    FileIndex,
    Tracked,
    find_differing,
    join_path,
    write_tree,
)
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.git_settings import Stamp, disarm
from bough.adapters.workspaces.home import find_root, prepare_checkouts, prepare_home, prepare_repository
from bough.adapters.workspaces.merge import merge_trees
from bough.adapters.workspaces.objects import Batch, Objects
from bough.adapters.workspaces.scan import PERSONS, Scanner
from bough.adapters.workspaces.spares import Made, Spares
from bough.adapters.workspaces.surroundings import Surroundings, copy_tree, find_free_port, rewrite_interpreters
from bough.adapters.workspaces.tree_cache import TreeCache, find_moves, make_move
from bough.core.active_files import Edge, find_edge
from bough.core.errors import WorkspaceError
from bough.core.settings.service import ENDING as SERVICES
from bough.core.verdict.texts import LineCount
from bough.ports import Contents, FileChange, Merged, Mount
from bough.trust import handles
from bough.trust.files import Place

__all__ = ["ApplyConflict", "GitWorkspace", "GitWorkspaces", "find_root", "prepare_home"]

P = ParamSpec("P")
T = TypeVar("T")

_LEFTOVER = 24 * 3600.0
_TEXT = 16 << 20
"""Bytes of a file that are read as text."""
_FEW = 0.1
"""Changed files or folders, per folder, that are scanned again every time: recording them takes longer."""


async def _run_in_thread(doing: str, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In a thread, since disks and programs are slow; a system error becomes one sentence."""
    try:
        return await asyncio.to_thread(action, *args, **kwargs)
    except OSError as error:
        raise disk.explain(error, doing) from error


class Repository:
    """bough's own repository: what the workspaces and their owner share."""

    def __init__(self, home: Path) -> None:
        self.path = home / "repo.git"
        self.git = Git(self.path)
        self.objects = Objects(self.path, self.existing)
        self.listings = TreeCache(self._list)
        self._clock = os.fsencode(self.path / "clock")

    def existing(self, ids: Sequence[bytes]) -> set[bytes]:
        known = self.objects.durable.intersection(ids)
        if self.objects.empty():  # git is slow to say so for each
            return known
        # One git for all: starting it takes longer than its answer to a thousand ids.
        asked = b"".join(id.hex().encode() + b"\n" for id in ids if id not in known)
        out = self.git.run("cat-file", "--batch-check", "--buffer", feed=asked) if asked else b""
        there = (line.split()[0].decode() for line in out.splitlines() if not line.endswith(b" missing"))
        return known.union(map(bytes.fromhex, there))

    def clock(self) -> int:
        """The time that the disk stamps on files."""
        # Asked of the disk: a network disk stamps files with its server's time, and stamps are compared with each other
        # only.
        os.utime(self._clock)
        return os.stat(self._clock).st_mtime_ns  # noqa: PTH116

    def ignores(self, top: bytes, paths: Collection[bytes]) -> set[bytes]:
        # A path that begins with a colon would be misread; after `./` it is not.
        asked = b"".join(b"./%s\0" % path for path in paths)
        out = self.git.run("check-ignore", "-z", "--stdin", "--no-index", top=top, feed=asked, fine=(0, 1))
        return {path.removeprefix(b"./") for path in out.split(b"\0")}

    def _list(self, id: str) -> FileIndex:
        """The objects of a tree are durable, because its id was published."""
        found, folders = FileIndex(), {b"": bytes.fromhex(_require_tree_id(id))}
        for line in self.git.run("ls-tree", "-r", "-t", "-z", "--full-tree", id).split(b"\0"):
            head, _, path = line.partition(b"\t")
            if path:
                mode, kind, name = head.split()
                made = bytes.fromhex(name.decode())
                self.objects.durable.add(made)
                if kind == b"blob":
                    found.put(path, File(mode, made, b"", sure=False))
                elif kind == b"tree":
                    folders[path] = made
        for path, folder in found.folders.items():
            folder.id = folders[path]
        found.fresh = set()
        return found

    def at(self, tree: str, paths: Sequence[str]) -> dict[bytes, File]:
        """Those files of a tree that exist, by the path that people see."""
        found = self.listings.found(tree)
        named = {path.encode(errors="surrogateescape"): path for path in paths}
        files = {path: file for path in named if (file := found.file(path)) is not None}
        # A name that is not text is shown with escapes, from which it cannot be recovered.
        escaped = {shown for path, shown in named.items() if path not in files and "\\" in shown}
        if escaped:
            files |= {path: file for path, file in found.files() if format_path(path) in escaped}
        return dict(sorted(files.items()))

    def commit(self, id: str, parent: str, message: str) -> str:
        """A commit with bough as its author; the same one again when the parent has the same tree and message."""
        _require_tree_id(id)
        if parent:
            head, _, text = self.git.run("cat-file", "commit", parent).partition(b"\n\n")
            if head.startswith(f"tree {id}\n".encode()) and text == _encode_message(message):
                return parent
        return self.write_commit(id, parent, message)

    def write_commit(self, tree: str, parent: str, message: str) -> str:
        who = f"bough <bough@localhost> {int(time.time())} +0000"
        lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {who}", f"committer {who}", "", ""]
        with Batch(self.objects) as batch:
            made = batch.add(b"commit", "\n".join(lines).encode() + _encode_message(message))
            batch.flush()
        return made.hex()

    def branch(self, run: str, task: str) -> Path:
        return self.path / "refs" / "bough" / make_safe_name(run) / make_safe_name(task)

    def diff(self, base: str, tree: str, *options: str, paths: Sequence[str] = ()) -> bytes:
        if base == tree:
            return b""
        # No programs that attributes or settings of a repository name, which are part of what an agent may write.
        fixed = ("-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
        trees = (_require_tree_id(base), _require_tree_id(tree))
        return self.git.run("diff-tree", *fixed, *options, *trees, *(("--", *paths) if paths else ()))


def _encode_message(message: str) -> bytes:
    return message.encode(errors="replace").replace(b"\0", b"") + b"\n"


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

    async def own(self, mount: Mount) -> bool:
        return await _run_in_thread(f"copy {mount.source}", self._own, mount)

    def _own(self, mount: Mount) -> bool:
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

    async def furnish(self) -> None:
        await _run_in_thread(f"set up {self.root}", self._furnish)

    def begin(self, base: FileIndex, found: FileIndex | None, lenders: tuple[Path, ...] = ()) -> None:
        """What the task started from, the files as they are when that is known, and whose installed packages it has:
        another checkout's, the person's."""
        self._lenders = lenders
        self._tracked = Tracked(base=base)
        self._found = found

    async def snapshot(self, exact: bool = False) -> str:
        return await _run_in_thread(f"keep the files of {self.root}", self._snapshot, exact)

    def _snapshot(self, exact: bool) -> str:
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

    async def restore(self, tree: str, exact: bool = False) -> None:
        await _run_in_thread(f"restore the files of {self.root}", self._restore, tree, exact)

    def _restore(self, tree: str, exact: bool) -> None:
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

    async def clear(self, tree: str) -> None:
        await _run_in_thread(f"clear {self.root}", self._clear, tree)

    def _clear(self, tree: str) -> None:
        # The home and the /tmp of commands are temporary files too.
        for folder in (self.scratch, self.scratch.with_name(f"{self.scratch.name}.private")):
            for entry in disk.list_entries(os.fsencode(folder)) if folder.exists() else ():
                disk.remove(entry.path)
        with self._busy:
            for path in self._find_others(tree):
                handles.remove_below(self._scanner.top, path)

    async def lends(self, tree: str) -> bool:
        return await _run_in_thread(f"look at the files of {self.root}", self._lends, tree)

    def _lends(self, tree: str) -> bool:
        kept = self._repository.listings.found(tree).folders
        return any(path not in kept for path in shared_folders.find_candidates(self._scanner.top, layered=True))

    async def list_others(self, tree: str) -> list[str]:
        return await _run_in_thread(f"look at the files of {self.root}", self._list_others, tree)

    def _list_others(self, tree: str) -> list[str]:
        with self._busy:
            return [format_path(path) for path in self._find_others(tree)]

    def _find_others(self, tree: str) -> list[bytes]:
        return sorted(find_others(self._peek(), self._repository.listings.found(tree)))

    async def mark(self) -> None:
        await _run_in_thread(f"look at the files of {self.root}", self._mark)

    def _mark(self) -> None:
        with self._busy:
            self._marked = self._peek()

    def _peek(self) -> FileIndex:
        if self._found is None:
            with Batch(self._repository.objects) as batch:
                self._found = self._scanner.scan(None, self._tracked, batch)
                batch.flush()
        return self._scanner.peek(self._found, self._tracked)

    async def list_altered(self) -> list[str]:
        return await _run_in_thread(f"look at the files of {self.root}", self._list_altered)

    def _list_altered(self) -> list[str]:
        with self._busy:
            changed = self._scanner.compare(self._marked)
            folders = self._marked.folders if changed is None else changed.folders
            return [format_path(path) for path in find_altered(self._scanner.top, self._marked, folders)]

    async def checkpoint(self, tree: str, message: str) -> str:
        return await _run_in_thread("keep a checkpoint", self._checkpoint, tree, message)

    def _checkpoint(self, tree: str, message: str) -> str:
        with self._busy:
            commit = self._repository.commit(tree, _read_commit(self._branch), message)
            self._branch.parent.mkdir(parents=True, exist_ok=True)
            disk.write_whole(self._branch, f"{commit}\n".encode(), parts=self._repository.path / "log")
        return commit


class TreeContents:
    """See `ports.Contents`."""

    def __init__(self, repository: Repository, tree: str) -> None:
        self._repository = repository
        self._tree = tree
        self._found = repository.listings.found(tree)

    def paths(self) -> list[str]:
        return self._repository.listings.paths(self._tree)

    def id(self, path: str) -> str:
        file = self._found.file(path.encode(errors="surrogateescape"))
        if file is None and "\\" in path:
            file = next(iter(self._repository.at(self._tree, [path]).values()), None)
        return f"{file.mode.decode()} {file.id.hex()}" if file is not None else ""

    def read(self, paths: Sequence[str]) -> dict[str, str]:
        found = {format_path(path): file.id for path, file in self._repository.at(self._tree, paths).items()}
        contents = self._repository.git.blobs(list(found.values()))
        return {path: _beginning(pieces).decode(errors="replace") for path, pieces in zip(found, contents, strict=True)}

    def differing(self, other: Contents) -> list[str]:
        assert isinstance(other, TreeContents)
        return [format_path(path) for path, _, _ in find_differing(self._found, other._found)]


def _beginning(pieces: Iterator[bytes]) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) >= _TEXT:
            break
    return bytes(body[:_TEXT])


class _Wanted(Struct, frozen=True):
    """What a checkout is to be; see `ports.Workspaces.open`."""

    run: str
    task: str
    tree: str
    folder: str
    sides: Mapping[str, str]
    start: str
    lender: Path | None


class GitWorkspaces:
    """Workspaces for the project at `root`; `home` is its `.bough`.

    `link_ignored` shares ignored heavy folders with the workspaces by links: only with a sandbox that denies writing
    through them, or (`layered`) that keeps writes in the workspace's own layer. Without layers, checkouts lie
    `outside` the project: tools that search upward for their settings would find the person's files.
    """

    def __init__(
        self,
        root: Path,
        home: Path,
        link_ignored: bool,
        surroundings: Surroundings = Surroundings(),  # noqa: B008 - it is frozen
        layered: Callable[[], bool] = lambda: False,
        outside: Path | None = None,
    ) -> None:
        self._outside = outside
        self._surroundings = surroundings
        self._layered = layered
        self._compiled: list[str] | None = None
        self._spared: Spares | None = None
        self._generated: list[str] | None = None
        self._root = root
        self._home = home
        self._link_ignored = link_ignored
        self._repository = Repository(home)
        self._top = os.fsencode(root)
        self._ready = False
        self._lock = threading.Lock()
        self._busy: dict[Path, threading.Lock] = {}
        self._watches: dict[Path, watch.CheckoutWatch] = {}
        self._made: dict[Path, Made] = {}

    @cached_property
    def _checkouts(self) -> Path:
        if self._outside is None or self._layered():
            return self._home
        prepare_checkouts(self._outside)
        return self._outside

    @property
    def _spares(self) -> Spares:
        with self._lock:
            if self._spared is None:
                self._spared = Spares(self._checkouts)
                self._spared.trash.empty()
            return self._spared

    def _prepared(self) -> Repository:
        with self._lock:
            if not self._ready:
                try:
                    prepare_repository(self._home)
                    # What another process is writing right now looks the same as what a crash left, so only old
                    # leftovers go.
                    self._repository.objects.recover(time.time() - _LEFTOVER)
                except OSError as error:
                    # What exists can be read, even where nothing can be written.
                    if (
                        error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS)
                        or not self._repository.path.is_dir()
                    ):
                        raise
                self._ready = True
        return self._repository

    async def take(self) -> str:
        return await _run_in_thread(f"keep the files of {self._root}", self._take)

    def _take(self) -> str:
        repository = self._prepared()
        git, rules, person = repository.git, repository.path / "info" / "exclude", repository.path / "person"
        # All of git's answers at once: each takes longer to start than to answer.
        with ThreadPoolExecutor() as asking:
            everywhere = asking.submit(person_repository.read_global_excludes, git, self._root)
            tracked = asking.submit(person_repository.list_tracked, git, self._root)
            altered = asking.submit(git.list_altered, self._top, person)
            loading = asking.submit(self._load_person)
            here = person_repository.read_own_excludes(git, self._root)
            mine = Tracked(tracked.result() if here is not None else ())
            record, before = loading.result()
            for paths in asking.map(partial(person_repository.list_embedded, git, self._root), before.embedded):
                mine.add(paths)
            excludes = person_repository.join_rules(everywhere.result(), here or b"")
        settled = rules.read_bytes() == excludes
        if not settled:
            disk.write_whole(rules, excludes, parts=repository.path / "log")
        scanner = Scanner(
            self._top,
            ignores=lambda paths: repository.ignores(self._top, paths),
            clock=repository.clock,
            own=False,
            bounds=PERSONS,
            embedded=lambda folder: person_repository.list_embedded(git, self._root, folder),
        )
        now = scanner.now()
        if record is None:
            settled = False
        else:
            settled = settled and not self._has_ignored(mine.paths ^ person_repository.split_paths(record.note))
            scanner.compare = partial(record.list_changed, git, self._top, asked=altered)
        with Batch(repository.objects, ask=True) as batch:
            found = scanner.scan(before if record is not None else None, mine, batch, settled=settled)
            id = write_tree(found, batch)
            batch.flush()
        if not settled or _is_worth_saving(found):
            note = b"".join(b"%s\0" % path for path in sorted(mine.paths))
            saved_scan.save(person, found, now, repository.path / "log", note)
        person_repository.save_empty_folders(repository.path, found.empty())
        repository.listings.know(id.hex(), found)
        return id.hex()

    def _load_person(self) -> tuple[saved_scan.SavedScan | None, FileIndex]:
        """The person's files as they were last seen, if their contents still exist."""
        known = saved_scan.load(self._repository.path / "person")
        if known is not None:
            last = known[1].folders[b""].id
            if last is not None and self._repository.existing([last]):
                return known
        return None, FileIndex()

    def _has_ignored(self, paths: Collection[bytes]) -> bool:
        """Whether a rule ignores one of these paths: then it matters whether git tracks it."""
        return bool(paths) and bool(self._repository.ignores(self._top, paths) - {b""})

    async def open(
        self,
        run: str,
        task: str,
        tree: str,
        folder: str,
        sides: Mapping[str, str] | None = None,
        *,
        start: str = "",
        lender: Path | None = None,
    ) -> GitWorkspace:
        wanted = _Wanted(run, task, tree, folder, sides or {}, start or tree, lender)
        return await _run_in_thread(f"set up the workspace of {task}", self._open, wanted)

    def _open(self, wanted: _Wanted) -> GitWorkspace:
        self._prepared()
        folder = Path(wanted.folder)
        if folder.is_absolute() or ".." in folder.parts:
            raise WorkspaceError(f"The folder {folder} is outside the project {self._root}: run bough inside it.")
        checkout, scratch = self._find_places(wanted.run, wanted.task)
        with self._lock_for(checkout):
            ownership.take(checkout, wanted.task)
            try:
                return self._open_at(checkout, scratch, wanted)
            except (OSError, WorkspaceError):
                if not disk.is_folder(checkout):
                    raise
                return self._remake_checkout(checkout, scratch, wanted)

    def _remake_checkout(self, checkout: Path, scratch: Path, wanted: _Wanted) -> GitWorkspace:
        for place in (checkout, scratch):
            disk.remove(os.fsencode(place))
        return self._open_at(checkout, scratch, wanted)

    def _lock_for(self, place: Path) -> threading.Lock:
        """One at a time per workspace: a cancelled caller's thread may still be running."""
        with self._lock:
            return self._busy.setdefault(place, threading.Lock())

    def _open_at(self, checkout: Path, scratch: Path, wanted: _Wanted) -> GitWorkspace:
        repository, run, task = self._repository, wanted.run, wanted.task
        base = repository.listings.found(wanted.tree)
        top = os.fsencode(checkout)
        owners = [*([os.fsencode(wanted.lender)] if wanted.lender else []), self._top]
        prepare = partial(self._prepare, checkout, wanted)
        with ThreadPoolExecutor(1) as beside:  # it mostly waits for git
            lacking = None if agent_repository.is_there(checkout) else beside.submit(prepare)
            found = None if disk.is_folder(checkout) else self._make(checkout, base)
        lent = self._borrow(top, wanted.lender)
        links = self._share(top)
        if lacking is not None:
            agent_repository.place(lacking.result(), checkout, self._make_excludes([*links, *lent]))
        scratch.mkdir(parents=True, exist_ok=True)
        scanner = Scanner(
            top,
            ignores=lambda paths: repository.ignores(top, paths),
            clock=repository.clock,
            shared=lambda path, link: any(shared_folders.is_shared(owner, path, link) for owner in owners),
        )
        objects = agent_repository.list_lenders(repository.path, self._find_history(run))
        seen = tuple(Mount(place) for place in objects)

        def remake(tree: str) -> GitWorkspace:
            with self._lock_for(checkout):
                return self._remake_checkout(checkout, scratch, replace(wanted, tree=tree))

        made = self._made.get(checkout) or (self._load_made(checkout) if found is None else None)
        if made is not None:
            scanner.compare = partial(made.record.list_changed, repository.git, top)
        known = found if found is not None or made is None else made.found
        scanner.watch = self._start_watch(checkout, base, known, fresh=found is not None)
        workspace = GitWorkspace(
            repository, repository.branch(run, task), scanner, wanted.folder, scratch, remake, seen
        )
        workspace.begin(base, known, tuple(Path(os.fsdecode(owner)) for owner in owners))
        installed = self._surroundings.environment is not None
        native = compiled_modules.list_sources(path for path, _ in base.files()) if installed else []
        if self._generated is None:
            from bough.adapters.workspaces import generated_files

            found_there = generated_files.list_generated(self._root, (os.fsdecode(path) for path, _ in base.files()))
            self._generated = [name for name in found_there if self._comes_along(name)]
        self._furnish(checkout, native)
        env = self._surroundings.at(checkout, task, find_free_port())
        # A lent folder may itself have links into the person's.
        mounts = [*(Mount(Path(os.fsdecode(join_path(owners[0], path))), "overlay") for path in lent)]
        mounts += self._list_mounts(
            [*links, *(path for path in lent if disk.is_folder(self._root / os.fsdecode(path)))]
        )
        workspace.surround(mounts, env, lambda: self._furnish(checkout, native))
        return workspace

    def _load_made(self, checkout: Path) -> Made | None:
        """What an earlier bough process wrote in a checkout, when that is known."""
        if (known := saved_scan.load(_find_index(checkout))) is not None:
            self._made[checkout] = Made(*known)
        return self._made.get(checkout)

    def _start_watch(
        self, checkout: Path, base: FileIndex, known: FileIndex | None, fresh: bool
    ) -> watch.CheckoutWatch | None:
        """A watch over a checkout with these folders. `fresh`: it was just created, and nothing else uses it."""
        if (old := self._watches.pop(checkout, None)) is not None:
            old.close()
        started = watch.start_watch(base)
        if started is not None:
            self._watches[checkout] = started
            if known is not None:
                started.cover_all(os.fsencode(checkout), known)
            if fresh:
                started.trust()
        return started

    def _list_mounts(self, links: list[bytes]) -> list[Mount]:
        """What commands use of the person's, and may change in a layer or copy of their own."""
        around = self._surroundings
        places = [self._root / os.fsdecode(path) for path in links]
        if around.environment is not None and not around.environment.inside:
            places.append(around.environment.prefix)
        lent = [Mount(self._root / name) for name in around.link if self._comes_along(name)]
        return [Mount(place, "overlay") for place in places] + lent

    def _furnish(self, checkout: Path, native: list[str]) -> None:
        """What no tree holds, where the tree has nothing in its place: the person's empty folders, the links and copies
        that the person asked for, and modules built in place from sources."""
        top = os.fsencode(checkout)
        if native:
            if self._compiled is None:
                self._compiled = compiled_modules.list_compiled(self.ignored())
            compiled_modules.copy_modules(self._root, checkout, self._compiled, native)
        for path in person_repository.load_empty_folders(self._repository.path):
            handles.make_folder(top, path)
        for name in self._surroundings.link:
            if self._comes_along(name):
                shared_folders.share(self._top, top, [os.fsencode(name)])
        for name in self._generated or ():
            with suppress(OSError):  # the tree has no folder for it
                if not Place(checkout, name).kind:
                    Place(self._root, name).copy_to(Place(checkout, name))
        for name in self._surroundings.copy:
            if self._comes_along(name) and Place(checkout, name.rpartition("/")[0]).is_folder():
                copy_tree(self._root / name, checkout / name)

    def _comes_along(self, name: str) -> bool:
        """Only what is ignored: everything else is already in the tree, as it was when the run started. And only what
        is in the project: a link there could lead to the person's home."""
        path, kind = os.fsencode(name), Place(self._root, name, links=True).kind
        return kind in ("file", "folder") and path in self._repository.ignores(self._top, [path])

    def _find_places(self, run: str, task: str) -> tuple[Path, Path]:
        inside = f"{make_safe_name(run)}/{make_safe_name(task)}"
        return self._checkouts / "work" / inside, self._checkouts / "scratch" / inside

    def _make(self, checkout: Path, wanted: FileIndex) -> FileIndex:
        """Filled elsewhere and moved into place whole: a checkout that exists is complete. A reused one is mostly
        filled already."""
        self._made.pop(checkout, None)
        disk.remove(os.fsencode(checkout))
        part = checkout.with_name(f"{checkout.name}.part")
        disk.remove(os.fsencode(part))
        part.parent.mkdir(parents=True, exist_ok=True)
        known = self._spares.take(part, self._repository.git)
        try:
            found = self._fill(part, known, wanted)
        except (OSError, WorkspaceError):
            if known is None:
                raise
            self._spares.trash.put(part)
            known = None
            found = self._fill(part, None, wanted)
        if watch.worth(wanted):
            self._made[checkout] = self._record(part, known, found).at(_find_index(checkout))
            # The index first. A checkout without one is filled from nothing again; an index without a checkout means
            # nothing.
            _find_index(part).rename(_find_index(checkout))
        part.rename(checkout)
        return found

    def _fill(self, part: Path, known: Made | None, wanted: FileIndex) -> FileIndex:
        git, clock, trash, top = self._repository.git, self._repository.clock, self._spares.trash, os.fsencode(part)
        if known is None:
            part.mkdir()
            return reclaim(git, top, FileIndex(), None, wanted, clock, trash)
        changed = known.record.list_changed(git, top, known.found, known.asked)
        return reclaim(git, top, known.found, changed, wanted, clock, trash)

    def _record(self, part: Path, known: Made | None, found: FileIndex) -> Made:
        if known is not None and not _is_worth_saving(found):
            return Made(known.record, found)
        stamp_folders(os.fsencode(part), found)
        now, parts = self._repository.clock(), self._repository.path / "log"
        return Made(saved_scan.save(_find_index(part), found, now, parts), found)

    def _borrow(self, top: bytes, lender: Path | None) -> list[bytes]:
        """What another checkout has installed; where nothing denies writing through a link, that is like working
        there."""
        if lender is None:
            return []
        owner = os.fsencode(lender)
        paths = shared_folders.find_candidates(owner, self._layered() or not self._link_ignored)
        return shared_folders.share(owner, top, list(paths))

    def _share(self, top: bytes) -> list[bytes]:
        if not self._link_ignored:
            shared_folders.unshare(self._top, top)
            return []
        paths = list(shared_folders.find_candidates(self._top, self._layered()))
        ignored = self._repository.ignores(self._top, paths) if paths else set()
        return shared_folders.share(self._top, top, [path for path in paths if path in ignored])

    def _prepare(self, checkout: Path, wanted: _Wanted) -> Path:
        """The agent's own repository."""
        repository = self._repository
        past = self._find_history(wanted.run)
        branch = f"{make_safe_name(wanted.run)}/{make_safe_name(wanted.task)}"
        return agent_repository.prepare(
            checkout, wanted.start, branch, past, git=repository.git, start=repository.write_commit, sides=wanted.sides
        )

    def _find_history(self, run: str) -> agent_repository.History:
        repository = self._repository
        return agent_repository.find_history(
            repository.git, self._root, repository.path / "histories" / make_safe_name(run)
        )

    def _make_excludes(self, links: list[bytes]) -> bytes:
        """The person's rules, and the links to shared folders."""
        rules = (self._repository.path / "info" / "exclude").read_bytes()
        return rules + b"".join(b"\n/" + _escape_pattern(path) for path in links) + b"\n"

    def ignored(self) -> list[str]:
        """The person's ignored files and folders, which are in no tree."""
        return person_repository.list_ignored(self._repository.git, self._root)

    async def discard(self, run: str, task: str) -> None:
        await _run_in_thread(f"remove the workspace of {task}", self._discard, run, task)

    def _discard(self, run: str, task: str) -> None:
        places = self._find_places(run, task)
        with self._lock_for(places[0]):
            if (watching := self._watches.pop(places[0], None)) is not None:
                watching.close()
            for place in places:
                self._dispose(place)
                for ending in (".part", ".git.part", ".private", ownership.ENDING, SERVICES):
                    disk.remove(os.fsencode(place.with_name(place.name + ending)))
                # rmdir refuses a folder that is not empty, which makes this safe against a task that begins now.
                with suppress(OSError):  # other tasks of the run still have theirs, or there never was one
                    place.parent.rmdir()

    def _dispose(self, place: Path) -> None:
        """A reusable checkout is kept for the next task."""
        made = self._made.pop(place, None)
        if disk.is_folder(place) and _find_index(place).is_file():
            self._spares.give(place, made)
        else:
            disk.remove(os.fsencode(place))

    async def sweep(self, run: str, mark: str) -> None:
        await _run_in_thread(f"clear the workspaces of {run}", self._sweep, run, mark)

    def _sweep(self, run: str, mark: str) -> None:
        folders = [self._checkouts / part / make_safe_name(run) for part in ("work", "scratch")]
        if mark:
            for task in ownership.list_abandoned(folders[0], mark):
                self._discard(run, task)
            return
        for place in (place for folder in folders for place in sorted(folder.glob("*"))):
            self._dispose(place)

    async def forget(self, run: str) -> None:
        """Remove everything kept for a run. Only for its holder."""
        await _run_in_thread(f"remove {run}", removal.forget, self._home, self._outside, make_safe_name(run))

    async def compact(self, ids: Collection[str]) -> None:
        """Remove what no run needs any longer. `ids`: what the journal names. Only while no run is live."""
        await _run_in_thread("tidy up", self._compact, ids)

    def _compact(self, ids: Collection[str]) -> None:
        repository = self._prepared()
        self._spares.clear()
        # It names contents that may be gone afterwards.
        (repository.path / "person").unlink(missing_ok=True)
        removal.compact(repository.git, ids)

    async def changes(self, base: str, tree: str) -> list[FileChange]:
        return [
            FileChange(move.kind, format_path(move.path))
            for move in await _run_in_thread("compare", self._list_moves, base, tree)
        ]

    def _list_moves(self, base: str, tree: str) -> list[Move]:
        repository = self._prepared()
        if repository.listings.know_of(base, tree):  # then there is no need to ask git
            return find_moves(repository.listings.found(base), repository.listings.found(tree))
        parts = repository.diff(base, tree, "--raw", "-z", "--no-abbrev").split(b"\0")
        return [_parse_move(head, path) for head, path in zip(parts[::2], parts[1::2], strict=False)]

    async def paths(self, tree: str) -> list[str]:
        return await _run_in_thread("list files", lambda: self._prepared().listings.paths(tree))

    async def texts(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        return await _run_in_thread("read files", self._texts, tree, paths)

    def _texts(self, tree: str, paths: Sequence[str]) -> dict[str, str]:
        return TreeContents(self._prepared(), tree).read(paths)

    async def contents(self, tree: str) -> TreeContents:
        return await _run_in_thread("list files", lambda: TreeContents(self._prepared(), tree))

    async def graft(self, tree: str, base: str, paths: Sequence[str], texts: Mapping[str, str]) -> str:
        return await _run_in_thread("combine files", self._graft, tree, base, paths, texts)

    def _graft(self, onto: str, base: str, paths: Sequence[str], texts: Mapping[str, str]) -> str:
        repository = self._prepared()
        found = repository.listings.found(onto).copy()
        back = repository.at(base, paths)
        for path in repository.at(onto, paths):
            found.remove(path)
        for path, file in back.items():
            found.replace(path, file)  # Where one has a file and the other a folder, the base's stays.
        with Batch(repository.objects) as batch:
            for name, text in texts.items():
                path = os.fsencode(name)
                known = found.file(path)
                id = batch.add(b"blob", text.encode(errors="surrogateescape"))
                found.replace(path, File(known.mode if known is not None else b"100644", id, b"", sure=False))
            made = write_tree(found, batch)
            batch.flush()
        repository.listings.know(made.hex(), found)
        return made.hex()

    async def files(self, tree: str, paths: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Mode and content of those files of a tree that exist."""
        return await _run_in_thread("read files", self._files, tree, paths)

    def _files(self, tree: str, paths: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        repository = self._prepared()
        found = {format_path(path): file for path, file in repository.at(tree, paths).items()}
        contents = repository.git.blobs([entry.id for entry in found.values()])
        bodies = [b"".join(pieces) for pieces in contents]
        return {path: (found[path].mode.decode(), body) for path, body in zip(found, bodies, strict=True)}

    async def diff(self, base: str, tree: str, stat: bool = False) -> str:
        return await _run_in_thread("compare", self._diff, base, tree, ("--stat" if stat else "-p",))

    async def count_changes(self, base: str, tree: str) -> list[LineCount]:
        """Every changed file with the number of lines added and removed."""
        said = await _run_in_thread("compare", self._diff, base, tree, ("--numstat", "-z"))
        entries = [entry.split("\t", 2) for entry in said.split("\0") if entry.count("\t") > 1]
        return [
            LineCount(path, 0, 0, True) if added == "-" else LineCount(path, int(added), int(removed))
            for added, removed, path in entries
        ]

    async def diff_file(self, base: str, tree: str, path: str) -> str:
        """The diff of one file. What its name says is no pattern."""
        return await _run_in_thread("compare", self._diff, base, tree, ("-p",), f":(literal,top){path}")

    def _diff(self, base: str, tree: str, form: tuple[str, ...], *paths: str) -> str:
        return self._prepared().diff(base, tree, *form, paths=paths).decode(errors="replace")

    async def merge(self, base: str, ours: str, theirs: str) -> Merged:
        return await _run_in_thread("merge the work of two tasks", self._merge, base, ours, theirs)

    def _merge(self, base: str, ours: str, theirs: str) -> Merged:
        repository = self._prepared()
        ids = (bytes.fromhex(_require_tree_id(tree)) for tree in (base, ours, theirs))
        joined = merge_trees(repository.git, repository.objects, *ids)
        return Merged(
            joined.tree.hex(),
            tuple(format_path(each.path) for each in joined.conflicts),
            tuple(each.says for each in joined.conflicts),
            tuple(format_path(path) for path in joined.both),
            joined.marked.hex() if joined.both else "",
        )

    async def edges(self, base: str, tree: str) -> list[Edge]:
        return await _run_in_thread("compare", self._edges, base, tree)

    def _edges(self, base: str, tree: str) -> list[Edge]:
        moves = [move for move in self._list_moves(base, tree) if move.target is not None]
        links = {move.target.id for move in moves if move.target is not None and move.target.mode == LINK}
        contents = self._repository.git.blobs(list(links))
        targets = {id: b"".join(pieces) for id, pieces in zip(links, contents, strict=True)}
        found = []
        for path, before, after in ((format_path(move.path), move.base, move.target) for move in moves):
            if after is not None:
                was = before.mode.decode() if before is not None else ""
                found.append(find_edge(path, was, after.mode.decode(), format_path(targets.get(after.id, b""))))
        return [each for each in found if each is not None]

    async def apply(self, base: str, tree: str) -> list[FileChange]:
        return await _run_in_thread(f"write to {self._root}", self._apply, base, tree)

    def _apply(self, base: str, tree: str) -> list[FileChange]:
        moves = self._list_moves(base, tree)
        Applying(self._repository.git, self._top, {move.path: move for move in moves}).run()
        return [FileChange(move.kind, format_path(move.path)) for move in moves]


def _find_index(checkout: Path) -> Path:
    return checkout.with_name(checkout.name + spares.ENDING)


def _is_worth_saving(found: FileIndex) -> bool:
    return max(found.read, found.looked) > _FEW * len(found.folders)


def make_safe_name(name: str) -> str:
    """A run or task as the name of one folder or branch: unique on any file system."""
    text = "".join(_escape_letter(letter) for letter in name)
    if text and len(text) <= 100:
        return text
    return f"{text[:60]}__{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:24]}"


def _escape_letter(letter: str) -> str:
    if re.fullmatch("[a-z0-9-]", letter):
        return letter
    if letter == "/":
        return "+"
    return "".join(f"_{byte:02x}" for byte in letter.encode(errors="surrogatepass"))


def _require_tree_id(tree: str) -> str:
    if not re.fullmatch("[0-9a-f]{40}", tree):
        raise WorkspaceError(f"{tree!r} is not a tree id: the journal is damaged.")
    return tree


def _parse_move(head: bytes, path: bytes) -> Move:
    old_mode, new_mode, old, new, _ = head.removeprefix(b":").split()
    base = None if old_mode == b"000000" else Entry(old_mode, bytes.fromhex(old.decode()))
    target = None if new_mode == b"000000" else Entry(new_mode, bytes.fromhex(new.decode()))
    return make_move(path, base, target)


def _escape_pattern(path: bytes) -> bytes:
    """A path as an ignore pattern that matches only it."""
    return re.sub(rb"([\\*?\[\] ])", rb"\\\1", path)


def _read_commit(branch: Path) -> str:
    """Empty when there is none yet."""
    text = branch.read_text(errors="replace").strip() if branch.is_file() else ""
    return text if re.fullmatch("[0-9a-f]{40}", text) else ""


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
