"""The small git repository of a checkout, for the agent's own use: `git status`, `git diff`, `git log` and even `git
commit` work in it and change nothing outside it.

It borrows objects from bough's repository and, for the project's history, from the person's, which it only reads. Its
history ends where the run started, whatever the person commits meanwhile.

After an agent used it, its settings are cleaned: git runs programs that settings name (`fsmonitor` at every `git
status`), and would run them for a person who looks in there or whose shell shows the branch. Only settings known to be
harmless stay, since every version of git adds new ones."""

import errno
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from bough.adapters.workspaces import disk
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import ATTRIBUTES
from bough.adapters.workspaces.repository import Repository
from bough.adapters.workspaces.saved_scan import build_index
from bough.core.merge.conflict_hunks import OURS
from bough.core.textual.spelling import UNREADABLE
from bough.trust import handles
from bough.trust.files import Place

MOST = 1 << 18
LAST = "[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
"""The end of the settings, which overrides earlier ones: of two values git takes the later."""
_ANY = frozenset({"user", "author", "committer", "color", "advice", "init"})
_KEYS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode autocrlf eol safecrlf "
    "symlinks quotepath",
    "gc": "auto",
    "commit": "gpgsign",
    "remote": "url fetch",
    "branch": "remote merge rebase",
    "pull": "rebase ff",
    "push": "default autosetupremote",
    "merge": "ff conflictstyle",
    "rebase": "autostash autosquash",
}
_SECTION = re.compile(r'\s*\[([\w.-]+)(?: "[^"\\\n]*")?\]\s*')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=[^\\]*)?")
_ELSEWHERE = (b"commondir", b"config.worktree", b"hooks")
"""Files in `.git` that lead git to other settings, or to programs. They are removed."""

Stamp = tuple[int, ...]
CONFIG = f"""\
[core]
\trepositoryformatversion = 0
\tbare = false
\tautocrlf = false
[gc]
\tauto = 0
[commit]
\tgpgSign = false
[user]
\tname = bough
\temail = bough@localhost
{LAST}"""
START = "Where the task starts"
SIDE = "A side of the merge"


class History(Struct, frozen=True, forbid_unknown_fields=True):
    """The state of the person's repository when a run started; all fields are empty if the project had no history."""

    commit: str = ""
    tree: str = ""
    objects: str = ""
    """The folder with the objects of the person's repository."""
    shallow: str = ""
    """The path of the file that says where a shallow history ends. The file may be missing."""


def find_history(git: Git, root: Path, kept: Path) -> History:
    """Return the person's history as it was when the run started: read it then and save it in the file `kept`."""
    try:
        past = msgspec.json.decode(kept.read_bytes(), type=History)
        return past if _may_borrow(root, past.objects) else History()
    except FileNotFoundError:
        found = _read_history(git, root)
    except UNREADABLE:  # The file is damaged, and no history is better than a wrong one.
        found = History()
    kept.parent.mkdir(parents=True, exist_ok=True)
    disk.write_whole(kept, msgspec.json.encode(found), durable=False, parts=git.repo / "log")
    return found


def _may_borrow(root: Path, objects: str) -> bool:
    """Whether commands may see this folder of objects: it must belong to the project, or to the repository whose
    worktree or submodule the project is, and must not borrow from others itself. A `.git` file that somebody else made
    can name any repository, but that repository does not name the project in turn."""
    if not objects:
        return True
    git = Path(objects).parent
    store = Place(git, "objects")
    if not (store / "pack").is_folder() or (store / "info" / "alternates").text().strip():
        return False
    named = Place(root, ".git").text()
    if named.startswith("gitdir: "):
        own = root / named.removeprefix("gitdir: ").strip()
        back = Place(own, "gitdir").text().strip()
        worktree = re.search(r"^[ \t]*worktree = (.+)$", Place(own, "config").text(), re.MULTILINE)
        home = back.removesuffix("/.git") or (str(own / worktree[1]) if worktree else "")
        # A worktree's repository is `.git/worktrees/NAME`: its `.git` counts, too.
        above = (os.path.realpath(own), os.path.realpath(own.parent.parent))
        same = bool(home) and os.path.realpath(home) == os.path.realpath(root)
        return same and os.path.realpath(git) in above
    return git == root / ".git" and Place(root, ".git").is_folder()


