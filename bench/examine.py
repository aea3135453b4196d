"""What does `bough examine` say about real commits, with and without something wrong in them?

    python -m bench.examine choose --mirror DIR     # once, before any run: writes bench/examine.json
    python -m bench.examine needless --mirror DIR --base-url URL --model M    # an unrelated hunk added: is it named?
    python -m bench.examine branches --mirror DIR   # once, before any run: writes bench/examine_branches.json
    python -m bench.examine moved --mirror DIR      # branches against a main with 60 more commits; no model thinks
    python -m bench.examine judge --mirror DIR --base-url URL --model M [--faults]    # whoever answers is the model

DIR has a git repository NAME/repo for each library. A commit is chosen by a rule: the newest ones, without merges, that
change product code and tests (none with a clock in it), whose suite passes, and whose tests fail on the product of the
commit before. The unrelated hunks are made from the syntax of the touched functions. The faults are written by hand,
from the commit alone, in code that it changes and against what its message asks, so that its tests still pass where
that can be. All this comes before anything is measured. Each library runs from its tree, with what NEEDS installs.
With `--places` the folders stay: what was examined there already is only searched.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, product
from pathlib import Path
from typing import Any

from tests.journeys.model import Goal, Model
from tests.journeys.person import Person
from tests.wire import WireModel

SET = Path(__file__).with_suffix(".json")
BRANCH_SET = SET.with_name("examine_branches.json")
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


# ── the set ─────────────────────────────────────────────────────────────────────────────────────────────────────────


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


def put_fault(clone: Path, fault: dict[str, str]) -> None:
    file = clone / fault["path"]
    text = file.read_text("utf-8")
    if text.count(fault["old"]) != 1:
        raise ValueError(f"{fault['path']} has {text.count(fault['old'])} times {fault['old']!r}")
    file.write_text(text.replace(fault["old"], fault["new"]), "utf-8")


# ── one change ──────────────────────────────────────────────────────────────────────────────────────────────────────


def meet(folder: Path, base_url: str, model: str) -> Person:
    home = folder / "home"
    if not home.exists():
        (home / ".config" / "bough").mkdir(parents=True)
        (home / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@example.org\n[init]\ndefaultBranch = main\n")
        (home / ".config/bough/config.toml").write_text(
            # Whoever answers may be a person.
            f'[models]\nmain = "openai:{model}"\nbase_url = "{base_url}"\n[limits]\nmodel_timeout = 3600\n'
        )
    return Person(home, folder / "project", Model([]), None)  # type: ignore[arg-type]


def run(ann: Person, *args: str) -> tuple[int, str]:
    """A command without the patience of a journey: a suite takes its time."""
    bough = str(Path(sys.executable).parent / "bough")
    done = subprocess.run([bough, *args], cwd=ann.project, env=ann.env, text=True, capture_output=True, timeout=7200)
    return done.returncode, done.stdout + done.stderr


def check_out(ann: Person, mirror: Path, one: dict[str, Any]) -> str:
    """The commit as branch `work` on a `main` without it. Returns its message."""
    git(ann.project.parent, "clone", "-q", str(mirror / one["library"] / "repo"), str(ann.project))
    git(ann.project, "checkout", "-q", "-B", "main", f"{one['commit']}^")
    git(ann.project, "checkout", "-q", "-b", "work", one["commit"])
    return git(ann.project, "log", "-1", "--format=%B", one["commit"])


def list_hunks(ann: Person, one: dict[str, Any]) -> dict[str, list[tuple[int, int]]]:
    """The lines of the commit's own parts, by product file."""
    from bough.core.acceptance.change_parts import edit_file

    found = {}
    for path in one["product"]:
        old, new = (git(ann.project, "show", f"{one['commit']}{at}:{path}", check=False).encode() for at in ("^", ""))
        parts = edit_file(path, old or None, new or None)
        found[path] = [(edit.new + 1, max(edit.new_end, 1)) for edit in parts.edits] if parts else []
    return found


def examine_needless(place: Path, mirror: Path, one: dict[str, Any], base_url: str, model: str) -> dict[str, Any]:
    """The commit with its unrelated hunk: what `--needless` names."""
    plant, ann = one["plant"], meet(place, base_url, model)
    if not ann.project.exists():
        check_out(ann, mirror, one)
        file = ann.project / plant["path"]
        lines = file.read_text("utf-8").splitlines(True)
        lines.insert(plant["line"] - 1, plant["text"])
        file.write_text("".join(lines), "utf-8")
        ann.git("commit", "-qa", "--amend", "--no-edit")
    goal, began = git(ann.project, "log", "-1", "--format=%B", "work"), time.monotonic()
    asked = ("examine", "main..work", "--goal", goal, "--check", CHECK, "--needless")
    status, said = run(ann, *asked)
    if status == 8:  # It changes what a test says: the person allows that, and asks again.
        run(ann, "approve", "latest")
        status, said = run(ann, *asked)
    parts = json.loads(run(ann, "report", "--json")[1] or "{}").get("needless", {})
    size, before = plant["text"].count("\n"), list_hunks(ann, one)
    first, last = plant["line"] + plant["text"].startswith("\n\n") * 2, plant["line"] + size - 1
    wrong, named = [], False
    for path, edits in before.items():
        gone = [each for each in parts.get("needless", ()) if each["path"] == path]
        spans = [(each.get("first", 1), each.get("last", 10**9)) for each in gone]
        named |= path == plant["path"] and any(begin <= first and last <= end for begin, end in spans)
        for begin, end in edits:
            shift = size if path == plant["path"] and begin >= plant["line"] else 0
            if any(low <= begin + shift and end + shift <= high for low, high in spans):
                wrong.append(f"{path}:{begin}-{end}")
    seconds, why = round(time.monotonic() - began, 1), "" if parts else said[-300:]
    made = {"named": named, "hunks": sum(map(len, before.values())), "wrong": len(wrong), "these": wrong}
    told = {key: parts.get(key, ()) for key in ("checks", "undecided", "tests")}
    return {**made, **told, "seconds": seconds, "status": status, "why": why}


