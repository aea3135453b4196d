"""Lists of commands that a check runs through: recipes of a Makefile, scripts of package.json, shell scripts, CI."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bough.core.tamper.config import shell
from bough.core.tamper.wording import short

_TALK = re.compile(r"^(?:echo|printf|mkdir|rm|touch|cd|date|time|export PATH)\b")
_PREFIX = re.compile(r"^[@+\s]*(-?)[@+\s]*")


def lines_of(text: str) -> list[tuple[int, str]]:
    """The lines that do something, with their numbers; continued ones joined."""
    found: list[tuple[int, str]] = []
    whole, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        start = start or number
        whole += raw.rstrip()
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        line = whole.strip()
        if line and not line.startswith("#"):
            found.append((start, line))
        whole, start = "", 0
    if whole.strip():
        found.append((start, whole.strip()))
    return found


def ignoring(line: str) -> bool:
    """Make and tox go on after a failure of a line that starts with a dash."""
    match = _PREFIX.match(line)
    return match is not None and match[1] == "-"


def bare(line: str) -> str:
    """The command itself."""
    return " ".join(_PREFIX.sub("", line, count=1).split())


def compare(
    before: list[tuple[int, str]], after: list[tuple[int, str]], strict: bool = True
) -> Iterator[tuple[int, str]]:
    """Lines of now (0 when gone) and what is weaker there. `strict`: a command that became another one counts too."""
    left = list(after)
    unmatched = []
    for _, line in before:
        same = next((n for n in left if bare(n[1]) == bare(line) and ignoring(n[1]) <= ignoring(line)), None)
        if same is not None:
            left.remove(same)
        else:
            unmatched.append(line)
    for line in unmatched:
        tested = bool(shell.asked(bare(line)).runner)
        if _TALK.match(bare(line)) and not tested:
            continue
        found = _became(line, left, strict, tested)
        if found is not None:
            yield found
    for number, line in left:
        why = shell.forced(bare(line))
        if why and not any(shell.forced(bare(old)) == why for _, old in before):
            yield number, f"`{short(line, 60)}` is new: {why}"
        elif clause := shell.weaker("", bare(line)):
            yield number, f"`{short(line, 60)}` is new: {clause}"


def _became(line: str, left: list[tuple[int, str]], strict: bool, tested: bool) -> tuple[int, str] | None:
    """What took the place of a line that is gone. Takes it out of `left`."""
    candidate = _closest(line, left)
    if candidate is None:
        return (0, f"`{short(line, 60)}` was removed") if strict or tested else None
    left.remove(candidate)
    number, new = candidate
    became = f"`{short(line, 60)}` became `{short(new, 60)}`"
    if ignoring(new) and not ignoring(line):
        return number, f"{became}: failures are ignored"
    clause = shell.weaker(bare(line), bare(new))
    if clause:
        return number, f"{became}: {clause}"
    if shell.alike(bare(line), bare(new)) or not strict:
        return None
    return number, became


def _closest(line: str, left: list[tuple[int, str]]) -> tuple[int, str] | None:
    """The new line that runs the same runner, or else shares most words."""
    runner = shell.asked(bare(line)).runner
    words = set(bare(line).split())
    best, score = None, 0
    for item in left:
        shared = len(words & set(bare(item[1]).split()))
        same = 10 if runner and shell.asked(bare(item[1])).runner == runner else 0
        if shared + same > score:
            best, score = item, shared + same
    return best
