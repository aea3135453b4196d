"""Reads the person's own files and repository: which files are tracked, the ignore rules besides `.gitignore` files,
and changes that somebody else made. Nothing of theirs is written, and no program that a repository names is started."""

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from bough.adapters.workspaces import disk, saved_scan
from bough.adapters.workspaces.file_index import FileIndex, KeptPaths, join_path, write_tree
from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.home import JUNK
from bough.adapters.workspaces.objects import Batch
from bough.adapters.workspaces.repository import Repository
from bough.adapters.workspaces.scan import HOME, PERSONS, Scanner
from bough.core.errors import UsageError, WorkspaceError
from bough.trust.files import Place, read_own

MAINS = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
"""The branches to compare with if the person names none: the first that exists is used."""
MESSAGES = 50
"""The most commits whose messages are read."""
LARGEST_PATCH = 64 << 20
"""The most bytes of a patch file."""
_TRAILER = re.compile(r"(?i)^(?:(?:[\w-]+-by|change-id|bough-[\w-]+|cc):|(?:fixup|squash|amend)!) .*\n?", re.MULTILINE)


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
        mine = KeptPaths(tracked.result() if here is not None else ())
        record, before = loading.result()
        for paths in asking.map(partial(list_embedded, git, root), before.embedded):
            mine.add(paths)
        # Besides `.gitignore` files these rules apply: bough's own, then the person's, which take precedence.
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
    # Search the whole output once, for all paths.
    if b"\0%s/" % HOME in b"\0" + out or b"\0%s\0" % HOME in b"\0" + out:
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


class GivenChange(Struct, frozen=True):
    """A change between two commits, or between a commit and the person's files or a patch."""

    says: str
    """The change as a phrase, such as `the branch fix-totals (3 commits)`."""
    base: str
    """The commit to compare with; empty if that is the person's files as they are."""
    head: str = ""
    """The last commit of the change; empty if it is the person's files as they are, or the base with the patch."""
    patch: bytes = b""
    messages: tuple[str, ...] = ()


