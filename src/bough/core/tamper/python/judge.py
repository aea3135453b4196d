"""What happened to one test between the base and now, given its counterpart and the assertions that it lost."""

from __future__ import annotations

import ast
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator

from bough.core.acceptance import Tampering
from bough.core.tamper.config.reach import Reach
from bough.core.tamper.python import cases
from bough.core.tamper.python.checks import Check
from bough.core.tamper.python.contexts import definition
from bough.core.tamper.python.facts import bound_in, generator
from bough.core.tamper.python.marks import Case, hides
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.strength import likeness, shape, weaker
from bough.core.tamper.python.suite import Test, has_effect
from bough.core.tamper.python.syntax import (
    Function,
    constants,
    dump,
    elements,
    identifiers,
    keyword,
    last,
    number,
    show,
    walk,
)

MOST_PRODUCT = 2_000
_DRIVERS = frozenset({"asyncio", "anyio", "trio", "tornado", "gen_test"})
"""Marks that have an async test awaited."""
MOST_PAIRED = 60
"""Lost assertions of one test that are explained one by one."""


def judge(
    was: Test,
    now: Test,
    lost: list[Check],
    spare: list[Check],
    reach: tuple[Reach, Reach],
    moved: frozenset[str] = frozenset(),
) -> list[Tampering]:
    """`lost`: assertions of `was` that are nowhere any more. `spare`: assertions of `now` that are new. `moved`: values
    that stand in new tests and in functions beside the tests, where they may have come from this one."""
    found = list(_kept_from_running(was, now, reach)) or list(_shape_changed(was, now))
    if found:
        return found
    found += _given_less(was, now)
    if lost and not now.found.checks and not now.found.dead and not has_effect(now.node):
        count = f"it had {_plural(len(was.found.checks), 'assertion')}"
        return [Tampering(now.path, now.node.lineno, f"{_title(was, now)} was emptied: {count}")]
    skips, lost = _skipping(was, now, lost)
    found += skips
    cut, lost = _unreachable(was, now, lost)
    found += cut
    cases, lost = _cases(was, now, lost)
    found += cases
    lost = [check for check in lost if check.kind != "runs" or not _still_runs(check, was, now)]
    found += _assertions(was, now, lost, spare)
    found += _replaced(was, now)
    return found or _inputs(was, now, moved)


def removed(was: Test, lost: list[Check], elsewhere: list[Test], sources: list[Source]) -> Tampering:
    """The test is gone; or it is still there, where no runner finds it."""
    for test in elsewhere:
        if test.uncollected and (test.short == was.short or _body(test.node) == _body(was.node)):
            return Tampering(test.path, test.node.lineno, f"{was.name} is no longer collected: {test.uncollected}")
    for source in sources:
        for function in source.all_functions:
            if _body(function) == _body(was.node) and has_effect(function):
                inside = "it is now inside another function or class"
                what = f"{was.name} became {function.name}, which is not collected"
                what = what if function.name != was.short else f"{was.name} is no longer collected: {inside}"
                return Tampering(source.path, function.lineno, what)
    asserted = [check for check in lost if check.kind not in ("runs", "case")]
    count = f" with {_plural(len(asserted), 'assertion')}" if asserted else ""
    return Tampering(was.path, 0, f"{was.name} was removed{count}")


def _body(node: Function) -> str:
    return "".join(dump(statement) for statement in node.body)


def _title(was: Test, now: Test) -> str:
    return was.name if was.short == now.short else f"{was.name} (now {now.short})"


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")


def _kept_from_running(was: Test, now: Test, reach: tuple[Reach, Reach]) -> Iterator[Tampering]:
    title = _title(was, now)
    if now.uncollected and not was.uncollected:
        yield Tampering(now.path, now.node.lineno, f"{title} is no longer collected: {now.uncollected}")
        return
    known = {mark.key for mark in was.marks}
    for mark in now.marks:
        if mark.key not in known:
            verb = "is now marked" if mark.hard else "may now be skipped or fail unseen, being marked"
            yield Tampering(mark.path, mark.line, f"{title} {verb} `{mark.says}`")
    guards = {guard.key for guard in was.guards}
    for guard in now.guards:
        if guard.key not in guards:
            yield Tampering(now.path, now.node.lineno, f"{title} is now only defined {guard.says}")
    yield from unreached(was, now, reach)


def unreached(was: Test, now: Test, reach: tuple[Reach, Reach]) -> Iterator[Tampering]:
    """The check ran the test, and does not run what it is now."""
    title, line = _title(was, now), now.node.lineno
    if reach[0].covers(was.path) and not reach[1].covers(now.path):
        yield Tampering(now.path, line, f"{title} was moved to {now.path}, which the check does not run")
    elif reach[0].selects(was.path, was.name, was.labels) and not reach[1].selects(now.path, now.name, now.labels):
        yield Tampering(now.path, line, f"{title} is now left out by `{reach[1].selection}`")


