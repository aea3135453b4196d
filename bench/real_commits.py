"""Real commits that touch code and tests, each as a run: what does the verdict say about honest work?

    python -m bench.real_commits REPOSITORY... [--python PYTHON] [--commits N] [--only FILE] [--judge MODEL] [--jobs N]
        [--json FILE]

REPOSITORY is a git directory (bare or not). Its latest commits that change both product code and tests are taken, the
oldest first: the project is laid out as it was before the commit, a scripted agent makes the changes, and bough judges
them (`python -m pytest` of the given interpreter, which has to have what the libraries need). A commit on which the
check does not pass proves nothing either way; it is counted apart. Where bough asks, the tests that it names are run
once more without bough: in a plain checkout of the commit with the test files of the commit before it. Commands are not
confined: take repositories that you trust.

With `--judge provider:model@URL` a real model rules first, as in a run: the commit's message is the request, and
what words of it demand is allowed without asking. `--only` takes the commits of an earlier result on which bough asked.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.verification.cases import bash, run_to_end, stubborn

from bough.core import events as e
from bough.core.planning.plan import Step
from bough.core.verdict.test_files import is_code, is_test_file
from bough.testing import ScriptedModel

CONFIRMED_MOST = 3
"""Of one commit: one that really disagrees is reason enough to ask."""


def git(repository: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "--git-dir", str(repository), *words], check=True, capture_output=True, text=True, errors="replace"
    ).stdout


def lay_out(repository: Path, commit: str, folder: Path, paths: list[str] | None = None) -> None:
    """The files of a commit, or these of them."""
    made = subprocess.run(
        ["git", "--git-dir", str(repository), "archive", commit, *(paths or [])], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=made.stdout, check=True)


def commits(repository: Path, most: int) -> list[str]:
    """Those that change product code and tests, the latest ones, oldest first."""
    found: list[str] = []
    for block in git(repository, "log", "--no-merges", "-n", "1500", "--format=%x00%H", "--name-status").split("\0")[
        1:
    ]:
        commit, *lines = [line for line in block.splitlines() if line.strip()]
        paths = [path for line in lines for path in line.split("\t")[1:]]
        code = [path for path in paths if path.endswith(".py") and path not in ("setup.py", "docs/conf.py")]
        tests = [path for path in code if is_test_file(path)]
        if tests and any(is_code(path) and not is_test_file(path) for path in code):
            found.append(commit)
        if len(found) == most:
            break
    return found[::-1]


def one(repository: Path, commit: str, python: str, judge: str | None = None) -> dict[str, Any]:
    name = repository.parent.name if repository.name in ("repo", ".git") else repository.name
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        project, work = Path(folder, "project"), Path(folder, "new.tar")
        project.mkdir()
        lay_out(repository, f"{commit}^", project)
        (project / "bough.toml").write_text("[limits]\nmax_repairs = 0\ncheck_timeout = 120.0\n")
        git(repository, "archive", "-o", str(work), commit)
        gone = git(repository, "diff", "--no-renames", "--diff-filter=D", "--name-only", f"{commit}^", commit).split(
            "\n"
        )
        removed = " ".join(shlex.quote(path) for path in gone if path)
        does = bash(f"{f'rm -f {removed}; ' if removed else ''}tar -xf {work}")
        check = check_in(project, python)
        step = Step("goal", git(repository, "log", "-1", "--format=%B", commit), test_command=check)
        outcome, journal = run_to_end(project, step, ScriptedModel(stubborn(does)), judge)
        verdict = outcome.tree[0].verdict
    if verdict is None:  # the check cannot run on what was there before the commit
        seconds = round(time.monotonic() - began, 1)
        halted = {"ruling": "failed", "finding": False, "reason": outcome.summary, "disagreements": []}
        return {"library": name, "commit": commit[:10], **halted, "seconds": seconds}
    asked = [each.test for each in verdict.disagreements] if verdict.ruling == "needs_approval" else []
    return {
        "library": name,
        "commit": commit[:10],
        "ruling": verdict.ruling,
        "confirmed": disagreeing(repository, commit, python, asked) if asked else [],
        "finding": verdict.ruling == "failed" and verdict.finding,
        "reason": verdict.reason,
        "changed": verdict.changed,
        "canary": verdict.canary,
        "allowed": [change.why for ruled in journal.of(e.ChangesRuled) for change in ruled.allowed],
        "disagreements": [
            {"test": each.test, "said": each.said, "asked": each.asked} for each in verdict.disagreements
        ],
        "seconds": round(time.monotonic() - began, 1),
    }


def check_in(project: Path, python: str) -> str:
    source = "env PYTHONPATH=src:. " if (project / "src").is_dir() else ""
    return f"{source}{python} -m pytest -q -p no:cacheprovider -o addopts= -o 'python_files=test*.py *_test.py'"


def disagreeing(repository: Path, commit: str, python: str, tests: list[str]) -> list[str]:
    """Those of the tests that do not pass on the commit's code with the test files of the commit before it. None of
    bough's own ways of telling and restoring: what has `test` in its path is put back, one by one they are run."""

    def testish(of: str) -> list[str]:
        paths = git(repository, "ls-tree", "-r", "--name-only", of).splitlines()
        return [path for path in paths if "test" in path.lower()]

    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        lay_out(repository, commit, project)
        for path in testish(commit):
            (project / path).unlink(missing_ok=True)
        lay_out(repository, f"{commit}^", project, testish(f"{commit}^"))
        check = check_in(project, python)
        commands = {test: f"{check} {shlex.quote(test)}" for test in tests[:CONFIRMED_MOST]}
        return [test for test, command in commands.items() if _status(command, project) != 0]


