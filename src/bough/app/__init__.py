"""The composition root: the only place that names adapters. Interfaces ask here and nowhere else."""

from __future__ import annotations

from bough.app.choices import Choices, Planned, Watch
from bough.app.project import Journal, Session, journal, prompt, session

__all__ = ["Choices", "Journal", "Planned", "Session", "Watch", "journal", "prompt", "session"]
