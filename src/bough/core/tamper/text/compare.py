"""Tests of other languages, and Python that is no tree, compared as text: tests, marks, assertions and values."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper.text.asserted import defined, tabled, weakened
from bough.core.tamper.text.sheets import Sheet, Unit, read
from bough.core.tamper.wording import short

ALIKE = 0.8


def compare(language: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Tampering]:
    """The changed files of one language."""
    was = [read(path, text, language) for path, text in before.items()]
    now = [read(path, text, language) for path, text in after.items()]
    yield from _marks(was, now)
    old, new = [u for sheet in was for u in sheet.units], [u for sheet in now for u in sheet.units]
    yield from _units(old, new, defined(after) - defined(before))
    if not old:
        yield from _assertion_counts(was, now)


def _marks(was: list[Sheet], now: list[Sheet]) -> Iterator[Tampering]:
    """Skip marks around tests, marks that leave out all others, and tricks, that are new."""
    for name, reason in (("loose", "is new: tests are skipped"), ("only", "is new: other tests are not run")):
        before = sum((getattr(sheet, name) for sheet in was), Counter[str]())
        for sheet in now:
            for said, count in getattr(sheet, name).items():
                fresh = name == "loose" and sheet.path not in {old.path for old in was}
                if count > before[said] and not fresh:
                    yield Tampering(sheet.path, sheet.lines.get(said, 0), f"`{short(said, 60)}` {reason}")
                before[said] -= count
    known = {sheet.path: sheet for sheet in was}
    for sheet in now:
        old = known.get(sheet.path, Sheet(sheet.path)).tricks
        for said, count in sheet.tricks.items():
            mocked = said.startswith(("a mock of", "//go:build", "// +build")) and sheet.path not in known
            if count > old[said] and not mocked:
                yield Tampering(sheet.path, sheet.lines.get(said, 0), f"`{said}` is new: it bends the test run")


def _units(old: list[Unit], new: list[Unit], own: frozenset[str]) -> Iterator[Tampering]:
    """`own`: functions that came with the tests."""
    left = list(new)
    pairs: list[tuple[Unit, Unit]] = []
    for rule in (_same_place, _same_title, _same_text):
        taken = {id(was) for was, _ in pairs}
        for was in old:
            if id(was) not in taken:
                found = next((now for now in left if rule(was, now)), None)
                if found is not None:
                    left.remove(found)
                    pairs.append((was, found))
    taken = {id(was) for was, _ in pairs}
    gone = [was for was in old if id(was) not in taken]
    spare = Counter(said for unit in left for said in unit.assertions)
    loose = {value for unit in left for value in unit.values}
    for was in gone:
        renamed = max(left, key=lambda now: _alike(was, now), default=None)
        if renamed is not None and _alike(was, renamed) >= ALIKE:
            left.remove(renamed)
            pairs.append((was, renamed))
        elif not was.assertions or any(
            not any(tabled(said, now.assertions, now.around) for now in left)
            for said in Counter(was.assertions) - spare
        ):
            yield Tampering(was.path, 0, f"test {short(was.title, 60)} was removed")
    for was, now in pairs:
        yield from _unit_changes(was, now, spare, loose, own)


def _same_place(was: Unit, now: Unit) -> bool:
    return was.path == now.path and was.title == now.title


def _same_title(was: Unit, now: Unit) -> bool:
    return was.title == now.title


def _same_text(was: Unit, now: Unit) -> bool:
    return was.text.replace(was.title, "", 1) == now.text.replace(now.title, "", 1)


def _alike(was: Unit, now: Unit) -> float:
    return difflib.SequenceMatcher(None, was.text[:2_000], now.text[:2_000], autojunk=False).ratio()


def _unit_changes(
    was: Unit, now: Unit, spare: Counter[str], loose: set[str], own: frozenset[str]
) -> Iterator[Tampering]:
    title = short(was.title, 60)
    marks = now.skips - was.skips
    if marks:
        yield Tampering(now.path, now.line, f"test {title} is now marked `{short(next(iter(marks)), 60)}`")
        return
    if was.text == now.text:
        return
    if now.unreachable > was.unreachable and len(now.assertions) < len(was.assertions):
        yield Tampering(
            now.path, now.line, f"assertions of test {title} can no longer be reached: it returns before them"
        )
        return
    for count, what in (
        (now.swallows - was.swallows, "a failure in test {} is now caught"),
        (now.leaves - was.leaves, "test {} may now return before its assertions"),
    ):
        if count > 0 and was.assertions:
            yield Tampering(now.path, now.line, what.format(title))
    free, free_now = len(was.assertions) - len(was.guarded), len(now.assertions) - len(now.guarded)
    if len(now.guarded) > len(was.guarded) and free_now < free:
        guard = next((g for g in now.guarded if g not in was.guarded), now.guarded[0])
        yield Tampering(now.path, now.line, f"an assertion of test {title} now depends on `{short(guard, 60)}`")
        return
    lost = list(((Counter(was.assertions) - Counter(now.assertions)) - spare).elements())
    fresh = list((Counter(now.assertions) - Counter(was.assertions)).elements())
    named = False
    for said in lost:
        clause = weakened(said, fresh, own, now.around)
        if clause:
            named = True
            yield Tampering(now.path, now.line, f"test {title}: {clause}")
    missing = was.values - now.values - loose - {"-1"}
    if missing and not named:
        gained = sorted(now.values - was.values)[:3]
        became = f"became {', '.join(gained)}" if gained else "is gone"
        what = f"what test {title} works with changed: {', '.join(sorted(missing)[:3])} {became}"
        yield Tampering(now.path, now.line, what)


def _assertion_counts(was: list[Sheet], now: list[Sheet]) -> Iterator[Tampering]:
    """Files in which no single test was recognised: at least as many assertions as before."""
    before, after = sum(sheet.assertions for sheet in was), sum(sheet.assertions for sheet in now)
    if after < before and was:
        path = was[0].path
        yield Tampering(path, 0, f"{path} has fewer assertions: {before} before, {after} now")
