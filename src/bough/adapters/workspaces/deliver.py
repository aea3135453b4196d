"""Commits of a run's work in the person's own repository, made only when they ask for one.

Nothing that the repository names is started: no hook, filter, monitor or signing program, since it may be an archive
that somebody else packed. With `hooks` the commit is like any other of theirs. A branch is created without touching
their files or index.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.workspaces.git_program import HARMLESS
from bough.core.errors import UsageError, WorkspaceError
from bough.trust.programs import make_environment, run_program

_UNSIGNED = ("-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "core.untrackedCache=false")


def commit(root: Path, paths: Sequence[str], message: str, hooks: bool = False) -> str:
    """Commit these files as they are now, and nothing else that is staged or changed."""
    # Literal, because a name with `*` or `[` is a pattern to git; forced, because a tracked file that an ignore rule
    # names would be refused.
    named = [f":(literal){path}" for path in paths]
    quiet = () if hooks else (*_UNSIGNED, *_override_filters(root))
    _run_git(root, [*quiet, "add", "--all", "--force", "--", *named], hooks=hooks)
    # Only these: what else the person has staged stays staged.
    _run_git(root, [*quiet, "commit", "--quiet", "--file=-", "--only", "--", *named], message, hooks=hooks)
    return _run_git(root, ["rev-parse", "HEAD"]).strip()


def _override_filters(root: Path) -> list[str]:
    """The filters that the repository's own settings define, as the person's settings have them: as nothing, mostly."""
    listed = _run_git(root, ["config", "--list", "--show-scope", "-z"]).split("\0")
    theirs, own = dict[str, str](), set[str]()
    for scope, entry in zip(listed[::2], listed[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if name.startswith("filter."):
            theirs |= {name: value} if scope in ("global", "system") else {}
            own |= {name} if scope in ("local", "worktree") else set()
    return [word for name in sorted(own) for word in ("-c", f"{name}={theirs.get(name, '')}")]


Files = Mapping[str, tuple[str, bytes] | None]
"""Contents with their modes; None: the file is removed."""


def create_branch(root: Path, name: str, commits: Sequence[tuple[Files, str]], at: str = "HEAD") -> str:
    """A new branch from that commit with these on top."""
    require_free_branch(root, name)
    made = _chain_commits(root, commits, at)
    _run_git(root, ["branch", "--", name, made])
    return made


def require_free_branch(root: Path, name: str) -> None:
    """Refuse a name that is taken, or that git does not take."""
    _run_git(root, ["check-ref-format", "--branch", name])
    if find_commit(root, f"refs/heads/{name}"):
        raise UsageError(f"The branch {name} already exists: choose another name, or remove it first.")


def find_commit(root: Path, ref: str) -> str:
    """The commit that a ref leads to; empty: there is none."""
    return _run_git(root, ["rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"], fine=(0, 1, 128)).strip()


def commit_each(root: Path, commits: Sequence[tuple[Files, str]]) -> str:
    """Put these commits on top of HEAD, whose files are already in place. Hooks do not run: the files of an
    intermediate commit are nowhere for them to inspect."""
    made = _chain_commits(root, commits)
    _run_git(root, ["update-ref", "-m", "bough apply", "HEAD", made])
    paths = dict.fromkeys(path for files, _ in commits for path in files)
    _run_git(root, ["reset", "--quiet", "--", *(f":(literal){path}" for path in paths)])
    return made


def _chain_commits(root: Path, commits: Sequence[tuple[Files, str]], at: str = "HEAD") -> str:
    """One after the other from that commit, without touching the person's files or index."""
    parent = at
    with tempfile.TemporaryDirectory() as folder:
        env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        _run_git(root, ["read-tree", at], env=env)
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


def read_texts_at(root: Path, paths: Sequence[str], at: str) -> dict[str, bytes | None]:
    """The content of these files in a commit; None where there is none."""
    found: dict[str, bytes | None] = {}
    for path in paths:
        argv = ["git", "-C", str(root), *HARMLESS, "cat-file", "blob", f"{at}:{path}"]
        asked = run_program(argv, project=root)
        found[path] = asked.stdout if asked.returncode == 0 else None
    return found


def _run_git(
    root: Path,
    args: Sequence[str],
    feed: str | bytes = "",
    env: Mapping[str, str] | None = None,
    fine: Sequence[int] = (0,),
    hooks: bool = False,
) -> str:
    body = feed.encode() if isinstance(feed, str) else feed
    around = dict(os.environ) if hooks else make_environment()
    argv = ["git", "-C", str(root), *(() if hooks else HARMLESS), *args]
    try:
        done = run_program(argv, project=root, env={**around, **(env or {})}, feed=body)
    except FileNotFoundError:
        raise WorkspaceError("git was not found on PATH: install git.") from None
    if done.returncode not in fine:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        name = next(arg for arg in args if arg[:1] != "-" and "=" not in arg)
        raise WorkspaceError(f"git {name} failed in {root}: {said[-1] if said else 'it gave no reason'}.")
    return done.stdout.decode(errors="replace")
