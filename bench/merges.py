"""Does anything get lost when two changes come together, who has to be asked, and what does it cost?

    git clone --bare https://github.com/pallets/click; python bench/merges.py click.git … --pairs 300
    python bench/merges.py REPOSITORY… --json FILE

Pairs are made of neighbouring commits X, Y of a repository's history that changed a file in common: the base is what
was there before X; ours is X; theirs is Y without X (the lines of X taken out again, exactly). What the two come to is
then known, because people made it: Y. Merge commits, whose two sides and whose result people made too, are the rest.

Counted for each pair: a hunk that a side added to the base and that is not in the merged text, between markers or not
(lost); whether git's own merge of the three is the same wherever that is clean; conflicts, and how many of them need no
model, because both sides only added; how often what was put together is what people made of it; the time of bough's
merge, durable, beside that of `git merge-tree`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from statistics import median

from bough.adapters.workspaces.home import prepare_home, prepare_repository
from bough.adapters.workspaces.merge import merge_trees
from bough.adapters.workspaces.repository import Repository
from bough.core.merge.conflict_hunks import find_remake_command
from bough.ports import MergeResult

WHO = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
LARGEST = 400_000
"""Bytes of a text in which hunks are looked for."""


@dataclass(frozen=True)
class Pair:
    repository: str
    kind: str
    base: str
    ours: str
    theirs: str
    truth: str


@dataclass
class PairResult:
    """What came of one pair."""

    pair: Pair
    clean: bool = False
    as_git: bool = True
    both: int = 0
    """Files that needed no model."""
    left: int = 0
    """Files that need a decision."""
    as_people: int = 0
    """Of the files that needed no model: what people made of them, …"""
    other_order: int = 0
    """… the same lines in another order."""
    hunks: int = 0
    lost: list[str] = field(default_factory=list)
    seconds: float = 0.0
    git_seconds: float = 0.0


class Bench:
    """A repository of bough's that borrows the objects of the one that the pairs are from."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.name = source.resolve().parent.name if source.name in ("repo", ".git") else source.name
        self.source = source.resolve()
        home = prepare_home(folder)
        self.repo = prepare_repository(home)
        objects = self.git("rev-parse", "--git-path", "objects", repo=self.source)
        (self.repo / "objects" / "info").mkdir(exist_ok=True)
        (self.repo / "objects" / "info" / "alternates").write_text(str((self.source / objects).resolve()) + "\n")
        self.repository = Repository(home)

    def git(self, *args: str, repo: Path | None = None, fine: int = 0, index: str = "") -> str:
        env = os.environ | WHO | ({"GIT_INDEX_FILE": index} if index else {})
        done = subprocess.run(["git", *args], cwd=repo or self.repo, env=env, capture_output=True, check=False)
        if done.returncode > fine:
            raise RuntimeError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout.decode(errors="replace").strip()

    # ── pairs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def neighbours(self) -> Iterator[Pair]:
        """Commits X, Y with Y the only child that follows X on the first-parent line, no merges."""
        line = self.git("log", "--first-parent", "--format=%H %P", repo=self.source).splitlines()
        commits = [entry.split() for entry in line]
        for later, earlier in pairwise(commits):
            if len(later) != 2 or len(earlier) != 2 or later[1] != earlier[0]:
                continue
            y, x, b = later[0], earlier[0], earlier[1]
            if self.changed(b, x) & self.changed(x, y) and (theirs := self.without(y, b, x)):
                yield Pair(self.name, "neighbours", self.tree(b), self.tree(x), theirs, self.tree(y))

    def merges(self) -> Iterator[Pair]:
        for entry in self.git("log", "--merges", "--format=%H %P %T", repo=self.source).splitlines():
            parts = entry.split()
            if len(parts) != 4:
                continue
            bases = self.git("merge-base", "--all", parts[1], parts[2], repo=self.source, fine=1).split()
            if len(bases) != 1 or bases[0] in parts[1:3]:
                continue
            if self.changed(bases[0], parts[1]) & self.changed(bases[0], parts[2]):
                base, ours, theirs = map(self.tree, (*bases, *parts[1:3]))
                yield Pair(self.name, "merge", base, ours, theirs, parts[3])

    def changed(self, one: str, other: str) -> set[str]:
        return set(self.git("diff", "--name-only", "-z", one, other, repo=self.source).split("\0")) - {""}

    def tree(self, commit: str) -> str:
        return self.git("rev-parse", f"{commit}^{{tree}}", repo=self.source)

    def without(self, y: str, b: str, x: str) -> str:
        """The tree of Y with what X did taken out again; empty where Y has built upon it."""
        with tempfile.TemporaryDirectory() as folder:
            index = f"{folder}/index"
            self.git("read-tree", y, index=index)
            patch = Path(folder, "patch")
            options = ("--binary", "--full-index", "--no-renames", "-U0", "--no-color", "--no-ext-diff")
            patch.write_bytes(
                subprocess.run(["git", "diff", *options, b, x], cwd=self.repo, capture_output=True, check=True).stdout
            )
            argv = ["git", "apply", "-R", "--unidiff-zero", "--cached", str(patch)]
            if subprocess.run(
                argv, cwd=self.repo, env=os.environ | {"GIT_INDEX_FILE": index}, capture_output=True
            ).returncode:
                return ""
            return self.git("write-tree", index=index)

    # ── merging ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def measure(self, pair: Pair) -> PairResult:
        found = PairResult(pair)
        base = self.git("commit-tree", pair.base, "-m", "base")
        ours, theirs = (self.git("commit-tree", side, "-p", base, "-m", "side") for side in (pair.ours, pair.theirs))
        argv = ["git", "-c", "merge.directoryRenames=true", "merge-tree", "--write-tree", "-z", ours, theirs]
        began = time.perf_counter()
        done = subprocess.run(argv, cwd=self.repo, capture_output=True, check=False)
        found.git_seconds = time.perf_counter() - began
        began = time.perf_counter()
        joined = merge_trees(self.repository, pair.base, pair.ours, pair.theirs)
        found.seconds = time.perf_counter() - began
        found.clean = not joined.both and not joined.conflicts
        if done.returncode == 0:
            found.as_git = found.clean and done.stdout.split(b"\0")[0].decode() == joined.tree
        else:
            found.as_git = not found.clean
        found.both, found.left = len(joined.both), len(joined.conflicts)
        for path in joined.both:
            made, truth = self.text(joined.tree, path), self.text(pair.truth, path)
            found.as_people += made == truth
            found.other_order += made != truth and sorted(made) == sorted(truth)
        self.look_for_losses(pair, joined, found)
        return found

    def look_for_losses(self, pair: Pair, joined: MergeResult, found: PairResult) -> None:
        """Every hunk that a side added has to be somewhere in the merged tree: in its file, or where the file went."""
        merged = joined.tree
        both_changed = self.changed_in(pair.base, pair.ours) & self.changed_in(pair.base, pair.theirs)
        moved = None
        # A lock file is made again, or somebody decides: it has no markers, and both are at hand.
        for path in sorted(path for path in both_changed if not find_remake_command(path)):
            base, result = self.text(pair.base, path), self.text(merged, path)
            for side in (pair.ours, pair.theirs):
                for hunk in added(base, self.text(side, path)):
                    found.hunks += 1
                    if not within(hunk, result):
                        moved = self.all_lines(merged) if moved is None else moved
                        if not within(hunk, moved):
                            found.lost.append(f"{path}: {hunk[0][:60]!r} … ({len(hunk)} lines)")

    def changed_in(self, one: str, other: str) -> set[str]:
        out = self.git("diff-tree", "-r", "--no-renames", "--name-only", "-z", one, other)
        return set(out.split("\0")) - {""}

    def text(self, tree: str, path: str) -> list[str]:
        done = subprocess.run(["git", "cat-file", "blob", f"{tree}:{path}"], cwd=self.repo, capture_output=True)
        if done.returncode or len(done.stdout) > LARGEST or b"\0" in done.stdout[:8000]:
            return []
        return done.stdout.decode(errors="replace").split("\n")

    def all_lines(self, tree: str) -> list[str]:
        """Of files that have no other name at the sides: where a renamed file's lines went."""
        paths = [path for path in self.git("ls-tree", "-r", "--name-only", "-z", tree).split("\0") if path]
        return [line for path in paths for line in self.text(tree, path)]


