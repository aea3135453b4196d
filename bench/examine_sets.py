"""The real commits and branches of `examine.py`: each set is chosen by a rule, before anything is measured."""

import ast
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, product
from pathlib import Path
from typing import Any

CHECK = "python3 -m pytest -q -o addopts= -o pythonpath='src .' -p no:cacheprovider"
ENV = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
ANN = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
COMMITS, EACH, PLANTS, BRANCHES, LATER, TRIES = 40, 3, 30, 30, 60, 4
NEEDS = "freezegun html5lib lxml orderedmultidict parameterized pytest-mock pytz simplejson six webencodings whatever"
"""What is installed besides bough's own development set."""
LARGEST = 120
"""Changed lines of product code."""
STEP, REACH = 15, 150
"""Of `list_moves`."""
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


def find_check(one: dict[str, Any]) -> str:
    """The library's command; an old one needs an older `python` that has pytest, too."""
    return CHECK.replace("python3", one.get("python", "python3"), 1)


def passes(folder: Path, tests: Sequence[str] = (), check: str = CHECK) -> bool:
    command = f"{check} {shlex.join(tests)}"
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
    first of them, or taken back there (`reverts`). They end at its `tip`; else before it or, every second time, some
    `after` it: somebody else had the same idea. Returns it with where both began; empty: it does not apply there."""
    clone = place / "project"
    git(place, "clone", "-q", str(mirror / one["library"] / "repo"), str(clone))
    if not (tip := one.get("tip", "")):
        later = git(clone, "rev-list", "--reverse", "--first-parent", f"{one['commit']}..HEAD").split()[: one["after"]]
        tip = later[-1] if later else f"{one['commit']}{'' if one['after'] else '^'}"
    began = git(clone, "rev-parse", "--verify", "-q", f"{tip}~{LATER}", check=False).strip()
    if not began:
        return clone, ""
    git(clone, "checkout", "-q", "-B", "main", tip)
    git(clone, "checkout", "-q", "-B", "work", began)
    env = {**os.environ, "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    how = ["revert", "--no-edit"] if one.get("reverts") else ["cherry-pick"]
    if git(clone, "rev-parse", "--verify", "-q", f"{one['commit']}^2", check=False):
        how += ["-m", "1"]
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


def list_failing(clone: Path, check: str) -> set[str]:
    done = subprocess.run(f"{check} -rfE", shell=True, cwd=clone, env=ENV, capture_output=True, text=True)
    return {row.split()[1] for row in done.stdout.splitlines() if row.startswith(("FAILED ", "ERROR "))}


def find_truth(clone: Path, began: str, check: str) -> dict[str, str]:
    """By git and the project's command alone: proven, conflicts or broken, and the first commit that does it."""
    standing = "conflicts" if not merge(clone, "main") else "proven" if passes(clone, (), check) else "broken"
    failing = list_failing(clone, check) if standing == "broken" else set()
    commits = git(clone, "rev-list", "--reverse", "--first-parent", f"{began}..main").split()
    first, last = 0, len(commits) - 1
    while standing != "proven" and first < last:
        middle = (first + last) // 2
        good = merge(clone, commits[middle]) and (standing == "conflicts" or not failing & list_failing(clone, check))
        first, last = (middle + 1, last) if good else (first, middle)
    git(clone, "checkout", "-q", "-f", "main")
    git(clone, "clean", "-fdxq")
    return {"standing": standing, "culprit": "" if standing == "proven" else commits[last]}


def list_moves(repo: Path) -> Iterator[dict[str, Any]]:
    """Commits made again elsewhere: at every 15th commit of main, what came up to 150 commits after it is brought to
    where main was 60 commits ago, and what came up to 150 before that is taken back there."""
    line, known = git(repo, "rev-list", "--first-parent", "HEAD").split(), {}
    for one in list_candidates(repo):
        known[one["commit"]] = one
    for end in range(0, len(line) - LATER, STEP):
        for number in (*range(max(0, end - REACH), end), *range(end + LATER, min(end + LATER + REACH, len(line)))):
            if one := known.get(line[number], {}):
                back = {"reverts": True, "subject": f'Revert "{one["subject"]}"'} if number > end else {}
                yield {**one, "tip": line[end], **back}


def judge_branch(mirror: Path, one: dict[str, Any], tests: list[str]) -> dict[str, str]:
    """The truth about a branch; empty where it does not serve: its suite does not pass, its tests do not need the
    product's change, or main does not pass alone what is broken."""
    place, check = Path(tempfile.mkdtemp(dir="/var/tmp")), find_check(one)
    try:
        clone, began = move_main(place, mirror, one)
        if not began or not passes(clone, (), check):
            return {}
        for path in one["product"]:
            (clone / path).unlink(missing_ok=True)
            git(clone, "checkout", "-q", began, "--", path, check=False)
        if passes(clone, [path for path in tests if (clone / path).is_file()], check):
            return {}
        truth = find_truth(clone, began, check)
        return {} if truth["standing"] == "broken" and not passes(clone, (), check) else truth
    finally:
        shutil.rmtree(place, ignore_errors=True)


def choose_branches(mirror: Path, known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The newest of each library, and then those made again elsewhere. These are thousands: those in the file, found
    with an index of names, are some in which one side uses a name that the other one changes or takes away."""
    done = {(one["library"], "tip" in one) for one in known}
    libraries = sorted(path.parent.name for path in mirror.glob("*/repo"))
    for moves, library in product((False, True), libraries):
        found, listed = 0, (list_moves if moves else list_candidates)(mirror / library / "repo")
        for one in islice(listed, 0 if (library, moves) in done else TRIES * (20 if moves else 1)):
            one |= {"library": library} | ({} if moves else {"after": LATER // 2 if found % 2 else 0})
            if found < EACH and (truth := judge_branch(mirror, one, one.pop("tests"))):
                found += 1
                print(library, one["commit"][:10], truth, flush=True)
                yield {**one, **truth}
