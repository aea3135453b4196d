"""The signs of a bent test run in changed Python files that were in none of them at the base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.python.sources import Source
from bough.core.tamper.tricks.ground import Ground
from bough.core.tamper.tricks.signs import Sign


def compare(was: list[Source], now: list[Source], ground: Ground) -> list[Tampering]:
    """The tricks that are in changed files now and were in none of them at the base."""
    known: Counter[str] = Counter()
    habits: set[tuple[str, str]] = set()
    kept = {source.path for source in now}
    for source in was:
        for sign in _signs(source, ground):
            known[sign.key] += 1
            # The habit of a file that is gone may have moved anywhere.
            habits.add((source.path if source.path in kept else "", sign.key))
    found = []
    for source in now:
        for sign in _signs(source, ground):
            known[sign.key] -= 1
            excused = sign.habit and {(source.path, sign.key), ("", sign.key)} & habits
            if known[sign.key] < 0 and not excused:
                found.append(Tampering(source.path, sign.line, sign.what))
    return found


def _signs(source: Source, ground: Ground) -> Iterator[Sign]:
    if files.test_file(source.path):
        from bough.core.tamper.tricks.tests import test_signs

        return test_signs(source, ground)
    from bough.core.tamper.tricks.product import product_signs

    return product_signs(source, ground)
