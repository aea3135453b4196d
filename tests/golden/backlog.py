"""The events of a backlog, of the night that worked on it, and of what was learned."""

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.backlog.entry import GoalEntry, GoalFault, GoalReport
from bough.core.budget.limits import Limits, Spend
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.rules import Rules

GOAL = build_goal_step("Put the work together.")
ENTRY = GoalEntry("Round half up.", check="pytest -q", needs=("parse",), priority=2, labels=("bug",), cost=0.5)
LESSON: dict[str, object] = {
    "kind": "dead_end",
    "test": "tests/test_a.py::test_b",
    "files": ["a.py"],
    "run": "amber-heron",
    "hypothesis": "locale",
}

NIGHT: list[tuple[str, e.AnyEvent]] = [
    (
        "",
        e.RunStarted(
            Plan(GOAL), "1" * 40, "", {"main": "m"}, Limits(rounds=40), Rules(), "0.3.0", listed="backlog/round"
        ),
    ),
    ("round", e.GoalListed(ENTRY, "ada")),
    ("@control", e.GoalEdited("round", GoalEntry("Round half to even."), "ada")),
    ("@control", e.GoalMoved("round", "parse", "ada")),
    ("@control", e.GoalDropped("parse", "ada")),
    ("@control", e.NightStarted("1" * 40, "2" * 40, 3.0, "night", "ada")),
    ("round", e.GoalTaken("jade-fox", "1" * 40, cost=0.5, commit="2" * 40, worker="otter")),
    (
        "round",
        e.GoalSettled(
            GoalReport(
                "completed",
                spend=Spend(rounds=3, cost=0.2),
                branch="bough/round",
                files=("a.py",),
                added=3,
                removed=1,
                conflicts={"parse": ("a.py",)},
            )
        ),
    ),
    ("@control", e.NightJoining("opal-wren")),
    ("goal", e.WorkTaken("jade-fox", "1" * 40, "3" * 40, "rounded", Verdict("passed", "The check passed."))),
    ("@control", e.NightJoined("night", "4" * 40, ("round",), {"parse": "it changes a.py as round does"})),
    ("@control", e.LessonKept(LESSON)),
    ("@control", e.LessonRetired(1, "the test passes now", "ada")),
    ("@control", e.NightEnded("everything is decided")),
]

FAULT = GoalFault("vague", "which way?", "Up or down?")
READ: list[tuple[str, e.AnyEvent]] = [
    ("@control", e.GoalsListed({"round": ENTRY}, "ada")),
    ("@control", e.GoalsReviewed({"round": (FAULT,)}, Spend(rounds=1), "ada")),
]

SUM: list[tuple[str, e.AnyEvent]] = [
    ("@control", e.GoalsListed({"round": ENTRY, "parse": GoalEntry("Parse.")}, "ada")),
    ("round", e.GoalTaken("jade-fox", "1" * 40, cost=0.5, before=Spend(rounds=2, cost=0.1))),
    ("@control", e.RunRemoved("jade-fox", Spend(rounds=3, cost=0.2), applied=True)),
    ("@control", e.NightEnded("everything is decided", Spend(rounds=1, cost=0.1))),
]