def _read_history(git: Git, root: Path) -> History:
    asked = ("--show-object-format", "--show-toplevel", "--git-path", "objects", "--git-path", "shallow")
    status, out, _ = git.ask("rev-parse", *asked, "HEAD", "HEAD^{tree}", folder=root)
    lines = out.decode(errors="replace").split("\n")
    # There is no repository or no commit yet, or a path is not text.
    if status != 0 or len(lines) != 7 or "\ufffd" in lines[2]:
        return History()
    kind, top, objects, shallow, commit, tree = lines[:6]
    if kind != "sha1" or Path(top).resolve() != root.resolve():
        return History()
    found = History(commit, tree, str((root / objects).resolve()), str((root / shallow).resolve()))
    return found if _may_borrow(root.resolve(), found.objects) else History()


def prepare(own: Repository, checkout: Path, past: History, branch: str, tree: str, sides: Mapping[str, str]) -> Path:
    """Create the repository next to its checkout, which need not exist yet; `place` moves it in. It borrows objects
    from bough's repository (`own`). For a merge, our side is checked out, and all sides are branches."""
    part = checkout.parent / f"{checkout.name}.git.part"
    disk.remove(os.fsencode(part))
    for name in ("objects/info", f"refs/heads/bough/{branch.partition('/')[0]}", "info"):
        (part / name).mkdir(parents=True)
    # The path is relative, because checkouts inside the project move together with it.
    borrowed = os.path.relpath((own.path / "objects").resolve(), checkout.resolve() / ".git" / "objects")
    lenders = [borrowed, *([past.objects] if past.objects else [])]
    tree = sides.get(OURS, tree)
    commit = past.commit if past.tree == tree else own.write_commit(tree, past.commit, START)
    at = {name: commit if side == tree else own.write_commit(side, past.commit, SIDE) for name, side in sides.items()}
    files = {f"refs/heads/{name}": f"{side}\n" for name, side in at.items()} | {
        "HEAD": f"ref: refs/heads/bough/{branch}\n",
        "config": CONFIG,
        "objects/info/alternates": "".join(f"{lender}\n" for lender in lenders),
        f"refs/heads/bough/{branch}": commit + "\n",
        "info/attributes": ATTRIBUTES,
    }
    for name, text in files.items():
        (part / name).write_text(text, encoding="utf-8")
    if past.shallow and (shallow := Place(Path(past.objects).parent, "shallow").text()):
        (part / "shallow").write_text(shallow)
    (part / "index").write_bytes(build_index(own.listings.found(tree)))
    return part


def place(part: Path, checkout: Path, excludes: bytes) -> None:
    """Move the prepared repository into its checkout in one step, in place of whatever an agent has put there."""
    (part / "info" / "exclude").write_bytes(excludes)
    disk.remove(os.fsencode(checkout / ".git"))
    part.rename(checkout / ".git")


def disarm(top: bytes, known: Stamp | None = None) -> Stamp | None:
    """Make sure that no setting of the repository at `top` runs anything; return the stamp of its settings, None if
    there are none. `known`: their stamp when they were last cleaned."""
    try:
        with handles.open_folder(top, b".git") as handle:
            for name in _ELSEWHERE:
                handles.remove_in(handle, name)
            now = _read_stamp(handle)
            if now is None or now == known:
                return now
            text = Place(os.fsdecode(top), ".git/config").text(MOST)
            if (safe := keep_harmless(text)) != text:
                Place(os.fsdecode(top), ".git/config").write(safe.encode())
            return _read_stamp(handle)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        with suppress(FileNotFoundError, NotADirectoryError):
            # An agent replaced `.git` by a link, or a file that names another repository. It is recreated when needed.
            if not stat.S_ISDIR(os.lstat(top + b"/.git").st_mode):
                handles.remove_below(top, b".git")
        return None


def keep_harmless(text: str) -> str:
    """Remove every setting that is not known to be harmless."""
    kept: list[str] = []
    section = ""
    for line in text.removesuffix(LAST).splitlines():
        if found := _SECTION.fullmatch(line):
            section = found[1].lower()
            kept += [line] if section in _ANY or section in _KEYS else []
        elif (found := _SETTING.fullmatch(line)) and section:
            known = section in _ANY or found[1].lower() in _KEYS.get(section, "").split()
            kept += [line] if known else []
    return "".join(f"{line}\n" for line in kept) + LAST


def _read_stamp(handle: int) -> Stamp | None:
    try:
        found = os.stat(b"config", dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
