"""Parts that several pages share: changed files, reports, and suggestions of what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from bough.core.textual.cleaning import escape_text
from bough.core.verdict.texts import FileChange
from bough.interfaces.terminal.output import TerminalOutput
from bough.views.formatting import one_line, pad
from bough.views.next_steps import Suggestion

KINDS = {"A": "added", "M": "changed", "D": "deleted", "T": "type changed"}
STYLES = {"A": "green", "D": "red"}
MOST, MOST_AT_END = 20, 10
"""The most files that are listed: in general, and in the summary at the end of a run."""


def print_changes(page: TerminalOutput, changes: Sequence[FileChange], indent: int = 2) -> None:
    """Print one changed file per line, at most `MOST` of them."""
    for change in changes[:MOST]:
        kind = KINDS.get(change.kind, change.kind)
        page.line(" " * indent, f"{one_line(change.path)}  ", (kind, STYLES.get(change.kind, "dim")))
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


def print_advice(page: TerminalOutput, steps: list[Suggestion]) -> None:
    room = max((len(command) for command, _ in steps), default=0)
    for command, use in steps:
        line = [("  ", ""), (pad(command, room), "bold"), (f"  {use}", "dim")]
        page.write(page.painted(line, max(page.width, room + 2)) + "\n")  # A command is for copying: it is never cut.
