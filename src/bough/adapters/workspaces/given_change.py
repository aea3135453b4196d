"""Finds a change that somebody else made in the person's repository, or in a patch. The repository is only read: no
program that it names is started, and a tree with a path that leaves the checkout is refused."""

import os
import re
import tempfile
from pathlib import Path

from msgspec import Struct

from bough.adapters.workspaces.git_program import Git
from bough.adapters.workspaces.repository import Repository
from bough.core.errors import UsageError, WorkspaceError
from bough.trust.files import read_own

MAINS = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
"""The branches to compare with if the person names none: the first that exists is used."""
MESSAGES = 50
"""The most commits whose messages are read."""
LARGEST = 64 << 20
"""The most bytes of a patch file."""
_TRAILER = re.compile(r"(?i)^(?:[\w-]+-by|change-id|bough-[\w-]+|cc): .*\n?", re.MULTILINE)


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

    def ask(self, *args: str) -> str:
        """Return the output of a git command; empty if it failed."""
        status, out, _ = self._git.ask(*args, folder=self._root)
        return out.decode(errors="replace").strip() if status == 0 else ""

    def find(self, name: str) -> str:
        """Return the commit of that name; empty if there is none."""
        return "" if name.startswith("-") else self.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def require(self, name: str) -> str:
        found = self.find(name)
        if not found:
            if re.search(r"[~^]|^[0-9a-f]{7,40}$", name):
                self._refuse_shallow(f"the commit `{name}`")
            raise UsageError(
                f"There is no commit `{name}` here: `git log --oneline` and `git branch -a` list what there is"
                f"{', or fetch it first with `git fetch`' if '/' in name else ''}."
            )
        return found

    def find_tree(self, commit: str) -> str:
        """Return the tree of the project's folder in that commit."""
        prefix = self.ask("rev-parse", "--show-prefix").rstrip("/")
        tree = self.ask("rev-parse", "--verify", "--quiet", f"{commit}:{prefix}")
        if not re.fullmatch("[0-9a-f]{40}", tree):
            why = "its objects are named by SHA-256" if tree else f"commit {commit[:10]} has no folder {prefix}"
            raise WorkspaceError(f"bough cannot read the trees of this repository: {why}.")
        return tree

    def list_since(self, tree: str, tip: str, most: int) -> list[str]:
        """List the commits of a branch after the last one with that tree, oldest first; empty if no commit has it."""
        prefix = self.ask("rev-parse", "--show-prefix").rstrip("/")
        commits = self.ask("log", "--first-parent", f"-n{most}", "--format=%H", tip).split()
        for at, commit in enumerate(commits):
            if self.ask("rev-parse", "--verify", "--quiet", f"{commit}:{prefix}") == tree:
                return commits[:at][::-1]
        return []

    def find_change(self, what: str, against: str = "") -> GivenChange:
        """Find the change that a person names: a branch, range, commit or patch; empty: the uncommitted changes."""
        given = self.require(against) if against else ""
        if not what:
            if not (head := self.find("HEAD")):
                raise UsageError("There is no commit here to compare your files with: name a patch file.")
            return GivenChange("your uncommitted changes", given or head)
        if ".." in what and _read_file(what) is None:
            first, _, last = what.partition("..." if "..." in what else "..")
            return self.compare(self.require(first or "HEAD"), self.require(last or "HEAD"), f"the range {what}")
        if self.find(f"refs/heads/{what}") or self.find(f"refs/remotes/{what}"):
            head = self.require(what)
            mains = [commit for name in MAINS if (commit := self.find(name)) and commit != head]
            return self.compare(given or (mains or [self.require("HEAD")])[0], head, f"the branch {what}")
        if head := self.find(what):
            return self.compare(given or self._find_parent(head, what), head, f"the commit {what}")
        if (patch := _read_file(what)) is not None:
            return GivenChange(f"the patch {what}", given or self.find("HEAD"), "", patch, _read_purpose(patch))
        raise UsageError(
            f"`{what}` is neither a branch, a commit, a range A..B nor a patch file here: `git branch -a` lists "
            "branches, and `git fetch` brings new ones."
        )

    def _find_parent(self, commit: str, name: str) -> str:
        parents = self.ask("rev-list", "--parents", "-n", "1", commit).split()[1:]
        if len(parents) > 1:
            raise UsageError(
                f"{name} is a merge commit: say which side it is compared with, as in `bough examine {name}^1..{name}`."
            )
        if not parents or not self.find(parents[0]):
            self._refuse_shallow(f"the commit before {name}")
            raise UsageError(f"{name} is the first commit: there is nothing to compare it with.")
        return parents[0]

    def _refuse_shallow(self, lacking: str) -> None:
        if self.ask("rev-parse", "--is-shallow-repository") == "true":
            raise UsageError(
                f"This clone is shallow and lacks {lacking}: run `git fetch --unshallow` "
                "(in GitHub Actions: `fetch-depth: 0` of actions/checkout), then try again."
            )

    def compare(self, base: str, head: str, what: str) -> GivenChange:
        """Return the change from the common ancestor to `head`, without what was committed to the base meanwhile."""
        began = self.ask("merge-base", base, head)
        if not began:
            self._refuse_shallow(f"where {what} began")
            raise UsageError(
                f"{what} has no commit in common with what it is compared with: name its base with --base."
            )
        if began == head:
            raise UsageError(f"{what} is empty: {head[:10]} is part of what it is compared with ({base[:10]}).")
        wanted = ("log", "--reverse", "--no-merges", f"-n{MESSAGES}", "--format=%B%x00", f"{began}..{head}")
        messages = tuple(text for one in self.ask(*wanted).split("\0") if (text := _TRAILER.sub("", one).strip()))
        count = f" ({len(messages)} commits)" if len(messages) > 1 else ""
        return GivenChange(f"{what}{count}", began, head, messages=messages)


