"""Finished work is held against what was asked: by probes that bough runs, never by anybody's opinion."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.sandboxes.process import ProcessSandbox
from bough.core import events as e
from bough.core.messages import Answer
from bough.core.planning.plan import build_goal_step
from bough.ports import CommandResult, Workspace
from tests import harness
from tests.engine.cast import DONE, Cast, Part, Request, act, in_order
from tests.engine.telling import FinishedRun, told
from tests.harness import allow_settings, make_project
from tests.interfaces.shell import bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.usefixtures("acceptance_as_shipped"),
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]

GOAL = """Add pick.py with argmax(items). It returns the index of the first of equal maxima.
It raises ValueError when items is empty."""
CHECK = "python3 -m unittest -q"
WRONG = "def argmax(items):\n    return max(range(len(items)), key=lambda i: (items[i], i))\n"
RIGHT = "def argmax(items):\n    return max(range(len(items)), key=lambda i: (items[i], -i))\n"
TEST = """\
import unittest
from pick import argmax

class Picking(unittest.TestCase):
    def test_max(self):
        self.assertEqual(argmax([1, 3, 2]), 1)
"""


def probe(says: str, quote: str, body: str, requirement: int = 1) -> dict[str, Any]:
    return {"says": says, "quote": quote, "text": f"{body}\n", "requirement": requirement, "also": [1]}


FIRST = probe(
    "The first of two equal maxima wins.",
    "the first of equal maxima",
    "from pick import argmax\nassert argmax([5, 9, 9]) == 1, argmax([5, 9, 9])",
)
EMPTY = probe(
    "An empty list is a ValueError.",
    "equal maxima. It raises ValueError when items is empty",  # From one requirement into the next.
    "from pick import argmax\ntry:\n    argmax([])\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError",
    3,
)
UNASKED = probe("It is a generator.", "must be lazy and never read all of it", "raise SystemExit(1)")
STABLE = probe(
    "None counts as smallest.",
    "returns the index of the first of equal maxima",
    "from pick import argmax\nassert argmax([None, 1]) == 1",
)
BROKEN = {"says": "It is broken.", "quote": "the first of equal maxima", "text": "def test(:\n", "requirement": 1}


@dataclass
class Court(Cast):
    """A cast with an examiner and a judge."""

    examiner: Part = lambda asked: act("probe", probes=[FIRST, EMPTY])
    judge: Part = lambda asked: act("rule", reason="no", demanded=False)
    prober: Part | None = None
    """The bug hunter who is shown failing probes."""
    hunted: list[Request] = field(default_factory=list)

    def __call__(self, request: dict[str, Any]) -> Answer:
        asked = Request(request)
        part = {"probe": self.examiner, "rule": self.judge}.get(asked.tools[0] if asked.tools else "")
        if "make the work do what was asked" in asked.brief and self.prober:
            self.hunted.append(asked)
            part = self.prober
        if part is None:
            return super().__call__(request)
        self.asked.append(asked)
        return part(asked)


BUILDER = in_order(act("write", path="pick.py", content=WRONG), act("write", path="test_pick.py", content=TEST), DONE)
REPAIR = in_order(act("write", path="pick.py", content=RIGHT), DONE)
ABLE = in_order(act("write", path="pick.py", content=RIGHT), act("write", path="test_pick.py", content=TEST), DONE)


def carried(tmp_path: Path, court: Court, settings: str = "", **chosen: Any) -> FinishedRun:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text(settings)
    allow_settings(project)
    (project / "test_calc.py").unlink()
    return told(project, court, goal=build_goal_step(GOAL, check=CHECK), **chosen)


@in_turn
def test_a_probe_that_fails_goes_to_a_bug_hunter_and_the_work_is_done_once_it_passes(tmp_path: Path) -> None:
    court = Court(BUILDER, prober=REPAIR)
    run = carried(tmp_path, court)
    assert run.outcome.status == "completed", run.outcome.summary
    first, second = run.journal.of(e.ProbesFinished)
    assert [(r.name, r.outcome) for r in first.results] == [("goal/probe-1", "failed"), ("goal/probe-2", "passed")]
    assert [r.outcome for r in second.results] == ["passed", "passed"], "all of them run again, on the repaired work"
    assert run.states() == ["in_progress", "testing", "test_failed", "in_progress", "testing", "completed"]
    (hunted, *_) = court.hunted
    assert "argmax([5, 9, 9])" in hunted.brief and "AssertionError: 2" in hunted.brief
    assert "dispute" in hunted.tools
    assert not list(run.project.glob("**/work/*/*")), "no checkout is left behind"


@in_turn
def test_probes_run_at_once_and_one_that_fails_once_more_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one ends only after the second began."""
    run, both, under_way, begun = ProcessSandbox.run, asyncio.Event(), list[str](), list[tuple[str, int]]()

    async def counted(sandbox: Any, argv: Sequence[str], *, workspace: Workspace, **more: Any) -> CommandResult:
        probe = next(iter(re.findall(r"cases/\S+", " ".join(argv))), "")
        if not probe or not (workspace.root / "pick.py").exists():
            return await run(sandbox, argv, workspace=workspace, **more)
        under_way.append(probe)
        begun.append((probe, len(under_way)))
        if len(under_way) == 2:
            both.set()
        finished = await run(sandbox, argv, workspace=workspace, **more)
        await asyncio.wait_for(both.wait(), 240)
        under_way.remove(probe)
        return finished

    monkeypatch.setattr(ProcessSandbox, "run", counted)
    carried(tmp_path, Court(BUILDER), "[check]\nat_once = 2\n[limits]\nmax_repairs = 0\n")
    (first, one), (second, two), (again, alone) = begun[:3]
    assert (one, two) == (1, 2) and first != second
    assert again == first and alone == 1, "the one that fails"


