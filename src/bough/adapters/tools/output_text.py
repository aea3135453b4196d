"""Makes output readable for a model: without terminal codes, and shortened to its beginning and end."""

import re

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor moves
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles, links
    r"|[PX^_][^\x1b]*\x1b\\"
    r"|[ -/]*[0-~])"
)
_BACKSPACED = re.compile(r"[^\x08\n]\x08")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_HEAD = 0.4
"""The beginning's share of a shortened text. The end gets more, because it usually shows the result."""
_SHORTEST = 200
"""The fewest characters to which a text is cut, so that the line about the cut has room."""


def decode_output(raw: bytes) -> str:
    """Decode output to plain text; bytes that are not UTF-8 are replaced."""
    return to_plain_text(raw.decode("utf-8", "replace"))


def to_plain_text(text: str) -> str:
    """Return text as a terminal would show it in the end: without colours, and each progress line in its last state."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        # Keep only the last state of a line that was overwritten repeatedly.
        states = (line.split("\r") for line in text.replace("\r\n", "\n").split("\n"))
        text = "\n".join(next(filter(None, reversed(line)), "") for line in states)
    if "\b" in text:
        text = _BACKSPACED.sub("", text)
    return _CONTROLS.sub("", text)


def cut_middle(text: str, limit: int) -> tuple[str, bool]:
    """Cut the middle out of a text longer than `limit` characters. Return the text, and whether it was cut.

    The cuts are at line ends if there are any nearby, and a line in between says how much is missing.
    """
    limit = max(limit, _SHORTEST)
    if len(text) <= limit:
        return text, False
    room = limit - 100
    at = int(room * _HEAD)
    newline = text.rfind("\n", at * 3 // 4, at)
    head = at if newline < 0 else newline + 1
    start = len(text) - (room - at)
    newline = text.find("\n", start, start + (len(text) - start) // 4)
    tail = start if newline < 0 else newline + 1
    gone = text[head:tail]
    lines = gone.count("\n")
    what = f"{lines:,} lines, {len(gone):,} characters" if lines else f"{len(gone):,} characters"
    return f"{text[:head].rstrip(chr(10))}\n[… {what} left out …]\n{text[tail:]}", True


def cut_line(line: str, limit: int) -> str:
    """Shorten an overlong line to its beginning and its end."""
    if len(line) <= limit:
        return line
    room = max(limit - 50, 20)
    head = int(room * _HEAD)
    tail = room - head
    return f"{line[:head]} […{len(line) - head - tail:,} characters left out…] {line[-tail:]}"


def pluralize(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_size(count: int) -> str:
    """Format a number of bytes for reading, such as `1.5 MB`."""
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"
