"""Probes of finished steps hold when later work comes onto theirs, and a reviewer looks at the whole once."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.evidence_table import build_table
from bough.core.messages import Answer
from bough.core.planning.plan import Step
from tests.engine.cast import DONE, Part, Request, act, in_order
from tests.engine.telling import FinishedRun, told
from tests.engine.test_examine import CHECK, FIRST, RIGHT, TEST, WRONG, Court
from tests.harness import allow_settings, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.usefixtures("acceptance_as_shipped"),
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]

PLAN = Step(
    "goal",
    "Add pick.py with argmax(items). It returns the index of the first of equal maxima. Then document it.",
    test_command=CHECK,
    steps=(
        Step("pick", "Write argmax: the index of the first of equal maxima.", test_command=CHECK),
        Step("notes", "Document argmax in NOTES.md.", test_command=CHECK, needs=("pick",)),
    ),
)
BASE = """\
import unittest

class Base(unittest.TestCase):
    def test_it(self):
        self.assertEqual(1 + 1, 2)
"""
PICK = in_order(act("write", path="pick.py", content=RIGHT), act("write", path="test_pick.py", content=TEST), DONE)
BREAKS = in_order(
    act("write", path="NOTES.md", content="# argmax\n"), act("write", path="pick.py", content=WRONG), DONE
)
MENDS = in_order(act("write", path="pick.py", content=RIGHT), DONE)


def examine(asked: Request) -> Answer:
    if "Review the whole" in asked.brief:
        return act("probe", probes=[], notes=["NOTES.md has a heading and nothing else"])
    return act("probe", probes=[FIRST] if "Write argmax" in asked.brief else [])


def court(merges: Part, prober: Part | None = None) -> Court:
    agents: dict[str, Part] = {"pick": PICK, "notes": BREAKS, "notes/merge": merges}
    return Court(in_order(DONE), steps=agents, examiner=examine, prober=prober)


def carried(tmp_path: Path, court: Court, plan: Step = PLAN) -> FinishedRun:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text('[acceptance]\nexamine = "always"\n[ladder]\nrungs = ["verify", "give_up"]\n')
    allow_settings(project)
    (project / "test_calc.py").unlink()
    (project / "test_base.py").write_text(BASE)
    return told(project, court, goal=plan, jobs=1)


@in_turn
def test_a_later_step_that_breaks_what_an_earlier_one_has_shown_is_not_taken(tmp_path: Path) -> None:
    cast = court(MENDS)
    run = carried(tmp_path, cast)
    assert run.outcome.status == "completed", run.outcome.summary
    (refused,) = run.journal.of(e.ChildMerged)
    assert refused.verdict is not None and refused.verdict.ruling == "failed"
    assert refused.verdict.reason == "a probe that passed before the merge fails: The first of two equal maxima wins."
    (merging, *_) = cast.of("notes/merge")
    assert "argmax([5, 9, 9])" in merging.brief and "AssertionError: 2" in merging.brief
    assert run.journal.of(e.ProbesFinished)[-1].tree == run.tree["goal"].tree, "and once more on the whole"
    (review,) = [asked for asked in cast.asked if "Review the whole" in asked.brief]
    assert "+# argmax" in review.brief
    (examined,) = [r.event for r in run.of("goal", e.Examined)]
    assert (examined.by, examined.notes) == ("reviewer", ("NOTES.md has a heading and nothing else",))


@in_turn
def test_a_merge_agent_may_contest_such_a_probe_and_it_is_dropped(tmp_path: Path) -> None:
    contests = in_order(act("dispute", test="pick/probe-1", evidence="the last one is as good"), DONE)
    run = carried(tmp_path, court(in_order(DONE), contests))
    assert run.outcome.status == "not_proven", "what showed it is gone"
    assert [record.task for record in run.journal.records if isinstance(record.event, e.ProbeRuled)] == ["notes/merge"]
    assert [event.not_asked for event in run.journal.of(e.ChildSettled)] == [(), ("pick/probe-1",)]
    assert not run.of("goal", e.ProbesFinished), "nothing is left to run on the whole"


@in_turn
def test_what_a_step_could_not_show_has_to_hold_for_the_whole(tmp_path: Path) -> None:
    """More steps are completed than blocked, and the goal's check passes without the work of the blocked one."""
    trivial = (Step(name, f"Write {name}.txt.", test_command=f"test -s {name}.txt") for name in ("a", "b"))
    pick = Step("pick", "Write argmax: the index of the first of equal maxima.", test_command=CHECK)
    steps = tuple(replace(step, on_error="escalate") for step in (*trivial, pick))
    cast = Court(in_order(DONE), examiner=examine)
    cast.steps = {name: in_order(act("write", path=f"{name}.txt", content="x\n"), DONE) for name in ("a", "b")}
    cast.steps["pick"] = in_order(
        act("write", path="pick.py", content=WRONG), act("write", path="test_pick.py", content=TEST), DONE
    )
    cast.prober = lambda asked: DONE if "goal › pick" in asked.brief else PICK(asked)
    run = carried(tmp_path, cast, replace(PLAN, steps=steps))
    assert [task.state.value for task in run.outcome.tree] == ["completed", "completed", "completed", "blocked"]
    first, second = [record.event for record in run.of("goal", e.ProbesFinished)]
    assert [(each.name, each.outcome) for each in first.results] == [("pick/probe-1", "failed")]
    assert [each.outcome for each in second.results] == ["passed"]
    standings = [row.standing for row in build_table(run.journal.records).rows]
    assert "refuted" not in standings and "proven" in standings
