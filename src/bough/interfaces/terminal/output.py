"""Writes bough's output to a terminal, a pipe or a file.

Only a terminal gets colours and lines cut to its width, and all text is made harmless before it is written. A line is a
list of spans, so it can be cut to the width before it is coloured.
"""

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from bough.core.textual.cleaning import escape_text
from bough.views.formatting import count_cells, cut, flatten, format_clock, one_line, pad

if TYPE_CHECKING:
    from bough.core.events import Record
    from bough.core.verdict.texts import FileChange
    from bough.views.next_steps import Suggestion

Span = tuple[str, str]
"""A text and the name of its style; an empty name means no style."""
Line = Sequence[Span]

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_PLAIN_GLYPHS = str.maketrans("✔✘●○◐◌⊘…·›├└│─→", "+x*o~o!.->|`|->")


class TerminalOutput(Struct, frozen=True):
    """An output stream, and what it can show."""

    stream: TextIO
    terminal: bool
    """Whether the stream is a terminal that can be drawn on."""
    colour: bool
    unicode: bool = True

    @property
    def size(self) -> tuple[int, int]:
        """Return the columns and rows; if this is no terminal, numbers so large that nothing is cut."""
        if not self.terminal:
            return 10_000, 10_000
        try:
            columns, rows = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            columns, rows = 0, 0
        return columns or 80, rows or 24

    @property
    def in_front(self) -> bool:
        """Return whether this process may draw on the terminal: not while a shell has put it in the background."""
        try:
            return os.tcgetpgrp(self.stream.fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return True

    @property
    def width(self) -> int:
        return self.size[0]

    def painted(self, line: Line, width: int) -> str:
        """Return the line as it is written: one row of at most `width` columns."""
        written: list[str] = []
        for text, style in line:
            safe = flatten(text)
            width -= count_cells(safe)
            if width < 0:
                written.append(self._apply_style(cut(safe, width + count_cells(safe)), style))
                break
            written.append(self._apply_style(safe, style))
        return "".join(written).rstrip(" ")

    def _apply_style(self, text: str, style: str) -> str:
        if not self.unicode:
            text = text.translate(_PLAIN_GLYPHS)
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and self.colour and text.strip() else text

    def line(self, *spans: Span | str) -> None:
        self.write(self.painted([(span, "") if isinstance(span, str) else span for span in spans], self.width) + "\n")

    def lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.line(*line)

    def text(self, text: str, style: str = "") -> None:
        """Write multi-line text, which the terminal may wrap."""
        for part in escape_text(text).split("\n"):
            self.write(self._apply_style(part, style) + "\n")

    def paragraph(self, *start: Span | str, text: str, indent: int = 0, style: str = "") -> None:
        """Write `start` and a text, which is wrapped between words; `indent`: the columns before its further lines."""
        room = self.width - 1 - indent
        safe = one_line(text)
        wrapped = textwrap.wrap(safe, max(room, 10)) if count_cells(safe) > room else [safe]
        self.line(*start, (wrapped[0], style))
        for line in wrapped[1:]:
            self.line(" " * indent, (line, style))

    def write(self, text: str) -> None:
        self.stream.write(text)

    def put(self, text: str) -> None:
        """Write and flush. A reader that is gone must not disturb a run."""
        with suppress(OSError):
            self.write(text)
            self.flush()

    def flush(self) -> None:
        self.stream.flush()


class Display:
    """Receives what happens in a run. A subclass overrides the methods for what it shows; the others do nothing."""

    def announce(self, lines: list[Line], more: bool = False) -> None:
        """Show what a person should know before the run starts. `more`: whether further lines follow."""

    def seen(self, record: "Record") -> None:
        """Process an event from before the run was resumed, which is not news."""

    def recorded(self, record: "Record") -> None: ...

    def progress(self, task: str, text: str) -> None: ...

    def notice(self, text: str) -> None: ...

    def doing(self, task: str, what: str) -> None:
        """Show what a task is doing, if no event says so; `what` is empty when that has ended."""

    def waiting(self, text: str) -> None:
        """Show what the whole run waits for; empty: it no longer waits."""

    def shown(self) -> AbstractContextManager[None]:
        """Show the run while the `with` block runs."""
        return nullcontext()

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to the person while they answer a question."""
        return nullcontext()


def is_interactive() -> bool:
    """Return whether a person can answer: whether standard input and standard output are both a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def make_output(stream: TextIO | None = None) -> TerminalOutput:
    """Return the output for a stream (default: standard output), with what it can show now."""
    stream = sys.stdout if stream is None else stream
    terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    return TerminalOutput(stream, terminal, terminal and not os.environ.get("NO_COLOR"), encoding.startswith("utf"))


def format_line(record: "Record", told: tuple[str, str]) -> list[Span]:
    """Format an event as a line: its time, its task, and its description `told`."""
    words, style = told
    where = [] if not record.task or record.task.startswith("@") else [(one_line(record.task), "bold"), (": ", "")]
    return [(format_clock(record.at), "dim"), ("  ", ""), *where, (one_line(words), style)]


# ── parts that several pages share ───────────────────────────────────────────────────────────────────────────────────

KINDS = {"A": "added", "M": "changed", "D": "deleted", "T": "type changed"}
KIND_STYLES = {"A": "green", "D": "red"}
MOST, MOST_AT_END = 20, 10
"""The most files that are listed: in general, and in the summary at the end of a run."""


def print_changes(page: TerminalOutput, changes: "Sequence[FileChange]", indent: int = 2) -> None:
    """Print one changed file per line, at most `MOST` of them."""
    for change in changes[:MOST]:
        kind = KINDS.get(change.kind, change.kind)
        page.line(" " * indent, f"{one_line(change.path)}  ", (kind, KIND_STYLES.get(change.kind, "dim")))
    if len(changes) > MOST:
        page.line((" " * indent + f"… and {len(changes) - MOST} more", "dim"))


def print_stat(page: TerminalOutput, stat: str) -> None:
    """Print the output of `git diff --stat`, shortened for the end of a run. Its last line is the total."""
    *files, total = stat.strip().splitlines() or [""]
    for line in files[:MOST_AT_END]:
        page.line(f"  {line.strip()}")
    if len(files) > MOST_AT_END:
        page.line((f"  … and {len(files) - MOST_AT_END} more", "dim"))
    page.line(f"  {total.strip()}" if total else ("  no files changed", "dim"))


def print_report(page: TerminalOutput, report: str) -> None:
    """Print a report with bold headings and wrapped lines."""
    for line in escape_text(report).strip("\n").splitlines():
        if line.startswith("## "):
            page.line("  ", (line[3:], "bold"))
        elif line.startswith("- "):
            page.paragraph("  - ", text=line[2:], indent=4)
        elif line.strip():
            page.paragraph("  ", text=line, indent=2)


def print_advice(page: TerminalOutput, steps: "list[Suggestion]") -> None:
    room = max((len(command) for command, _ in steps), default=0)
    for command, use in steps:
        line = [("  ", ""), (pad(command, room), "bold"), (f"  {use}", "dim")]
        page.write(page.painted(line, max(page.width, room + 2)) + "\n")  # A command is for copying: it is never cut.
