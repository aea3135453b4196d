"""Dart."""

from __future__ import annotations

from bough.core.verdict.language import Language


class Dart(Language):
    name = "dart"
    suffixes = ("dart",)
    test_names = r"_test\.dart$"
    comment = "//"
    compares = rf"expect|{Language.compares}"


LANGUAGE = Dart()
