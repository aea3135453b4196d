"""Makes private workspaces next to the person's files, and stores their trees in a git repository of bough's own.

Promises: a tree that `take` or `snapshot` returned is exactly the bytes, executable bits and links that were on disk,
and survives the machine being switched off. The person's files, index, refs, hooks and settings are only read, except
by `apply`. Everything is safe to kill and to call again, and may be used by several runs and processes at once.

    .bough/repo.git            all trees, contents and checkpoint commits (refs/bough/RUN/TASK)
    .bough/work/RUN/TASK       a task's checkout, with a small git repository for the agent's use
    .bough/scratch/RUN/TASK    its temporary files
    .bough/spare, trash        checkouts for the next task, and folders to be removed (see checkout.py)

A checkout's own repository (see agent_repository.py) only borrows objects: whatever an agent does with git (commit,
stash, gc, odd settings, deleting it) stays there, and bough neither needs it nor runs git in it."""

import os
import re
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.workspaces import (
    agent_repository,
    checkout_watch,
    disk,
    person_repository,
    saved_scan,
    shared_folders,
    surroundings,
)
from bough.adapters.workspaces.checkout import SpareCheckout, Spares, find_index, reclaim
from bough.adapters.workspaces.file_index import FileIndex, KeptPaths
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import OWNER, claim_checkout, list_abandoned, prepare_checkouts
from bough.adapters.workspaces.repository import make_safe_name
from bough.adapters.workspaces.scan import Scanner
from bough.adapters.workspaces.surroundings import Surroundings, copy_tree, find_free_port
from bough.adapters.workspaces.trees import GitTrees
from bough.adapters.workspaces.workspace import GitWorkspace, find_start, in_thread
from bough.core.errors import WorkspaceError
from bough.core.ids import INSPECTION
from bough.core.settings.sections import ENDING as SERVICES
from bough.ports import Mount
from bough.trust import handles
from bough.trust.files import Place

_KEPT = "refs/kept/"
"""Refs that protect the trees that journals name, which are in no branch, while unused objects are removed."""


class CheckoutSpec(Struct, frozen=True):
    """Describes the checkout to make; see `ports.Workspaces.open`."""

    run: str
    task: str
    tree: str
    folder: str
    sides: Mapping[str, str]
    start: str
    lender: Path | None


