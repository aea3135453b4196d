"""What lies beside the tests: functions, fixtures and values that tests which did not change rely on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.config.reach import Collecting, Reach
from bough.core.tamper.python.checks import without
from bough.core.tamper.python.hollow import vacuous
from bough.core.tamper.python.judge import judge
from bough.core.tamper.python.marks import hides
from bough.core.tamper.python.sources import Source, is_fixture
from bough.core.tamper.python.suite import Test, helpers_of, read
from bough.core.tamper.python.syntax import argument, constants, dump, elements, fixed, last, show, walk
from bough.core.tamper.python.touched import Sides


def beside(sides: Sides) -> Iterator[Tampering]:
    others = _Elsewhere(sides)
    for path in sides.changed:
        was, now = sides.before.source(path), sides.after.source(path)
        if was is not None and now is not None:
            yield from _helpers(was, now, sides, others)
            if not has_tests(was, sides.collecting):
                yield from _values(was, now, others)
        if now is not None and files.name_of(path) == "conftest.py":
            yield from _overridden(was, now, sides, others)


def has_tests(source: Source, collecting: Collecting) -> bool:
    return any(collecting.function(f.name) for f in source.all_functions)


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


def _helpers(was: Source, now: Source, sides: Sides, others: _Elsewhere) -> Iterator[Tampering]:
    after = {test.key: test for test in helpers_of(now, sides.collecting)}
    for helper in helpers_of(was, sides.collecting):
        same = after.get(helper.key)
        if same is None or dump(same.node) == dump(helper.node):
            continue
        hiding = hides(same.node) and not hides(helper.node)
        if hiding and (helper.short in _decorators(sides) or others.uses(helper.short, "@")):
            what = f"{same.name} now hides the failures of what it wraps"
            yield Tampering(now.path, same.node.lineno, what)
        if is_fixture(helper.node) and is_fixture(same.node):
            yield from _fixture(helper, same, others)
        if others.uses(helper.short):
            yield from _helper(read(helper), read(same))


def _decorators(sides: Sides) -> set[str]:
    sources = [sides.after.source(path) for path in sides.changed]
    return {last(d) for source in sources if source for f in source.all_functions for d in f.decorator_list}


def _helper(was: Test, now: Test) -> list[Tampering]:
    lost = [check for check in without(was.found.checks, now.found.checks) if not vacuous(check)]
    known = {check.key for check in was.found.checks}
    spare = [check for check in now.found.checks if check.key not in known]
    return judge(was, now, lost, spare, (Reach(), Reach())) if lost else []


def _fixture(was: Test, now: Test, others: _Elsewhere) -> Iterator[Tampering]:
    kept = {dump(one) for one in _params(now)}
    lost = [one for one in _params(was) if dump(one) not in kept]
    for one in lost:
        what = f"a parameter of fixture {was.short} was removed: {show(one, 60)}"
        yield Tampering(now.path, now.node.lineno, what)
    gone = constants(was.node) - constants(now.node)
    if lost or not gone or not others.uses(was.short):
        return
    given = [n.value for f in (was, now) for n in walk(f.node) if isinstance(n, ast.Return | ast.Yield)]
    if any(constants(value) & gone for value in given if value is not None):
        what = f"the value of fixture {was.short} changed: {', '.join(sorted(gone)[:3])} is gone"
        yield Tampering(now.path, now.node.lineno, what)


def _params(test: Test) -> list[ast.expr]:
    for decorator in test.node.decorator_list:
        if isinstance(decorator, ast.Call) and last(decorator) == "fixture":
            return elements(argument(decorator, 9, "params")) or []
    return []


def _values(was: Source, now: Source, others: _Elsewhere) -> Iterator[Tampering]:
    """At the top level of a file that holds no tests."""
    for name in was.values:
        old, new = was.value(name), now.value(name)
        if old is None or new is None or dump(old) == dump(new) or not others.uses(name):
            continue
        gone = _gone(old, new)
        if gone:
            yield Tampering(now.path, now.bound[name].lineno, f"{name}, which tests use, changed: {gone} is gone")


def _gone(old: ast.expr, new: ast.expr) -> str:
    """An element or value of a written-out constant that is not there any more."""
    items, kept = elements(old), elements(new)
    if items is not None and kept is not None:
        there = {dump(one) for one in kept}
        return next((show(one, 60) for one in items if dump(one) not in there), "")
    lost = constants(old) - constants(new)
    return ", ".join(sorted(lost)[:3]) if lost and fixed(old) else ""


def _overridden(was: Source | None, now: Source, sides: Sides, others: _Elsewhere) -> Iterator[Tampering]:
    """A new fixture of a conftest under a name that tests which did not change get another one by."""
    for name, function in now.functions.items():
        if not is_fixture(function) or (was is not None and name in was.functions):
            continue
        above = [c for c in sides.before.conftests(now.path) if c.path != now.path and name in c.functions]
        if above and dump(above[0].functions[name]) != dump(function) and others.uses(name):
            yield Tampering(now.path, function.lineno, f"fixture {name} takes the place of the one that tests use")
