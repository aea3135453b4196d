"""Finds a change that somebody else made in the person's repository, or in a patch. The repository is only read: no
program that it names is started."""

import re
from pathlib import Path

from msgspec import Struct

from bough.adapters.workspaces.git_program import Git
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
        """Return the tree of the project's folder in each of these commits; of one without it, git's complaint."""
        prefix = self.ask("rev-parse", "--show-prefix").rstrip("/")
        named = "".join(f"{commit}:{prefix}\n" for commit in commits)
        return self.ask("cat-file", "--batch-check=%(objectname)", feed=named).splitlines()

    def find_tree(self, commit: str) -> str:
        tree = " ".join(self.find_trees(commit))
        if not re.fullmatch("[0-9a-f]{40}", tree):
            why = f"the project's folder must be in commit {commit[:10]}, and objects be named by SHA-1, not: {tree}"
            raise WorkspaceError(f"bough cannot read the trees of this repository: {why}.")
        return tree

    def list_since(self, tree: str, tip: str, most: int) -> list[str]:
        """List the commits of a branch after the last one with that tree, oldest first; empty if no commit has it."""
        commits = self.ask("log", "--first-parent", f"-n{most}", "--format=%H", tip).split()
        trees = self.find_trees(*commits)
        return commits[: trees.index(tree)][::-1] if tree in trees else []

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
        if self.find(f"{commit}^2"):
            how = f"`bough examine {name}^1..{name}`"
            raise UsageError(f"{name} is a merge commit: say which side it is compared with, as in {how}.")
        if not (parent := self.find(f"{commit}^")):
            first = f"{name} is the first commit: there is nothing to compare it with."
            raise self._explain(f"the commit before {name}", first)
        return parent

    def _explain(self, lacks: str, otherwise: str) -> UsageError:
        """Say that a shallow clone lacks something, or say something else."""
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