@in_turn
def test_the_builder_does_not_see_the_probes_and_the_examiner_sees_the_change(tmp_path: Path) -> None:
    court = Court(BUILDER, prober=REPAIR)
    carried(tmp_path, court)
    before = [asked for asked in court.asked if "done" in asked.tools and "find the bug" not in asked.brief][:3]
    assert all("argmax([5, 9, 9])" not in json.dumps(asked.json) for asked in before)
    examiner = next(asked for asked in court.asked if "probe" in asked.tools)
    assert "1. Add pick.py with argmax(items)." in examiner.brief
    assert f"> {GOAL.splitlines()[0]}" in examiner.brief, "a part says little without the whole"
    assert "def argmax(items):" in examiner.brief and "+    return max(range" in examiner.brief, "and what was changed"
    assert TEST not in examiner.brief, "not how the author tested it"


@in_turn
def test_the_examiner_sees_what_changed_where_nothing_looks_like_an_interface(tmp_path: Path) -> None:
    licence, lines = "# All rights reserved.\n" * 20, [f"echo {n}\n" for n in range(3_000)]
    project = make_project(tmp_path / "p")
    (project / "test_calc.py").unlink()
    (project / "run.sh").write_text("".join([licence, *lines]))
    (project / "test_run.py").write_text(f"{licence}import unittest\n\nclass Running(unittest.TestCase): ...\n")
    (project / "test_pick.py").write_text(TEST.replace("argmax([1, 3, 2])", "1"))
    (project / "pick.py").write_text(RIGHT)
    builder = in_order(act("edit", path="run.sh", old="echo 1500\n", new="echo other\n"), DONE)
    court = Court(builder, examiner=lambda asked: act("probe", probes=[]))
    told(project, court, goal=build_goal_step("Have run.sh say other instead of 1500.", check=CHECK))
    brief = next(asked for asked in court.asked if "probe" in asked.tools).brief
    assert "-echo 1500\n+echo other\n" in brief and "echo 2500" not in brief
    assert "All rights reserved" not in brief


@in_turn
def test_a_probe_that_does_not_parse_is_asked_for_once_more_and_refutes_nothing(tmp_path: Path) -> None:
    """The line that does not parse is shown with its `assert`: it was taken for a failing one."""
    slip = FIRST | {"text": FIRST["text"].replace("assert argmax(", "assert == argmax(")}
    court = Court(ABLE)
    court.examiner = lambda asked: act("probe", probes=[FIRST] if "Tried before" in asked.brief else [slip, EMPTY])
    run = carried(tmp_path, court)
    first, second = run.journal.of(e.ProbesFinished)
    assert [r.outcome for r in first.results] == ["broken", "passed"], first.results[0].output
    assert {r.outcome for r in second.results} == {"passed"}, second.results
    assert run.outcome.status == "completed" and "test_failed" not in run.states(), run.outcome.summary


