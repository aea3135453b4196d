"""The real commits and branches of `examine.py`: each set is chosen by a rule, before anything is measured."""

from __future__ import annotations

import ast
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path
from typing import Any

CHECK = "python3 -m pytest -q -o addopts= -o pythonpath='src .' -p no:cacheprovider"
ENV = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
ANN = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
COMMITS, EACH, PLANTS, BRANCHES, LATER, TRIES = 40, 3, 30, 30, 60, 4
NEEDS = "freezegun html5lib lxml orderedmultidict parameterized pytest-mock pytz six webencodings whatever"
"""What is installed besides bough's own development set."""
LARGEST = 120
"""Changed lines of product code."""
INSIDE = (
    "_left = None",
    "_retries = 3",
    "_label = 'x'.strip()",
    "assert True, 'for later'",
    "if not __debug__: _off = 1",
)
OUTSIDE = (
    "\n\ndef _format_size(number):\n    return f'{number:,} bytes'\n",
    "\n\n_DEFAULT_LIMIT = 100\n",
    "\n\nclass _Marker:\n    pass\n",
    "\n\ndef _identity(value):\n    return value\n",
    "\n\n_CACHE = {}\n",
)


def git(folder: Path, *args: str, check: bool = True) -> str:
    done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, errors="replace")
    if check and done.returncode:
        raise RuntimeError(f"git {' '.join(args)}: {done.stderr}")
    return done.stdout if done.returncode == 0 else ""


def passes(folder: Path, tests: Sequence[str] = ()) -> bool:
    command = f"{CHECK} {shlex.join(tests)}"
    try:
        return not subprocess.run(command, shell=True, cwd=folder, env=ENV, capture_output=True, timeout=600).returncode
    except subprocess.TimeoutExpired:
        return False


def is_test(path: str) -> bool:
    return "test" in path.lower()


def is_product(path: str) -> bool:
    return path.endswith(".py") and not is_test(path) and not path.startswith(("doc", "example", "setup", "bench"))


def list_candidates(repo: Path) -> Iterator[dict[str, Any]]:
    log = git(repo, "log", "--no-merges", "--first-parent", "-n400", "--numstat", "--format=%x00%H%x09%s")
    for entry in log.split("\0")[1:]:
        head, *rows = entry.strip().split("\n")
        commit, _, subject = head.partition("\t")
        counts = [row.split("\t") for row in rows if row.count("\t") == 2]
        paths = [row[2] for row in counts]
        product = [path for path in paths if is_product(path)]
        size = sum(int(row[0]) + int(row[1]) for row in counts if row[-1] in product and row[0] != "-")
        tests = [path for path in paths if is_test(path) and path.endswith(".py")]
        if tests and product and size <= LARGEST and len(subject.split()) > 3 and not subject.startswith("Merge"):
            yield {"commit": commit, "subject": subject, "product": product, "tests": tests}


def choose_commits(mirror: Path, known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """`known`: what was chosen before, whose libraries are done."""
    total, done = len(known), {one["library"] for one in known}
    for library in sorted({path.parent.name for path in mirror.glob("*/repo")} - done):
        found = 0
        with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
            clone = Path(place) / "clone"
            git(Path(place), "clone", "-q", str(mirror / library / "repo"), str(clone))
            for tried, one in enumerate(list_candidates(clone)):
                if found == EACH or tried > 6 * EACH:
                    break
                git(clone, "checkout", "-q", "-f", one["commit"])
                git(clone, "clean", "-fdxq")
                there = [path for path in one.pop("tests") if (clone / path).is_file()]
                made = {"library": library, **one, "plant": plant(clone, one, total), "fault": {}}
                if not there or not made["plant"] or not passes(clone, there):
                    continue
                for path in one["product"]:
                    git(clone, "checkout", "-q", f"{one['commit']}^", "--", path, check=False)
                if passes(clone, there):
                    continue
                git(clone, "checkout", "-q", "-f", one["commit"])
                if passes(clone):
                    found, total = found + 1, total + 1
                    print(library, one["commit"][:10], one["subject"], flush=True)
                    yield made


def list_changed(before: str, after: str) -> set[int]:
    """The lines of a text that another one does not have, from 1."""
    blocks = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False).get_opcodes()
    return {
        line + 1 for kind, _, _, first, last in blocks if kind != "equal" for line in range(first, max(last, first + 1))
    }


def list_touched(clone: Path, one: dict[str, Any]) -> Iterator[tuple[str, str, set[int], list[ast.FunctionDef]]]:
    """Each product file, its text, the lines that the commit changed, and the functions with such a line."""
    for path in one["product"]:
        text = (clone / path).read_text("utf-8") if (clone / path).is_file() else ""
        changed = list_changed(git(clone, "show", f"{one['commit']}^:{path}", check=False), text)
        if text:
            functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
            touched = [each for each in functions if changed & {*range(each.lineno, each.end_lineno or 0)}]
            yield path, text, changed, touched


