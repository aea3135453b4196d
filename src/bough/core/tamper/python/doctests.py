"""Examples in docstrings and documents, where the check runs them: those of the base have to be there still."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper.wording import short

_EXAMPLE = r"(?m)^[ \t]*>>> ?(.*(?:\n[ \t]*\.\.\. ?.*)*)((?:\n(?![ \t]*>>>)[ \t]*\S.*)*)"
"""What is run, and what it shows: all up to an empty line or the next example."""


def compare(before: Mapping[str, str], after: Mapping[str, str], paths: list[str]) -> Iterator[Tampering]:
    """`paths`: files that differ and had examples."""
    there = Counter(example for text in after.values() for example in _examples(text))
    there -= Counter(example for path, text in before.items() if path not in paths for example in _examples(text))
    for path in paths:
        for code, shows in _examples(before[path]):
            there[code, shows] -= 1
            if there[code, shows] < 0:
                what = f"a doctest was removed or changed: `{short(code, 60)}` shows `{short(shows, 60)}`"
                yield Tampering(path, 0, what)


def _examples(text: str) -> Iterator[tuple[str, str]]:
    """Those that show or assert something; the others only lead up to them."""
    for found in re.finditer(_EXAMPLE, text) if ">>>" in text else ():
        shown = re.split("\"\"\"|'''", found[2])[0].split("\n")
        code = re.sub(r"\n[ \t]*\.\.\. ?", "\n", found[1])
        shows = "\n".join(line.strip() for line in shown).strip()
        if shows or "assert" in code:
            yield code.rstrip(), shows
