"""Dart."""

from bough.core.verdict.language import Language


class Dart(Language):
    name = "dart"
    suffixes = ("dart",)
    comment = "//"
    body = (
        r"^[ \t]*(?!(?:if|for|while|switch|catch|return|else)\b)[\w<>?, ]+ (\w+)"
        r"\([^(){}]{0,999}\)\s*(?:async\*?\s*)?\{"
    )
    switch = 'if (1 == {on}) throw StateError("broken on purpose");'
