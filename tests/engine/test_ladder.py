"""Every way of being stuck, at the wire: it is noticed, and the work leaves it at the rung that the table says."""

from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.tree.task_state import State
from tests.engine.cast import (
    DEFAULT_STEPS,
    FIX,
    WAYS,
    Cast,
    after_nudge,
    until,
)
from tests.engine.telling import project_in, told
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LEFT_AT = {
    "repetitive_output": ["nudge", "prune"],
    "circular_tools": ["nudge", "prune"],
    "monologue": ["nudge", "prune"],
    "no_progress": ["nudge", "decompose"],
    "repeated_error": ["nudge", "prune"],
    "oscillation": ["nudge", "prune"],
    "paging": ["nudge", "decompose"],
    "max_rounds": ["decompose"],
}


@pytest.mark.parametrize("pattern", sample([pattern for pattern in LEFT_AT if pattern != "max_rounds"], 3))
def test_a_word_is_enough(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(after_nudge(WAYS[pattern])))
    assert run.outcome.completed, run.outcome.summary
    assert [event.signal.pattern for event in run.journal.of(e.SignalRaised)] == [pattern]
    assert run.rungs() == ["nudge"]
    (message,) = [event for event in run.journal.of(e.MessageAdded) if event.why == "nudge"]
    (signal,) = run.journal.of(e.SignalRaised)
    assert signal.signal.diagnosis in message.text
    assert all(line in message.text for line in signal.signal.evidence)


@in_turn
@pytest.mark.parametrize("pattern", sample([pattern for pattern, rungs in LEFT_AT.items() if "prune" in rungs], 3))
def test_a_fresh_look_is_enough(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(until(lambda asked: asked.afresh, WAYS[pattern], FIX)))
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == LEFT_AT[pattern]
    assert {event.signal.pattern for event in run.journal.of(e.SignalRaised)} == {pattern}
    (pruned,) = run.journal.of(e.ContextPruned)
    assert pruned.by == "model"
    assert [event.helper for event in run.journal.of(e.HelperAnswered)] == ["pruner"]
    assert run.states() == ["in_progress", "testing", "completed"]


@in_turn
@pytest.mark.parametrize("pattern", ["repeated_error", "oscillation"])
def test_what_keeps_failing_is_noted_for_the_next_agent(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(until(lambda asked: asked.afresh, WAYS[pattern], FIX)))
    (note,) = run.journal.of(e.NoteKept)
    signal = run.journal.of(e.SignalRaised)[-1].signal
    assert note.kind == "dead_end" and note.text.startswith(signal.diagnosis)
    fresh = run.journal.of(e.AttemptStarted)[-1]
    assert signal.diagnosis in fresh.brief
    climbed = run.journal.of(e.Escalated)[-1].decision
    assert climbed.rung == "prune" and "too big" not in climbed.reason


@in_turn
@pytest.mark.parametrize("pattern", sample([pattern for pattern, rungs in LEFT_AT.items() if "decompose" in rungs], 3))
def test_smaller_steps_are_enough(tmp_path: Path, pattern: str) -> None:
    run = told(project_in(tmp_path), Cast(WAYS[pattern], dict(DEFAULT_STEPS)))
    assert run.outcome.completed, run.outcome.summary
    assert run.rungs() == LEFT_AT[pattern]
    assert {event.signal.pattern for event in run.journal.of(e.SignalRaised)} == {pattern}
    assert run.states() == ["in_progress", "decomposed", "testing", "completed"]
    assert {path: task.state for path, task in run.tree.items()} == {
        GOAL: State.COMPLETED,
        "look": State.COMPLETED,
        "swap": State.COMPLETED,
    }
