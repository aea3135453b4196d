"""Commits a run's work in the person's own repository, only when they ask for it.

No program that the repository names is started (hook, filter, monitor, signing), since the repository may be somebody
else's, from an archive. With `hooks` the commit is made like any other of the person's. A branch is created without
touching their files or index."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.adapters.workspaces.git_program import run_git
from bough.core.errors import UsageError, WorkspaceError
from bough.trust.programs import make_environment
from bough.trust.remotes import HARMLESS

_UNSIGNED = ("-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false", "-c", "core.untrackedCache=false")


def commit(root: Path, paths: Sequence[str], message: str, hooks: bool = False) -> str:
    """Commit these files as they are now, and nothing else that is staged or changed. Return the commit."""
    # Use literal paths, because a name with `*` or `[` is a pattern to git, and --force, because git would refuse a
    # tracked file that an ignore rule names.
    named = [f":(literal){path}" for path in paths]
    quiet = () if hooks else (*_UNSIGNED, *_override_filters(root))
    _run_git(root, [*quiet, "add", "--all", "--force", "--", *named], hooks=hooks)
    # With --only, whatever else the person staged stays staged.
    _run_git(root, [*quiet, "commit", "--quiet", "--file=-", "--only", "--", *named], message.encode(), hooks=hooks)
    return _run_git(root, ["rev-parse", "HEAD"]).strip()


def _override_filters(root: Path) -> list[str]:
    """Return options that replace the filters of the repository's settings by the person's own, or else by none."""
    listed = _run_git(root, ["config", "--list", "--show-scope", "-z"]).split("\0")
    theirs, own = dict[str, str](), set[str]()
    for scope, entry in zip(listed[::2], listed[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if name.startswith("filter."):
            theirs |= {name: value} if scope in ("global", "system") else {}
            own |= {name} if scope in ("local", "worktree") else set()
    return [word for name in sorted(own) for word in ("-c", f"{name}={theirs.get(name, '')}")]


Files = Mapping[str, tuple[str, bytes] | None]
"""The mode and content of each changed file, by path; None: the file is removed."""


def create_branch(root: Path, name: str, commits: Sequence[tuple[Files, str]], at: str = "HEAD") -> str:
    """Create a branch with these commits on top of the commit `at`. Return the last one."""
    require_free_branch(root, name)
    return _chain_commits(root, commits, f"refs/heads/{name}", at)


def require_free_branch(root: Path, name: str) -> None:
    """Raise an error if a branch of that name exists, or git rejects the name."""
    _run_git(root, ["check-ref-format", "--branch", name])
    if find_commit(root, f"refs/heads/{name}"):
        raise UsageError(f"The branch {name} already exists: choose another name, or remove it first.")


def find_commit(root: Path, ref: str) -> str:
    """Return the commit that a ref leads to; empty if there is none."""
    return _run_git(root, ["rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"], fine=(0, 1, 128)).strip()


def find_run(root: Path, commit: str) -> str:
    """Return the run that made a commit, as the commit's message says; empty if no run did."""
    return _run_git(root, ["log", "-1", "--format=%(trailers:key=Bough-Run,valueonly)", commit], fine=(0, 128)).strip()


def contains(root: Path, at: str, commit: str) -> bool:
    """Whether both commits exist, and `at` has `commit` in its history or is the same."""
    both = bool(at and commit and find_commit(root, at) and find_commit(root, commit))
    return both and _run_git(root, ["rev-list", "-1", commit, f"^{at}"]).strip() == ""


def find_branch(root: Path) -> str:
    """Return the branch that the person is on; empty if there is none, or no repository."""
    return _run_git(root, ["symbolic-ref", "--quiet", "--short", "HEAD"], fine=(0, 1, 128)).strip()


def remove_branch(root: Path, name: str, tip: str) -> None:
    """Remove a branch, if its last commit is still `tip`."""
    _run_git(root, ["update-ref", "-d", f"refs/heads/{name}", tip])


def commit_each(root: Path, commits: Sequence[tuple[Files, str]]) -> str:
    """Put these commits on top of HEAD; the files of the last one are already in place. Hooks do not run, because the
    files of the other commits are not on disk, where hooks could inspect them."""
    # Overwrite a ref that a crash may have left.
    made = _chain_commits(root, commits, "refs/bough/apply", "HEAD", "--force")
    _run_git(root, ["update-ref", "-m", "bough apply", "HEAD", made])
    _run_git(root, ["update-ref", "-d", "refs/bough/apply"])
    paths = dict.fromkeys(path for files, _ in commits for path in files)
    _run_git(root, ["reset", "--quiet", "--", *(f":(literal){path}" for path in paths)])
    return made


def _chain_commits(root: Path, commits: Sequence[tuple[Files, str]], ref: str, at: str, *options: str) -> str:
    """Create the commits one on top of the other, beginning at `at`, and point `ref` to the last, without touching the
    person's files or index. One git program makes all of them, because a run may have changed a thousand files."""
    author, committer = (_run_git(root, ["var", f"GIT_{who}_IDENT"]).strip() for who in ("AUTHOR", "COMMITTER"))
    feed = bytearray()
    for number, (files, message) in enumerate(commits, 1):
        feed += f"commit {ref}\nmark :{number}\nauthor {author}\ncommitter {committer}\n".encode()
        feed += _measure(f"{message.rstrip()}\n".encode()) + (f"from {at}^0\n".encode() if number == 1 else b"")
        # Removals come first, because a folder may take the place of a file.
        feed += b"".join(b"D %b\n" % _quote(path) for path, file in files.items() if file is None)
        for path, file in files.items():
            if file is not None:
                feed += b"M %b inline %b\n%b" % (file[0].encode(), _quote(path), _measure(file[1]))
    feed += f"get-mark :{len(commits)}\n".encode()
    return _run_git(root, ["fast-import", "--quiet", *options], bytes(feed)).strip()


def _measure(body: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(body), body)


def _quote(path: str) -> bytes:
    return b'"%b"' % os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def read_texts_at(root: Path, paths: Sequence[str], at: str) -> dict[str, bytes | None]:
    """Read these files in a commit; None for a file that it does not have."""
    # A name with a line break would be taken for two requests, so it is asked for separately.
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
    asked = run_git(root, (*HARMLESS, "cat-file", "blob", f"{at}:{path}"), str(root), make_environment())
    return asked.stdout if asked.returncode == 0 else None


def _run_git(
    root: Path,
    args: Sequence[str],
    feed: bytes = b"",
    fine: Sequence[int] = (0,),
    hooks: bool = False,
) -> str:
    around = dict(os.environ) if hooks else make_environment()
    done = run_git(root, args if hooks else (*HARMLESS, *args), str(root), around, feed, endless=True)
    if done.returncode not in fine:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        name = next(arg for arg in args if arg[:1] != "-" and "=" not in arg)
        raise WorkspaceError(f"git {name} failed in {root}: {said[-1] if said else 'it gave no reason'}.")
    return done.stdout.decode(errors="replace")
