"""The events of `v1-acceptance.sql`: a goal that is read into requirements, examined, disputed and judged."""

from bough.core import events as e
from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, ProbeResult
from bough.core.acceptance.requirements import Requirement
from bough.core.budget.limits import Limits, Spend
from bough.core.planning.plan import Plan, Step
from bough.core.rules import AcceptanceRules, Rules
from bough.core.tree.task_state import Inheritance, State

ONE = Requirement(1, "`argmax` returns the first of equal maxima.", 0, 43)
TWO = Requirement(2, "It raises ValueError on an empty list.", step="raise")
STEP = Step("pick", "Write argmax.", covers=(1,), interfaces=("pick.py: argmax(items)",))
GOAL = Step("goal", "`argmax` returns the first of equal maxima.", test_command="pytest -q", plan_first=True)
RULES = Rules(acceptance=AcceptanceRules(examine="always", share=0.2))
LIMITS = Limits(rounds=60)
PROBE = Probe(
    "pick/probe-1",
    "tests/test_probe_pick_1.py",
    "def test_first():\n    from pick import argmax\n\n    assert argmax([2, 2]) == 0\n",
    "The first of two equal maxima wins.",
    "the first of equal maxima",
    (1,),
)

ACCEPTANCE: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "m"}, LIMITS, RULES, "0.1.0")),
    ("goal", e.TaskCreated(GOAL, "1" * 40, LIMITS, RULES)),
    ("goal", e.StateChanged(State.IN_PROGRESS, "work begins")),
    ("goal", e.RequirementsRead((ONE, TWO), "model")),
    ("goal", e.PlanProposed((STEP,), ("errors are ValueError",))),
    ("goal", e.Planned((STEP,), "the plan", conventions=("errors are ValueError",))),
    ("goal", e.ChildStarted("pick", "pick", Limits(rounds=18))),
    (
        "pick",
        e.TaskCreated(
            STEP,
            "1" * 40,
            Limits(rounds=18),
            RULES,
            inherited=Inheritance(
                ("goal: argmax",),
                requirements=(ONE,),
                conventions=("errors are ValueError",),
                interfaces=("this step leaves for others: pick.py: argmax(items)",),
            ),
        ),
    ),
    ("pick", e.StateChanged(State.IN_PROGRESS, "work begins")),
    ("pick", e.Examined("examiner", (PROBE,), ("the docs are thin",), ("it is fast (nothing asks for it)",))),
    ("pick", e.ProbesStarted("2" * 40, (PROBE.name,))),
    ("pick", e.ProbesFinished("2" * 40, (ProbeResult(PROBE.name, "failed", "assert 1 == 0"),), 0.5)),
    ("pick", e.ProbeContested(PROBE.name, "the goal leaves it open")),
    ("pick", e.ProbeRuled(PROBE.name, Ruling(True, "the first of equal maxima", "it says so"))),
    ("pick", e.StateChanged(State.BLOCKED, "it stays so")),
    ("goal", e.ChildSettled("pick", State.COMPLETED, "done", "2" * 40, Spend(rounds=3), probes=(PROBE,))),
    ("goal", e.ExaminationSkipped("the change is small (3 lines)")),
]
