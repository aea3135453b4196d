"""The events of a run that judges a change which somebody else made, and of what became of it later."""

from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import ChangePart
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.rules import Rules

GOAL = replace(build_goal_step("Fix it."), given="2" * 40)

EXAMINED: list[tuple[str, e.AnyEvent]] = [
    (
        "",
        e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "a:m"}, Limits(rounds=40), Rules(), "0.5.0", examines="topic"),
    ),
    ("goal", e.TaskCreated(GOAL, "1" * 40, Limits(rounds=40), Rules())),
    ("goal", e.GoalProposed("Old dates are parsed.", "They are not.", ("dates.py",))),
    ("@control", e.HookFailed("run_finished", "it ended with status 1")),
    ("@control", e.Rechecked("main", "3" * 40, "broken", "4" * 40, "tests/test_a.py::test_b fails")),
    (
        "@control",
        e.NeedlessFound(
            "2" * 40,
            (ChangePart("a.py", 3, 4),),
            (ChangePart("b.py", why="it is entangled"),),
            (ChangePart("c.py", 1, 1, ("goal/probe-1",)),),
            ("goal/probe-1",),
            7,
            40,
        ),
    ),
]

TRIED: list[tuple[str, e.AnyEvent]] = [
    *EXAMINED[:2],
    ("@control", e.PartTried("3" * 40, ("goal/probe-1",), ("tests/test_a.py::test_b",))),
]
