"""What people read of a rung, a pattern, a state, a status and a role: one word for each, wherever it is shown."""

from __future__ import annotations

from bough.core.tree.task_state import State

ROLES = {"builder": "builder", "bug_hunter": "bug hunter", "test_writer": "test writer", "critic": "critic"}
_RUNGS = (
    ("other_protocol", "switches to the other protocol", ""),
    ("attempts", "makes another attempt", ""),
    ("nudge", "nudges the agent", ""),
    ("prune", "prunes the context", "pruning the context"),
    ("decompose", "splits the task", "splitting the task"),
    ("zoom_out", "sets the task aside", ""),
    ("stronger_model", "switches to a stronger model", ""),
    ("verify", "checks whether it is done", ""),
    ("replan", "plans another approach", "planning another approach"),
    ("ask", "asks you", "asking you"),
    ("give_up", "gives up", ""),
)
"""The rungs of the ladder in order: what bough does there, and what it is doing where that takes a while."""
RUNGS = {rung: does for rung, does, _ in _RUNGS}
RUNGS_UNDER_WAY = {rung: doing for rung, _, doing in _RUNGS}
PATTERNS = {
    "repetitive_output": "repeats itself",
    "circular_tools": "goes in circles",
    "no_progress": "no progress",
    "repeated_error": "hits the same error over and over",
    "monologue": "talks without acting",
    "oscillation": "goes back and forth",
    "paging": "keeps reading",
    "max_rounds": "takes too long",
    "subtask_max_rounds": "takes too long",
}
"""Every way in which work gets stuck."""
STATE_STYLES = {
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "red",
    State.TEST_FAILED: "yellow",
    State.BLOCKED: "yellow",
    State.IN_PROGRESS: "cyan",
    State.TESTING: "cyan",
}
STATUS_STYLES = {"completed": "green", "failed": "red", "running": "cyan"}
STATUS_WORDS = {
    "running": "running",
    "interrupted": "interrupted",
    "completed": "completed",
    "not_proven": "finished, not proven",
    "not_verified": "finished, not proven",  # In old journals.
    "failed": "failed",
    "budget": "budget spent",
    "stopped": "stopped",
    "unavailable": "model unavailable",
    "needs_approval": "waiting for your approval",
    "environment": "the check cannot run here",
    "paused": "paused",
    "waiting": "waiting for your answer",
    "quota": "quota exhausted",
}
"""A run's status. `interrupted`: unfinished, and no process is running it."""
OVER = ("completed", "not_proven", "failed")
"""The statuses of finished runs; a run with any other one can be resumed."""


def describe_state(state: State) -> str:
    return state.value.replace("_", " ")


def describe_status(status: str) -> str:
    return STATUS_WORDS.get(status, status)
