"""Dart."""

from __future__ import annotations

from bough.core.verdict.language import Language


class Dart(Language):
    name = "dart"
    suffixes = ("dart",)
    comment = "//"
    compares = rf"expect|{Language.compares}"