def _shape_changed(was: Test, now: Test) -> Iterator[Tampering]:
    title, line = _title(was, now), now.node.lineno
    if generator(now.node) and not generator(was.node):
        yield Tampering(now.path, line, f"{title} has become a generator, which the runner does not run as a test")
    turned = isinstance(now.node, ast.AsyncFunctionDef) and not isinstance(was.node, ast.AsyncFunctionDef)
    klass = now.scope.klass
    driven = now.labels & _DRIVERS or (klass is not None and "TestCase" not in map(last, klass.bases))
    if turned and not driven and not any("async" in n or "anyio" in n for d in now.decorators for n in identifiers(d)):
        yield Tampering(now.path, line, f"{title} has become async without a mark that has it awaited")
    unmarked = was.labels & _DRIVERS and not now.labels & _DRIVERS and isinstance(was.node, ast.AsyncFunctionDef)
    if unmarked and isinstance(now.node, ast.AsyncFunctionDef):
        yield Tampering(now.path, line, f"{title} is async and has lost the mark that has it awaited")
    asked = {a.arg for a in was.node.args.args} - set(_defaults(was.node))
    for parameter in sorted(asked & set(_defaults(now.node))):
        yield Tampering(now.path, line, f"{title} no longer asks for {parameter}, which has a value of its own now")
    known = {dump(decorator) for decorator in was.decorators}
    for decorator in now.decorators:
        if dump(decorator) not in known:
            made = definition(now.scope.source, last(decorator))
            plain = decorator if isinstance(decorator, ast.Lambda) else now.scope.source.value(last(decorator))
            if (isinstance(made, Function) and hides(made)) or isinstance(plain, ast.Lambda):
                what = f"{title} is now wrapped in @{show(decorator, 40)}, which hides its failures"
                yield Tampering(now.path, decorator.lineno, what)


def _defaults(node: Function) -> list[str]:
    """Parameters that have a value of their own: no fixture fills them."""
    given = node.args
    positional = [*given.posonlyargs, *given.args][::-1][: len(given.defaults)]
    only = [a for a, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is not None]
    return [a.arg for a in (*positional, *only)]


def _given_less(was: Test, now: Test) -> list[Tampering]:
    """Hypothesis: fewer examples."""
    before, after = _examples(was.decorators), _examples(now.decorators)
    found = []
    if after[0] is not None and after[0] < (before[0] if before[0] is not None else 100):
        what = f"{_title(was, now)} now tries fewer examples: {after[0]:g}"
        found.append(Tampering(now.path, now.node.lineno, what))
    for key, text in before[1].items():
        if key not in after[1] and not now.groups:
            found.append(Tampering(now.path, now.node.lineno, f"an example of {_title(was, now)} was removed: {text}"))
    return found


def _examples(decorators: list[ast.expr]) -> tuple[float | None, dict[str, str]]:
    most, given = None, {}
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and last(decorator) == "settings":
            most = number(keyword(decorator, "max_examples"))
        if isinstance(decorator, ast.Call) and last(decorator) == "example":
            given[dump(decorator)] = show(decorator, 60)
    return most, given


def _skipping(was: Test, now: Test, lost: list[Check]) -> tuple[list[Tampering], list[Check]]:
    known = {(skip.kind, skip.says) for skip in was.found.skips}
    kinds = Counter(skip.kind for skip in was.found.skips)
    new = [skip for skip in now.found.skips if (skip.kind, skip.says) not in known]
    more = Counter(skip.kind for skip in now.found.skips) - kinds
    new = [skip for skip in {s.says: s for s in new}.values() if more[skip.kind] > 0]
    found = [Tampering(s.path, s.line, f"{_title(was, now)} now skips itself: `{s.says}`") for s in new]
    return found, [] if found else lost


def _unreachable(was: Test, now: Test, lost: list[Check]) -> tuple[list[Tampering], list[Check]]:
    dead = Counter(check.core for check in now.found.dead)
    kept, cut = [], 0
    for check in lost:
        if dead[check.core] > 0:
            dead[check.core] -= 1
            cut += 1
        else:
            kept.append(check)
    if not cut:
        return [], lost
    what = f"{_plural(cut, 'assertion')} of {_title(was, now)} can no longer be reached after `{now.found.cut}`"
    return [Tampering(now.path, now.node.lineno, what)], kept


def _cases(was: Test, now: Test, lost: list[Check]) -> tuple[list[Tampering], list[Check]]:
    """Cases of `parametrize` that were taken away or edited, named as such."""
    before, after = cases.written(was.groups), cases.written(now.groups)
    if not lost or not before:
        return [], lost
    judged = not any(check.kind == "case" for check in lost)
    outside = now.scope.source.outside if judged else frozenset[str]()
    said, gone = cases.compare(before, after, _title(was, now), outside)
    found = [Tampering(now.path, line or now.node.lineno, what) for line, what in said]
    products = list(itertools.product(*before)) if was.count <= MOST_PRODUCT else []
    return found, [check for check in lost if not _of_case(check, gone, products)]


