"""Stuck work is noticed, recorded with its evidence, and reported to the agent once per pattern."""

from pathlib import Path

import pytest

from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Prompt, UserMessage
from bough.testing import ScriptedModel, call
from tests.harness import CHECK, allow_settings, make_project, run_to_end
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

LOOK = call("read", path="calc.py")
FIX = call("edit", path="calc.py", old="a - b", new="a + b")
DONE = call("done", summary="add adds")


def heeds(prompt: Prompt) -> Answer:
    """Loops until it is told, then does the work."""
    texts = [message.text for message in prompt.messages if isinstance(message, UserMessage)]
    if not any("seems to be stuck" in text for text in texts):
        return LOOK
    fixed = any("a + b" in getattr(message, "text", "") for message in prompt.messages)
    return DONE if fixed else FIX


@in_turn
def test_a_looping_agent_is_nudged_within_a_few_rounds_and_continues(tmp_path: Path) -> None:
    model = ScriptedModel(heeds)
    outcome, journal = run_to_end(make_project(tmp_path / "p"), model, check=CHECK)
    assert outcome.completed
    (raised,) = journal.of(e.SignalRaised)
    assert raised.signal.pattern == "circular_tools"
    assert raised.signal.evidence
    (nudge,) = journal.of(e.MessageAdded)
    assert nudge.why == "nudge"
    assert raised.signal.diagnosis in nudge.text
    assert outcome.spend.rounds <= 4 + 2, "three repeated rounds are enough to notice"


def test_an_agent_that_does_not_heed_is_nudged_once_and_ends_with_its_budget(tmp_path: Path) -> None:
    outcome, journal = run_to_end(make_project(tmp_path / "p"), lambda prompt: LOOK, choices=app.Choices(rounds=14))
    assert outcome.exit_status == 4
    assert len(journal.of(e.SignalRaised)) >= 2
    assert [message.why for message in journal.of(e.MessageAdded)].count("nudge") == 1


@in_turn
def test_healthy_work_raises_nothing(tmp_path: Path) -> None:
    tries = [call("edit", path="calc.py", old=f"a {old} b", new=f"a {new} b") for old, new in ("-*", "*/", "/%", "%+")]
    check = call("bash", command="python3 -m unittest -q test_calc")
    script = [step for attempt in tries for step in (attempt, check)]
    outcome, journal = run_to_end(make_project(tmp_path / "p"), [*script, DONE])
    assert outcome.completed
    assert journal.of(e.SignalRaised) == []


def test_patterns_are_settings(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    (project / "bough.toml").write_text('[stuck]\npatterns = ["monologue"]\n')
    allow_settings(project)
    _, journal = run_to_end(project, lambda prompt: LOOK, choices=app.Choices(rounds=8))
    assert journal.of(e.SignalRaised) == []
