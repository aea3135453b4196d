"""The person's own repository, only ever read: which files they track, and what they ignore outside `.gitignore`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.file_index import join_path
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import JUNK
from bough.adapters.workspaces.scan import HOME
from bough.core.errors import WorkspaceError


def find_own_excludes(git: Git, root: Path) -> Path | None:
    """The file of ignore rules of the repository that contains the files; None when there is none. An error when git
    cannot tell."""
    status, out, complaint = git.ask("rev-parse", "--is-inside-work-tree", "--git-path", "info/exclude", folder=root)
    inside, _, name = out.partition(b"\n")
    if status == 0 and inside == b"true":
        return root / os.fsdecode(name.removesuffix(b"\n"))
    if status == 0:
        raise WorkspaceError(f"{root} is the inside of a git repository: run bough in a working tree of it.")
    if "not a git repository" in complaint and not (root / ".git").exists():
        return None
    raise WorkspaceError(f"git cannot read the repository at {root}: {complaint}.")


def list_tracked(git: Git, root: Path) -> set[bytes]:
    status, out, complaint = git.ask("ls-files", "-z", folder=root)
    if status != 0:
        raise WorkspaceError(f"git cannot list the files of {root}: {complaint}.")
    if b"\0%s/" % HOME in b"\0" + out or b"\0%s\0" % HOME in b"\0" + out:  # one search, not one a path
        raise WorkspaceError(
            f"This repository has {HOME.decode()} under version control, which is bough's private folder: "
            f"run `git rm -r -q --cached {HOME.decode()}` and move it elsewhere, then run bough again."
        )
    return split_paths(out)


def list_ignored(git: Git, root: Path) -> list[str]:
    """The person's ignored paths, topmost only; a folder's with a slash. Nothing when git cannot tell."""
    asked = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    status, out, _ = git.ask(*asked, folder=root)
    return [os.fsdecode(path) for path in sorted(split_paths(out))] if status == 0 else []


def list_embedded(git: Git, root: Path, folder: bytes) -> set[bytes]:
    """What a submodule or an embedded repository tracks, as paths from the root.

    When git cannot tell, its files count as untracked: kept unless a rule ignores them.
    """
    place = root / os.fsdecode(folder)
    if not (place / ".git").exists():
        return set()
    status, out, _ = git.ask("ls-files", "-z", folder=place)
    return {join_path(folder, path) for path in split_paths(out)} if status == 0 else set()


def find_global_excludes(git: Git, root: Path) -> Path:
    """The file of the person's ignore rules for all projects."""
    unset, name, _ = git.ask("config", "--path", "--get", "core.excludesFile", folder=root)
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"))  # noqa: PTH111 - never fails
    return settings / "git" / "ignore" if unset else root / os.fsdecode(name.removesuffix(b"\n"))


def join_rules(*files: Path | None) -> bytes:
    """The ignore rules besides those in `.gitignore`: bough's own, and those in the files; later ones are stronger."""
    return b"\n".join([JUNK.encode(), *(path.read_bytes() for path in files if path is not None and path.is_file())])


def split_paths(out: bytes) -> set[bytes]:
    """Those of a list with a zero byte behind each."""
    return set(out.split(b"\0")) - {b""}


MANY = 1_000
"""Empty folders that are recreated at most."""


def save_empty_folders(repository: Path, folders: Sequence[bytes]) -> None:
    """Remember the person's empty folders: no git tree holds them, and programs write into them."""
    body, place = b"\0".join(folders[:MANY]), repository / "empty"
    if (place.read_bytes() if place.exists() else b"") != body:
        disk.write_whole(place, body, durable=False)


def load_empty_folders(repository: Path) -> list[bytes]:
    try:
        body = (repository / "empty").read_bytes()
    except FileNotFoundError:
        return []
    return [path for path in body.split(b"\0") if path and b".." not in path.split(b"/")]