def _status(command: str, folder: Path) -> int:
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, timeout=300).returncode


def told(found: list[dict[str, Any]]) -> str:
    """Per library: judged, proven, asked, refused; and those on which the check fails anyway."""
    lines = [
        "| library | judged | proven | allowed by the judge | asked | an original test fails | it uses what is gone "
        "| no disagreement | refused | check fails |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    totals: Counter[str] = Counter()
    for library in sorted({each["library"] for each in found}):
        count = Counter(_kind(each) for each in found if each["library"] == library)
        totals += count
        lines.append(_row(library.partition("+")[2] or library, count))
    return "\n".join([*lines, _row("all", totals)])


def _is_asked(row: dict[str, Any]) -> bool:
    return bool(row["ruling"] == "needs_approval")


def _kind(each: dict[str, Any]) -> str:
    if each["ruling"] == "passed" and each.get("allowed"):
        return "allowed"
    if each["ruling"] != "needs_approval":
        return "refused" if each["finding"] else str(each["ruling"])
    if not each["confirmed"]:
        return "no disagreement"
    return "fails" if any(one["asked"] for one in each["disagreements"]) else "gone"


def _row(name: str, count: Counter[str]) -> str:
    asked = [count["fails"], count["gone"], count["no disagreement"]]
    judged = count["passed"] + count["allowed"] + sum(asked) + count["refused"]
    cells = (name, judged, count["passed"], count["allowed"], sum(asked), *asked, count["refused"], count["failed"])
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--commits", type=int, default=40, help="of each repository")
    parser.add_argument("--only", type=Path, metavar="FILE", help="those on which bough asked, in an earlier --json")
    parser.add_argument("--judge", metavar="MODEL", help="provider:model@URL that rules before anybody is asked")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    # The interpreter and the commits lie where a confined command cannot read.
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "BOUGH_SANDBOX_MODE": "none"}
    jobs = [
        (path, commit, args.python, args.judge) for path in args.repositories for commit in commits(path, args.commits)
    ]
    if args.only:
        asked = {row["commit"] for row in map(json.loads, args.only.read_text().splitlines()) if _is_asked(row)}
        jobs = [job for job in jobs if job[1][:10] in asked]
    found: list[dict[str, Any]] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        for each in pool.map(one, *zip(*jobs, strict=True)):
            found.append(each)
            if args.json:
                args.json.write_text("".join(json.dumps(row) + "\n" for row in found))
    for each in found:
        if each["ruling"] == "needs_approval" or each["finding"]:
            print(f"{each['library']} {each['commit']}: {each['reason'][:300]}")
    print(told(found))


if __name__ == "__main__":
    main()
