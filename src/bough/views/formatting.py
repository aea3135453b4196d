"""Formats numbers, durations, money, and untrusted text.

Text from `one_line` or `escape_text` cannot move the cursor, change colours, retitle the window or hide text. Goals,
file names, model answers, tool output and service errors are all untrusted: pass them through one of the two."""

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
    """Make a text safe for the terminal, on one line, and keep its spaces."""
    if text.isascii() and text.isprintable():
        return text
    return escape_text(text).replace("\n", " ").replace("\t", " ")


def one_line(text: str) -> str:
    """Do the same as `flatten`, and collapse each run of whitespace to one space."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return re.sub(_SPACE, " ", escape_text(text)).strip()


def first_line(text: str) -> str:
    """Return the first line that is not blank."""
    return next((one_line(line) for line in text.splitlines() if line.strip()), "")


def shorten_home(place: str) -> str:
    """Shorten a path below the person's home folder, as in `~/shop`."""
    home = os.environ.get("HOME") or "/nonexistent"
    return f"~{place.removeprefix(home)}" if place.startswith(f"{home}/") else place


TITLE = 120
"""The most columns of a title, even where lines have no limit, as in a log or a pipe."""


def first_sentence(text: str) -> str:
    """Return the first sentence of a goal or a step on one line, without Markdown heading marks."""
    line = first_line(text).lstrip("# ")
    return cut(re.split(r"(?<=[\w`)][.!?])\s", line, maxsplit=1)[0], TITLE)


def headline(text: str) -> str:
    """Return the first line of a goal or a step, cut to `TITLE` columns."""
    return cut(first_line(text), TITLE)


def last_line(text: str) -> str:
    return next((one_line(line) for line in reversed(text.splitlines()) if line.strip()), "")


def given(template: str, text: str, otherwise: str = "") -> str:
    """Put a text into the template's braces; return `otherwise` if it is empty."""
    return template.format(text) if text else otherwise


def escape_json(encoded: bytes) -> str:
    """Return JSON that is safe to print: characters that a terminal may interpret are escaped. They occur only in
    strings, so the JSON stays equivalent."""
    text = encoded.decode("utf-8", "replace")
    return (
        text
        if text.isascii() and "\x7f" not in text
        else re.sub(CONTROL, lambda match: f"\\u{ord(match[0]):04x}", text)
    )


def count_cells(text: str) -> int:
    """Count the terminal columns that the text takes."""
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


def name_some(names: Sequence[str], most: int = 3) -> str:
    """Return `test_a, test_b, test_c and 4 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def format_count(number: int) -> str:
    """Return `950`, `12.3k` or `4.1M`."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1e6:.1f}M"


def pluralize(number: int, word: str) -> str:
    """Return `1 round` or `2 rounds`."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def format_money(dollars: float) -> str:
    """Format dollars with cents; an amount below one cent gets four decimal places."""
    return f"${dollars:.4f}" if dollars and dollars < 0.01 else f"${dollars:,.2f}"


def format_cost(spend: Spend) -> str:
    """Format the known cost, with `+` at its end if some calls have no known price."""
    return f"{format_money(spend.cost)}+" if spend.unpriced else format_money(spend.cost)


def format_size(size: int) -> str:
    """Return `12.3 MB` or `4.1 GB`."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def format_duration(seconds: float) -> str:
    """Return `0.4 s`, `12 s`, `3m 05s`, `1h 02m` or `2d 03h`."""
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
    """Return the time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def format_moment(at: float) -> str:
    """Return the date and the time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def format_spend(spend: Spend) -> str:
    """Return `4 rounds · 12.3k tokens · $0.02`, without the cost if no price is known."""
    return " · ".join((pluralize(spend.rounds, "round"), format_usage(spend)))


def format_usage(spend: Spend) -> str:
    """Return `12.3k tokens · $0.02`, with `about` before the tokens if they are estimated."""
    tokens = f"{'about ' if spend.estimated else ''}{format_count(spend.tokens)} tokens"
    return tokens if spend.unpriced and not spend.cost else f"{tokens} · {format_cost(spend)}"


def format_limits(limits: Limits, grows: bool = False) -> str:
    """Format a run's limits: `40 rounds, more if it is planned · 100,000 tokens · no limit on cost or time`."""
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
