"""Removing runs from bough's own repository, and the contents that no other run needs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.git_program import Git

_KEPT = "refs/kept/"
"""During compaction: what journals name is in no branch."""


def forget(home: Path, outside: Path | None, name: str) -> None:
    """Remove checkouts, temporary files, branches and the history of a run. `name`: the name of its folders;
    `outside`: where its checkouts may lie besides `home`."""
    repository = home / "repo.git"
    places = [base / part / name for base in (home, outside) if base for part in ("work", "scratch")]
    places += [repository / "refs" / "bough" / name, repository / "histories" / name]
    for place in places:
        disk.remove(bytes(place))


def compact(git: Git, ids: Collection[str]) -> None:
    """Remove the objects that nothing refers to: no branch, and none of these ids (some may not be objects). Only while
    no one else writes."""
    asked = "".join(f"{id}\n" for id in sorted(ids)).encode()
    said = git.run("cat-file", "--batch-check=%(objectname)", "--buffer", feed=asked) if ids else b""
    there = [line for line in said.decode().splitlines() if not line.endswith("missing")]
    try:
        _refer(git, "create", there)
        # Not `git gc`: it would pack the branches too, which bough reads from their files.
        git.run("repack", "-a", "-d", "-q")
        git.run("prune", "--expire=now")
    finally:
        _refer(git, "delete", there)


def _refer(git: Git, what: str, ids: Collection[str]) -> None:
    lines = "".join(f"{what} {_KEPT}{id}{f' {id}' if what == 'create' else ''}\n" for id in ids)
    if ids:
        git.run("update-ref", "--stdin", feed=lines.encode())
