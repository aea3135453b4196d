"""The events of a run whose first model is gone, and whose second one answers."""

from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.planning.plan import Plan, build_goal_step
from bough.core.rules import Rules

GOAL = build_goal_step("Fix it.")
MODELS = {"fast": "a:m", "main": "a:m", "strong": "a:m", "main+1": "b:n"}

SWITCHED: list[tuple[str, e.AnyEvent]] = [
    ("", e.RunStarted(Plan(GOAL), "1" * 40, "", MODELS, Limits(rounds=40), Rules(), "0.4.0")),
    ("goal", e.TaskCreated(GOAL, "1" * 40, Limits(rounds=40), Rules())),
    ("goal", e.AttemptStarted("builder", "main", "You are an engineer.", "Fix it.")),
    ("goal", e.RoundStarted()),
    ("goal", e.ModelFailed("the quota is exhausted", 0.0, 0.5)),
    ("goal", e.ModelSwitched("main", "main+1", "b:n", "the quota is exhausted", 8192, True, True, 1_800_000_000.0)),
    ("goal", e.ModelSwitched("main", "main", "a:m", "the next task begins with the first model")),
]
