"""Python tests at the base and now, compared by syntax tree.

The unit of comparison is the single assertion with its names resolved and its cases put in place. What a test asserted
at the base has to be asserted by some test now; then moving, renaming, splitting, merging and parametrising tests are
all fine without special rules. Only for assertions that are nowhere any more is it asked what became of them."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.python.beside import beside, has_tests
from bough.core.tamper.python.checks import Check, without
from bough.core.tamper.python.hollow import vacuous
from bough.core.tamper.python.judge import judge, removed, unreached
from bough.core.tamper.python.sources import Project
from bough.core.tamper.python.suite import MOST_CASES, TOP, Test, read, tests_of
from bough.core.tamper.python.syntax import constants
from bough.core.tamper.python.touched import Sides as Sides
from bough.core.tamper.python.touched import touched

Key = tuple[str, str]
"""Of a test: its path and its name."""
ALIKE = 0.6
"""Share of equal tokens from which a new test passes for an old one under another name."""


def compare(sides: Sides) -> list[Tampering]:
    everything = _inherited(_tests(sides, sides.before), _tests(sides, sides.after))
    was, now = touched(*everything, sides)
    same = {test.key for test in everything[1] if test.active} - {test.key for test in now}
    found = _tests_compared(was, now, sides, same) if any(test.active for test in was) else []
    return [*found, *beside(sides)]


def _tests_compared(was: list[Test], now: list[Test], sides: Sides, same: set[Key]) -> list[Tampering]:
    """`same`: tests that are as they were, and in neither list."""
    _read_all(was, now)
    match = _Match(was, now, same)
    moved = _moved(sides, match)
    return [one for test in was if test.active for one in _one(test, match, sides, moved)]


def _tests(sides: Sides, project: Project) -> list[Test]:
    found: list[Test] = []
    for path in sides.changed:
        source = project.source(path)
        if source is None:
            continue
        collected = sides.collecting.file(path) or files.named(sides.command, path)
        base = sides.before.source(path)
        collected = collected or (base is not None and has_tests(base, sides.collecting))
        found += tests_of(source, sides.collecting, collected)
    return found


def _inherited(was: list[Test], now: list[Test]) -> tuple[list[Test], list[Test]]:
    """Tests in a class that is there for others to inherit from, then as now: they are run, by those."""
    both = {test.key for test in was if test.mixin} & {test.key for test in now if test.mixin}
    for test in [*was, *now]:
        if test.key in both:
            test.uncollected = ""
    return was, now


def _read_all(was: list[Test], now: list[Test]) -> None:
    """Cases are put in place on both sides of a test or on none."""
    large = {test.short for test in [*was, *now] if test.count > MOST_CASES}
    for test in [*was, *now]:
        read(test, test.short in large)


class _Match:
    """Which assertion of the base is found again, and where: in the test of the same place, or else in any other."""

    def __init__(self, was: list[Test], now: list[Test], same: set[Key]) -> None:
        self.now, self.same = now, same
        self.by_key = {test.key: test for test in now}
        self.known = {test.key for test in was}
        self.lost: dict[Key, list[Check]] = {}
        """By test of the base: its assertions that are nowhere any more."""
        self.spare: dict[Key, list[Check]] = {test.key: list(test.found.checks) for test in now if test.active}
        """By test of now: its assertions that are new."""
        self.taken: dict[Key, Counter[Key]] = defaultdict(Counter)
        """By test of the base: the tests of now in which its assertions were found."""
        for test in was:
            if test.active:
                there = self.spare.get(test.key, [])
                self.lost[test.key], kept = without(test.found.checks, there), without(there, test.found.checks)
                if test.key in self.spare:
                    self.spare[test.key] = kept
        places: dict[object, list[Key]] = defaultdict(list)
        for key, checks in self.spare.items():
            for check in checks:
                places[check.key].append(key)
        for test in was:
            self.lost[test.key] = [c for c in self.lost.get(test.key, []) if not self._elsewhere(c, test, places)]

    def _elsewhere(self, check: Check, test: Test, places: dict[object, list[Key]]) -> bool:
        """Found in another test. Takes it out of what is spare there."""
        if not places[check.key]:
            return False
        key = places[check.key].pop()
        self.spare[key].remove(next(c for c in self.spare[key] if c.key == check.key))
        self.taken[test.key][key] += 1
        return True

    def counterpart(self, test: Test) -> Test | None:
        """The test that this one is now: by place, by name, by what it asserts, by its text."""
        if test.key in self.by_key:
            return self.by_key[test.key]
        fresh = [other for other in self.now if other.key not in self.known]
        named = [other for other in fresh if other.short == test.short]
        if named:
            return max(named, key=lambda other: (other.name == test.name, not other.uncollected))
        if self.taken[test.key]:
            return self.by_key[self.taken[test.key].most_common(1)[0][0]]
        best = max(((_alike(test, other), other) for other in fresh[:200]), key=lambda pair: pair[0], default=None)
        return best[1] if best is not None and best[0] >= ALIKE else None


def _alike(a: Test, b: Test) -> float:
    import difflib

    tokens = [re.findall(r"\w+|[^\w\s]", "\n".join(ast.unparse(s) for s in t.node.body))[:1_000] for t in (a, b)]
    return difflib.SequenceMatcher(None, tokens[0], tokens[1], autojunk=False).ratio()


def _one(test: Test, match: _Match, sides: Sides, moved: frozenset[str]) -> list[Tampering]:
    lost = [check for check in match.lost[test.key] if not vacuous(check)]
    if test.name == TOP and not files.named(sides.command, test.path):
        lost = [check for check in lost if not _made_by_its_test(check, test.path, match)]
    same = match.by_key.get(test.key)
    if same is None and not lost:
        return _left_behind(test, match, sides)
    now = match.counterpart(test)
    if now is None:
        sources = [source for path in sides.changed if (source := sides.after.source(path)) is not None]
        return [removed(test, lost, match.now, sources)]
    return judge(test, now, lost, match.spare.get(now.key, []), sides.reach, moved)


def _made_by_its_test(check: Check, path: str, match: _Match) -> bool:
    """A test that was also called when its file was imported, and that the runner still runs."""
    key = (path, check.owner)
    if key in match.same:
        return True
    now = match.by_key.get(key)
    return now is not None and now.active and any(check.core == other.core for other in now.found.checks)


def _left_behind(test: Test, match: _Match, sides: Sides) -> list[Tampering]:
    """All that the test asserted is asserted elsewhere; but is it run there?"""
    others = [match.by_key[key] for key in match.taken[test.key]] if test.found.checks else []
    return next((found for other in others if (found := list(unreached(test, other, sides.reach)))), [])


def _moved(sides: Sides, match: _Match) -> frozenset[str]:
    """Values in new tests and in functions beside the tests, as they are now."""
    found: set[str] = set()
    for test in match.now:
        if test.key not in match.known:
            found |= test.found.constants | constants(test.node)
    for path in sides.changed:
        source = sides.after.source(path)
        for function in source.all_functions if source is not None else []:
            if not sides.collecting.function(function.name):
                found |= constants(function)
        for value in source.values.values() if source is not None else []:
            found |= constants(value)
    return frozenset(found)