def judge(place: Path, mirror: Path, one: dict[str, Any], base_url: str, model: str, fault: bool) -> dict[str, Any]:
    """What an answering model makes of the commit, or of the commit with its fault. A refutation counts when its case
    passes on the commit as it was."""
    ann = meet(place, base_url, model)
    goal = check_out(ann, mirror, one)
    if fault:
        put_fault(ann.project, one["fault"])
        ann.git("commit", "-qa", "--amend", "--no-edit")
    began = time.monotonic()
    status, said = run(ann, "examine", "main..work", "--goal", goal, "--check", CHECK)
    if asked := status == 8:  # It changes what a test says: the person allows that.
        status, said = run(ann, "approve", "latest")
    report = json.loads(run(ann, "report", "--json")[1] or "{}")
    spend = json.loads(run(ann, "show", "--json")[1] or "{}").get("spend", {})
    ann.git("checkout", "-q", "-f", one["commit"])
    cases = [line.strip() for line in said.splitlines() if "cp .bough/cases/" in line]
    right = [subprocess.run(line, shell=True, cwd=ann.project, env=ann.env).returncode == 0 for line in cases]
    rows = [row["standing"] for row in report.get("requirements", ())]
    seconds = round(time.monotonic() - began, 1)
    told = {"status": status, "asked": asked, "rows": rows, "cases": right, "seconds": seconds, "spend": spend}
    return {**told, "said": said[-2000:]}


# ── a main that moves ───────────────────────────────────────────────────────────────────────────────────────────────


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


def recheck(place: Path, mirror: Path, one: dict[str, Any]) -> dict[str, Any]:
    scripted = Model([Goal(one["subject"], {}, {})])
    with WireModel(scripted) as wire:
        ann = meet(place, wire.base_url, "wire-model")
        clone, began = move_main(place, mirror, one)
        started = time.monotonic()
        passes(clone)
        whole = time.monotonic() - started
        status, said = run(ann, "examine", f"{began}..work", "--goal", one["subject"], "--check", CHECK)
        if status == 8:  # It changes what a test says: the person allows that.
            status, said = run(ann, "approve", "latest")
        started, examined = time.monotonic(), status
        status, said = run(ann, "recheck", "latest", "--json")
        took = time.monotonic() - started
    try:
        (told,) = json.loads(said)
    except ValueError:
        told = {"standing": said[-300:], "culprit": ""}
    right = told["standing"] == one["standing"] and told["culprit"] == one["culprit"]
    times = {"whole": round(whole, 1), "took": round(took, 1), "ratio": round(took / whole, 1)}
    return {"right": right, "truth": one["standing"], "told": told, **times, "examined": examined, "status": status}


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("choose", "needless", "branches", "moved", "judge"))
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--model", default="relay")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth change, from the Kth on")
    parser.add_argument("--places", type=Path, help="the folder in which each change's folder stays")
    parser.add_argument("--results", type=Path, help="a line a change, appended; what it has is not done again")
    asked = parser.parse_args()
    file = BRANCH_SET if asked.what in ("branches", "moved") else SET
    if asked.what in ("choose", "branches"):
        found = json.loads(file.read_text()) if file.exists() else []
        most, choice = (COMMITS, choose_commits) if asked.what == "choose" else (BRANCHES, choose_branches)
        for one in islice(choice(asked.mirror, list(found)), most - len(found)):
            found.append(one)
            file.write_text(json.dumps(found, indent=1) + "\n")
        return
    most = {"needless": PLANTS, "moved": BRANCHES, "judge": COMMITS}[asked.what]
    part, parts = map(int, asked.part.split("/"))
    chosen: list[dict[str, Any]] = json.loads(file.read_text())
    if asked.what == "needless":  # As many inside a touched function as outside of it.
        sides = ([one for one in chosen if one["plant"]["inside"] == side] for side in (True, False))
        chosen = [one for pair in zip(*sides, strict=False) for one in pair]
    chosen = chosen[:most][part - 1 :: parts]
    kept = asked.results.read_text().splitlines() if asked.results and asked.results.exists() else []
    results = [json.loads(line) for line in kept]
    known = {each["commit"] for each in results}
    for one in (one for one in chosen if one["commit"] not in known):
        place = (asked.places or Path(tempfile.mkdtemp(dir="/var/tmp"))) / f"{one['library']}-{one['commit'][:8]}"
        place.mkdir(parents=True, exist_ok=True)
        given = (place, asked.mirror, one)
        try:
            if asked.what == "moved":
                told = recheck(*given)
            elif asked.what == "needless":
                told = examine_needless(*given, asked.base_url, asked.model)
            else:
                told = judge(*given, asked.base_url, asked.model, asked.faults)
        finally:
            if not asked.places:
                shutil.rmtree(place.parent, ignore_errors=True)
        results.append({"library": one["library"], "commit": one["commit"], **told})
        for out in (sys.stdout, *((asked.results.open("a"),) if asked.results else ())):
            print(json.dumps(results[-1]), file=out, flush=True)
    print(count(results))


def count(results: list[dict[str, Any]]) -> dict[str, int]:
    totals = Counter[str](changes=len(results))
    for told in results:
        totals.update({key: int(told[key]) for key in ("named", "hunks", "wrong", "right") if key in told})
        if "cases" in told:
            totals.update({f"status {told['status']}": 1, "shown by a right case": any(told["cases"])})
    return dict(totals)


if __name__ == "__main__":
    main()
