"""Events of questions that a live run asks about original tests, and of commands that say whose they are."""

from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules

STEP = Step("goal", "Publish it.")
ASKED: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(STEP), "a" * 40, "", {"main": "openai:some-model"}, Limits(rounds=40), Rules(), "0.2.0")),
    ("@control", e.CommandHeld("a1b2c3d4", "git push origin main", "goal", 1800000060.0)),
    ("@control", e.CommandRuled("a1b2c3d4", False)),
    ("goal", e.TaskCreated(STEP, "a" * 40, Limits(rounds=40), Rules())),
    ("goal", e.ChangesAsked(("test_half.py::test_half",))),
    ("@control", e.ChangesAnswered("goal", False, "Keep it.", "anna")),
    ("goal", e.ChangesRuled("person", "a" * 40, denied=("test_half.py::test_half",), why="Keep it.", person="anna")),
]
