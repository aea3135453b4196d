"""Recorded expectations: snapshots, golden files and other data that tests read. They may grow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.wording import listed, short

_ASIDE = tuple(listed("readme requirements tsconfig .eslintrc docker-compose package changelog license cmake"))


MOST_TRIED = 50
"""New items of a list of which one may be an old one that has grown."""
DEEPEST = 6


def compare(before: Mapping[str, str], after: Mapping[str, str], changed: list[str]) -> Iterator[Tampering]:
    added = {after[path] for path in changed if path in after and path not in before}
    for path in changed:
        if path not in before or files.name_of(path).lower().startswith(_ASIDE):
            continue
        if path not in after:
            if before[path] not in added and before[path].strip():
                yield Tampering(path, 0, f"test data {path} was removed")
            continue
        what = _lost(before[path], after[path])
        if what:
            yield Tampering(path, 0, f"test data changed: {what}")


def _lost(old: str, new: str) -> str:
    try:
        return _missing(json.loads(old), json.loads(new), "$", 0)
    except (ValueError, RecursionError):
        pass
    there = Counter(_plain(line) for line in new.splitlines())
    for line in old.splitlines():
        plain = _plain(line)
        there[plain] -= 1
        if plain and there[plain] < 0:
            return f"`{short(plain, 60)}` is gone"
    return ""


def _plain(line: str) -> str:
    return line.strip().rstrip(",")


def _missing(old: object, new: object, place: str, depth: int) -> str:
    """The first value of `old` that `new` does not have."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                return f"{place}.{key} is gone"
            what = _missing(value, new[key], f"{place}.{key}", depth + 1)
            if what:
                return what
        return ""
    if isinstance(old, list) and isinstance(new, list):
        return _missing_items(old, new, place, depth)
    return "" if _said(old) == _said(new) else f"{place}: {short(_said(old), 40)} became {short(_said(new), 40)}"


def _missing_items(old: list[object], new: list[object], place: str, depth: int) -> str:
    """Items may come in between, and may have grown themselves; each old one has to be found in another new one."""
    there = Counter(map(_said, new))
    there.subtract(map(_said, old))
    fresh = [value for value in new if there[_said(value)] > 0]
    for index, value in enumerate(old):
        if there[_said(value)] >= 0:
            continue
        there[_said(value)] += 1
        tried = [one for one in new[index : index + 1] if one in fresh] + (fresh[:MOST_TRIED] if value else [])
        nested = tried if isinstance(value, dict | list) and depth < DEEPEST else []
        grown = next((one for one in nested if not _missing(value, one, place, depth + 1)), None)
        if grown is None:
            return f"{place}[{index}] `{short(_said(value), 50)}` is gone"
        fresh = [one for one in fresh if one is not grown]
    return ""


def _said(value: object) -> str:
    return json.dumps(value, sort_keys=True)
