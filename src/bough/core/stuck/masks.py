"""What is compared when two calls, two results or two errors are compared: short keys of masked text.

Volatile text never tells two results apart: times, durations, addresses, identifiers, temporary paths, process numbers.
The decimals of a score do only when something was changed in between. Whole numbers do (`3 failed` is not `2 failed`,
`epoch 3` is not `epoch 4`, 40 % is not 60 %), except the places in an error and the counts in the answer to a write.
"""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice, pairwise

READ = 16_000
"""Characters of a result that are looked at, from both ends. With `SKETCHED` it bounds the cost of one call."""
SKETCHED = 2_000
"""Characters of the arguments that likeness is measured on, from both ends."""
BRIEF = 600
"""A transport failure is at most this many characters; a failing test that mentions one is longer."""

# Each pattern begins with one character or a set of them, so the search skips to the candidates. Where one cannot, the
# words that it needs are searched first.
_TIMES = re.compile(
    r"\d(?:"
    r"\d{3}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d?:\d\d:\d\d(?:[.,]\d+)?"
    r"|\d{0,17}+(?:\.\d{1,17}+)?\s?(?:ns|[uµ]s|ms|s|secs?|seconds?|mins?|minutes?|hours?)\b"
    r")"
)
_IDENTIFIERS = re.compile(r"[0-9a-fA-F]{7,64}+(?:-[0-9a-fA-F]{4}){0,3}(?:-[0-9a-fA-F]{12})?(?!\w)")
_TEMPORARY = re.compile(r"/(?:tmp|var/tmp|var/folders|private/var|dev/shm)/[^\s'\":,;()\]]+")
_PROCESS = re.compile(r"(?:pid|PID)[ =:]+\d+")
_DECIMALS = re.compile(r"\d{1,17}+\.\d{1,20}+(?:e[+-]?\d{1,3}+)?(?!\s?(?:%|[kKMGT]i?B\b))")
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_DIGITS = re.compile(r"\d+")
_QUOTED = re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
_WRAPPING = re.compile(r"</?[a-z_]+>|(?:no output, )?exit (?:status|code)")
_WORDS = re.compile(r"[\w#]+")
_ESCAPES = re.compile(r"\\+[nrt\"']")
_PLACES = re.compile(r"(?i)\b(lines?|column|col|row|char|position)([ :#]+)\d+(?:[-–:]\d+)?|(?<=[\w\])]):\d+(?::\d+)?\b")
_TROUBLE = re.compile(
    r"error|exception|fail|fatal|cannot|can't|couldn't|could not|unable|not found|no such|not exist|denied|invalid"
    r"|undefined|unexpected|refused|panic|missing|unknown|illegal|abort|must|already|requires?|^e  ",
    re.MULTILINE,
)
_TRANSPORT = re.compile(
    r"too many requests|rate.?limit|bad gateway|service unavailable|gateway time-?out|temporarily unavailable"
    r"|overloaded|connection (?:reset|aborted|timed out)|read timed out|temporary failure in name resolution|econnreset"
    r"|etimedout"
)


