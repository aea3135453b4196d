"""Commits of a run's work in the person's own repository, made only when they ask for one.

No program that the repository names is started (hook, filter, monitor, signing), since it may be an archive that
somebody else packed. With `hooks` the commit is like any other of theirs. A branch is created without touching their
files or index.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.workspaces.git_program import run_git
from bough.core.errors import UsageError, WorkspaceError
from bough.trust.programs import make_environment
from bough.trust.remotes import HARMLESS

_UNSIGNED = ("-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "core.untrackedCache=false")


def commit(root: Path, paths: Sequence[str], message: str, hooks: bool = False) -> str:
    """Commit these files as they are now, and nothing else that is staged or changed."""
    # Literal, because a name with `*` or `[` is a pattern to git; forced, because a tracked file that an ignore rule
    # names would be refused.
    named = [f":(literal){path}" for path in paths]
    quiet = () if hooks else (*_UNSIGNED, *_override_filters(root))
    _run_git(root, [*quiet, "add", "--all", "--force", "--", *named], hooks=hooks)
    # Only these: whatever else the person staged stays staged.
    _run_git(root, [*quiet, "commit", "--quiet", "--file=-", "--only", "--", *named], message.encode(), hooks=hooks)
    return _run_git(root, ["rev-parse", "HEAD"]).strip()


def _override_filters(root: Path) -> list[str]:
    """Replace the filters of the repository's own settings by the person's, which are mostly empty."""
    listed = _run_git(root, ["config", "--list", "--show-scope", "-z"]).split("\0")
    theirs, own = dict[str, str](), set[str]()
    for scope, entry in zip(listed[::2], listed[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if name.startswith("filter."):
            theirs |= {name: value} if scope in ("global", "system") else {}
            own |= {name} if scope in ("local", "worktree") else set()
    return [word for name in sorted(own) for word in ("-c", f"{name}={theirs.get(name, '')}")]


Files = Mapping[str, tuple[str, bytes] | None]
"""Contents with their modes; None: removed."""


def create_branch(root: Path, name: str, commits: Sequence[tuple[Files, str]], at: str = "HEAD") -> str:
    """Create a branch from that commit with these on top."""
    require_free_branch(root, name)
    return _chain_commits(root, commits, f"refs/heads/{name}", at)


def require_free_branch(root: Path, name: str) -> None:
    """Refuse a branch name that exists, or that git rejects."""
    _run_git(root, ["check-ref-format", "--branch", name])
    if find_commit(root, f"refs/heads/{name}"):
        raise UsageError(f"The branch {name} already exists: choose another name, or remove it first.")


def find_commit(root: Path, ref: str) -> str:
    """The commit that a ref leads to; empty: there is none."""
    return _run_git(root, ["rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"], fine=(0, 1, 128)).strip()


def find_run(root: Path, commit: str) -> str:
    """Find the run that made a commit, by its message; empty: none did."""
    return _run_git(root, ["log", "-1", "--format=%(trailers:key=Bough-Run,valueonly)", commit], fine=(0, 128)).strip()


def contains(root: Path, at: str, commit: str) -> bool:
    """Whether a commit exists and has another one in its history."""
    both = bool(at and commit and find_commit(root, at) and find_commit(root, commit))
    return both and _run_git(root, ["rev-list", "-1", commit, f"^{at}"]).strip() == ""


def find_branch(root: Path) -> str:
    """The branch that the person is on; empty: none, or no repository."""
    return _run_git(root, ["symbolic-ref", "--quiet", "--short", "HEAD"], fine=(0, 1, 128)).strip()


def remove_branch(root: Path, name: str, tip: str) -> None:
    """Remove a branch, unless it has moved on from that commit."""
    _run_git(root, ["update-ref", "-d", f"refs/heads/{name}", tip])


def commit_each(root: Path, commits: Sequence[tuple[Files, str]]) -> str:
    """Put these commits on top of HEAD, whose files are already in place. Hooks do not run: the files of an
    intermediate commit are nowhere on disk for them to inspect."""
    made = _chain_commits(root, commits, "refs/bough/apply", "HEAD", "--force")  # left from a crash
    _run_git(root, ["update-ref", "-m", "bough apply", "HEAD", made])
    _run_git(root, ["update-ref", "-d", "refs/bough/apply"])
    paths = dict.fromkeys(path for files, _ in commits for path in files)
    _run_git(root, ["reset", "--quiet", "--", *(f":(literal){path}" for path in paths)])
    return made


def _chain_commits(root: Path, commits: Sequence[tuple[Files, str]], ref: str, at: str, *options: str) -> str:
    """Create the commits one after the other from that one, under that ref, without touching the person's files or
    index. One program makes all of them: a run may have changed a thousand files."""
    author, committer = (_run_git(root, ["var", f"GIT_{who}_IDENT"]).strip() for who in ("AUTHOR", "COMMITTER"))
    feed = bytearray()
    for number, (files, message) in enumerate(commits, 1):
        feed += f"commit {ref}\nmark :{number}\nauthor {author}\ncommitter {committer}\n".encode()
        feed += _measure(f"{message.rstrip()}\n".encode()) + (f"from {at}^0\n".encode() if number == 1 else b"")
        # Removals first: a folder may be where a file was.
        feed += b"".join(b"D %b\n" % _quote(path) for path, file in files.items() if file is None)
        for path, file in files.items():
            if file is not None:
                feed += b"M %b inline %b\n%b" % (file[0].encode(), _quote(path), _measure(file[1]))
    feed += f"get-mark :{len(commits)}\n".encode()
    return _run_git(root, ["fast-import", "--quiet", *options], bytes(feed)).strip()


def _measure(body: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(body), body)


def _quote(path: str) -> bytes:
    """A path as fast-import reads it, whatever characters it has."""
    escaped = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%b"' % escaped


def read_texts_at(root: Path, paths: Sequence[str], at: str) -> dict[str, bytes | None]:
    """Read these files in a commit; None: no such file."""
    # A name with a line break would read as two requests, so it goes alone.
    plain = [path for path in paths if "\n" not in path]
    found = dict.fromkeys(paths, None) | {path: _read_text_at(root, path, at) for path in paths if path not in plain}
    asked = b"".join(os.fsencode(f"{at}:{path}\n") for path in plain)
    words = (*HARMLESS, "cat-file", "--batch=%(objecttype) %(objectsize)")
    said = run_git(root, words, str(root), make_environment(), asked).stdout
    for path in plain:
        head, _, said = said.partition(b"\n")
        if not head.endswith(b" missing"):
            kind, _, size = head.partition(b" ")
            found[path] = said[: int(size)] if kind == b"blob" else None
            said = said[int(size) + 1 :]
    return found


def _read_text_at(root: Path, path: str, at: str) -> bytes | None:
    words = (*HARMLESS, "cat-file", "blob", f"{at}:{path}")
    asked = run_git(root, words, str(root), make_environment())
    return asked.stdout if asked.returncode == 0 else None


def _run_git(
    root: Path,
    args: Sequence[str],
    feed: bytes = b"",
    fine: Sequence[int] = (0,),
    hooks: bool = False,
) -> str:
    around = dict(os.environ) if hooks else make_environment()
    words = args if hooks else (*HARMLESS, *args)
    done = run_git(root, words, str(root), around, feed, endless=True)
    if done.returncode not in fine:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        name = next(arg for arg in args if arg[:1] != "-" and "=" not in arg)
        raise WorkspaceError(f"git {name} failed in {root}: {said[-1] if said else 'it gave no reason'}.")
    return done.stdout.decode(errors="replace")
