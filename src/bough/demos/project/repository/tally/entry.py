"""One expense."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Entry:
    day: date
    category: str
    cents: int
    note: str = ""

    @property
    def month(self) -> str:
        """`2026-03`"""
        return self.day.isoformat()[:7]
