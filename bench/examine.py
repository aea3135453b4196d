"""What does `bough examine` say about real commits, with and without something wrong in them?

    python bench/examine.py choose --mirror DIR     # once, before any run: writes bench/examine.json
    python bench/examine.py needless --mirror DIR --base-url URL --model M    # an unrelated hunk added: is it named?
    python bench/examine.py branches --mirror DIR   # once, before any run: writes bench/examine_branches.json
    python bench/examine.py moved --mirror DIR      # branches against a main with 60 more commits; no model thinks
    python bench/examine.py judge --mirror DIR --base-url URL --model M [--faults]    # whoever answers is the model

DIR has a git repository NAME/repo for each library. A commit is chosen by a rule: the newest ones, without merges, that
change product code and tests (none with a clock in it), whose suite passes, and whose tests fail on the product of the
commit before. The unrelated hunks are made from the syntax of the touched functions. The faults are written by hand,
from the commit alone, in code that it changes and against what its message asks, so that its tests still pass where
that can be. All this comes before anything is measured. Each library runs from its tree, with what NEEDS in
`examine_sets.py` installs. With `--places` the folders stay: what was examined there already is only searched.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from examine_sets import (
    BRANCHES,
    CHECK,
    COMMITS,
    PLANTS,
    choose_branches,
    choose_commits,
    find_check,
    git,
    move_main,
    passes,
)
from tests.journeys.model import Goal, Model
from tests.journeys.person import Person
from tests.wire import WireModel

SET = Path(__file__).with_suffix(".json")
BRANCH_SET = SET.with_name("examine_branches.json")


def put_fault(clone: Path, fault: dict[str, str]) -> None:
    file = clone / fault["path"]
    text = file.read_text("utf-8")
    if text.count(fault["old"]) != 1:
        raise ValueError(f"{fault['path']} has {text.count(fault['old'])} times {fault['old']!r}")
    file.write_text(text.replace(fault["old"], fault["new"]), "utf-8")


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
    from bough.services.needless import edit_file

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


def recheck(place: Path, mirror: Path, one: dict[str, Any]) -> dict[str, Any]:
    check, scripted = find_check(one), Model([Goal(one["subject"], {}, {})])
    with WireModel(scripted) as wire:
        ann = meet(place, wire.base_url, "wire-model")
        clone, began = move_main(place, mirror, one)
        started = time.monotonic()
        passes(clone, (), check)
        whole = time.monotonic() - started
        status, said = run(ann, "examine", f"{began}..work", "--goal", one["subject"], "--check", check)
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
