"""Swift."""

from __future__ import annotations

from bough.core.verdict.language import Language


class Swift(Language):
    name = "swift"
    suffixes = ("swift",)
    comment = "//"
    programs = frozenset({"swift"})
