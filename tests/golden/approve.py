"""Events of commands that the person wants to see first."""

from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules

STEP = Step("goal", "Publish it.")
APPROVE: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(STEP), "a" * 40, "", {"main": "openai:some-model"}, Limits(rounds=40), Rules(), "0.2.0")),
    ("@control", e.CommandHeld("a1b2c3d4", "git push origin main")),
    ("@control", e.CommandRuled("a1b2c3d4", True, by="anna")),
    ("@control", e.CommandHeld("e5f6a7b8", "npm publish")),
    ("@control", e.CommandRuled("e5f6a7b8", False, "Not before Monday.", "anna")),
]