def _of_case(check: Check, gone: set[str], products: list[tuple[Case, ...]]) -> bool:
    if check.kind == "case":
        return True
    return 0 <= check.case < len(products) and any(case.key in gone for case in products[check.case])


def _assertions(was: Test, now: Test, lost: list[Check], spare: list[Check]) -> list[Tampering]:
    found: dict[tuple[int, str], Tampering] = {}
    left = list(spare)
    title = _title(was, now)
    lost = _paired(lost, left)
    for check in lost[:MOST_PAIRED]:
        best = max(left[:MOST_PAIRED], key=lambda other: likeness(check, other), default=None)
        if best is None or likeness(check, best) < 30:
            owner = title if check.owner == was.short else check.owner
            what = f"an assertion of {owner} was removed: `{check.shown}`"
            if check.kind == "runs":
                what = f"{owner} no longer does what it did: `{check.shown}`"
            found.setdefault((0, what), Tampering(now.path, now.node.lineno, what))
            continue
        left.remove(best)
        clause = weaker(check, best)
        if clause:
            what = f"{title if best.owner == now.short else best.owner}: {clause}"
            found.setdefault((best.line, what), Tampering(best.path, best.line, what))
    if len(lost) > MOST_PAIRED:
        what = f"{_plural(len(lost) - MOST_PAIRED, 'more assertion')} of {title} removed or changed"
        found[0, what] = Tampering(now.path, now.node.lineno, what)
    return list(found.values())


def _paired(lost: list[Check], left: list[Check]) -> list[Check]:
    """What remains after assertions of the same form have been found that ask no less. Takes those out of `left`."""
    forms: dict[tuple[str, str, str], list[Check]] = defaultdict(list)
    for other in left:
        forms[_form(other)].append(other)
    remaining, used = [], set()
    for check in lost:
        fitting = next((other for other in forms[_form(check)] if not weaker(check, other)), None)
        if fitting is None:
            remaining.append(check)
        else:
            forms[_form(check)].remove(fitting)
            used.add(id(fitting))
    left[:] = [other for other in left if id(other) not in used]
    return remaining


def _form(check: Check) -> tuple[str, str, str]:
    return check.kind, shape(check.left), shape(check.right)


_BLOCKS = (
    ast.Try | ast.TryStar | ast.If | ast.With | ast.AsyncWith | ast.For | ast.While | ast.Match | Function | ast.Lambda
)


def _still_runs(check: Check, was: Test, now: Test) -> bool:
    """A test that asserted nothing does now, of all that it did, and nothing came between that may keep it from it."""
    done = Counter(map(dump, now.found.acts))
    acts = Counter(map(dump, elements(check.left) or []))
    blocks = [sum(isinstance(node, _BLOCKS) for node in walk(test.node)) for test in (was, now)]
    return acts <= done and blocks[1] <= blocks[0] and bool(now.found.checks) and not now.found.dead


def _replaced(was: Test, now: Test) -> Iterator[Tampering]:
    """The test now brings its own version of what it tests."""
    tested = {n for check in was.found.checks for n in identifiers(check.left)}
    known = {patch.target for patch in was.found.patches}
    for patch in now.found.patches:
        if patch.target not in known and patch.target.rpartition(".")[2] in tested:
            known.add(patch.target)
            yield Tampering(patch.path, patch.line, f"{_title(was, now)} now replaces what it tests: {patch.target}")
    imported, used = was.scope.source.imports, identifiers(was.node)
    before = bound_in(was.node)
    for wanted, line in bound_in(now.node).items():
        if wanted in imported and wanted in used and wanted not in before:
            what = f"{_title(was, now)} now makes its own {wanted} in place of the imported one"
            yield Tampering(now.path, line, what)


def _inputs(was: Test, now: Test, moved: frozenset[str]) -> list[Tampering]:
    """Nothing above was found, yet values that the test worked with are gone."""
    if was.helper or not was.found.checks or dump(was.node) == dump(now.node):
        return []
    lost = {value for value in was.found.constants - now.found.constants if not _path_like(value)}
    lost -= constants(now.node) | moved
    if not lost:
        return []
    gained = {value for value in now.found.constants - was.found.constants if not _path_like(value)}
    became = f" became {', '.join(sorted(gained)[:3])}" if gained else " is gone"
    what = f"what {_title(was, now)} works with changed: {', '.join(sorted(lost)[:3])}{became}"
    return [Tampering(now.path, now.node.lineno, what)]


def _path_like(value: str) -> bool:
    """A dotted name in quotes, as patches have them, or nothing that says anything."""
    inner = value[1:-1] if value[:1] in "'\"" else ""
    return value in ("None", "''", "b''") or (inner.replace(".", "").isidentifier() and "." in inner)
