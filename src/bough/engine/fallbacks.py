"""Another model of a tier's chain answers while the one before it is unavailable.

After the model's own retries, or at once when its quota is spent, it is gone or nothing listens there. A wrong key, a
bad request, a refusal or a person's stop is nothing that another model should hide.
"""

from __future__ import annotations

from bough.core import events as e
from bough.core.errors import Exhausted, NotServed, TransientError, Unavailable
from bough.core.model_chain import find_next
from bough.core.planning.plan import Tier
from bough.core.tree.task import Task
from bough.engine.task_workspace import TaskRuntime

TRIES = 3
"""Transport errors in a row after which the next model is asked."""


def switch_model(
    task: Task, runtime: TaskRuntime, tier: Tier, asked: str, error: Unavailable, failures: int
) -> e.ModelSwitched | None:
    """The switch to the model after `asked`; None: there is none, or the error is no reason. `failures`: transport
    errors in a row."""
    passing = isinstance(error, TransientError) and failures >= TRIES
    key = find_next(asked, runtime.ports.models) if passing or isinstance(error, Exhausted | NotServed) else ""
    if not key:
        return None
    runtime.serving = runtime.serving | {tier: key}
    model = runtime.ports.models[key]
    known, attempt = runtime.ports.protocols.of(model.name), task.attempt
    restarts = attempt is not None and attempt.tier == tier and attempt.protocol != known.protocol
    until = error.until if isinstance(error, Exhausted) else 0.0
    return e.ModelSwitched(tier, key, model.name, str(error), model.window, known.may_change, restarts, until)
