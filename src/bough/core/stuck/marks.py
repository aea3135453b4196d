"""Reduce an act (a tool call) to a few short keys, and find out whether it repeats an earlier one. Only actions and
results are compared, never the model's thoughts.

Volatile text never tells two results apart: times, durations, addresses, identifiers, temporary paths, process numbers.
Numbers do (`3 failed` is not `2 failed`, `epoch 3` is not `epoch 4`, 40 % is not 60 %), except the places in an error
and the counts in the answer to a write."""

import re
from binascii import crc32
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice, pairwise
from typing import Literal

from msgspec import Struct

from bough.core.stuck.signals import Act, StuckRules

READ = 16_000
"""How many characters of a result are read, from both ends. With `SKETCHED` it bounds the cost of one call."""
SKETCHED = 2_000
"""The most characters of the arguments used to measure likeness, from both ends."""
BRIEF = 600
"""A report of a transport failure has at most this many characters; a failing test that mentions one is longer."""

# Each pattern begins with a character or a set of characters, so that the search skips quickly to the candidates. If a
# pattern cannot, a text is first searched for the words that the pattern needs.
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
    """Mask the parts of a text that change on their own, such as times and addresses."""
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    text = _TEMPORARY.sub("<temporary>", text)
    text = _IDENTIFIERS.sub(_mask_identifier, text)
    if "pid" in text or "PID" in text:
        text = _PROCESS.sub("<process>", text)
    text = _TIMES.sub("<time>", text)
    return " ".join(text.split())


def _mask_identifier(found: re.Match[str]) -> str:
    """Mask a hexadecimal number if it has letters and digits, so that it cannot be a word or a plain number."""
    text, before = found[0], found.string[max(found.start() - 2, 0) : found.start()]
    if before[-1:].isalnum() and before.lower() != "0x":
        return text
    mixed = not text.isdigit() and not text.isalpha()
    return "<identifier>" if mixed or before.lower() == "0x" else text


def mask_numbers(masked: str) -> str:
    """Remove all numbers and quoted names as well."""
    return _QUOTED.sub("<quoted>", _DIGITS.sub("#", masked))


def hash_text(text: str) -> int:
    """Return a hash short enough to store, and long enough that two texts of one run do not share it by chance."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")


def count_letters(text: str) -> int:
    """Count letters in the first part of a text: a bare exit status or an empty answer proves nothing."""
    first = text[:256]
    if "<" in first or "exit" in first:
        first = _WRAPPING.sub("", first)
    return sum(map(str.isalpha, first))


def sketch_text(text: str, size: int = 48) -> tuple[int, ...]:
    """Return a bounded sample of a text's words and their neighbours, to measure likeness without the text."""
    words = _WORDS.findall(_DIGITS.sub("#", _ESCAPES.sub(" ", clip_text(text, SKETCHED))))
    grams = {*words, *map(" ".join, pairwise(words))}
    return tuple(sorted(crc32(gram.encode("utf-8", "surrogatepass")) for gram in grams)[:size])


def measure_likeness(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """Estimate, from 0 to 1, what share of their words and pairs of neighbouring words two texts have in common. `a`
    and `b`: the texts' sketches, which are samples of these (`sketch_text`)."""
    if not a or not b:
        return float(a == b)
    both = set(a) & set(b)
    union = sorted({*a, *b})[: max(len(a), len(b))]
    return sum(gram in both for gram in union) / len(union)


def find_trouble(text: str, most: int = 12) -> tuple[str, ...]:
    """List the lines that report an error, in order, each once, with names and values but without line numbers."""
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
    """Whether a text reports that a service was temporarily unavailable; a long text is about something else."""
    return len(text) <= BRIEF and _TRANSPORT.search(text.lower()) is not None


PIECE = 50
"""Characters of a piece of text that is searched for in the rest of the answer."""
APART = 500
"""The longest repeated text, in characters."""
TAIL = 8_000
"""The most characters at the end of an answer that are examined."""

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STRUCTURE = re.compile(r"(?m)^[ \t]*(?:[#>|]|[-*+] |\d+[.)] |```).*$")


def count_repetitions(text: str) -> int:
    """Count how often the last words of a text occur in it, closely enough to be a loop.

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


Kind = Literal["same", "error", "refused"]
"""The way in which an act repeats another; see `classify_repeat`."""

LITTLE = 12
"""A result with fewer letters than this (an exit status, an empty list) proves nothing on its own."""
SPECIFIC = 20
"""The minimum number of letters by which an error is recognised again after other attempts."""


class Mark(Struct, frozen=True):
    """An act without its texts."""

    round: int
    tool: str
    call: int
    """Hash of tool and arguments, unmasked."""
    shape: int
    """The hash without numbers and names: reads with different arguments share it."""
    result: int
    loose: int
    says: int
    """The number of letters in the result."""
    ok: bool
    writes: bool
    transit: bool
    error: int
    """Hash of all errors; 0 if there are none."""
    head: int
    """Hash of the first error line."""
    sketch: tuple[int, ...]
    era: int = 0
    """Number of earlier changes of the workspace."""


def mark_act(act: Act, round_: int, era: int) -> Mark:
    shown = clip_text(act.result)
    masked = mask_text(shown)
    # Look only at failures: a successful `grep error` finds the word too.
    told = () if act.ok else find_trouble(shown)
    return Mark(
        round=round_,
        tool=act.tool[:64],
        call=hash_text(f"{act.tool}\n{act.arguments}"),
        shape=hash_text(f"{act.tool}\n{mask_numbers(clip_text(act.arguments))}"),
        result=hash_text(masked),
        loose=hash_text(mask_numbers(masked)) if act.writes else 0,
        says=count_letters(masked),
        ok=act.ok,
        writes=act.writes,
        transit=not act.ok and is_transient(shown),
        error=hash_text("\n".join(sorted(told))) if told else 0,
        head=hash_text(told[0]) if told else 0,
        sketch=sketch_text(act.arguments),
        era=era,
    )


def classify_repeat(now: Mark, then: Mark, rules: StuckRules) -> Kind | None:
    """Return how `now` repeats `then` without achieving more; None if it does not.

    same     the same call with the same result (or the same write again: counts in its answer do not matter)
    error    the same error after a similar call
    refused  a similar write, refused with the same first line"""
    if now.tool != then.tool:
        return None
    same = now.result == then.result
    if now.call == then.call and (same or (now.writes and now.tool not in rules.shells and now.loose == then.loose)):
        return "same" if now.ok else "error"
    if not now.ok and not then.ok:
        alike = measure_likeness(now.sketch, then.sketch)
        if same and now.says >= SPECIFIC and alike >= rules.alike_error:
            return "error"
        if now.error == then.error and now.says >= LITTLE and alike >= rules.alike_error:
            return "error"
        refused = now.writes and now.tool not in rules.shells and now.head == then.head
        return "refused" if refused and now.says >= LITTLE and alike >= rules.alike_refused else None
    return None
