"""The composition root: the only place that names adapters. Interfaces depend on nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bough.app.choices import Choices, PlannedGoal, RunObserver
    from bough.app.journal import Journal, open_journal
    from bough.app.prompts import load_prompt
    from bough.app.session import Session, open_session

__all__ = ["Choices", "Journal", "PlannedGoal", "RunObserver", "Session", "load_prompt", "open_journal", "open_session"]

_HOMES = {
    "Choices": "bough.app.choices",
    "Journal": "bough.app.journal",
    "PlannedGoal": "bough.app.choices",
    "RunObserver": "bough.app.choices",
    "Session": "bough.app.session",
    "load_prompt": "bough.app.prompts",
    "open_journal": "bough.app.journal",
    "open_session": "bough.app.session",
}


def __getattr__(name: str) -> object:
    """Names are loaded when they are first used: `bough show` needs a journal and not a session, which loads git,
    models and settings (docs/design/start-up.md)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bough.app' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
