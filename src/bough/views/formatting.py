"""Formats of numbers, durations, money, and text from outside.

Promises: text from `one_line` or `escape_text` cannot move the cursor, change colours, retitle the window or hide text.
Goals, file names, model answers, tool output and service errors are all untrusted and go through one of them.
"""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections.abc import Sequence
from functools import cache

from bough.core.budget.limits import Limits, Spend
from bough.core.textual.cleaning import CONTROL, escape_text

_SPACE = r"\s+"


def flatten(text: str) -> str:
    """Clean a text for the terminal, on one line with its spaces kept."""
    if text.isascii() and text.isprintable():
        return text
    return escape_text(text).replace("\n", " ").replace("\t", " ")


def one_line(text: str) -> str:
    """The same as `flatten`, with runs of whitespace collapsed to one space."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return re.sub(_SPACE, " ", escape_text(text)).strip()


def first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((one_line(line) for line in text.splitlines() if line.strip()), "")


def shorten_home(place: str) -> str:
    """`~/shop` for what is below the person's home."""
    home = os.environ.get("HOME") or "/nonexistent"
    return f"~{place.removeprefix(home)}" if place.startswith(f"{home}/") else place


TITLE = 120
"""Maximum columns of a title, even where lines are unlimited: in a log, in a pipe."""


def first_sentence(text: str) -> str:
    """A goal or a step on one line: its first sentence, without heading marks."""
    line = first_line(text).lstrip("# ")
    return cut(re.split(r"(?<=[\w`)][.!?])\s", line, maxsplit=1)[0], TITLE)


def headline(text: str) -> str:
    """A goal or a step on one line: its first line, cut to fit."""
    return cut(first_line(text), TITLE)


def last_line(text: str) -> str:
    return next((one_line(line) for line in reversed(text.splitlines()) if line.strip()), "")


def escape_json(encoded: bytes) -> str:
    """Return JSON that is safe to print: characters that a terminal may interpret are escaped. They occur only in
    strings, so the JSON stays equivalent."""
    text = encoded.decode("utf-8", "replace")
    return (
        text
        if text.isascii() and "\x7f" not in text
        else re.sub(CONTROL, lambda match: f"\\u{ord(match[0]):04x}", text)
    )


# ── room on a line ──────────────────────────────────────────────────────────────────────────────────────────────────


def count_cells(text: str) -> int:
    """How many terminal columns the text takes."""
    return len(text) if text.isascii() else sum(map(_cell_width, text))


@cache
def _cell_width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1


def cut(text: str, room: int) -> str:
    """Keep as much of the text as fits, with `…` where it is cut."""
    if count_cells(text) <= room:
        return text
    kept, used = [], 1
    for character in text:
        used += _cell_width(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if room > 0 else ""


def pad(text: str, room: int, right: bool = False) -> str:
    space = " " * (room - count_cells(text))
    return space + text if right else text + space


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def name_some(names: Sequence[str], most: int = 3) -> str:
    """`test_a, test_b, test_c and 4 more`"""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def format_count(number: int) -> str:
    """`950`, `12.3k`, `4.1M`"""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1e6:.1f}M"


def pluralize(number: int, word: str) -> str:
    """`1 round`, `2 rounds`"""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def format_money(dollars: float) -> str:
    """Cents, with more decimal places for small amounts."""
    if dollars and dollars < 0.01:
        return f"${dollars:.4f}"
    return f"${dollars:,.2f}"


def format_cost(spend: Spend) -> str:
    """Format the known cost; `+` if some calls have no known price."""
    return f"{format_money(spend.cost)}+" if spend.unpriced else format_money(spend.cost)


def format_size(size: int) -> str:
    """`12.3 MB`, `4.1 GB`"""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def format_duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3m 05s`, `1h 02m`, `2d 03h`"""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600:02}h"


def format_clock(at: float) -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def format_moment(at: float) -> str:
    """Date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def format_spend(spend: Spend) -> str:
    """`4 rounds · 12.3k tokens · $0.02`; no cost where no price is known."""
    return " · ".join((pluralize(spend.rounds, "round"), format_usage(spend)))


def format_usage(spend: Spend) -> str:
    """`12.3k tokens · $0.02`; `about` where a provider does not count them."""
    tokens = f"{'about ' if spend.estimated else ''}{format_count(spend.tokens)} tokens"
    return tokens if spend.unpriced and not spend.cost else f"{tokens} · {format_cost(spend)}"


def format_limits(limits: Limits, grows: bool = False) -> str:
    """Format a run's limits: `40 rounds, more if it is planned · 100,000 tokens · no limit on cost or time`"""
    said = [pluralize(limits.rounds, "round") + (", more if it is planned" if grows else "")]
    free = []
    for limit, words, name in (
        (limits.tokens, f"{limits.tokens or 0:,} tokens", "tokens"),
        (limits.cost, format_money(limits.cost or 0.0), "cost"),
        (limits.minutes, f"{limits.minutes or 0:g} minutes", "time"),
    ):
        if limit is None:
            free.append(name)
        else:
            said.append(words)
    if free:
        said.append("no limit on " + " or ".join((", ".join(free[:-1]), free[-1]) if len(free) > 1 else free))
    return " · ".join(said)
