"""The events of a run whose check a model proposed, with tests that cannot run."""

from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.messages import Usage
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.rules import Rules

GOAL = build_goal_step("Fix it.")

SCOUTED: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(GOAL), "1" * 40, "", {"main": "m"}, Limits(rounds=40), Rules(), "0.3.0", setup="npm ci")),
    ("", e.CheckScouted(("true", "busted"), {"true": "no test was seen in its output"}, Usage(10, 2), 0.1, "m")),
    ("", e.BaseStarted("busted", "a model proposed it")),
    (
        "",
        e.BaseChecked(
            "busted",
            "a model proposed it",
            exit_status=1,
            passed=3,
            failed=1,
            scouted=True,
            aside={"spec/a_spec.lua::far": "it needs network access (example.org), which commands do not have"},
        ),
    ),
]
