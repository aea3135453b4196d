"""Finds the project's folder, and prepares the places of bough's own files in it: `.bough/` and its repository."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bough.adapters.stores.liveness import is_gone, worker_id
from bough.adapters.workspaces import disk
from bough.adapters.workspaces.git_program import Git
from bough.core.errors import UsageError, WorkspaceError
from bough.trust.home import check_home, is_mine
from bough.trust.programs import find_program

HOME = ".bough"

_BARRIER = "gitdir: .bough-has-no-repository-here\n"
"""A `.git` file that stops git's search upward: in a workspace without a repository, git must not find the person's."""

JUNK = """\
# What no project wants kept, unless it is tracked or a rule of the project says otherwise.
__pycache__/
*.pyc
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.tox/
.nox/
.coverage
*.egg-info/
node_modules/
.venv/
venv/
.DS_Store
"""

ATTRIBUTES = "* -text !eol -crlf !filter !ident !working-tree-encoding !merge !conflict-marker-size\n"
"""Attributes by which contents are exactly the bytes on disk, whatever a `.gitattributes` says: no filter program is
started, and no rule of the project affects how its files are merged."""


def find_root(folder: Path) -> Path:
    """Find the top folder of the project that contains a folder: the nearest one upward with a `.bough`, else the top
    of the git working tree, else the folder itself.

    A `.bough` in a plain folder (such as a home) does not make the git repositories below it part of that project. A
    workspace inside a `.bough` is a project of its own.
    """
    folder = folder.resolve()
    repository = None
    for place in (folder, *folder.parents):
        claimed = (place / HOME).is_dir() and (place == folder or is_mine(place / HOME))
        if claimed and not folder.is_relative_to(place / HOME):
            if repository is None or (place / ".git").exists():
                return place
            break
        if repository is None and (place / ".git").exists():
            repository = place
    if repository is None:
        return folder
    if find_program("git", None) is None:
        return repository
    # Use the place of `.git`, not git's answer, because a setting of the repository could name any other folder.
    status, _, _ = Git(folder).ask("rev-parse", "--git-dir", folder=repository)
    return repository if status == 0 else folder


def prepare_home(root: Path) -> Path:
    """Create `.bough/` in the project, private to the person, and ignored by git without a line in the project's
    `.gitignore`."""
    home = root / HOME
    check_home(home)
    try:
        _real_folder(home, 0o700)
        _keep_file(home / ".gitignore", "*\n")
        prepare_checkouts(home)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise UsageError(
                f"bough cannot write in {root}, where it keeps its runs (in {HOME}): make the folder writable, "
                "or run bough in a copy of it."
            ) from error
        raise disk.explain(error, f"set up {home}") from error
    return home


def prepare_checkouts(folder: Path) -> None:
    """Create the folders for checkouts and their temporary files, in a folder private to the person."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _real_folder(folder, 0o700)
    for name in ("work", "scratch"):
        _real_folder(folder / name)
        _keep_file(folder / name / ".git", _BARRIER)


def _real_folder(path: Path, mode: int = 0o755) -> None:
    """Create a folder if it is missing. Refuse a link: one in a cloned repository could make bough write anywhere."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise WorkspaceError(f"{path} is in the way: bough needs a folder of that name; move it elsewhere.")
    if not path.exists():
        path.mkdir(mode=mode, exist_ok=True)
        # Remove set-group-ID, which may be inherited, because commands may not set it on their own files.
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o777)
        disk.flush_folder(path.parent)


def _keep_file(path: Path, text: str) -> None:
    """Write a file if its content differs, without flushing it to disk, since every process checks it again."""
    if path.is_symlink() or not path.is_file() or path.read_bytes() != text.encode():
        disk.write_whole(path, text.encode(), durable=False)


def prepare_repository(home: Path) -> Path:
    """Create bough's own repository if it is missing, and correct its settings, since a cloned project may contain a
    forged one."""
    repo = home / "repo.git"
    _real_folder(home)
    if not repo.is_symlink() and not repo.exists():
        _create(home, repo)
    for name in (".", "objects", "objects/pack", "refs", "info", "log"):
        _real_folder(repo / name)
    _keep_file(repo / "HEAD", "ref: refs/heads/main\n")
    _keep_file(repo / "config", _make_config(repo))
    _keep_file(repo / "info" / "attributes", ATTRIBUTES)
    for name in ("clock", "info/exclude"):
        if not (repo / name).is_file():
            (repo / name).touch()
    return repo


def _create(home: Path, repo: Path) -> None:
    """Create the repository elsewhere and move it into place, so that nobody sees it half-made. If two processes do
    this, the first wins."""
    part = home / f"repo.{os.getpid()}.{os.urandom(4).hex()}.part"
    for name in ("objects/pack", "refs", "info", "log"):
        (part / name).mkdir(parents=True)
    for folder in (part / "objects", part):
        disk.flush_folder(folder)
    try:
        part.rename(repo)
    except OSError:
        disk.remove(os.fsencode(part))
        if not repo.is_dir():
            raise
    disk.flush_folder(home)


def _make_config(repo: Path) -> str:
    """Return the repository's settings: no garbage collection, because only journals name most trees, no programs
    (hooks, monitors), and besides `.gitignore` files no ignore rules but those in `info/exclude`."""
    # git also tests in this way whether the disk ignores case, but only when it creates a repository itself.
    ignores_case = (repo / "hEaD").exists()
    return f"""\
[core]
\trepositoryformatversion = 0
\tbare = false
\tignorecase = {str(ignores_case).lower()}
\tprecomposeunicode = {str(sys.platform == "darwin").lower()}
\thooksPath = /dev/null
\tfsmonitor = false
\tquotePath = false
\texcludesFile = /dev/null
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


OWNER = ".owner"
"""The suffix of the note beside each checkout: it names the process that works there, and is made before the
checkout."""


def claim_checkout(checkout: Path, task: str) -> None:
    """Claim the checkout for this process and task, so that a clean-up leaves it while the process is alive."""
    note, owner = checkout.with_name(checkout.name + OWNER), f"{worker_id()}\n{task}".encode("utf-8", "surrogatepass")

    def write() -> None:
        # The note is the target of a symbolic link, which is complete at once: a kill never leaves an empty note.
        disk.remove(bytes(note))
        os.symlink(owner, bytes(note))  # noqa: PTH211 - a `Path` would rewrite the text

    disk.in_folder(note.parent, write)


def list_abandoned(folder: Path, mark: str) -> Iterator[str]:
    """Yield the tasks with `mark` in their names whose checkouts in the folder belong to a process that has ended."""
    for note in sorted(folder.glob(f"*{OWNER}")):
        with suppress(OSError):  # Another process has just removed the note, or an older version wrote it as a file.
            text = os.readlink(bytes(note))  # noqa: PTH115 - as above
            worker, _, task = text.decode("utf-8", "surrogatepass").partition("\n")
            if mark in task and is_gone(worker):
                yield task