def plant(clone: Path, one: dict[str, Any], number: int) -> dict[str, Any]:
    """An unrelated hunk: every second one before the middle statement of the first touched function of two or more,
    where the first product file has one."""
    inside = number % 2 == 0
    for path, text, _, functions in list_touched(clone, one):
        lines = text.splitlines(True)
        bodies = [each.body for each in functions if len(each.body) > 1]
        if inside and bodies:
            at = bodies[0][(len(bodies[0]) + 1) // 2]
            added = f"{' ' * at.col_offset}{INSIDE[number % len(INSIDE)]}\n"
            return {"path": path, "line": at.lineno, "text": added, "inside": True}
        if not inside or not bodies:
            return {"path": path, "line": len(lines) + 1, "text": OUTSIDE[number % len(OUTSIDE)], "inside": False}
    return {}


def move_main(place: Path, mirror: Path, one: dict[str, Any]) -> tuple[Path, str]:
    """A clone whose `main` has 60 commits of the library, as they are, and whose `work` is the chosen one made on the
    first of them. They end before it or, every second time, some `after` it: somebody else had the same idea. Where it
    `reverts` the chosen one, they begin there. Returns it with where both began; empty: it does not apply there."""
    clone = place / "project"
    git(place, "clone", "-q", str(mirror / one["library"] / "repo"), str(clone))
    later = git(clone, "rev-list", "--reverse", "--first-parent", f"{one['commit']}..HEAD").split()[: one["after"]]
    tip = later[-1] if later else f"{one['commit']}{'' if one['after'] else '^'}"
    began = git(clone, "rev-parse", "--verify", "-q", f"{tip}~{LATER}", check=False).strip()
    if not began or (one.get("reverts") and began != one["commit"]):
        return clone, ""
    git(clone, "checkout", "-q", "-B", "main", tip)
    git(clone, "checkout", "-q", "-B", "work", began)
    env = {**os.environ, "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    how = ("revert", "--no-edit") if one.get("reverts") else ("cherry-pick",)
    done = subprocess.run(["git", *ANN, *how, one["commit"]], cwd=clone, env=env, capture_output=True)
    return clone, began if done.returncode == 0 else ""


def merge(clone: Path, commit: str) -> bool:
    """The branch merged with that commit; False: they conflict."""
    git(clone, "checkout", "-q", "-f", "--detach", commit)
    git(clone, "clean", "-fdxq")
    if subprocess.run(["git", *ANN, "merge", "-q", "--no-edit", "work"], cwd=clone, capture_output=True).returncode:
        git(clone, "reset", "-q", "--hard")
        return False
    return True


def merges_back(repo: Path, commit: str) -> bool:
    """Whether 60 commits follow that one, and taking it back merges with the last of them."""
    later = git(repo, "rev-list", "--reverse", "--first-parent", f"{commit}..HEAD").split()
    back = git(repo, *ANN, "commit-tree", "-p", commit, "-m", "Back.", f"{commit}^^{{tree}}").strip()
    return len(later) >= LATER and bool(git(repo, "merge-tree", "--write-tree", later[LATER - 1], back, check=False))


def list_failing(clone: Path) -> set[str]:
    done = subprocess.run(f"{CHECK} -rfE", shell=True, cwd=clone, env=ENV, capture_output=True, text=True)
    return {row.split()[1] for row in done.stdout.splitlines() if row.startswith(("FAILED ", "ERROR "))}


def find_truth(clone: Path, began: str) -> dict[str, str]:
    """By git and the project's command alone: proven, conflicts or broken, and the first commit that does it."""
    standing = "conflicts" if not merge(clone, "main") else "proven" if passes(clone) else "broken"
    failing = list_failing(clone) if standing == "broken" else set()
    commits = git(clone, "rev-list", "--reverse", "--first-parent", f"{began}..main").split()
    first, last = 0, len(commits) - 1
    while standing != "proven" and first < last:
        middle = (first + last) // 2
        good = merge(clone, commits[middle]) and (standing == "conflicts" or not failing & list_failing(clone))
        first, last = (middle + 1, last) if good else (first, middle)
    git(clone, "checkout", "-q", "-f", "main")
    git(clone, "clean", "-fdxq")
    return {"standing": standing, "culprit": "" if standing == "proven" else commits[last]}


def choose_branches(mirror: Path, known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The newest of each library whose suite passes and whose tests need the product's change; then the newest one that
    is broken by main when it is taken back. Broken: main passes alone."""
    done = {(one["library"], one.get("reverts", False)) for one in known}
    libraries = sorted(path.parent.name for path in mirror.glob("*/repo"))
    for reverts, library in product((True, False), libraries):
        found = tried = 0
        for one in list_candidates(mirror / library / "repo") if (library, reverts) not in done else ():
            if tried == TRIES or found == (1 if reverts else EACH):
                break
            if reverts and not merges_back(mirror / library / "repo", one["commit"]):
                continue
            place = Path(tempfile.mkdtemp(dir="/var/tmp"))
            try:
                one |= {"library": library, "after": LATER if reverts else LATER // 2 if found % 2 else 0}
                one |= {"reverts": True, "subject": f'Revert "{one["subject"]}"'} if reverts else {}
                clone, began = move_main(place, mirror, one)
                if not began or (reverts and (not merge(clone, "main") or passes(clone))):
                    continue
                git(clone, "checkout", "-q", "-f", "work")
                tried, tests = tried + 1, [path for path in one.pop("tests") if (clone / path).is_file()]
                if not passes(clone):
                    continue
                for path in one["product"]:
                    git(clone, "checkout", "-q", began, "--", path, check=False)
                if passes(clone, tests):
                    continue
                truth = find_truth(clone, began)
                broken = truth["standing"] == "broken"
                if broken < reverts or (broken and not passes(clone)):
                    continue
            finally:
                shutil.rmtree(place, ignore_errors=True)
            found += 1
            print(library, one["commit"][:10], truth, flush=True)
            yield {**one, **truth}