class GitWorkspaces(GitTrees):
    """Workspaces for the project at `root`; `home` is its `.bough`.

    `link_ignored`: share heavy ignored folders with the workspaces by links. This requires a sandbox that denies
    writing through them or, if `layered`, keeps such writes in a layer of the workspace. `outside`: the folder for
    checkouts without layers: inside the project, tools that search upward for settings would find the person's files.
    """

    def __init__(
        self,
        root: Path,
        home: Path,
        link_ignored: bool,
        around: Surroundings = Surroundings(),  # noqa: B008 - it is frozen
        layered: Callable[[], bool] = lambda: False,
        outside: Path | None = None,
    ) -> None:
        super().__init__(root, home)
        self._outside = outside
        self._surroundings = around
        self._layered = layered
        self._generated: list[str] | None = None
        self._link_ignored = link_ignored
        self._busy: dict[Path, threading.Lock] = {}
        self._watches: dict[Path, checkout_watch.CheckoutWatch] = {}
        self._made: dict[Path, SpareCheckout] = {}
        self._reserving = threading.RLock()

    @cached_property
    def _checkouts(self) -> Path:
        if self._outside is None or self._layered():
            return self._home
        prepare_checkouts(self._outside)
        return self._outside

    @cached_property
    def _spares(self) -> Spares:
        found = Spares(self._checkouts)
        found.trash.empty()
        return found

    @cached_property
    def _compiled(self) -> list[str]:
        """List the compiled modules that lie in the project itself, not among installed packages."""
        ours = [path for path in self.ignored() if not path.startswith((".bough/", "build/"))]
        return [path for path in ours if path.endswith(surroundings.COMPILED)]

    def close(self) -> None:
        """Close every open handle. What is on the disk stays, and the workspaces can be used again."""
        while self._watches:
            self._watches.popitem()[1].close()
        self.repository.objects.log.close()

    @in_thread("keep the files of {self._root}")
    def take(self) -> str:
        tree = person_repository.take_files(self._prepared(), self._root)
        self.repository.publish(tree, "")
        return tree

    @in_thread("set up the workspace of {task}")
    def open(
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
        wanted = CheckoutSpec(run, task, tree, folder, sides or {}, start or tree, lender)
        self._prepared(wanted.tree, wanted.start, *wanted.sides.values())
        if Path(folder).is_absolute() or ".." in Path(folder).parts:
            raise WorkspaceError(f"The folder {folder} is outside the project {self._root}: run bough inside it.")
        checkout, scratch = self._find_places(run, task)
        with self._lock_for(checkout):
            claim_checkout(checkout, task)
            try:
                return self._open_at(checkout, scratch, wanted)
            except (OSError, WorkspaceError):
                if not disk.is_folder(checkout):
                    raise
                return self._remake(checkout, scratch, wanted)

    def _remake(self, checkout: Path, scratch: Path, wanted: CheckoutSpec) -> GitWorkspace:
        for place in (checkout, scratch):
            disk.remove(os.fsencode(place))
        return self._open_at(checkout, scratch, wanted)

    def _lock_for(self, place: Path) -> threading.Lock:
        """Return the lock of a workspace. A cancelled caller's thread may still be working there."""
        with self._lock:
            return self._busy.setdefault(place, threading.Lock())

    def _open_at(self, checkout: Path, scratch: Path, wanted: CheckoutSpec) -> GitWorkspace:
        repository, run, task = self.repository, wanted.run, wanted.task
        base = repository.listings.found(wanted.tree)
        top = os.fsencode(checkout)
        owners = [*([wanted.lender] if wanted.lender else []), self._root]
        past = agent_repository.find_history(
            repository.git, self._root, repository.path / "histories" / make_safe_name(run)
        )
        branch = f"{make_safe_name(run)}/{make_safe_name(task)}"
        prepare = partial(agent_repository.prepare, repository, checkout, past, branch, wanted.start, wanted.sides)
        with ThreadPoolExecutor(1) as beside:  # `prepare` mostly waits for git
            lacking = None if disk.is_folder(checkout / ".git") else beside.submit(prepare)
            found = None if disk.is_folder(checkout) else self._make(checkout, base)
        lent = self._borrow(top, wanted.lender)
        links = self._share(top)
        if lacking is not None:
            rules = (repository.path / "info" / "exclude").read_bytes()
            # Add for each link an ignore pattern that matches only its path.
            rules += b"".join(b"\n/" + re.sub(rb"([\\*?\[\] ])", rb"\\\1", path) for path in (*links, *lent)) + b"\n"
            agent_repository.place(lacking.result(), checkout, rules)
        disk.in_folder(scratch.parent, lambda: scratch.mkdir(exist_ok=True))
        scanner = Scanner(
            top,
            ignores=lambda paths: repository.ignores(top, paths),
            clock=repository.clock,
            shared=lambda path, link: any(shared_folders.is_shared(os.fsencode(own), path, link) for own in owners),
        )

        def remake(tree: str) -> GitWorkspace:
            with self._lock_for(checkout):
                return self._remake(checkout, scratch, replace(wanted, tree=tree))

        made = self._made.get(checkout)
        if made is None and found is None and (written := saved_scan.load(find_index(checkout))) is not None:
            made = self._made[checkout] = SpareCheckout(*written)  # An earlier bough process saved the index.
        if made is not None:
            scanner.compare = partial(made.record.list_changed, repository.git, top)
        known = found if found is not None or made is None else made.found
        if (watch := self._watches.pop(checkout, None)) is not None:
            watch.close()
        scanner.watch = checkout_watch.start_watch(top, base, known, fresh=found is not None)
        if scanner.watch is not None:
            self._watches[checkout] = scanner.watch
        start = find_start(checkout, wanted.folder)
        installed = self._surroundings.environment is not None
        native = surroundings.list_sources(path for path, _ in base.files()) if installed else []
        if self._generated is None:
            found_there = surroundings.list_generated(self._root, (os.fsdecode(path) for path, _ in base.files()))
            self._generated = [name for name in found_there if self._comes_along(name)]
        furnish = partial(self._furnish, checkout, native)
        furnish()
        env = self._surroundings.at(checkout, task, find_free_port())
        mounts = [Mount(repository.path / "objects"), *([Mount(Path(past.objects))] if past.objects else [])]
        mounts += [Mount(owners[0] / os.fsdecode(path), "overlay") for path in lent]
        # A folder borrowed from another checkout may contain links into the person's files.
        mounts += self._list_mounts(
            [*links, *(path for path in lent if disk.is_folder(self._root / os.fsdecode(path)))]
        )
        own = (repository, repository.branch(run, task), scanner, KeptPaths(base=base), known, owners, furnish, remake)
        return GitWorkspace(checkout, start, scratch, mounts, *own, wanted.tree, env)

    def _list_mounts(self, links: list[bytes]) -> list[Mount]:
        """List the person's folders that commands use, and may change only in a layer or copy of their own."""
        around = self._surroundings
        places = [self._root / os.fsdecode(path) for path in links]
        if around.environment is not None and not around.environment.inside:
            places.append(around.environment.prefix)
        lent = [Mount(self._root / name) for name in around.link if self._comes_along(name)]
        return [Mount(place, "overlay") for place in places] + lent

    def _furnish(self, checkout: Path, native: list[str]) -> None:
        """Add to a checkout what is in no tree: the person's empty folders, the links and copies that they asked for,
        generated files, and modules that were compiled in place."""
        top = os.fsencode(checkout)
        if native:
            surroundings.copy_modules(self._root, checkout, self._compiled, native)
        for path in person_repository.load_empty_folders(self.repository.path):
            handles.make_folder(top, path)
        for name in self._surroundings.link:
            if self._comes_along(name):
                shared_folders.share(self._top, top, [os.fsencode(name)])
        for name in self._generated or ():
            with suppress(OSError):  # The checkout has no folder for the file.
                if not Place(checkout, name).kind:
                    Place(self._root, name).copy_to(Place(checkout, name))
        for name in self._surroundings.copy:
            if self._comes_along(name) and Place(checkout, name.rpartition("/")[0]).is_folder():
                copy_tree(self._root / name, checkout / name)

    def _comes_along(self, name: str) -> bool:
        """Whether a checkout gets this file or folder of the person's. It must be ignored, because everything else is
        in the tree as it was when the run started, and it must not be a link out of the project, which could lead to
        the person's home."""
        path, kind = os.fsencode(name), Place(self._root, name, links=True).kind
        return kind in ("file", "folder") and path in self.repository.ignores(self._top, [path])

    def _find_places(self, run: str, task: str) -> tuple[Path, Path]:
        inside = f"{make_safe_name(run)}/{make_safe_name(task)}"
        return self._checkouts / "work" / inside, self._checkouts / "scratch" / inside

    def _make(self, checkout: Path, wanted: FileIndex) -> FileIndex:
        """Fill a checkout elsewhere and move it into place in one step, so that every existing checkout is complete. A
        spare checkout is reused if there is one, since it has most files already."""
        self._made.pop(checkout, None)
        disk.remove(os.fsencode(checkout))
        part = checkout.with_name(f"{checkout.name}.part")
        disk.remove(os.fsencode(part))
        part.parent.mkdir(parents=True, exist_ok=True)
        with self._reserving:  # Wait for a checkout that is just being filled: it is ready sooner than a new one.
            known = self._spares.take(part, self.repository.git)
        try:
            found = self._fill(part, known, wanted)
        except (OSError, WorkspaceError):
            if known is None:
                raise
            self._spares.trash.put(part)
            known = None
            found = self._fill(part, None, wanted)
        if checkout_watch.worth(wanted):
            self._made[checkout] = self._record(part, known, found).at(find_index(checkout))
            # Move the index first: an index without a checkout is harmless, but a checkout without its index could not
            # be reused.
            find_index(part).rename(find_index(checkout))
        part.rename(checkout)
        return found

    def _fill(self, part: Path, known: SpareCheckout | None, wanted: FileIndex) -> FileIndex:
        git, clock, trash, top = self.repository.git, self.repository.clock, self._spares.trash, os.fsencode(part)
        if known is None:
            part.mkdir()
            return reclaim(git, top, FileIndex(), None, wanted, clock, trash)
        changed = known.record.list_changed(git, top, known.found, known.asked)
        return reclaim(git, top, known.found, changed, wanted, clock, trash)

    def _record(self, part: Path, known: SpareCheckout | None, found: FileIndex) -> SpareCheckout:
        if known is not None and not saved_scan.is_worth_saving(found):
            return SpareCheckout(known.record, found)
        # These stamps are valid, because only bough has written there since it filled the folders.
        for path, stamp in saved_scan.list_stamps(os.fsencode(part), found):
            found.folders[path].stamp = found.folders[path].stamp or stamp
        now, parts = self.repository.clock(), self.repository.path / "log"
        return SpareCheckout(saved_scan.save(find_index(part), found, now, parts), found)

    def _borrow(self, top: bytes, lender: Path | None) -> list[bytes]:
        """Link the packages that another checkout (`lender`) has installed into this one, and return the linked
        paths."""
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
        ignored = self.repository.ignores(self._top, paths) if paths else set()
        return shared_folders.share(self._top, top, [path for path in paths if path in ignored])

    def ignored(self) -> list[str]:
        """List the person's ignored paths, topmost only; folders end with a slash. Empty if git cannot answer."""
        rules = (f"--exclude-from={self.repository.path / 'info' / 'exclude'}", "--exclude-per-directory=.gitignore")
        asked = ("ls-files", "--others", "--ignored", *rules, "--directory", "-z")
        status, out, _ = self.repository.git.ask(*asked, folder=self._root)
        return [os.fsdecode(path) for path in sorted(person_repository.split_paths(out))] if status == 0 else []

    @in_thread("set up a workspace for {task}")
    def reserve(self, run: str, task: str, tree: str) -> None:
        wanted, checkout = self._prepared(tree).listings.found(tree), self._find_places(run, task)[0]
        with self._reserving:
            if not checkout_watch.worth(wanted) or not self._spares.is_empty():
                return
            try:
                with self._lock_for(checkout):
                    claim_checkout(checkout, task)
                    self._make(checkout, wanted)
            finally:
                self._discard(run, task)

    @in_thread("remove the workspace of {task}")
    def discard(self, run: str, task: str) -> None:
        self._discard(run, task)

    def _discard(self, run: str, task: str) -> None:
        places = self._find_places(run, task)
        with self._lock_for(places[0]):
            if (watching := self._watches.pop(places[0], None)) is not None:
                watching.close()
            for place in reversed(places):  # Remove the owner's note last, so that a sweep can find what is left.
                self._dispose(place)
                for ending in (".part", ".git.part", ".private", SERVICES, OWNER):
                    disk.remove(os.fsencode(place.with_name(place.name + ending)))
                # A task that begins now is safe, because rmdir refuses a folder that is not empty.
                with suppress(OSError):  # Other tasks of the run still use the folder, or it does not exist.
                    place.parent.rmdir()

    def _dispose(self, place: Path) -> None:
        """Keep a checkout for the next task if it can be reused, or else remove it."""
        made = self._made.pop(place, None)
        if disk.is_folder(place) and find_index(place).is_file():
            self._spares.give(place, made)
        else:
            disk.remove(os.fsencode(place))

    @in_thread("clear the workspaces of {run}")
    def sweep(self, run: str, mark: str) -> None:
        folders = [self._checkouts / part / make_safe_name(run) for part in ("work", "scratch")]
        if mark:
            for task in list_abandoned(folders[0], mark):
                self._discard(run, task)
            return
        for place in (place for folder in folders for place in sorted(folder.glob("*"))):
            self._dispose(place)

    @in_thread("remove {run}")
    def forget(self, run: str) -> None:
        """Remove everything that is stored for a run. Only the process that holds the run may call this."""
        name, repository = make_safe_name(run), self._home / "repo.git"
        places = [base / part / name for base in (self._home, self._outside) if base for part in ("work", "scratch")]
        for place in (*places, repository / "refs" / "bough" / name, repository / "histories" / name):
            disk.remove(bytes(place))

    def list_inspections(self) -> list[str]:
        """List the names of the folders for checks that ran outside any run."""
        places = [base / part for base in (self._home, self._outside) if base for part in ("work", "scratch")]
        places.append(self._home / "repo.git" / "histories")
        return sorted({found.name for place in places for found in place.glob(f"{INSPECTION}*")})

    @in_thread("tidy up")
    def compact(self, ids: Collection[str]) -> None:
        """Remove what no run needs any longer. `ids`: the trees that the journal names. Only while no run is active."""
        repository = self._prepared()
        self._spares.clear()
        # The saved scan of the person's files names contents that may be gone afterwards.
        (repository.path / "person").unlink(missing_ok=True)
        # Remove the objects that neither a branch nor one of these ids refers to (some ids may not be objects). This is
        # safe only while nobody else writes.
        git = repository.git
        asked = "".join(f"{id}\n" for id in sorted(ids)).encode()
        said = git.run("cat-file", "--batch-check=%(objectname)", "--buffer", feed=asked) if ids else b""
        there = [line for line in said.decode().splitlines() if not line.endswith("missing")]
        try:
            _refer(git, "create", there)
            # Do not use `git gc`, which would also pack the branches, while bough reads them from their files.
            git.run("repack", "-a", "-d", "-q")
            git.run("prune", "--expire=now")
        finally:
            _refer(git, "delete", there)


def _refer(git: Git, what: str, ids: Collection[str]) -> None:
    lines = "".join(f"{what} {_KEPT}{id}{f' {id}' if what == 'create' else ''}\n" for id in ids)
    if ids:
        git.run("update-ref", "--stdin", feed=lines.encode())
