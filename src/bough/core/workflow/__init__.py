"""Written plans: the text of a workflow file in, a `Plan` out."""

from __future__ import annotations

from bough.core.workflow.commands import filled_command
from bough.core.workflow.conditions import BEFORE, StepResult, holds
from bough.core.workflow.inputs import InputSpec, given
from bough.core.workflow.keys import kind
from bough.core.workflow.loading import Workflow, load
from bough.core.workflow.machine import Turn, next_state
from bough.core.workflow.problems import Problem, WorkflowError, decoded
from bough.core.workflow.texts import filled
from bough.core.workflow.writing import written

__all__ = [
    "BEFORE",
    "InputSpec",
    "Problem",
    "StepResult",
    "Turn",
    "Workflow",
    "WorkflowError",
    "decoded",
    "filled",
    "filled_command",
    "given",
    "holds",
    "kind",
    "load",
    "next_state",
    "written",
]
