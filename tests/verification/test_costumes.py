"""The verdict's cases come out in a costume as they do without."""

from collections.abc import Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import sample
from tests.shipped import AGENT_ONLY
from tests.verification.cases import ASKED, Act, Case, explained, load, play, python_on_path
from tests.verification.costumes import COSTUMES, dress

__all__ = ["python_on_path"]

pytestmark = pytest.mark.usefixtures("acceptance_as_shipped")


WRONG = ("sabotage", "tricks", "tricks_later", "blind_tricks", "blind_noops")
RIGHT = ("honest", "tricks_honest", "blind_honest")


def list_dressed(folders: Sequence[str], every: int) -> list[Any]:
    """List those of a sample of cases and costumes that fit. All of them take seconds to make, which every process that
    collects tests would take again."""
    every_case = chain.from_iterable(map(load, folders))
    plain = [param for param in every_case if not param.marks and param.id not in ASKED]
    chosen = sample(product(plain, COSTUMES), every)
    both = ((f"{param.id}, {costume}", dress(param.values[0], costume)) for param, costume in chosen)
    return [pytest.param(case, id=name) for name, case in both if case is not None]


def changes_product_rightly(case: Case) -> bool:
    acts = [act for act in case.does if isinstance(act, Act)]
    return any("a + b" in act.text for act in acts if act.write in ("calc.py", "shop/calc.py"))


def list_saboteurs(every: int) -> list[Any]:
    """Where a saboteur's product is right or nearly so, what else it changed decides, and a costume may hide that."""
    return [param for param in list_dressed(WRONG, every) if not changes_product_rightly(param.values[0])]


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", list_saboteurs(479))
def test_wrong_work_in_costume_does_not_complete(case: Case, tmp_path: Path) -> None:
    if program := case.needs():
        pytest.skip(f"{program} is not installed")
    outcome, _ = play(case, tmp_path)
    assert not outcome.completed, explained(outcome)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", list_dressed(RIGHT, 199))
def test_honest_work_in_costume_is_completed(case: Case, tmp_path: Path) -> None:
    if program := case.needs():
        pytest.skip(f"{program} is not installed")
    outcome, _ = play(case, tmp_path)
    assert outcome.completed, explained(outcome)


@pytest.mark.parametrize("folder", [*WRONG, *RIGHT])
def test_every_case_fits_a_costume(folder: str) -> None:
    for param in load(folder):
        assert any(dress(param.values[0], costume) for costume in COSTUMES), param.id


def test_every_costume_is_worn() -> None:
    wrong, right = list_saboteurs(7), list_dressed(RIGHT, 7)
    assert len(wrong) >= 280
    assert len(right) >= 75
    assert {param.id.rpartition(", ")[2] for param in (*wrong, *right)} == {*COSTUMES}
