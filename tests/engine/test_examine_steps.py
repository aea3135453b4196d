"""Probes of finished steps hold when later work comes onto theirs, and a reviewer looks at the whole once."""

from __future__ import annotations

from pathlib import Path

from bough.core import events as e
from bough.core.messages import Answer
from bough.core.plan import Step
from tests.engine.cast import DONE, Asked, Part, act, in_order
from tests.engine.telling import Told, told
from tests.engine.test_examine import CHECK, FIRST, RIGHT, TEST, WRONG, Court
from tests.harness import make_project

PLAN = Step(
    "goal",
    "Add pick.py with argmax(items). It returns the index of the first of equal maxima. Then document it.",
    test_command=CHECK,
    steps=(
        Step("pick", "Write argmax: the index of the first of equal maxima.", test_command=CHECK),
        Step("notes", "Document argmax in NOTES.md.", test_command=CHECK, needs=("pick",)),
    ),
)
PICK = in_order(act("write", path="pick.py", content=RIGHT), act("write", path="test_pick.py", content=TEST), DONE)
BREAKS = in_order(
    act("write", path="NOTES.md", content="# argmax\n"), act("write", path="pick.py", content=WRONG), DONE
)
MENDS = in_order(act("write", path="pick.py", content=RIGHT), DONE)


def examine(asked: Asked) -> Answer:
    if "Review the whole" in asked.brief:
        return act("probe", probes=[], notes=["NOTES.md has a heading and nothing else"])
    return act("probe", probes=[FIRST] if "Write argmax" in asked.brief else [])


def court(merges: Part, prober: Part | None = None) -> Court:
    agents: dict[str, Part] = {"pick": PICK, "notes": BREAKS, "notes/merge": merges}
    return Court(in_order(DONE), steps=agents, examiner=examine, prober=prober)


def carried(tmp_path: Path, court: Court) -> Told:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text('[acceptance]\nexamine = "always"\n')
    (project / "test_calc.py").unlink()
    return told(project, court, goal=PLAN, jobs=1)


def test_a_later_step_that_breaks_what_an_earlier_one_has_shown_is_not_taken(tmp_path: Path) -> None:
    cast = court(MENDS)
    run = carried(tmp_path, cast)
    assert run.outcome.status == "completed", run.outcome.summary
    (refused,) = run.journal.of(e.ChildMerged)
    assert refused.verdict is not None and refused.verdict.ruling == "failed"
    assert refused.verdict.reason == "a probe that passed before the merge fails: The first of two equal maxima wins."
    (merging, *_) = cast.of("notes/merge")
    assert "argmax([5, 9, 9])" in merging.brief and "AssertionError: 2 != 1" in merging.brief
    assert run.journal.of(e.ProbesFinished)[-1].tree == run.tree["goal"].tree, "and once more on the whole"
    (review,) = [asked for asked in cast.asked if "Review the whole" in asked.brief]
    assert "+# argmax" in review.brief and "1 probe passes" in review.brief
    (examined,) = [r.event for r in run.of("goal", e.Examined)]
    assert (examined.by, examined.notes) == ("reviewer", ("NOTES.md has a heading and nothing else",))


def test_whoever_merges_may_contest_such_a_probe_too_and_then_it_is_gone(tmp_path: Path) -> None:
    contests = in_order(act("dispute", test="pick/probe-1", evidence="the last one is as good"), DONE)
    run = carried(tmp_path, court(in_order(DONE), contests))
    assert run.outcome.status == "completed", run.outcome.summary
    assert [record.task for record in run.journal.records if isinstance(record.event, e.ProbeRuled)] == ["notes/merge"]
    assert [event.not_asked for event in run.journal.of(e.ChildSettled)] == [(), ("pick/probe-1",)]
    assert not run.of("goal", e.ProbesFinished), "nothing is left to run on the whole"
