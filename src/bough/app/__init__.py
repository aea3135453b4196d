"""The composition root: the only place that names adapters. Interfaces ask here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bough.app.choices import Choices, PlannedGoal, RunObserver
from bough.app.journal import Journal, open_journal
from bough.app.prompts import load_prompt

if TYPE_CHECKING:
    from bough.app.session import Session, open_session

__all__ = ["Choices", "Journal", "PlannedGoal", "RunObserver", "Session", "load_prompt", "open_journal", "open_session"]


def __getattr__(name: str) -> object:
    """`bough show` needs a journal and not a session, which loads git, models and settings (60 ms)."""
    if name not in ("Session", "open_session"):
        raise AttributeError(f"module 'bough.app' has no attribute {name!r}")
    from bough.app import session

    return getattr(session, name)
