"""The process dies while steps run in parallel, are merged, or are rewound: nothing is lost or done twice."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.messages import Answer, Prompt
from bough.core.tree.task_state import State
from bough.testing import Fuse, ScriptedModel, call
from bough.testing.fuse import FuseBlown
from bough.views.run_view import Outcome
from tests.engine.parallel_runs import LINES, both, edits, files_of, left_behind, make_project, step, text_of, writes
from tests.harness import Journal, begin, by_progress, journal_of, resume
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.spend import assert_spend

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

STEPS = (
    step("a", "grep -q A text.txt"),
    step("b", "grep -q B text.txt"),
    step("c", steps=(step("below"),), requires_testing=False),
)
GOAL = both(*STEPS, check="grep -q 'A.*B\\|B.*A' text.txt")
MERGE = by_progress(
    call("bash", command="git show theirs:text.txt | sed 's/^. one/A B one/' > text.txt"), call("done", summary="both")
)
SAYS = {
    "a": edits("text", "one", "A one"),
    "b": edits("text", "one", "B one"),
    "c/below": writes("below"),
    "a/merge": MERGE,
    "b/merge": MERGE,
}


def model_answer(prompt: Prompt) -> Answer:
    return SAYS[prompt.key.partition("#")[0]](prompt)


def told_whole(project: Path, outcome: Outcome) -> None:
    journal = asyncio.run(journal_of(project))
    tasks = assert_spend(journal.records)
    assert outcome.status == "completed", outcome.summary
    assert files_of(project, outcome) == {"text.txt", "below.txt"}
    assert text_of(project, outcome, "text") in (LINES.replace("one", each, 1) for each in ("A B one", "B A one"))
    assert {task.state for task in tasks.values()} == {State.COMPLETED}
    assert outcome.spend.rounds == tasks["goal"].budget.spend.rounds
    nothing_twice(journal)
    assert not left_behind(project), "no workspace is left behind"


def nothing_twice(journal: Journal) -> None:
    ended = Counter(
        r.task for r in journal.records if isinstance(r.event, e.StateChanged) and r.event.to is State.COMPLETED
    )
    assert set(ended.values()) == {1}, "a finished task is not carried out again"
    settled = Counter((r.task, r.event.child) for r in journal.records if isinstance(r.event, e.ChildSettled))
    assert set(settled.values()) == {1}, "a result is taken over once"
    finished = Counter((r.task, r.event.call) for r in journal.records if isinstance(r.event, e.ToolFinished))
    started = Counter((r.task, r.event.call) for r in journal.records if isinstance(r.event, e.ToolStarted))
    assert finished == started and set(finished.values()) == {1}
    rounds = sum(isinstance(r.event, e.ModelAnswered) for r in journal.records)
    again = {
        (r.task, r.event.call[:6])
        for r in journal.records
        if isinstance(r.event, e.ToolFinished) and r.event.interrupted
    }
    assert rounds == 8 + len(again), "an interrupted round is made again, and no other"


def test_points_of_forking_and_merging(tmp_path: Path) -> None:
    project, fuse = make_project(tmp_path / "p", text=LINES), Fuse()
    asyncio.run(begin(project, ScriptedModel(model_answer), goal=GOAL, jobs=2, fuse=fuse))
    assert {"before merge", "before append ChildMerged", "before append ChildSettled"} <= set(fuse.points)
    assert len(fuse.points) > POINTS[-1]


POINTS = range(3, 280, 9)
"""Every ninth point; which point it is differs from run to run, since what runs at once comes in any order."""


@pytest.mark.parametrize("at", sample(POINTS, 10))
def test_a_crash_while_steps_run_at_once(tmp_path: Path, at: int) -> None:
    project = make_project(tmp_path / "p", text=LINES)
    with pytest.raises(FuseBlown):
        asyncio.run(begin(project, ScriptedModel(model_answer), goal=GOAL, jobs=2, fuse=Fuse(at)))
    told_whole(project, asyncio.run(resume(project, ScriptedModel(model_answer))))


@in_turn
def test_crashes_one_after_the_other(tmp_path: Path) -> None:
    """Each life ends a little further on, until one gets through."""
    project = make_project(tmp_path / "p", text=LINES)
    with pytest.raises(FuseBlown):
        asyncio.run(begin(project, ScriptedModel(model_answer), goal=GOAL, jobs=2, fuse=Fuse(20)))
    for life in range(40):
        try:
            outcome = asyncio.run(resume(project, ScriptedModel(model_answer), Fuse(24 + 3 * life)))
        except FuseBlown:
            continue
        told_whole(project, outcome)
        return
    raise AssertionError("no life got through")
