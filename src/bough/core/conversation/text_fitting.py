"""Measure texts, shorten them for a model's context, and keep them within their section."""

import re
from collections.abc import Iterable, Sequence

BYTES = 3
"""Assumed bytes per token. Providers count between 3 (code, logs) and 4.5 (English prose), so this is on the safe side;
a Chinese character counts as one token."""
_HEAD = 0.4
"""The share of the beginning in a shortened text; the end gets more, since it usually shows the result."""
_SHORTEST = 40
"""Below this number of tokens, the note about the omission would be most of a shortened text."""


def estimate_tokens(text: str) -> int:
    """Estimate tokens without a tokenizer. The estimate of a whole never exceeds the sum of its pieces' estimates."""
    return -(-count_bytes(text) // BYTES)


def count_bytes(text: str) -> int:
    """Count the bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def shorten_middle(text: str, most: int) -> str:
    """Shorten a text to `most` tokens: its head and tail, with a line about the omission in between."""
    if estimate_tokens(text) <= most:
        return text
    if most < _SHORTEST:
        return f"{take_head(text, (most - 1) * BYTES)}…" if most > 0 else ""
    room = (most - 20) * BYTES
    head = take_head(text, int(room * _HEAD))
    if (end := head.rfind("\n", len(head) * 3 // 4)) >= 0:
        head = head[: end + 1]
    left = room - count_bytes(head)
    tail = text[-left:].encode("utf-8", "surrogatepass")[-left:].decode("utf-8", "ignore")
    tail = tail[tail.find("\n", 0, len(tail) // 4) + 1 :]
    gone = len(text) - len(head) - len(tail)
    return f"{head.rstrip()}\n[… {gone:,} characters left out …]\n{tail}"


def keep_ends(text: str, most: int) -> str:
    """Shorten a text to `most` characters: its beginning and more of its end, which usually shows the result."""
    text = text.strip()
    if len(text) <= most:
        return text
    head, tail = text[: most * 2 // 5].rstrip(), text[-max(most * 3 // 5 - 60, 1) :].lstrip()
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}"


def take_head(text: str, most: int) -> str:
    """Return the beginning of a text in at most `most` bytes."""
    # A character that was cut in half is dropped.
    return text[: max(most, 0)].encode("utf-8", "surrogatepass")[: max(most, 0)].decode("utf-8", "ignore")


def share_room(wants: Sequence[int], room: int) -> list[int]:
    """Divide room evenly: none gets more than it wants, and the others get what that leaves."""
    given = [0] * len(wants)
    waiting = sorted((want, place) for place, want in enumerate(wants) if want > 0)
    for taken, (want, place) in enumerate(waiting):
        given[place] = max(min(want, room // (len(waiting) - taken)), 0)
        room -= given[place]
    return given


def render_heading(head: str, text: str) -> str:
    return f"## {head}\n\n{text}\n"


def render_bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def fence_text(text: str, language: str = "") -> str:
    """Render a text as a Markdown code block that the text cannot close."""
    fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


_WRAPPED = r"(?s)\A\s*(`{3,})(?:markdown|md|text)?[ \t]*\n(.*)\n\1\s*\Z"
_HEADING = r"(?m)^[ \t]{0,3}#{1,3}(?=[ \t])"
_FENCE = r"(?m)^[ \t]{0,3}```"
_LONG_FENCE = r"`{4,}"


def contain_markdown(text: str) -> str:
    """Make a text stay within its section: demote its headings, and close code blocks that it opens."""
    if wrapped := re.match(_WRAPPED, text):
        text = wrapped[2]
    text = re.sub(_HEADING, "####", re.sub(_LONG_FENCE, "```", text.strip()))
    return f"{text}\n```" if len(re.findall(_FENCE, text)) % 2 else text
