"""Reads the person's own files and repository: which files are tracked, and the ignore rules besides `.gitignore`
files. Nothing of theirs is written."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from bough.adapters.workspaces import disk, saved_scan
from bough.adapters.workspaces.file_index import FileIndex, Tracked, join_path, write_tree
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import JUNK
from bough.adapters.workspaces.objects import Batch
from bough.adapters.workspaces.repository import Repository
from bough.adapters.workspaces.scan import HOME, PERSONS, Scanner
from bough.core.errors import WorkspaceError
from bough.trust.files import Place, read_own


def take_files(repository: Repository, root: Path) -> str:
    """Store the person's files as they are now, and return the id of their tree."""
    git, top = repository.git, os.fsencode(root)
    rules, person = repository.path / "info" / "exclude", repository.path / "person"
    # Ask git everything at the same time, because each call takes longer to start than to answer.
    with ThreadPoolExecutor() as asking:
        everywhere = asking.submit(read_global_excludes, git, root)
        tracked = asking.submit(list_tracked, git, root)
        altered = asking.submit(git.list_altered, top, person)
        loading = asking.submit(_load_files, repository)
        here = read_own_excludes(git, root)
        mine = Tracked(tracked.result() if here is not None else ())
        record, before = loading.result()
        for paths in asking.map(partial(list_embedded, git, root), before.embedded):
            mine.add(paths)
        # These are the rules besides `.gitignore` files: bough's own, then the person's, which take precedence.
        excludes = b"\n".join([JUNK.encode(), everywhere.result(), here or b""])
    settled = rules.read_bytes() == excludes
    if not settled:
        disk.write_whole(rules, excludes, parts=repository.path / "log")
    scanner = Scanner(
        top,
        ignores=lambda paths: repository.ignores(top, paths),
        clock=repository.clock,
        own=False,
        bounds=PERSONS,
        embedded=partial(list_embedded, git, root),
    )
    now = scanner.now()
    if record is None:
        settled = False
    else:
        # Whether a path is tracked matters only if a rule ignores it.
        moved = mine.paths ^ split_paths(record.note)
        settled = settled and not (moved and repository.ignores(top, moved) - {b""})
        scanner.compare = partial(record.list_changed, git, top, asked=altered)
    with Batch(repository.objects, ask=True) as batch:
        found = scanner.scan(before if record is not None else None, mine, batch, settled=settled)
        id = write_tree(found, batch)
        batch.flush()
    if not settled or saved_scan.is_worth_saving(found):
        note = b"".join(b"%s\0" % path for path in sorted(mine.paths))
        saved_scan.save(person, found, now, repository.path / "log", note)
    save_empty_folders(repository.path, found.empty())
    repository.listings.know(id.hex(), found)
    return id.hex()


def _load_files(repository: Repository) -> tuple[saved_scan.SavedScan | None, FileIndex]:
    """Load the last scan of the person's files, if their contents are still in the repository."""
    known = saved_scan.load(repository.path / "person")
    if known is not None:
        last = known[1].folders[b""].id
        if last is not None and repository.existing([last]):
            return known
    return None, FileIndex()


def read_own_excludes(git: Git, root: Path) -> bytes | None:
    """Read the ignore rules in `info/exclude` of the person's repository. Return None if there is no repository. Raises
    `WorkspaceError` if git cannot answer."""
    status, out, complaint = git.ask("rev-parse", "--is-inside-work-tree", "--git-path", "info/exclude", folder=root)
    inside, _, name = out.partition(b"\n")
    if status == 0 and inside == b"true":
        file = root / os.fsdecode(name.removesuffix(b"\n"))
        return Place(file.parent.parent, f"{file.parent.name}/{file.name}").text().encode()
    if status == 0:
        raise WorkspaceError(f"{root} is the inside of a git repository: run bough in a working tree of it.")
    if "not a git repository" in complaint and not Place(root, ".git").kind:
        return None
    raise WorkspaceError(f"git cannot read the repository at {root}: {complaint}.")


def list_tracked(git: Git, root: Path) -> set[bytes]:
    status, out, complaint = git.ask("ls-files", "-z", folder=root)
    if status != 0:
        raise WorkspaceError(f"git cannot list the files of {root}: {complaint}.")
    if b"\0%s/" % HOME in b"\0" + out or b"\0%s\0" % HOME in b"\0" + out:  # one search for all paths
        raise WorkspaceError(
            f"This repository has {HOME.decode()} under version control, which is bough's private folder: "
            f"run `git rm -r -q --cached {HOME.decode()}` and move it elsewhere, then run bough again."
        )
    return split_paths(out)


def list_embedded(git: Git, root: Path, folder: bytes) -> set[bytes]:
    """List the files that a submodule or an embedded repository tracks, as paths from the root.

    If git cannot answer, the files count as untracked, and are kept unless a rule ignores them.
    """
    place = root / os.fsdecode(folder)
    if Place(root, f"{os.fsdecode(folder)}/.git").kind not in ("file", "folder"):
        return set()
    status, out, _ = git.ask("ls-files", "-z", folder=place)
    return {join_path(folder, path) for path in split_paths(out)} if status == 0 else set()


def read_global_excludes(git: Git, root: Path) -> bytes:
    """Read the person's ignore rules for all projects. Only the person's own settings may name that file: a repository
    could name any file, whose content would then appear in a checkout."""
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"))  # noqa: PTH111 - never fails
    named = settings / "git" / "ignore"
    asked = ("config", "--show-scope", "-z", "--path", "--get-all", "core.excludesFile")
    listed = git.ask(*asked, folder=root)[1].split(b"\0")
    for scope, name in zip(listed[::2], listed[1::2], strict=False):
        named = Path(os.fsdecode(name)) if scope in (b"system", b"global") else named
    try:
        return read_own(named) if named.is_absolute() else b""
    except OSError:
        return b""


def split_paths(out: bytes) -> set[bytes]:
    """Split a list of paths, each of which ends with a zero byte."""
    return set(out.split(b"\0")) - {b""}


MANY = 1_000
"""The most empty folders of the person that are recreated in a checkout."""


def save_empty_folders(repository: Path, folders: Sequence[bytes]) -> None:
    """Save the list of the person's empty folders, which no git tree can hold, although programs write into them."""
    body, place = b"\0".join(folders[:MANY]), repository / "empty"
    if (place.read_bytes() if place.exists() else b"") != body:
        disk.write_whole(place, body, durable=False)


def load_empty_folders(repository: Path) -> list[bytes]:
    try:
        body = (repository / "empty").read_bytes()
    except FileNotFoundError:
        return []
    return [path for path in body.split(b"\0") if path and b".." not in path.split(b"/")]
