"""The composition root: the only place that names adapters. Interfaces depend on nothing else."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bough.app.choices import Choices, PlannedGoal, RunObserver
    from bough.app.journal import Journal, open_journal
    from bough.app.prompts import load_prompt
    from bough.app.session import Session, open_session

__all__ = ["Choices", "Journal", "PlannedGoal", "RunObserver", "Session", "load_prompt", "open_journal", "open_session"]

_HOMES = {
    "choices": ("Choices", "PlannedGoal", "RunObserver"),
    "journal": ("Journal", "open_journal"),
    "prompts": ("load_prompt",),
    "session": ("Session", "open_session"),
}


def __getattr__(name: str) -> object:
    """Load a name when it is first used: `bough show` needs a journal and not a session, which loads git, models and
    settings (docs/design/start-up.md)."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"bough.app.{module}"), name)
    raise AttributeError(f"module 'bough.app' has no attribute {name!r}")
