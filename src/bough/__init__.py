"""bough: give it a goal and a repository; a task is done when a check that bough ran has passed.

import bough

outcome = await bough.run("Add a --json flag to the report command", dir=".", check="pytest")
for task in outcome.tree:
    print(task.path, task.state, task.verdict)
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bough.api import (
        Stream,
        add_goals,
        load_workflow,
        report_backlog,
        resume,
        run,
        run_backlog,
        run_sync,
        stream,
    )
    from bough.core.backlog.entry import GoalEntry
    from bough.core.errors import BoughError
    from bough.core.planning.plan import Plan, Step
    from bough.operations.table import Does
    from bough.views.run_view import Outcome

__version__ = "0.2.0"

__all__ = [
    "BoughError",
    "GoalEntry",
    "Outcome",
    "Plan",
    "Step",
    "Stream",
    "__version__",
    "add_goals",
    "answer",
    "apply",
    "approve",
    "load_workflow",
    "pause",
    "pr",
    "report_backlog",
    "resume",
    "rewind",
    "run",
    "run_backlog",
    "run_sync",
    "say",
    "stop",
    "stream",
    "undo",
]

_HOMES = {
    "BoughError": "bough.core.errors",
    "GoalEntry": "bough.core.backlog.entry",
    "Outcome": "bough.views.run_view",
    "Plan": "bough.core.planning.plan",
    "Step": "bough.core.planning.plan",
}
"""The modules that define names of `__all__`, where `bough.api` does not."""
OPERATIONS = ("answer", "apply", "approve", "pause", "pr", "rewind", "say", "stop", "undo")
"""Names of functions that are made from the table of operations: `await bough.say("amber-heron", text="…")`."""


def __getattr__(name: str) -> "Does":
    """Load a name of `__all__`, or make the function for a command such as `bough say` from the table of operations.
    This happens only when a name is first used, because `bough --help` needs none of them."""
    if name in __all__ and name not in OPERATIONS:
        found: Does = getattr(import_module(_HOMES.get(name, "bough.api")), name)
        return found
    if not name.startswith("_") and find_spec(f"bough.{name}") is None:
        from bough.operations import OPERATIONS as table
        from bough.operations.table import call_operation

        if name in table:
            return call_operation(name)
    raise AttributeError(f"module 'bough' has no attribute {name!r}")


def __dir__() -> list[str]:
    from bough.operations import OPERATIONS as table

    return sorted({*__all__, *table})
