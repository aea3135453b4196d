"""The goal's whole check at every merge: a step's own check may be narrower than what its work can break."""

from pathlib import Path

import pytest

from bough.core import events as e
from bough.core.acceptance.verdict import Case, CaseOutcome, Report
from bough.core.verdict.check_run import Baseline
from bough.core.verdict.rulings import find_broken
from bough.testing import call
from tests.engine.parallel_runs import (
    DONE,
    Agents,
    a_first,
    both,
    edits,
    files_of,
    make_project,
    run_to_end,
    states,
    step,
    text_of,
    writes,
)
from tests.harness import by_progress
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

WHOLE = "grep -q keep shared.txt && test ! -f a.txt -o ! -f b.txt"
"""`keep` has to stay in shared.txt, and a.txt and b.txt must not be there together."""


@in_turn
def test_a_step_that_breaks_what_its_own_check_does_not_see_is_held_at_the_merge(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", shared="keep\n")
    a = by_progress(call("bash", command="echo done > a.txt; echo gone > shared.txt"), DONE)
    agents = Agents(a=a, b=writes("c"), a__merge=edits("shared", "gone", "keep"))
    goal = both(step("a"), step("b", "test -f c.txt", needs=("a",)), check="grep -q keep shared.txt")
    outcome, journal = run_to_end(project, goal, agents, jobs=1)
    (refused,) = journal.of(e.ChildMerged)
    assert refused.verdict is not None and refused.verdict.ruling == "failed"
    assert refused.verdict.reason.startswith("the whole check `grep -q keep shared.txt` fails but passed before")
    assert outcome.completed
    assert text_of(project, outcome, "shared") == "keep\n"


@in_turn
def test_two_steps_that_break_the_whole_check_only_together_are_repaired_at_the_merge(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p", shared="keep\n")
    goal = both(step("a"), step("b", "test -f b.txt -o -f d.txt"), step("c", needs=("a", "b")), check=WHOLE)
    mend = by_progress(call("bash", command="mv b.txt d.txt"), DONE)
    agents = Agents(a=writes("a"), b=writes("b"), c=writes("c"), b__merge=mend)
    outcome, journal = a_first(project, goal, agents)
    assert outcome.completed
    assert files_of(project, outcome) == {"a.txt", "c.txt", "d.txt", "shared.txt"}
    (refused,) = journal.of(e.ChildMerged)
    assert refused.verdict is not None and "the whole check" in refused.verdict.reason
    assert states(outcome)["b/merge"] == "completed"


@in_turn
def test_what_the_whole_check_already_failed_is_left_to_later_steps(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    agents = Agents(a=writes("a"), b=writes("b"))
    goal = both(step("a"), step("b", needs=("a",)), check="test -f a.txt && test -f b.txt")
    outcome, journal = run_to_end(project, goal, agents, jobs=1)
    assert outcome.completed
    assert not journal.of(e.ChildMerged)


def known(status: int, **outcomes: CaseOutcome) -> Baseline:
    cases = tuple(Case(id.replace("__", "::").replace("_py", ".py"), outcome) for id, outcome in outcomes.items())
    failed = sum(case.outcome in ("failed", "error") for case in cases)
    return Baseline(Report("junit", cases, len(cases) - failed, failed), closed=True, exit_status=status)


def test_only_what_passed_before_is_broken() -> None:
    before = known(1, a_py__one="passed", a_py__two="failed", b_py__one="passed")
    now = known(1, a_py__one="failed", a_py__two="failed", c_py__new="failed")
    assert find_broken(now, before) == ("a.py::one",)
    assert find_broken(known(1, b_py="error"), before) == ("b.py",), (
        "a file that cannot be loaded fails under its own name"
    )
    assert find_broken(known(1), before) == (), "nothing is named, and it failed before too"
    assert find_broken(known(1), known(0)) == ("the check",)
