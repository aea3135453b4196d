"""What bough says about each change of the table, with default settings.

    python bench/earned/fetch.py FOLDER                  first
    python bench/earned/run.py FOLDER                    all of it; an hour on two cores
    python bench/earned/run.py FOLDER roman soundex      some projects

For each change a scripted engineer makes exactly that change and says that it is done; whoever is asked to repair it
changes nothing. The gate and the examiner are scripts, too: they read a goal as `answers/readings.toml` says, and the
examiner writes the table's cases as probes, each about one requirement. Everything else is as a person gets it, with
the project's check as `--check`.

One line for each change, then the figures: how many wrong changes are `completed` (0 is right), how many right ones
are, and how many model calls they cost beyond the gate and the engineer.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fetch import Case, Change, Goal, Project, Script, projects
from wire import Document, Wire, calling

from bough import app
from bough.core.planning.plan import build_goal_step


@dataclass
class Cast:
    """Whoever answers for one change of a goal."""

    goal: Goal
    files: dict[str, str]
    """What the engineer writes."""
    reading: dict[str, Any]
    """Which sentences ask for nothing new, by kind, and which requirement each case is about."""
    calls: dict[str, int] = field(default_factory=dict)
    """How often each was asked."""

    def answer(self, request: Document) -> Document:
        tools = [tool["function"]["name"] for tool in request.get("tools", [])]
        if "estimate" in tools:
            return self._tell("gate", self._estimate())
        if "probe" in tools:
            return self._tell("examiner", self._probe(request))
        if "rule" in tools:
            quote = self.goal.text.splitlines()[0]
            return self._tell("judge", calling("rule", reason="The goal says so.", demanded=True, quote=quote))
        if "done" in tools:
            return self._tell("engineer", self._engineer(request))
        return self._tell("other", {"role": "assistant", "content": "There is nothing to add."})

    def _tell(self, who: str, message: Document) -> Document:
        self.calls[who] = self.calls.get(who, 0) + 1
        return message

    def _estimate(self) -> Document:
        starts = [" ".join(each.split()[:8]) for each in re.split(r"(?<=[.!?])\s+", self.goal.text) if each.strip()]
        kinds = [
            {"begins": words, "kind": kind}
            for kind in ("background", "document", "restructure", "unchanged")
            for words in self.reading.get(kind, [])
        ]
        return calling("estimate", reason="One place.", steps=1, atomic=True, requirements=starts, kinds=kinds)

    def _probe(self, request: Document) -> Document:
        """The table's cases that are about the requirements that bough asks about."""
        brief = next(str(message["content"]) for message in request["messages"] if message["role"] == "user")
        listed = re.findall(r"(?ms)^(\d+)\. (?:\([^\n]*? …\) )?(.+?)(?=^\d+\. |\n\n|\Z)", brief)
        asked = [(number, " ".join(text.split())) for number, text in listed]
        framework = re.search(r"Framework: (\w+)", brief)
        probes = []
        for case in self.goal.cases:
            about = self.reading.get("about", {}).get(case.name, "")
            number, text = next(((number, text) for number, text in asked if text.startswith(about)), ("", ""))
            if number:
                written = self._write(case.text, framework[1] if framework else "sh")
                probes.append({"says": case.name, "requirement": int(number), "quote": text[:120], "text": written})
        return calling("probe", probes=probes)

    def _write(self, case: str, framework: str) -> str:
        """One case in the framework that is asked for: the table's file, run by the table's command."""
        script = self.goal.prelude
        text = script.text + case
        if framework == "sh":
            return f"cat > {script.path} <<'END_OF_CASE'\n{text}\nEND_OF_CASE\n{script.command}\n"
        if framework == "node":
            return (
                "const names = ['node:test', 'node:fs', 'node:child_process'];\n"
                "const started = Promise.all(names.map((name) => import(name)));\n"
                "started.then(([{ test }, fs, processes]) => test('case', () => {\n"
                f"  fs.writeFileSync({script.path!r}, {json.dumps(text)});\n"
                "  const env = { ...process.env };\n"
                "  delete env.NODE_TEST_CONTEXT;\n"
                f"  processes.execSync({script.command!r}, {{ env, stdio: 'pipe' }});\n"
                "}));\n"
            )
        body = (
            "    import pathlib\n    import subprocess\n\n"
            f"    pathlib.Path({script.path!r}).write_text({text!r})\n"
            f"    done = subprocess.run({script.command!r}, shell=True, capture_output=True, text=True)\n"
            "    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]\n"
        )
        if framework == "unittest":
            inner = "\n".join(f"    {line}" if line else line for line in body.splitlines())
            return f"import unittest\n\nclass Case(unittest.TestCase):\n    def test_case(self):\n{inner}\n"
        return f"def test_case():\n{body}"

    def _engineer(self, request: Document) -> Document:
        messages = request["messages"]
        brief = next(str(message["content"]) for message in messages if message["role"] == "user")
        done = sum(message["role"] == "tool" for message in messages)
        if "make the work do what was asked" not in brief and done < len(self.files):
            path, text = list(self.files.items())[done]
            return calling("write", path=path, content=text)
        return calling("done", summary="It is done.")


