"""Events of the door: what the goal's check says before any work, and what a run without its environment comes to."""

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules

STEP = Step("goal", "Fix it.")
DOOR: list[tuple[str, e.AnyEvent]] = [
    (
        "",
        e.RunStarted(
            Plan(STEP),
            "a" * 40,
            "",
            {"main": "openai:some-model"},
            Limits(rounds=40),
            Rules(),
            "0.2.0",
            endpoints={"openai:some-model": "http://127.0.0.1:8080/v1"},
        ),
    ),
    ("", e.BaseStarted("python3 -m pytest", "pytest is configured in pyproject.toml", "the environment in .venv")),
    (
        "",
        e.BaseChecked(
            "python3 -m pytest",
            "pytest is configured in pyproject.toml",
            "the environment in .venv",
            exit_status=1,
            passed=66,
            failed=2,
            seconds=2.5,
            lacking="freezegun is not installed (requirements/tests.txt names it)",
            way_out="Install it there.",
            left_out=(".env",),
        ),
    ),
    ("", e.RunHalted("environment", "freezegun is not installed. Install it there.")),
    (
        "",
        e.RunResumed(
            "w1", Limits(rounds=40), {"main": "openai:some-model"}, {"openai:some-model": "http://127.0.0.1:1/v1"}
        ),
    ),
    ("", e.BaseChecked()),
    ("", e.Applied("b" * 40, ("a.py",), "c" * 40, "d" * 40, "e" * 40)),
    ("", e.Undone(("a.py",))),
    ("", e.Judged(Verdict("passed", "the check passed"))),
    ("goal", e.TaskCreated(STEP, "a" * 40, Limits(rounds=40), Rules())),
]
