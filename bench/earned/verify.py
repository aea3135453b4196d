"""Prove the table: every wrong change is wrong, every right one is right, and the examples tell them apart.

    python bench/earned/verify.py FOLDER                what fetch.py laid out there; some minutes
    python bench/earned/verify.py FOLDER roman soundex  some projects

For each goal the base and every change are tried in a copy of their own. What must hold:

- the project's check passes at the base (or fails there only because of the planted bug), and after each right change;
- the hidden script fails at the base and after each wrong change, and passes after each right one;
- an example (a case) passes after each right change, fails at the base unless it says what must be kept, and at least
  one fails after each wrong change of a goal that has any;
- a wrong change with a test of its own is red without the rest of the change, and green with it.

One line for each change: the verdict, the check's outcome, the hidden script's, and how many cases pass.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fetch import Case, Edit, Goal, Project, Script, lay_out, projects

LIMIT = 120


@dataclass
class Outcome:
    """What ran in one copy: the check, the hidden script and the cases that passed."""

    check: bool
    hidden: bool
    passed: set[str] = field(default_factory=set)


class Trial:
    """Copies of one goal's base, with edits applied, in which commands run."""

    def __init__(self, project: Project, goal: Goal, base: Path, programs: Path) -> None:
        self.project = project
        self.goal = goal
        self.base = base
        self.env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
        self.env.pop("PYTHONPATH", None)
        self.env.pop("NODE_TEST_CONTEXT", None)

    def run(self, folder: Path, command: str) -> bool:
        """Whether the command succeeds in the folder, within the limit."""
        words = shlex.split(command)
        try:
            done = subprocess.run(words, cwd=folder, env=self.env, capture_output=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def check(self, edits: Iterable[Edit]) -> bool:
        """Whether the project's check passes with these edits alone."""
        with tempfile.TemporaryDirectory() as box:
            return self.run(self._copy(Path(box), edits), self.project.check)

    def outcome(self, edits: Iterable[Edit]) -> Outcome:
        """Run the check, then the hidden script, then each case."""
        with tempfile.TemporaryDirectory() as box:
            folder = self._copy(Path(box), edits)
            found = Outcome(self.run(folder, self.project.check), self._script(folder, self.goal.hidden))
            for case in self.goal.cases:
                if self._script(folder, self._written(case)):
                    found.passed.add(case.name)
        return found

    def _written(self, case: Case) -> Script:
        prelude = self.goal.prelude
        return Script(prelude.path, prelude.text + case.text, prelude.command)

    def _copy(self, box: Path, edits: Iterable[Edit]) -> Path:
        folder = box / self.project.name
        shutil.copytree(self.base, folder, ignore=shutil.ignore_patterns(".git", "__pycache__"), symlinks=True)
        for edit in edits:
            edit.apply(folder)
        return folder

    def _script(self, folder: Path, script: Script) -> bool:
        file = folder / script.path
        file.write_text(script.text, encoding="utf-8")
        try:
            return self.run(folder, script.command)
        finally:
            file.unlink()


def faults_of_base(trial: Trial, base: Outcome) -> list[str]:
    """What does not hold at the base."""
    goal = trial.goal
    faults = []
    if not base.check and not goal.plant:
        faults.append("the check fails at the base")
    if base.hidden:
        faults.append("the hidden script passes at the base")
    for case in goal.cases:
        if (case.name in base.passed) != case.keeps:
            faults.append(f"case {case.name} {'fails' if case.keeps else 'passes'} at the base")
    if not any(change.right for change in goal.changes):
        faults.append("no right change")
    return faults


def faults_of_change(trial: Trial, number: int, found: Outcome) -> list[str]:
    """What does not hold after a change."""
    change = trial.goal.changes[number]
    every = {case.name for case in trial.goal.cases}
    faults = []
    if found.hidden != change.right:
        faults.append(f"the hidden script {'passes' if found.hidden else 'fails'}")
    if change.right and not found.check:
        faults.append("the check fails")
    if change.right and found.passed != every:
        faults.append(f"cases fail: {', '.join(sorted(every - found.passed))}")
    if not change.right and every and found.passed == every:
        faults.append("every case passes")
    if change.kind in ("wrong_with_test", "right"):
        tests = [edit for edit in change.edits if "test" in edit.path.lower()]
        if change.kind == "wrong_with_test" and not found.check:
            faults.append("the author's own test fails")
        if tests and trial.check(tests):
            faults.append("its test passes without the change")
        if not tests and change.kind == "wrong_with_test":
            faults.append("it has no test")
    return faults


def word(held: bool) -> str:
    """Pass or fail, in columns."""
    return "pass" if held else "FAIL"


def verify(project: Project, goal: Goal, top: Path) -> int:
    """Try the base and every change of one goal, and print a line for each; the number of faults."""
    trial = Trial(project, goal, lay_out(project, goal, top), top / ".venv" / "bin")
    total = 0
    base = trial.outcome(())
    rows = [("base", "base", base, faults_of_base(trial, base))]
    for number, change in enumerate(goal.changes):
        try:
            found = trial.outcome(change.edits)
            faults = faults_of_change(trial, number, found)
        except LookupError as error:
            found, faults = Outcome(False, False), [str(error)]
        rows.append((change.name, change.kind, found, faults))
    for name, kind, found, faults in rows:
        total += len(faults)
        cases = f"{len(found.passed)}/{len(goal.cases)}"
        where = f"{project.name}/{goal.name}/{name}"
        print(
            f"{'ok ' if not faults else 'BAD'} {where:<62} {kind:<20} check {word(found.check)}  "
            f"hidden {word(found.hidden)}  cases {cases}  {'; '.join(faults)}".rstrip(),
            flush=True,
        )
    return total


def counts(chosen: list[Project]) -> str:
    """The table in numbers."""
    goals = [goal for project in chosen for goal in project.goals]
    changes = [change for goal in goals for change in goal.changes]
    kinds = Counter(change.kind for change in changes)
    wrong = sum(not change.right for change in changes)
    return (
        f"{len(chosen)} projects, {len(goals)} goals, {len(changes)} changes: "
        f"{wrong} wrong, {len(changes) - wrong} right; "
        + ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    )


def main() -> int:
    """Verify what is asked for; the exit status says whether everything holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    chosen = projects(asked.names)
    faults = sum(verify(project, goal, asked.folder.resolve()) for project in chosen for goal in project.goals)
    print(counts(chosen))
    if faults:
        print(f"{faults} faults", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