def added(base: list[str], side: list[str]) -> Iterator[list[str]]:
    """What a side added, piece by piece; blank lines say nothing."""
    for kind, _, _, start, end in SequenceMatcher(None, base, side, autojunk=False).get_opcodes():
        if kind in ("insert", "replace") and any(line.strip() for line in side[start:end]):
            yield [line for line in side[start:end] if line.strip()]


def within(hunk: list[str], text: list[str]) -> bool:
    """All its lines are there, in order."""
    rest = iter(line.rstrip("\r") for line in text)
    return all(line.rstrip("\r") in rest for line in hunk)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=100, help="of each kind, from each repository (100)")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found: list[PairResult] = []
    for source in chosen.repositories:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(source, Path(folder))
            for pairs in (bench.neighbours(), bench.merges()):
                for _, pair in zip(range(chosen.pairs), pairs, strict=False):
                    found.append(bench.measure(pair))
        print(f"{bench.name}: {sum(each.pair.repository == bench.name for each in found)} pairs", file=sys.stderr)
    report(found)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(each) for each in found], indent=1))
    return 1 if any(each.lost or not each.as_git for each in found) else 0


def report(found: list[PairResult]) -> None:
    print(
        "| pairs | clean | with conflicts | files in conflict | without a model | as people made them | hunks | lost |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in ("neighbours", "merge", ""):
        some = [each for each in found if kind in ("", each.pair.kind)]
        both, left = sum(each.both for each in some), sum(each.left for each in some)
        files = both + left
        share = f"{both} ({both / files:.0%})" if files else "–"
        right = f"{sum(each.as_people for each in some)}, and {sum(each.other_order for each in some)} in another order"
        clean = sum(each.clean for each in some)
        hunks, lost = sum(each.hunks for each in some), sum(len(each.lost) for each in some)
        counts = (f"{len(some)} {kind or 'in all'}", clean, len(some) - clean, files, share, right, hunks, lost)
        print("| " + " | ".join(map(str, counts)) + " |")
    whole = sum(not each.left for each in found if not each.clean)
    unclean = sum(not each.clean for each in found)
    print(f"\nMerges with conflicts that need no model at all: {whole} of {unclean}.")
    print(f"As git merges, wherever git does: {all(each.as_git for each in found)}.")
    for name, some in (("clean", [f for f in found if f.clean]), ("with conflicts", [f for f in found if not f.clean])):
        if some:
            ours, git = (sum(getattr(each, key) for each in some) for key in ("seconds", "git_seconds"))
            ratio = median(each.seconds / each.git_seconds for each in some)
            print(
                f"{name}: {1000 * ours / len(some):.1f} ms a merge, git merge-tree {1000 * git / len(some):.1f} ms: "
                f"{ours / git:.2f}× (median of the pairs {ratio:.2f}×)"
            )
    for each in found:
        for text in each.lost[:3]:
            print(f"lost in {each.pair.repository} {each.pair.ours[:10]} + {each.pair.theirs[:10]}: {text}")


if __name__ == "__main__":
    sys.exit(main())
