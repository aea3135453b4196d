"""Honest work: what good programmers do to code and tests. Every case is completed, but for those about which somebody
has to be asked, because an original test cannot be asked any more."""

from pathlib import Path

import pytest

from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.verification.cases import ASKED, Act, Case, explained, load, play, python_on_path, sample, verdict_of

__all__ = ["python_on_path"]

pytestmark = pytest.mark.usefixtures("acceptance_as_shipped")

CASES = load("honest")


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize(("name", "case"), [(param.id, *param.values) for param in sample(CASES, 8)])
def test_honest_work_is_completed(name: str, case: Case, tmp_path: Path) -> None:
    if program := case.needs():
        pytest.skip(f"{program} is not installed")
    outcome, journal = play(case, tmp_path)
    verdict = verdict_of(outcome)
    if name in ASKED:
        assert verdict.ruling == "needs_approval", explained(outcome)
        assert outcome.exit_status == 8
        return
    assert verdict.ruling == "passed", explained(outcome)
    assert outcome.completed
    assert outcome.exit_status == 0
    assert journal.states() == ["in_progress", "testing", "completed"]
    assert verdict.disagreements == () or case.step.get("may_edit_tests"), "what is allowed is reported, nothing else"


def test_the_table_is_whole() -> None:
    assert len({param.id for param in CASES}) == len(CASES) >= 65


FLAKY = """\
import pathlib


def test_flaky():
    seen = pathlib.Path({place!r}, "now")
    first = "a + b" in pathlib.Path("calc.py").read_text() and not seen.exists()
    seen.touch() if first else None
    assert not first
"""


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("strict", [False, True])
@in_turn
def test_a_flaky_test_is_reported_and_fails_nothing_but_a_strict_run(
    strict: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "outside"
    place.mkdir()
    monkeypatch.setenv("BOUGH_SANDBOX_WRITABLE", str(place))
    files = {"test_flaky.py": FLAKY.format(place=str(place))}
    case = Case(name="flaky", does=["fix"], files=files, limits=f"strict = {str(strict).lower()}")
    outcome, _ = play(case, tmp_path)
    verdict = verdict_of(outcome)
    assert verdict.flaky == ("test_flaky.py::test_flaky",)
    assert outcome.completed is not strict
    assert [failure.kind for failure in verdict.failures] == (["flaky"] if strict else [])


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@pytest.mark.parametrize("path", ["docs/index.md", "notes/today.log"])
def test_what_is_found_at_the_top_runs_at_the_top(path: str, tmp_path: Path) -> None:
    """The person stands in a folder of the project, perhaps one with nothing in it that counts, and its check is that
    of the whole."""
    does: list[Act | str] = [Act(bash="sed '2s/-/+/' ../calc.py > new && mv new ../calc.py")]
    files = {".gitignore": "*.log\n", path: "hello\n"}
    case = Case(name="below", does=does, files=files, check="", repository=True)
    outcome, _ = play(case, tmp_path, path.partition("/")[0])
    assert outcome.completed, explained(outcome)
    assert verdict_of(outcome).passed == 2


FEWER = """\
import pathlib

import pytest

place = pathlib.Path({place!r})
(place / f"run{{len(list(place.iterdir()))}}").touch()


@pytest.mark.parametrize("n", range(20 - len(list(place.iterdir()))))
def test_many(n):
    assert n >= 0
"""


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_test_count_that_varies_on_its_own_is_not_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time they are collected there is one less, at the base too."""
    place = tmp_path / "outside"
    place.mkdir()
    monkeypatch.setenv("BOUGH_SANDBOX_WRITABLE", str(place))
    case = Case(name="fewer", does=["fix"], files={"test_many.py": FEWER.format(place=str(place))})
    outcome, _ = play(case, tmp_path)
    assert verdict_of(outcome).ruling == "passed", explained(outcome)


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_new_tests_are_named_and_old_ones_are_not(tmp_path: Path) -> None:
    more = "from calc import add\n\n\ndef test_more():\n    assert add(4, 0) == 4\n"
    case = Case(name="more", does=["fix", Act(write="test_more.py", text=more)])
    outcome, _ = play(case, tmp_path)
    assert verdict_of(outcome).added == ("test_more.py::test_more",), explained(outcome)


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_another_expectation_alone_is_no_work(tmp_path: Path) -> None:
    """The tests may be edited, so nothing is wrong with that; but the product is as it was."""
    does: list[Act | str] = [Act(edit="test_calc.py", old="== 5", new="== -1")]
    outcome, _ = play(Case(name="", does=does, step={"may_edit_tests": True}), tmp_path)
    assert verdict_of(outcome).ruling == "passed", explained(outcome)
    assert not outcome.completed
