"""The only way to a remote: git and the clients of forges (`gh`, `glab`) run in a temporary repository that bough
makes.

It has the project's objects, one branch and the address of the project's `origin`, but none of the project's git
settings (hooks, helpers, ssh command, rewritten addresses), which could start programs if its `.git` came in an
archive. The person's own settings (`~/.gitconfig`, keys and credentials) apply as usual."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bough.core.errors import Unavailable
from bough.trust.files import Place
from bough.trust.programs import is_within, make_environment, make_tracker_environment, run_program

PROTOCOLS = "file:git:ssh:http:https"
HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat")
"""Options that keep a repository's own settings from starting programs while bough only reads it."""
_RECEIVE = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.autogc=false"
_RECEIVE += " -c receive.denyCurrentBranch=refuse receive-pack"
"""The program that receives a push on this machine. It runs no hooks: the repository may come from an archive."""
_REMOTE = re.compile(r"(?:https?|ssh|git)://[^-\s]\S*|(?:[\w.-]+@)?\w[\w.-]*:(?![:/])\S+")
_LFS = b"version https://git-lfs"
_POINTER = 1024


@contextmanager
def open_clean_repository(root: Path, branch: str = "") -> Iterator[Path]:
    """Make a temporary repository with the address of the project's `origin`, if any, and one of its branches."""
    with tempfile.TemporaryDirectory(prefix="bough-remote-") as made:
        own = Place(made, ".git/config")
        own.make_parents()
        for name in ("refs/x", "objects/info/x"):
            Place(made, f".git/{name}").make_parents()
        version = 1 if (kind := _ask(root, "rev-parse", "--show-object-format")) not in ("", "sha1") else 0
        extension = f"[extensions]\n\tobjectFormat = {kind}\n" if version else ""
        own.write(f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{extension}".encode())
        Place(made, ".git/HEAD").write(b"ref: refs/heads/none\n")
        if common := _find_common(root):
            Place(made, ".git/objects/info/alternates").write(f"{common}/objects\n".encode())
            if Place(common, "shallow").is_regular():
                Place(common, "shallow").copy_to(Place(made, ".git/shallow"))
        if url := _find_address(root):
            _run(root, ("git", "config", "--file", f"{made}/.git/config", "remote.origin.url", url), made)
        if branch:
            commit = _ask(root, "rev-parse", "--verify", f"refs/heads/{branch}^{{commit}}")
            _run(root, ("git", "update-ref", f"refs/heads/{branch}", commit), made)
        yield Path(made)


def push_branch(root: Path, branch: str, timeout: float) -> list[str]:
    """Push a branch to `origin` with the person's own credentials; return remarks for them."""
    if not (url := _find_address(root)):
        raise Unavailable("The repository has no remote `origin`: add one with `git remote add origin URL`.")
    if lfs := _find_lfs(root, branch):
        raise Unavailable(f"{lfs} is kept by Git LFS, which bough does not push: `git push origin {branch}` does.")
    receive = () if _REMOTE.fullmatch(url) else (f"--receive-pack={_RECEIVE}",)
    with open_clean_repository(root, branch) as clean:
        options = ("--quiet", "--recurse-submodules=no", *receive)
        _run(root, ("git", *HARMLESS, "push", *options, "origin", f"refs/heads/{branch}"), str(clean), timeout)
    hooks = _read_setting(root, "core.hooksPath") or f"{_find_common(root)}/hooks"
    there = Place(os.path.join(root, hooks), "pre-push").kind  # noqa: PTH118
    return ["the repository's pre-push hook did not run"] if there else []


def _find_address(root: Path) -> str:
    """Return the address that the project pushes to. Raises `Unavailable` for an address that could start programs."""
    url = _read_setting(root, "remote.origin.pushurl") or _read_setting(root, "remote.origin.url")
    local = url.removeprefix("file://")
    safe = local.startswith("/") and not is_within(os.path.realpath(local), os.path.realpath(root))
    if url and not safe and not _REMOTE.fullmatch(url):
        raise Unavailable(
            f"bough does not push to {url!r}: only to http, https, ssh and git addresses, or to a folder outside the "
            "project by its full path."
        )
    return url


def _find_lfs(root: Path, branch: str) -> str:
    """Find a file that the branch changes and that Git LFS manages; empty if there is none."""
    for line in _ask(root, "diff-tree", "-r", "--no-ext-diff", "HEAD", f"refs/heads/{branch}").splitlines():
        head, _, path = line.partition("\t")
        blob = head.split()[3]
        if not int(blob, 16) or int(_ask(root, "cat-file", "-s", blob) or _POINTER + 1) > _POINTER:
            continue
        if _ask(root, "cat-file", "blob", blob).encode().startswith(_LFS):
            return path
    return ""


def _find_common(root: Path) -> str:
    return _ask(root, "rev-parse", "--path-format=absolute", "--git-common-dir")


def _read_setting(root: Path, name: str) -> str:
    """Return the first value of a setting in the repository's own git configuration."""
    return next(iter(_ask(root, "config", "--local", "--no-includes", "--get-all", name).splitlines()), "")


def _ask(root: Path, *args: str) -> str:
    """Return git's answer about the project; empty if git fails. The project's settings cannot start programs here."""
    done = run_program(("git", *HARMLESS, *args), project=root, env=make_git_environment(), cwd=root, timeout=60)
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def _run(
    root: Path,
    argv: Sequence[str],
    folder: str,
    timeout: float = 60,
    name: str = "git push",
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a program and return what it prints. Raises `Unavailable` if it fails. `name`: its name in messages."""
    try:
        done = run_program(argv, project=root, env=env or make_git_environment(), cwd=folder, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"`{name}` did not finish within {timeout:.0f} seconds: try again.") from None
    if done.returncode:
        why = (done.stderr or done.stdout).decode(errors="replace").splitlines()
        raise Unavailable(f"`{name}` failed: {'; '.join(line.strip() for line in why if line.strip()) or 'no reason'}")
    return done.stdout.decode(errors="replace").strip()


def make_git_environment() -> dict[str, str]:
    """Return the variables for git. With them it asks no questions, and uses only the allowed protocols."""
    # Reading must not lock the person's index (GIT_OPTIONAL_LOCKS). In a partial clone, reading a file must not start a
    # download (GIT_NO_LAZY_FETCH).
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}
    return make_environment(GIT_ALLOW_PROTOCOL=PROTOCOLS, **quiet)


def run_theirs(argv: Sequence[str], root: Path, timeout: float = 300.0) -> str:
    """Run a client of a forge (`gh`, `glab`) with the person's login, without questions, and return its output. It runs
    in a temporary repository, because it starts git, which would start programs that the project's settings name."""
    env = make_tracker_environment(argv[0], GIT_TERMINAL_PROMPT="0", GH_PROMPT_DISABLED="1")
    try:
        with open_clean_repository(root) as clean:
            return _run(root, argv, str(clean), timeout, " ".join(argv[:2]), env)
    except FileNotFoundError:
        raise Unavailable(f"`{argv[0]}` is not on your PATH: install it.") from None