def _read_file(what: str) -> bytes | None:
    """Read the file of that name, relative to the current folder. Return None if there is none."""
    try:
        return read_own(Path(what), LARGEST)
    except OSError:
        return None


def _read_purpose(patch: bytes) -> tuple[str, ...]:
    """Return what the text before the first file of a patch says, as in a mail: its subject, without a prefix such as
    `[PATCH 1/2]`, and its text."""
    from email import message_from_string, policy  # Slow to load, and rarely needed.

    said, found, _ = f"\n{patch.decode(errors='replace')}".partition("\ndiff --git ")
    mail = message_from_string(said.lstrip("\n"), policy=policy.default)
    subject = re.sub(r"^(?:\[[^\]]*\]\s*)+", "", " ".join(str(mail["Subject"] or "").split()))
    text = f"{subject}\n\n{mail.get_payload()}".partition("\n---\n")[0].strip()
    return (text,) if found and text else ()


# ── into bough's own repository ─────────────────────────────────────────────────────────────────────────────────────


def bring_tree(repository: Repository, root: Path, tree: str) -> None:
    """Copy a tree from the person's repository into bough's. Fails if a path in it leaves the checkout or is `.git`."""
    if bytes.fromhex(tree) not in repository.existing([bytes.fromhex(tree)]):
        asked = ("pack-objects", "--revs", "--stdout", "-q")
        status, pack, complaint = repository.git.ask(*asked, folder=root, feed=f"{tree}\n".encode())
        if status != 0:
            raise WorkspaceError(f"git cannot read the tree {tree[:10]} of {root}: {complaint}.")
        repository.git.run("index-pack", "--stdin", feed=pack)
    with tempfile.TemporaryDirectory(prefix="bough-tree-") as aside:
        repository.git.run("read-tree", tree, index=Path(aside) / "index")


def apply_patch(repository: Repository, base: str, patch: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="bough-tree-") as aside:
        index = Path(aside) / "index"
        repository.git.run("read-tree", base, index=index)
        try:
            repository.write("apply", "--cached", "--whitespace=nowarn", feed=patch, index=index)
        except WorkspaceError as error:
            why = str(error).partition(": ")[2].rstrip(".")
            raise UsageError(
                f"The patch does not apply to its base ({why}): name the commit that it starts from with --base."
            ) from None
        return os.fsdecode(repository.write("write-tree", index=index)).strip()