def clip_text(text: str, most: int = READ) -> str:
    return text if len(text) <= most else text[: most // 2] + text[-(most // 2) :]


def mask_text(text: str) -> str:
    """The text without what changes on its own."""
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    text = _TEMPORARY.sub("<temporary>", text)
    text = _IDENTIFIERS.sub(_mask_identifier, text)
    if "pid" in text or "PID" in text:
        text = _PROCESS.sub("<process>", text)
    text = _TIMES.sub("<time>", text)
    return " ".join(text.split())


def _mask_identifier(found: re.Match[str]) -> str:
    """Mask a hexadecimal number on its own that cannot be a word or a plain number: it has letters and digits."""
    text, before = found[0], found.string[max(found.start() - 2, 0) : found.start()]
    if before[-1:].isalnum() and before.lower() != "0x":
        return text
    mixed = not text.isdigit() and not text.isalpha()
    return "<identifier>" if mixed or before.lower() == "0x" else text


def mask_decimals(masked: str) -> str:
    """The decimals of a score removed as well. Progress (12.5 %, 3.1 MB) is not a score."""
    return _DECIMALS.sub("<decimal>", masked) if "." in masked else masked


def mask_numbers(masked: str) -> str:
    """All numbers and quoted names removed as well."""
    return _QUOTED.sub("<quoted>", _DIGITS.sub("#", masked))


def hash_text(text: str) -> int:
    """Short enough to keep, long enough that two texts of one run do not share it by chance."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")


def count_letters(text: str) -> int:
    """Letters in the first part of a text: a bare exit status or an empty answer proves nothing."""
    first = text[:256]
    if "<" in first or "exit" in first:
        first = _WRAPPING.sub("", first)
    return sum(map(str.isalpha, first))


def sketch_text(text: str, size: int = 48) -> tuple[int, ...]:
    """A bounded sample of the words of a text and their neighbours: enough to measure likeness without the text."""
    words = _WORDS.findall(_DIGITS.sub("#", _ESCAPES.sub(" ", clip_text(text, SKETCHED))))
    grams = {*words, *map(" ".join, pairwise(words))}
    return tuple(sorted(crc32(gram.encode("utf-8", "surrogatepass")) for gram in grams)[:size])


def measure_likeness(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """0…1: the share of words and neighbours that two texts have in common, estimated from their sketches."""
    if not a or not b:
        return float(a == b)
    both = set(a) & set(b)
    union = sorted({*a, *b})[: max(len(a), len(b))]
    return sum(gram in both for gram in union) / len(union)


def find_trouble(text: str, most: int = 12) -> tuple[str, ...]:
    """What went wrong: the lines that say so, in order, each once. Names and values stay; line numbers go."""
    first = list(islice(_walk_trouble_lines(text), most * 2))
    said = first if first else [line for line in text.splitlines() if line.strip()][-most:]
    return tuple(dict.fromkeys(mask_text(_PLACES.sub(r"\1\2#", line[:400])) for line in said))


def _walk_trouble_lines(text: str) -> Iterator[str]:
    lowered = text.lower()
    if len(lowered) != len(text):
        text = lowered
    at = 0
    while found := _TROUBLE.search(lowered, at):
        start = lowered.rfind("\n", 0, found.start()) + 1
        end = lowered.find("\n", found.end())
        end = len(text) if end < 0 else end
        yield text[start:end].strip()
        at = end


def is_transient(text: str) -> bool:
    """A service was temporarily unavailable: retrying is right. A long text is about something else."""
    return len(text) <= BRIEF and _TRANSPORT.search(text.lower()) is not None


# ── one answer that keeps saying the same thing ───────────────────────────────────────────────────────────────────────

PIECE = 50
"""Characters that are repeated."""
APART = 500
"""The longest repeated text."""
TAIL = 8_000
"""Characters at the end of an answer that are examined."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STRUCTURE = re.compile(r"(?m)^[ \t]*(?:[#>|]|[-*+] |\d+[.)] |```).*$")


def count_repetitions(text: str) -> int:
    """How often the end of the text was said before, closely enough to be a loop.

    Code, tables, lists and headings repeat themselves in good answers: only plain prose after the last of them counts.
    """
    prose = _STRUCTURE.split(_FENCED.sub("\n```\n", text[-TAIL:]))[-1].strip()
    piece = prose[-PIECE:]
    if len(piece) < PIECE or sum(map(str.isalpha, piece)) < PIECE // 4:
        return 0
    count, at = 1, len(prose) - PIECE
    # Backwards from the end, because a loop in an answer lasts until it is cut off.
    while (before := prose.rfind(piece, 0, at + PIECE - 1)) >= 0 and at - before <= APART:
        count, at = count + 1, before
    return count
