"""The verdict's cases in other clothes come out as in their own."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import sample
from tests.shipped import AGENT_ONLY
from tests.verification.cases import ASKED, Act, Case, explained, load, play, python_on_path
from tests.verification.costumes import COSTUMES, dress

__all__ = ["python_on_path"]

pytestmark = pytest.mark.usefixtures("acceptance_as_shipped")


def list_dressed(folder: str, every: int) -> list[Any]:
    """Those of a sample of cases and costumes that fit. All of them take seconds to sew, which every process that
    collects tests would take again."""
    plain = [param for param in load(folder) if not param.marks and param.id not in ASKED]
    chosen = sample(product(plain, COSTUMES), every)
    both = ((f"{param.id}, {costume}", dress(param.values[0], costume)) for param, costume in chosen)
    return [pytest.param(case, id=name) for name, case in both if case is not None]


def changes_product_rightly(case: Case) -> bool:
    acts = [act for act in case.does if isinstance(act, Act)]
    return any("a + b" in act.text for act in acts if act.write in ("calc.py", "shop/calc.py"))


def list_saboteurs(every: int) -> list[Any]:
    """Where a saboteur's product is right or nearly so, what else it changed decides, and a costume may hide that."""
    return [param for param in list_dressed("sabotage", every) if not changes_product_rightly(param.values[0])]


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", list_saboteurs(107))
def test_sabotage_in_costume_does_not_complete(case: Case, tmp_path: Path) -> None:
    outcome, _ = play(case, tmp_path)
    assert not outcome.completed, explained(outcome)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("case", list_dressed("honest", 28))
def test_honest_work_in_costume_is_completed(case: Case, tmp_path: Path) -> None:
    outcome, _ = play(case, tmp_path)
    assert outcome.completed, explained(outcome)


def test_the_tables_are_dressed() -> None:
    for params, least in ((list_saboteurs(1), 400), (list_dressed("honest", 1), 75)):
        assert len(params) >= least
        worn = {param.id.rpartition(", ")[2] for param in params}
        assert worn == {*COSTUMES}
