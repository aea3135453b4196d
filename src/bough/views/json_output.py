"""Runs and tasks as plain data, for `--json`. Programs rely on these keys: add new ones, but never change one."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.budget.limits import Spend
from bough.core.ids import parent_path
from bough.views.run_view import RunView
from bough.views.task_rows import TaskRow
from bough.views.task_view import TaskView


def run_to_dict(run: RunView, standing: str, holder: str | None) -> dict[str, Any]:
    return {
        "run": run.name,
        "status": standing,
        "summary": run.summary,
        "exit_status": run.exit_status,
        "holder": holder,
        "goal": run.goal,
        "folder": run.folder,
        "models": run.models,
        "fallbacks": run.fallbacks,
        "started_at": run.started_at,
        "seconds": round(run.elapsed(), 3),
        "limits": _struct_to_dict(run.limits),
        "spend": _spend_to_dict(run.spend),
        "applied": bool(run.applied),
        "question": run.question or None,
        "held_commands": list(run.held.values()),
        "until": run.until or None,
    }


def task_to_dict(row: TaskRow) -> dict[str, Any]:
    task: TaskView = row.task
    return {
        "path": task.path,
        "parent": parent_path(task.path),
        "title": task.title,
        "state": task.state.value,
        "why": task.why,
        "halted": task.halted or None,
        "attempt": task.attempt,
        "role": task.role or None,
        "worker": task.worker or None,
        "repairs": task.repairs,
        "limits": _struct_to_dict(task.limits),
        "spend": _spend_to_dict(row.spend),
        "spend_with_subtasks": _spend_to_dict(row.subtree),
        "tokens_by_role": task.tokens_by_role,
        "verdict": task.verdict and _struct_to_dict(task.verdict),
        "files": list(task.files),
        "rung": task.rung or None,
        "trouble": task.trouble and _struct_to_dict(task.trouble),
        "report": task.report or None,
        "commit": task.commit or None,
        "tree": task.tree,
        "started_at": task.started_at,
        "last_at": task.last_at,
    }


def _struct_to_dict(struct: msgspec.Struct) -> dict[str, Any]:
    """Convert a struct, including fields that have default values: a program should not have to know the defaults."""
    return {name: msgspec.to_builtins(getattr(struct, name)) for name in struct.__struct_fields__}


def _spend_to_dict(spend: Spend) -> dict[str, Any]:
    """Convert the spend without its seconds, which would be incomplete: the view skips the events that time tools."""
    names = ("rounds", "tokens_in", "tokens_out", "tokens_cached", "cost", "unpriced", "estimated")
    return {name: getattr(spend, name) for name in names}
