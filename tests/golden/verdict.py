"""The events of `v1-verdict.sql`: original tests disagree with the work, and it is decided whether they may change."""

from bough.core import events as e
from bough.core.acceptance.verdict import AllowedChange, Disagreement, Remark, Verdict
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, Step
from bough.core.rules import CheckRules, Rules
from bough.core.tree.task_state import Inheritance, State

GOAL = Step("goal", "Round half up.", test_command="pytest -q")
LIMITS = Limits(rounds=60)
RULES = Rules(checks=CheckRules(("tests/test_old.py*",)))
ALLOWED = AllowedChange(
    "test_r.py::test_half", "    assert half(2.5) == 3", "judge", "the request demands it: “half up”"
)
ASKED = Verdict(
    "needs_approval",
    "the check passes, but with the original tests restored test_r.py::test_half does not: assert 3 == 2",
    "pytest -q",
    exit_status=0,
    tree="2" * 40,
    how="junit",
    passed=2,
    changed=("test_r.py",),
    disagreements=(
        Disagreement(
            "test_r.py::test_half",
            "test_r.py",
            "    assert half(2.5) == 2",
            "    assert half(2.5) == 3",
            "assert 3 == 2",
        ),
        Disagreement("test_new.py::test_gone", "test_new.py", said="it does not run", asked=False, own=True),
    ),
    advice=(Remark("r.py", 3, "looks for a test run"),),
    canary="1 test fails with its expected values made wrong",
)
PASSED = Verdict("passed", "the check passed (tests: 2 passed), and original tests were changed", exit_status=0)

RULED: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "m"}, LIMITS, RULES, "0.1.0")),
    ("goal", e.TaskCreated(GOAL, "1" * 40, LIMITS, RULES, inherited=Inheritance(allowed=(ALLOWED,)))),
    ("goal", e.StateChanged(State.IN_PROGRESS, "work begins")),
    ("goal", e.AttemptStarted("builder", "main", "You are an agent.", "Round half up.")),
    ("goal", e.Disputed("test_r.py::test_half", "The request says half up.")),
    ("goal", e.DoneClaimed("It rounds half up.")),
    ("goal", e.StateChanged(State.TESTING, "the agent says it is done")),
    ("goal", e.CheckStarted("pytest -q", "the step's test_command")),
    ("goal", e.CheckFinished(ASKED)),
    ("goal", e.ChangesRuled("judge", "2" * 40, (ALLOWED,), why="“half up” demands it.")),
    ("goal", e.ChangesRuled("person", "2" * 40, denied=("test_new.py::test_gone",), why="Keep it.")),
    ("goal", e.StateChanged(State.TEST_FAILED, ASKED.reason)),
    ("goal", e.FindingReturned("The check passes, but the original tests disagree.")),
    ("goal", e.StateChanged(State.IN_PROGRESS, "it goes back to the same agent")),
    ("goal", e.TaskHalted("needs_approval", "nobody has allowed that")),
    ("", e.RunHalted("needs_approval", "nobody has allowed that")),
    ("goal", e.ChangesRuled("earlier", "2" * 40, verdict=PASSED)),
]
