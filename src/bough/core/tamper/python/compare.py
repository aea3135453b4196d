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
from bough.core.tamper.config.reach import Collecting, Reach
from bough.core.tamper.python.checks import Check
from bough.core.tamper.python.hollow import vacuous
from bough.core.tamper.python.judge import judge, removed, unreached
from bough.core.tamper.python.marks import hides
from bough.core.tamper.python.sources import Project, Source, is_fixture
from bough.core.tamper.python.suite import MOST_CASES, Test, helpers_of, read, tests_of
from bough.core.tamper.python.syntax import argument, constants, dump, elements, fixed, last, show, walk
from bough.core.tamper.python.touched import Sides as Sides
from bough.core.tamper.python.touched import touched

Key = tuple[str, str]
"""Of a test: its path and its name."""
ALIKE = 0.6
"""Share of equal tokens from which a new test passes for an old one under another name."""


def compare(sides: Sides) -> list[Tampering]:
    was, now = touched(*_inherited(_tests(sides, sides.before), _tests(sides, sides.after)), sides)
    found = _tests_compared(was, now, sides) if any(test.active for test in was) else []
    return found + _helpers(sides) + _beside(sides) + _overridden(sides)


def _tests_compared(was: list[Test], now: list[Test], sides: Sides) -> list[Tampering]:
    _read_all(was, now)
    match = _Match(was, now)
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
        collected = collected or (base is not None and _has_tests(base, sides.collecting))
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

    def __init__(self, was: list[Test], now: list[Test]) -> None:
        self.now = now
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


def without(checks: list[Check], others: list[Check]) -> list[Check]:
    """The assertions that are not among the others, as often as they are there."""
    there = Counter(check.key for check in others)
    left = []
    for check in checks:
        there[check.key] -= 1
        if there[check.key] < 0:
            left.append(check)
    return left


def _one(test: Test, match: _Match, sides: Sides, moved: frozenset[str]) -> list[Tampering]:
    lost = [check for check in match.lost[test.key] if not vacuous(check)]
    same = match.by_key.get(test.key)
    if same is None and not lost:
        return _left_behind(test, match, sides)
    now = match.counterpart(test)
    if now is None:
        sources = [source for path in sides.changed if (source := sides.after.source(path)) is not None]
        return [removed(test, lost, match.now, sources)]
    return judge(test, now, lost, match.spare.get(now.key, []), sides.reach, moved)


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


class _Elsewhere:
    """The test files that did not change: what they use must not change beneath them. Read only when asked."""

    def __init__(self, sides: Sides) -> None:
        self.sides, self.changed = sides, set(sides.changed)

    def uses(self, name: str, before: str = "") -> bool:
        """The name occurs, after the given characters."""
        pattern = re.compile(rf"{before}\b{re.escape(name)}\b")
        return any(
            name in text
            and path.endswith(".py")
            and path not in self.changed
            and files.test_file(path)
            and pattern.search(text)
            for path, text in self.sides.after.texts.items()
        )


def _helpers(sides: Sides) -> list[Tampering]:
    """Functions beside the tests, where tests that did not change rely on them."""
    others = _Elsewhere(sides)
    decorators = _decorators(sides)
    found: list[Tampering] = []
    for path in sides.changed:
        was, now = sides.before.source(path), sides.after.source(path)
        if was is None or now is None:
            continue
        after = {test.key: test for test in helpers_of(now, sides.collecting)}
        for helper in helpers_of(was, sides.collecting):
            same = after.get(helper.key)
            if same is None or dump(same.node) == dump(helper.node):
                continue
            hiding = hides(same.node) and not hides(helper.node)
            if hiding and (helper.short in decorators or others.uses(helper.short, "@")):
                found.append(Tampering(path, same.node.lineno, f"{same.name} now hides the failures of what it wraps"))
            found += _fixture(helper, same, path, others)
            if others.uses(helper.short):
                found += _helper(read(helper), read(same))
    return found


def _decorators(sides: Sides) -> set[str]:
    sources = [sides.after.source(path) for path in sides.changed]
    return {last(d) for source in sources if source for f in source.all_functions for d in f.decorator_list}


def _helper(was: Test, now: Test) -> list[Tampering]:
    lost = [check for check in without(was.found.checks, now.found.checks) if not vacuous(check)]
    known = {check.key for check in was.found.checks}
    spare = [check for check in now.found.checks if check.key not in known]
    return judge(was, now, lost, spare, (Reach(), Reach())) if lost else []


def _fixture(was: Test, now: Test, path: str, others: _Elsewhere) -> list[Tampering]:
    if not is_fixture(was.node) or not is_fixture(now.node):
        return []
    found = []
    kept = {dump(one) for one in _params(now) or []}
    for one in _params(was) or []:
        if dump(one) not in kept:
            what = f"a parameter of fixture {was.short} was removed: {show(one, 60)}"
            found.append(Tampering(path, now.node.lineno, what))
    gone = constants(was.node) - constants(now.node)
    if not found and others.uses(was.short) and gone:
        values = [s for f in (was, now) for s in walk(f.node) if isinstance(s, ast.Return | ast.Yield) and s.value]
        if any(constants(value) & gone for value in values if isinstance(value, ast.AST)):
            what = f"the value of fixture {was.short} changed: {', '.join(sorted(gone)[:3])} is gone"
            found.append(Tampering(path, now.node.lineno, what))
    return found


def _params(test: Test) -> list[ast.expr] | None:
    for decorator in test.node.decorator_list:
        if isinstance(decorator, ast.Call) and last(decorator) == "fixture":
            return elements(argument(decorator, 9, "params"))
    return None


def _beside(sides: Sides) -> list[Tampering]:
    """Values at the top level of files that hold no tests, where unchanged tests use them."""
    others = _Elsewhere(sides)
    found: list[Tampering] = []
    for path in sides.changed:
        was, now = sides.before.source(path), sides.after.source(path)
        if was is None or now is None or _has_tests(was, sides.collecting):
            continue
        for name in was.values:
            old, new = was.value(name), now.value(name)
            if old is None or new is None or dump(old) == dump(new) or not others.uses(name):
                continue
            gone = _gone(old, new)
            if gone:
                line = now.bound[name].lineno
                found.append(Tampering(path, line, f"{name}, which tests use, changed: {gone} is gone"))
    return found


def _overridden(sides: Sides) -> list[Tampering]:
    """A new fixture nearer to tests that did not change, under a name that they get another one by."""
    others = _Elsewhere(sides)
    found: list[Tampering] = []
    for path in sides.changed:
        now, was = sides.after.source(path), sides.before.source(path)
        if now is None or files.name_of(path) != "conftest.py":
            continue
        for name, function in now.functions.items():
            if not is_fixture(function) or (was is not None and name in was.functions):
                continue
            known = [c.functions[name] for c in sides.before.conftests(path) if c.path != path and name in c.functions]
            if known and dump(known[0]) != dump(function) and others.uses(name):
                what = f"fixture {name} takes the place of the one that tests use"
                found.append(Tampering(path, function.lineno, what))
    return found


def _has_tests(source: Source, collecting: Collecting) -> bool:
    return any(collecting.function(f.name) for f in source.all_functions)


def _gone(old: ast.expr, new: ast.expr) -> str:
    """An element or value of a written-out constant that is not there any more."""
    items, kept = elements(old), elements(new)
    if items is not None and kept is not None:
        there = {dump(one) for one in kept}
        return next((show(one, 60) for one in items if dump(one) not in there), "")
    lost = constants(old) - constants(new)
    return ", ".join(sorted(lost)[:3]) if lost and fixed(old) else ""
