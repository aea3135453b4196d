"""Which tests can differ at all: most of a changed file did not change, and need not be read."""

from __future__ import annotations

import ast

from msgspec import Struct, field

from bough.core.tamper.config.reach import Collecting, Reach
from bough.core.tamper.python.sources import Project, Source
from bough.core.tamper.python.suite import Test
from bough.core.tamper.python.syntax import Function, dump, identifiers, last


class Sides(Struct, eq=False):
    """Everything that the comparison of Python tests needs."""

    before: Project
    after: Project
    changed: list[str]
    """Test-side files that differ, were added or were removed, and can be read as trees on the sides where they are."""
    collecting: Collecting = field(default_factory=Collecting)
    reach: tuple[Reach, Reach] = (Reach(), Reach())
    command: str = ""


def touched(was: list[Test], now: list[Test], sides: Sides) -> tuple[list[Test], list[Test]]:
    """The tests of both sides without those that are the same and rely on nothing that is not."""
    affected = _affected(sides)
    renamed = _renamed(sides)
    there = {(test.path, test.name): test for test in now}
    same: set[int] = set()
    for test in was:
        other = there.get((renamed.get(test.path, test.path), test.name))
        if other is None or id(other) in same or test.uncollected or other.uncollected:
            continue
        if _signature(test, sides.reach[0]) == _signature(other, sides.reach[1]) and not _uses(test) & affected:
            same |= {id(test), id(other)}
    return [test for test in was if id(test) not in same], [test for test in now if id(test) not in same]


def _signature(test: Test, reach: Reach) -> tuple[object, ...]:
    marks = sorted(mark.key for mark in test.marks)
    guards = [guard.key for guard in test.guards]
    covered = (reach.covers(test.path), reach.selects(test.path, test.name, test.labels))
    return dump(test.node), [dump(part) for part in _shell(test)], marks, guards, covered


def _shell(test: Test) -> list[ast.AST]:
    """What a test's class and the classes that it inherits from add to it."""
    found: list[ast.AST] = []
    queue = [test.scope.klass] if test.scope.klass is not None else []
    seen: set[str] = set()
    while queue:
        klass = queue.pop()
        seen.add(klass.name)
        found += [*klass.bases, *klass.decorator_list]
        found += [s for s in klass.body if not (isinstance(s, Function) and s.name.startswith("test"))]
        parents = [test.scope.source.classes.get(last(base)) for base in klass.bases]
        queue += [parent for parent in parents if parent is not None and parent.name not in seen]
    return found


def _uses(test: Test) -> frozenset[str]:
    arguments = test.node.args
    parameters = {a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
    shell = [identifiers(part) for part in _shell(test)]
    return frozenset(parameters).union(identifiers(test.node), *shell)


def _definitions(source: Source | None) -> dict[str, ast.AST]:
    return dict(source.bound) if source is not None else {}


def _affected(sides: Sides) -> frozenset[str]:
    """Names of the test side that stand for something else now, or rely on one that does."""
    affected: set[str] = set()
    everything: list[tuple[str, ast.AST]] = []
    for path in sides.changed:
        before, after = _definitions(sides.before.source(path)), _definitions(sides.after.source(path))
        for name in {*before, *after}:
            was, now = before.get(name), after.get(name)
            if was is None or now is None or dump(was) != dump(now):
                affected.add(name)
        everything += [*before.items(), *after.items()]
    for _ in range(8):
        more = {name for name, node in everything if name not in affected and identifiers(node) & affected}
        if not more:
            break
        affected |= more
    return frozenset(affected)


def _renamed(sides: Sides) -> dict[str, str]:
    """Files that were only moved, within the reach of the same fixtures."""
    added: dict[str, str] = {}
    for path in sides.changed:
        source = sides.after.source(path)
        if source is not None and sides.before.source(path) is None:
            added[dump(source.tree)] = path
    found = {}
    for path in sides.changed:
        source = sides.before.source(path)
        if source is None or sides.after.source(path) is not None:
            continue
        target = added.pop(dump(source.tree), "")
        if target and _fixtures(sides.before, path) == _fixtures(sides.after, target):
            found[path] = target
    return found


def _fixtures(project: Project, path: str) -> list[str]:
    return [dump(conftest.tree) for conftest in project.conftests(path)]