ANSWERS = Path(__file__).resolve().parent / "answers"


def answers(name: str, project: Project, goal: Goal) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ANSWERS / name).read_text()).get(project.name, {}).get(goal.name, {})
    return found


def with_cases(project: Project, goal: Goal) -> Goal:
    """The goal; of one without cases, with the probes that were written for its document."""
    found = answers("documents.toml", project, goal)
    if goal.cases or not found:
        return goal
    cases = tuple(Case(text.partition("(")[0].split()[-1], text, False) for text in found["cases"])
    return replace(goal, cases=cases, prelude=Script(found["path"], found["prelude"], found["command"]))


def written(change: Change, base: Path) -> dict[str, str]:
    """The files that a change leaves, by path."""
    with tempfile.TemporaryDirectory() as box:
        folder = Path(box) / "project"
        shutil.copytree(base, folder, ignore=shutil.ignore_patterns(".git"))
        for edit in change.edits:
            edit.apply(folder)
        return {edit.path: (folder / edit.path).read_bytes().decode() for edit in change.edits}


async def tried(project: Project, goal: Goal, change: Change, base: Path) -> Document:
    """What came of one change."""
    cast = Cast(with_cases(project, goal), written(change, base), answers("readings.toml", project, goal))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as box:
        folder = Path(box) / "project"
        shutil.copytree(base, folder, symlinks=True)
        os.environ["XDG_STATE_HOME"] = f"{box}/state"
        with Wire(cast.answer) as wire:
            choices = app.Choices(model="openai:scripted", base_url=wire.base_url, protocol="tools")
            async with app.open_session(folder, create=True) as session:
                outcome = await session.start(
                    build_goal_step(goal.text, check=project.check), choices, app.RunObserver()
                )
    extra = sum(count for who, count in cast.calls.items() if who not in ("gate", "engineer"))
    return {
        "status": outcome.status,
        "extra": extra,
        "calls": sum(cast.calls.values()),
        "why": outcome.summary,
        "seconds": time.monotonic() - began,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where fetch.py put the projects")
    parser.add_argument("projects", nargs="*", help="only these")
    parser.add_argument("--name", default="", help="only changes of this name")
    parser.add_argument("--kind", default="", help="only changes whose kind begins like this")
    chosen = parser.parse_args()
    os.environ["PATH"] = f"{chosen.folder.resolve() / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ.setdefault("OPENAI_API_KEY", "none")
    rows: list[tuple[Change, dict[str, Any]]] = []
    for project in projects(chosen.projects):
        for goal in project.goals:
            for change in goal.changes:
                if not change.kind.startswith(chosen.kind) or not change.name.startswith(chosen.name):
                    continue
                said = asyncio.run(tried(project, goal, change, chosen.folder.resolve() / project.name / goal.name))
                rows.append((change, said))
                fine = (said["status"] == "completed") == change.right
                place = f"{project.name}/{goal.name}/{change.name}"
                calls = f"{said['calls']} calls, {said['extra']} extra, {said['seconds']:.0f} s"
                print(
                    f"{'ok   ' if fine else 'WRONG'} {change.kind:18} {place:60} {said['status']:11} {calls}",
                    flush=True,
                )
                if not fine:
                    print(f"      {said['why']}", flush=True)
    wrong, right = [s for c, s in rows if not c.right], [s for c, s in rows if c.right]
    claimed = sum(said["status"] == "completed" for said in wrong)
    proven = [said for said in right if said["status"] == "completed"]
    print(f"\nwrong changes: {len(wrong)}, of which completed: {claimed}")
    print(f"right changes: {len(right)}, of which completed: {len(proven)}")
    if right:
        print(f"extra model calls for a right change: {sum(said['extra'] for said in right) / len(right):.2f}")
    return 1 if claimed or len(proven) < len(right) else 0


if __name__ == "__main__":
    sys.exit(main())
