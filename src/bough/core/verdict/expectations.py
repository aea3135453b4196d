"""Making expected values wrong: what the languages' rules for that have in common."""

from __future__ import annotations

import re

from bough.core.verdict.language import Spans

NUMBER = "7919"
_SMALL = 1000
"""Up to here another number is the next one; for larger ones the tolerance of near equality is wider."""
VALUE = r"(-?\d[\d_.]*|\"[^\"\\\n]*\"|'[^'\\\n]*')"
"""A literal in most languages."""
_BRANCH = r"\b(?:if|else|for|while|catch|switch|match|loop|forEach|map|filter)\b|=>\s*\{?\s*$|\|\s*\{?\s*$"


def apply_changes(text: str, changes: Spans) -> str:
    for start, end, new in sorted(set(changes), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def make_other_value(value: object) -> object:
    """Another value of the same kind. As a literal: code that reads the tests should find it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}~{NUMBER}"
    if isinstance(value, bytes):
        return value + b"~"
    if isinstance(value, int | float):
        return value + 1 if abs(value) < _SMALL else value * 2 + 1
    return int(NUMBER)


def falsify_lines(text: str, wanted: set[str], asserts: str, tests: str) -> tuple[Spans, set[str]]:
    """For languages whose assertions stand on one line each. `asserts`: such a line, with the literal as a group;
    `tests`: the line that begins a test, with its name as the second group."""
    changes: Spans = []
    done: set[str] = set()
    above: list[str] = []
    at = 0
    titles = [hit[2] for hit in re.finditer(tests, text)]
    wanted = {name for name in wanted if titles.count(name) == 1}
    for line in text.splitlines(keepends=True):
        if line.strip():
            depth = len(line) - len(line.lstrip())
            above = [other for other in above if len(other) - len(other.lstrip()) < depth]
            found = re.match(asserts, line)
            named = next((hit for other in reversed(above) if (hit := re.search(tests, other))), None)
            inner = [other for other in above if named and above.index(other) > above.index(named.string)]
            if found and named and named[2] in wanted and not any(re.search(_BRANCH, other) for other in inner):
                group = next(number for number in range(1, (found.lastindex or 0) + 1) if found[number])
                start, end = found.span(group)
                changes.append((at + start, at + end, _falsify_literal(found[group])))
                done.add(named[2])
            above.append(line)
        at += len(line)
    return changes, done


def _falsify_literal(value: str) -> str:
    if value[0] in "\"'":
        return f"{value[:-1]}~{NUMBER}{value[-1]}"
    number = value.replace("_", "")
    return str(make_other_value(float(number) if "." in number else int(number)))
