"""Commits of a run's work in the person's own repository, made only when they ask for one.

Their hooks and settings apply, as with any commit of theirs. A branch is created without touching their files or index.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.core.errors import UsageError, WorkspaceError


def commit(root: Path, paths: Sequence[str], message: str) -> str:
    """Commit these files as they are now, and nothing else that is staged or changed."""
    # Literal, because a name with `*` or `[` is a pattern to git; forced, because a tracked file that an ignore rule
    # names would be refused.
    _run_git(root, ["add", "--all", "--force", "--", *(f":(literal){path}" for path in paths)])
    # Only these: what else the person has staged stays staged.
    _run_git(root, ["commit", "--quiet", "--file=-", "--only", "--", *(f":(literal){path}" for path in paths)], message)
    return _run_git(root, ["rev-parse", "HEAD"]).strip()


Files = Mapping[str, tuple[str, bytes] | None]
"""Contents with their modes; None: the file is removed."""


def create_branch(root: Path, name: str, commits: Sequence[tuple[Files, str]]) -> str:
    """A new branch from HEAD with these commits."""
    _run_git(root, ["check-ref-format", "--branch", name])
    if _run_git(root, ["rev-parse", "--verify", "--quiet", f"refs/heads/{name}"], fine=(0, 1)).strip():
        raise UsageError(f"The branch {name} already exists: choose another name, or remove it first.")
    made = _chain_commits(root, commits)
    _run_git(root, ["branch", "--", name, made])
    return made


def commit_each(root: Path, commits: Sequence[tuple[Files, str]]) -> str:
    """Put these commits on top of HEAD, whose files are already in place. Hooks do not run: the files of an
    intermediate commit are nowhere for them to inspect."""
    made = _chain_commits(root, commits)
    _run_git(root, ["update-ref", "-m", "bough apply", "HEAD", made])
    paths = dict.fromkeys(path for files, _ in commits for path in files)
    _run_git(root, ["reset", "--quiet", "--", *(f":(literal){path}" for path in paths)])
    return made


def _chain_commits(root: Path, commits: Sequence[tuple[Files, str]]) -> str:
    """One after the other from HEAD, without touching the person's files or index."""
    parent = "HEAD"
    with tempfile.TemporaryDirectory() as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        _run_git(root, ["read-tree", "HEAD"], env=env)
        for files, message in commits:
            for path, file in files.items():
                if file is None:
                    _run_git(root, ["update-index", "--force-remove", "--", path], env=env)
                    continue
                mode, body = file
                made = _run_git(root, ["hash-object", "-w", "--stdin"], body).strip()
                _run_git(root, ["update-index", "--add", "--cacheinfo", f"{mode},{made},{path}"], env=env)
            tree = _run_git(root, ["write-tree"], env=env).strip()
            parent = _run_git(root, ["commit-tree", tree, "-p", parent, "-F", "-"], message).strip()
    return parent


def read_texts_at_head(root: Path, paths: Sequence[str]) -> dict[str, bytes | None]:
    """The content of these files in the last commit; None where there is none."""
    found: dict[str, bytes | None] = {}
    for path in paths:
        asked = subprocess.run(["git", "-C", str(root), "cat-file", "blob", f"HEAD:{path}"], capture_output=True)
        found[path] = asked.stdout if asked.returncode == 0 else None
    return found


def _run_git(
    root: Path,
    args: Sequence[str],
    feed: str | bytes = "",
    env: Mapping[str, str] | None = None,
    fine: Sequence[int] = (0,),
) -> str:
    body = feed.encode() if isinstance(feed, str) else feed
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *args], input=body, capture_output=True, env={**os.environ, **(env or {})}
        )
    except FileNotFoundError:
        raise WorkspaceError("git was not found on PATH: install git.") from None
    if done.returncode not in fine:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise WorkspaceError(f"git {args[0]} failed in {root}: {said[-1] if said else 'it gave no reason'}.")
    return done.stdout.decode(errors="replace")
