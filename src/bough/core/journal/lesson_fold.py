"""Lessons as a fold over their stream."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from bough.core import events as e
from bough.core.lessons import KeptLesson


def fold_lessons(records: Iterable[e.Record]) -> dict[int, KeptLesson]:
    """All of them by number, in order."""
    found: dict[int, KeptLesson] = {}
    for record in records:
        match record.event:
            case e.LessonKept(lesson):
                number = len(found) + 1
                found[number] = KeptLesson(number, lesson, record.at)
            case e.LessonRetired(number, why) if number in found:
                found[number] = replace(found[number], retired=why)
            case _:
                pass
    return found
