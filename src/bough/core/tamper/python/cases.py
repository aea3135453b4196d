"""Cases of `parametrize` at the base and now."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import chain

from bough.core.tamper.python.marks import Case
from bough.core.tamper.python.strength import renamed
from bough.core.tamper.python.syntax import dump, walk

MOST = 60
"""Cases that are named one by one."""


def written(groups: list[list[Case] | ast.expr]) -> list[list[Case]]:
    """The cases that stand in the file, decorator by decorator."""
    return [group for group in groups if isinstance(group, list)]


def compare(
    before: list[list[Case]], after: list[list[Case]], title: str, outside: frozenset[str] = frozenset()
) -> tuple[list[tuple[int, str]], set[str]]:
    """What became of cases that are not there any more or are skipped, with lines (0: gone), and the keys of those.
    `outside`: names for what is not of the test side; cases in which only such names changed are left out here, since
    what is asserted of them is compared too."""
    waiting: dict[str, list[Case]] = defaultdict(list)
    for case in chain.from_iterable(after):
        waiting[case.key].append(case)
    vanished: list[Case] = []
    said: list[tuple[int, str]] = []
    gone: set[str] = set()
    for case in chain.from_iterable(before):
        if not waiting[case.key]:
            vanished.append(case)
            gone.add(case.key)
            continue
        now = waiting[case.key].pop(0)
        known = {mark.key for mark in case.marks}
        new = [mark for mark in now.marks if mark.key not in known]
        if new:
            gone.add(case.key)
            said.append((now.line, f"case {now.shown} of {title} is now marked `{new[0].says}`"))
    fresh = list(chain.from_iterable(waiting.values()))
    for case in list(vanished):
        renamed = next((other for other in fresh if _renamed(case, other, outside)), None)
        if renamed is not None:
            fresh.remove(renamed)
            vanished.remove(case)
            gone.discard(case.key)
    return said + _vanished(vanished, fresh, title), gone


def _renamed(case: Case, other: Case, outside: frozenset[str]) -> bool:
    if case.names != other.names or len(case.values) != len(other.values) or other.marks:
        return False
    new = {node.id for value in other.values for node in walk(value) if isinstance(node, ast.Name)}
    new -= {node.id for value in case.values for node in walk(value) if isinstance(node, ast.Name)}
    return new <= outside and all(renamed(a, b) for a, b in zip(case.values, other.values, strict=True))


def _vanished(cases: list[Case], fresh: list[Case], title: str) -> list[tuple[int, str]]:
    said = []
    for case in cases[:MOST]:
        instead = _instead(case, fresh)
        if instead is None:
            said.append((0, f"a case of {title} was removed: {case.shown}"))
        else:
            fresh.remove(instead)
            said.append((instead.line, f"a case of {title} was changed: {case.shown} became {instead.shown}"))
    if len(cases) > MOST:
        said.append((0, f"{len(cases) - MOST} more cases of {title} were removed or changed"))
    return said


def _instead(case: Case, fresh: list[Case]) -> Case | None:
    """A new case that shares most of its values."""
    best, score = None, 0
    for other in fresh:
        shared = sum(dump(a) == dump(b) for a, b in zip(case.values, other.values, strict=False))
        if shared > score or (best is None and len(case.values) == 1):
            best, score = other, shared
    return best
