"""What is compared when two calls, two results or two errors are compared: short keys of masked text.

Volatile text never tells two results apart: times, durations, addresses, identifiers, temporary paths, the decimals of
a score. Whole numbers do (`3 failed` is not `2 failed`, `epoch 3` is not `epoch 4`), except in the loose key of an
error and of a write that is made again, where they are line numbers and line counts.
"""

from __future__ import annotations

import re
from binascii import crc32
from hashlib import blake2b
from itertools import pairwise

READ = 24_000
"""Characters of a text that are looked at, from both ends: the bound on what one call can cost."""

_VOLATILE = re.compile(
    r"""
      (?P<uuid>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)
    | (?P<date>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?)
    | (?P<clock>\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)
    | (?P<address>\b0x[0-9a-fA-F]+\b)
    | (?P<temporary>/(?:tmp|var/tmp|var/folders|private/var|dev/shm)/[^\s'":,;()\]]+)
    | (?P<hash>\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b)
    | (?P<duration>\b\d+(?:\.\d+)?\s?(?:ns|[uµ]s|ms|s|secs?|seconds?|mins?|minutes?|hours?)\b)
    | (?P<progress>\b\d+(?:\.\d+)?\s?(?:%|[kKMGT]i?B\b))
    | (?P<pid>\bpid[ =:]+\d+\b)
    """,
    re.VERBOSE,
)
_DECIMAL = re.compile(r"-?\b\d+\.\d+(?:e[+-]?\d+)?\b(?!\.\d)")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_SPACES = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+")
_QUOTED = re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|‘[^’\n]{0,200}’")
_WORDS = re.compile(r"[\w#]+")
_ESCAPED = re.compile(r"\\+[nrt\"']")
_LETTERS = re.compile(r"[^\W\d_]")
_PLACE = re.compile(r"(?i)\b(line|lines|column|col|row|char|position)\b([ :#]+)\d+(?:[-–:]\d+)?|(?<=[\w\])]):\d+(?::\d+)?\b")
_TROUBLE = re.compile(
    r"(?i)^E\s|\w(?:Error|Exception|Failure)\b|\b(?:errors?|exception|fail(?:ed|s|ures?)?|fatal|cannot|can't|couldn't"
    r"|could not|unable|not found|no such|not exist|denied|invalid|undefined|unexpected|refused|panic(?:ked)?|missing"
    r"|unknown|illegal|abort(?:ed)?|must|already|required?)\b"
)


def clip(text: str) -> str:
    return text if len(text) <= READ else text[: READ // 2] + text[-READ // 2 :]


def mask(text: str) -> str:
    """The text without what changes by itself."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return _SPACES.sub(" ", _VOLATILE.sub(_masked, text)).strip()


def _masked(found: re.Match[str]) -> str:
    # How far something has come is the very thing that a poll looks for.
    return found[0] if found.lastgroup == "progress" else f"<{found.lastgroup}>"


def rounded(masked: str) -> str:
    """The decimals of a score gone as well."""
    return _DECIMAL.sub("<decimal>", masked)


def loosely(masked: str) -> str:
    """Numbers and quoted names gone as well."""
    return _QUOTED.sub("<q>", _DIGITS.sub("#", masked))


def key(text: str) -> int:
    """Short enough to keep, long enough that two texts of one run never share it by chance."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")


def substance(text: str, most: int = 64) -> int:
    """How many letters, counted up to a bound: a bare exit status or an empty answer proves nothing."""
    return min(len(_LETTERS.findall(text[: most * 8])), most)


def sketch(text: str, size: int = 48) -> tuple[int, ...]:
    """A fixed-size sample of the words of a text and their neighbours, so that likeness can be measured without it."""
    words = _WORDS.findall(_DIGITS.sub("#", _ESCAPED.sub(" ", text)))
    grams = {crc32(word.encode("utf-8", "surrogatepass")) for word in words}
    grams |= {crc32(f"{a} {b}".encode("utf-8", "surrogatepass")) for a, b in pairwise(words)}
    return tuple(sorted(grams)[:size])


def likeness(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """0…1: the share of common pairs, estimated from the samples."""
    if not a or not b:
        return float(a == b)
    size = max(len(a), len(b))
    union = sorted({*a, *b})[:size]
    both = set(a) & set(b)
    return sum(item in both for item in union) / len(union)


def trouble(text: str, most: int = 12) -> tuple[str, str]:
    """What went wrong: the lines that say so, each once, and the one that heads them. Names and values stay, places go."""
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if _TROUBLE.search(line)] or [line for line in lines if line][-most:]
    told = list(dict.fromkeys(mask(_PLACE.sub(r"\1\2#", line[:400])) for line in said[:most] + said[most:][-most:]))
    return "\n".join(sorted(told)), told[0] if told else ""