@in_turn
def test_what_nothing_asks_is_not_run_and_what_is_broken_shows_nothing(tmp_path: Path) -> None:
    court = Court(ABLE)
    court.examiner = lambda asked: act("probe", probes=[UNASKED, BROKEN, FIRST, EMPTY], notes=["no docs"])
    run = carried(tmp_path, court)
    assert run.outcome.status == "completed"
    (examined,) = run.journal.of(e.Examined)
    assert len(examined.probes) == 3 and len(examined.left_out) == 1 and examined.notes == ("no docs",)
    (finished,) = run.journal.of(e.ProbesFinished)
    assert [r.outcome for r in finished.results] == ["broken", "passed", "passed"]
    assert "passed" not in {r.outcome for r in finished.before}, "on the files as they were"


@in_turn
@pytest.mark.parametrize("demanded", [True, False])
def test_a_contested_probe_is_ruled_on_by_quoting_the_goal(tmp_path: Path, demanded: bool) -> None:
    contest = in_order(act("dispute", test="goal/probe-1", evidence="None is not spoken of"), DONE)
    quote = "the first of equal maxima" if demanded else ""
    court = Court(ABLE, prober=contest)
    court.examiner = lambda asked: act(
        "probe", probes=[FIRST] if "Nothing shows these" in asked.brief else [STABLE, EMPTY]
    )
    court.judge = lambda asked: act("rule", reason="it is so", demanded=demanded, quote=quote)
    run = carried(tmp_path, court)
    (ruled,) = run.journal.of(e.ProbeRuled)
    assert ruled.ruling.demanded is demanded
    judged = next(asked for asked in court.asked if "rule" in asked.tools)
    assert GOAL in judged.brief and "None is not spoken of" in judged.brief
    assert run.outcome.status == ("failed" if demanded else "completed"), "what is refuted is never completed"
    again = [asked.brief for asked in court.asked if "Nothing shows these yet" in asked.brief]
    assert len(again) == (not demanded), "what lost its evidence is examined once more"
    assert demanded or ("2. It returns the index" in again[0] and "3. It raises" not in again[0])
    assert demanded or "None counts as smallest. (dropped by a judge: it is so)" in again[0]


@in_turn
def test_a_judge_without_a_quote_upholds_nothing(tmp_path: Path) -> None:
    contest = in_order(act("dispute", test="goal/probe-1", evidence="None is not spoken of"), DONE)
    court = Court(ABLE, prober=contest)
    court.examiner = lambda asked: act(
        "probe", probes=[FIRST] if "Nothing shows these" in asked.brief else [STABLE, EMPTY]
    )
    court.judge = lambda asked: act("rule", reason="surely", demanded=True, quote="None is smaller than any number")
    run = carried(tmp_path, court)
    (ruled,) = run.journal.of(e.ProbeRuled)
    assert not ruled.ruling.demanded
    assert run.outcome.status == "completed"


FIX = "Make add add."


@in_turn
def test_a_one_line_fix_with_a_failing_check_costs_one_question(tmp_path: Path) -> None:
    from tests.engine.cast import FIX as FIXING

    adds = act("probe", probes=[probe("It adds.", "Make add add", "from calc import add\nassert add(3, 9) == 12")])
    goal = build_goal_step(FIX, check=harness.CHECK)
    run = told(make_project(tmp_path / "p"), Court(FIXING, examiner=lambda asked: adds), goal=goal)
    assert run.outcome.status == "completed" and run.outcome.spend.rounds == 3, "an edit, `done`, and the examiner"
    lazy = told(make_project(tmp_path / "l"), Court(FIXING, examiner=lambda asked: act("probe", probes=[])), goal=goal)
    assert lazy.outcome.status == "completed" and lazy.outcome.summary.endswith(
        "shown by your test alone, not examined"
    )
    assert lazy.outcome.spend.rounds == 4, "it is asked once more"
    court = Court(FIXING, examiner=lambda asked: adds)
    run = told(make_project(tmp_path / "q"), court, goal=goal, flat=False)
    assert run.outcome.spend.rounds == 4, "with the estimate"
    (read,) = run.journal.of(e.RequirementsRead)
    assert [one.text for one in read.requirements] == [FIX]


