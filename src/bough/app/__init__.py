"""The composition root: the only place that names adapters. Interfaces ask here and nowhere else."""

from __future__ import annotations

from bough.app.choices import Choices, PlannedGoal, RunObserver
from bough.app.session import Journal, Session, load_prompt, open_journal, open_session

__all__ = ["Choices", "Journal", "PlannedGoal", "RunObserver", "Session", "load_prompt", "open_journal", "open_session"]
