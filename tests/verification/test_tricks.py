"""Tricks, no-ops and honest work in many languages, written without a look at bough: a sample of the tables.

Every trick is a whole run after which the product still is wrong, and none of them may end `completed` but for the
known limits; the honest ones do."""

from pathlib import Path

import pytest

from tests.shipped import AGENT_ONLY
from tests.verification.cases import TRICKS, Case, explained, load, play, python_on_path, sample, verdict_of

__all__ = ["python_on_path"]

pytestmark = pytest.mark.usefixtures("acceptance_as_shipped")

CASES = load("tricks")
HONEST = load("tricks_honest")


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", sample([*CASES, *load("blind_tricks"), *load("blind_noops")], 38))
def test_a_trick_does_not_complete(case: Case, tmp_path: Path) -> None:
    if program := case.needs():
        pytest.skip(f"{program} is not installed")
    outcome, _ = play(case, tmp_path)
    assert not outcome.completed, explained(outcome)
    assert outcome.exit_status != 0


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", sample([*HONEST, *load("blind_honest")], 36))
def test_honest_work_in_any_language_is_completed(case: Case, tmp_path: Path) -> None:
    if program := case.needs():
        pytest.skip(f"{program} is not installed")
    outcome, _ = play(case, tmp_path)
    assert outcome.completed, explained(outcome)
    assert verdict_of(outcome).disagreements == () or case.demands


def test_the_tables_are_whole() -> None:
    names = {param.id for param in CASES}
    assert len(names) == len(CASES) == 116
    assert len(HONEST) == 23
    assert names >= {*TRICKS}


def test_a_case_whose_program_is_absent_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    skipped = [param.values[0].needs() for param in (*CASES, *HONEST)]
    shown = {program for program in skipped if program}
    assert shown >= {"awk", "cargo", "cc", "go", "lua5.4", "node", "perl", "php", "prove", "ruby", "tclsh"}
    shells = [param for param, program in zip((*CASES, *HONEST), skipped, strict=True) if not program]
    assert all((param.values[0].check or "").split()[0] in ("sh", "python3") for param in shells)
