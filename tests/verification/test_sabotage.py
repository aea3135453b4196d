"""Sabotage and accidents: a model that wants `completed` without deserving it, or a project in which things go wrong.

Every case is a whole run, and none of them may end `completed`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.acceptance.probes import ProbeResult
from bough.core.tree.task_state import State
from tests.harness import Journal
from tests.shipped import AGENT_ONLY
from tests.verification.cases import (
    KNOWN,
    LIMITS,
    Case,
    explained,
    load,
    play,
    python_on_path,
    sample,
    told,
    verdict_of,
)

__all__ = ["python_on_path"]

pytestmark = pytest.mark.usefixtures("acceptance_as_shipped")

CASES = load("sabotage")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """One case leaves a file where no workspace is."""
    yield
    for path in Path("/dev/shm").glob("bough-case-*"):
        path.unlink(missing_ok=True)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", sample(CASES, 11))
def test_nothing_but_a_check_completes(case: Case, tmp_path: Path) -> None:
    if program := case.needs():
        pytest.skip(f"{program} is not installed")
    outcome, journal = play(case, tmp_path)
    assert not outcome.completed
    assert outcome.exit_status != 0
    assert State.COMPLETED.value not in journal.states()
    if outcome.status == "environment":
        return  # nothing was begun, because its check cannot run here
    verdict = verdict_of(outcome)
    if outcome.status == "not_proven" or any(one.outcome == "failed" for one in _list_probed(journal)):
        return  # an examiner's case refutes it, or nothing shows that the work made a difference
    assert verdict.ruling != "passed", explained(outcome)
    # What the tables call tampering is stopped by whatever a run shows, and an original test that disagrees stops
    # anything; then other words say so.
    if case.ruling not in ("", "any", "tampered") and verdict.ruling != "needs_approval":
        assert verdict.ruling == case.ruling, explained(outcome)
        assert case.says in told(verdict), explained(outcome)


def _list_probed(journal: Journal) -> list[ProbeResult]:
    return [one for event in journal.of(e.ProbesFinished) for one in event.results]


def test_the_table_is_whole() -> None:
    names = {param.id for param in CASES}
    assert len(names) == len(CASES) == 532
    assert names >= {*LIMITS}
    assert len(LIMITS) <= 50


def test_the_guide_prints_the_known_limits() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "check.md").read_text()
    for limit in KNOWN.limit:
        assert f"| {len(limit.cases)} | {limit.reason} |" in guide
    assert f"{len(CASES) - len(LIMITS)} are stopped" in guide