def test_never_means_never_and_always_always(tmp_path: Path) -> None:
    from tests.engine.cast import FIX as FIXING

    run = carried(tmp_path, Court(BUILDER), '[acceptance]\nexamine = "never"\n')
    assert run.outcome.status == "not_proven" and not run.journal.of(e.Examined, e.ExaminationSkipped)
    assert "nothing shows that the work made the difference for requirements 1 (Add pick.py" in run.outcome.summary
    project = make_project(tmp_path / "q")
    (project / "bough.toml").write_text('[acceptance]\nexamine = "always"\n')
    allow_settings(project)
    adds = probe("It adds.", "Make add add", "from calc import add\nassert add(3, 9) == 12")
    run = told(project, Court(FIXING, examiner=lambda asked: act("probe", probes=[adds])))
    assert run.outcome.status == "completed" and run.outcome.spend.rounds == 3


def test_examining_keeps_to_its_share(tmp_path: Path) -> None:
    court = Court(ABLE)
    court.examiner = lambda asked: act("probe", nothing=1)
    run = carried(tmp_path, court)
    (skipped,) = run.journal.of(e.ExaminationSkipped)
    assert "no readable probes" in skipped.why
    assert sum(event.helper == "examiner" for event in run.journal.of(e.HelperAnswered)) == 2, "one mending"
    assert run.outcome.status == "not_proven" and "(not examined: the examiner gave no" in run.outcome.summary


@in_turn
def test_a_person_reads_the_evidence_and_takes_the_probes_along(tmp_path: Path) -> None:
    last = probe(
        "The index is an int.", "returns the index", "from pick import argmax\nassert type(argmax([1])) is int"
    )
    court = Court(ABLE, examiner=lambda asked: act("probe", probes=[FIRST, last, EMPTY], notes=["there are no docs"]))
    run = carried(tmp_path, court, '[acceptance]\nexamine = "always"\n')
    report = bough(run.project, "report").out
    assert "3 requirements: 3 proven" in report
    assert "  2  proven  It returns the index of the first of equal maxima. (2 of 2 cases)" in report
    assert "goal/probe-1" not in report and "Note: there are no docs" in report
    report = bough(run.project, "report", "--full").out
    assert "goal/probe-1 passed, fails without the work: The first of two equal maxima wins." in report
    assert "examined by the examiner" in report and "note: there are no docs" in report
    assert report.count("goal completed: ") == 1 and report.count("goal, as above") == 2, "said once"
    applied = bough(run.project, "apply", "--with-probes")
    assert applied.status == 0, applied
    text = (run.project / "cases" / "goal_1.py").read_text()
    says, how, program = text.split("\n", 2)
    assert says == "# The first of two equal maxima wins." and how.endswith(" python3 cases/goal_1.py")
    assert program.startswith("from pick import argmax\n")
    command = [sys.executable, "cases/goal_1.py"]
    done = subprocess.run(
        command, cwd=run.project, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@in_turn
def test_models_that_act_in_text_are_examined_by_one_question_and_offered_no_look(tmp_path: Path) -> None:
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> Answer:
        brief = Request(request).brief
        asked.append(brief)
        if "# Examine finished work" in brief:
            return Answer(text=json.dumps({"probes": [FIRST, EMPTY]}))
        text = RIGHT if "argmax([5, 9, 9])" in brief else WRONG
        return Answer(text=f"pick.py\n```python\n{text}```\n\ntest_pick.py\n```python\n{TEST}```\n")

    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text('[acceptance]\nexamine = "always"\n')
    allow_settings(project)
    (project / "test_calc.py").unlink()
    run = told(project, reply, goal=build_goal_step(GOAL, check=CHECK), protocol="text")
    assert run.outcome.status == "completed", run.outcome.summary
    assert [[r.outcome for r in event.results] for event in run.journal.of(e.ProbesFinished)] == [
        ["failed", "passed"],
        ["passed", "passed"],
    ]
    (examiner,) = [brief for brief in asked if "# Examine finished work" in brief]
    assert "`look`" not in examiner and "You have no tools." in examiner
