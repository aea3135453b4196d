"""The events of `v1-merge.sql`: steps that wait for each other, additions that are both taken, and a merge task."""

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.merge.conflict_hunks import Merge, StepCheck
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.tree.task_state import State

STEPS = tuple(Step(name, f"Make {name}.", files=("list.txt+", "core.py"), test_command="pytest -q") for name in "abc")
GOAL = Step("goal", "All of it.", parallel=True, steps=STEPS)
LIMITS = Limits(rounds=60)
PASSED = Verdict("passed", "3 tests passed", "pytest -q", exit_status=0, tree="4" * 40, how="junit", passed=3)
MERGE = Merge(
    "1" * 40,
    "2" * 40,
    "3" * 40,
    "4" * 40,
    (StepCheck(Step("b", test_command="pytest -q"), "b", "c" * 64), StepCheck(Step("a", test_file="test_a.py"), "a")),
)

MERGED: list[tuple[str, e.AnyEvent]] = [
    ("@run", e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "scripted"}, LIMITS, Rules(), "0.1.0", jobs=2)),
    ("goal", e.TaskCreated(GOAL, "1" * 40, LIMITS, Rules())),
    ("goal", e.ChildStarted("a", "a", Limits(rounds=16))),
    ("goal", e.ChildHeld("b", "a", ("core.py",))),
    ("goal", e.ChildSettled("a", State.COMPLETED, "3 tests passed", "2" * 40, Spend(rounds=2), cases="c" * 64)),
    ("goal", e.ChildStarted("b", "b", Limits(rounds=16))),
    ("goal", e.ChildMerged("b", "4" * 40, ("core.py",), both=("list.txt",))),
    ("b/merge", e.TaskCreated(Step("merge", "Both."), "2" * 40, LIMITS, Rules(), merge=MERGE)),
    ("goal", e.ChildMerged("c", "4" * 40, (), PASSED, ("list.txt",), ("uv.lock",), ahead=True)),
]