class PersonCommits:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._git = Git(root)

    def ask(self, *args: str, feed: str = "") -> str:
        """Return the output of a git command; empty if it failed."""
        status, out, _ = self._git.ask(*args, folder=self._root, feed=feed.encode())
        return out.decode(errors="replace").strip() if status == 0 else ""

    def find(self, name: str) -> str:
        """Return the commit of that name; empty if there is none."""
        return "" if name.startswith("-") else self.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def require(self, name: str) -> str:
        if found := self.find(name):
            return found
        lacks = f"the commit `{name}`" if re.search(r"[~^]|^[0-9a-f]{7,40}$", name) else ""
        fetch = ", or fetch it first with `git fetch`" if "/" in name else ""
        listed = f"`git log --oneline` and `git branch -a` list what there is{fetch}"
        raise self._explain(lacks, f"There is no commit `{name}` here: {listed}.")

    def find_trees(self, *commits: str) -> list[str]:
        """Return the tree of the project's folder in each of these commits; for a commit without it, git's
        complaint."""
        prefix = self.ask("rev-parse", "--show-prefix").rstrip("/")
        named = "".join(f"{commit}:{prefix}\n" for commit in commits)
        return self.ask("cat-file", "--batch-check=%(objectname)", feed=named).splitlines()

    def find_tree(self, commit: str) -> str:
        tree = " ".join(self.find_trees(commit))
        if not re.fullmatch("[0-9a-f]{40}", tree):
            why = f"they must have the project's folder and be named by SHA-1, but git finds `{tree}`"
            raise WorkspaceError(f"bough cannot read the trees of this repository: {why}.")
        return tree

    def list_since(self, tree: str, tip: str, most: int) -> list[str]:
        """List the commits of a branch after the last one with that tree, oldest first; empty if no commit has it."""
        commits = self.ask("log", "--first-parent", f"-n{most}", "--format=%H", tip).split()
        trees = self.find_trees(*commits)
        return commits[: trees.index(tree)][::-1] if tree in trees else []

    def find_change(self, what: str, against: str = "") -> GivenChange:
        """Find the change that a person names: a branch, range, commit or patch; empty: the uncommitted changes."""
        given, patch = self.require(against) if against else "", None
        with suppress(OSError):
            patch = read_own(Path(what), LARGEST_PATCH)
        if not what:
            if not (head := self.find("HEAD")):
                raise UsageError("There is no commit here to compare your files with: name a patch file.")
            return GivenChange("your uncommitted changes", given or head)
        if ".." in what and patch is None:
            first, _, last = what.partition("..." if "..." in what else "..")
            return self.compare(self.require(first or "HEAD"), self.require(last or "HEAD"), f"the range {what}")
        if self.find(f"refs/heads/{what}") or self.find(f"refs/remotes/{what}"):
            head = self.require(what)
            mains = [commit for name in MAINS if (commit := self.find(name)) and commit != head]
            return self.compare(given or (mains or [self.require("HEAD")])[0], head, f"the branch {what}")
        if head := self.find(what):
            return self.compare(given or self._find_parent(head, what), head, f"the commit {what}")
        if patch is not None:
            return GivenChange(f"the patch {what}", given or self.find("HEAD"), "", patch, _read_purpose(patch))
        lists = "`git branch -a` lists branches, and `git fetch` brings new ones"
        raise UsageError(f"`{what}` is neither a branch, a commit, a range A..B nor a patch file here: {lists}.")

    def _find_parent(self, commit: str, name: str) -> str:
        if self.find(f"{commit}^2"):
            how = f"`bough examine {name}^1..{name}`"
            raise UsageError(f"{name} is a merge commit: say which side it is compared with, as in {how}.")
        if not (parent := self.find(f"{commit}^")):
            first = f"{name} is the first commit: there is nothing to compare it with."
            raise self._explain(f"the commit before {name}", first)
        return parent

    def _explain(self, lacks: str, otherwise: str) -> UsageError:
        """Return the error that a shallow clone lacks something; if the clone is complete, return `otherwise` as an
        error."""
        if not lacks or self.ask("rev-parse", "--is-shallow-repository") != "true":
            return UsageError(otherwise)
        fetch = "run `git fetch --unshallow` (in GitHub Actions: `fetch-depth: 0` of actions/checkout)"
        return UsageError(f"This clone is shallow and lacks {lacks}: {fetch}, then try again.")

    def compare(self, base: str, head: str, what: str) -> GivenChange:
        """Return the change from the common ancestor to `head`, without what was committed to the base meanwhile."""
        if not (began := self.ask("merge-base", base, head)):
            apart = f"{what} has no commit in common with what it is compared with: name its base with --base."
            raise self._explain(f"where {what} began", apart)
        if began == head:
            raise UsageError(f"{what} is empty: {head[:10]} is part of what it is compared with ({base[:10]}).")
        wanted = ("log", "--reverse", "--no-merges", f"-n{MESSAGES}", "--format=%B%x00", f"{began}..{head}")
        *messages, _ = (_TRAILER.sub("", one).strip() for one in self.ask(*wanted).split("\0"))
        count = f" ({len(messages)} commits)" if len(messages) > 1 else ""
        return GivenChange(f"{what}{count}", began, head, messages=tuple(dict.fromkeys(filter(None, messages))))


def _read_purpose(patch: bytes) -> tuple[str, ...]:
    """Return what the text before the first file of a patch says, as in a mail: its subject, without a prefix such as
    `[PATCH 1/2]`, and its text."""
    from email import message_from_string, policy  # The mail parser is slow to load, and rarely needed.

    said, found, _ = f"\n{patch.decode(errors='replace')}".partition("\ndiff --git ")
    mail = message_from_string(said.lstrip("\n"), policy=policy.default)
    subject = re.sub(r"^(?:\[[^\]]*\]\s*)+", "", " ".join(str(mail["Subject"] or "").split()))
    text = f"{subject}\n\n{mail.get_payload()}".partition("\n---\n")[0].strip()
    return (text,) if found and text else ()
