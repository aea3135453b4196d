"""Parts of pages: changed files, diffs, reports, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from bough.core.textual.cleaning import escape_text
from bough.core.verdict.texts import FileChange
from bough.interfaces.terminal.output import TerminalOutput
from bough.views.formatting import one_line, pad
from bough.views.next_steps import Suggestion

KINDS = {"A": "added", "M": "changed", "D": "deleted", "T": "type changed"}
STYLES = {"A": "green", "D": "red"}
DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("diff ", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def print_changes(page: TerminalOutput, changes: Sequence[FileChange], most: int = 20, indent: int = 2) -> None:
    """One file per line, as many as a person wants to read."""
    for change in changes[:most]:
        kind = KINDS.get(change.kind, change.kind)
        page.line(" " * indent, f"{one_line(change.path)}  ", (kind, STYLES.get(change.kind, "dim")))
    if len(changes) > most:
        page.line((" " * indent + f"… and {len(changes) - most} more", "dim"))


def print_diff(page: TerminalOutput, diff: str) -> None:
    """A diff for people: coloured and harmless."""
    for line in diff.splitlines():
        style = next((style for start, style in DIFF_STYLES if line.startswith(start)), "")
        page.text(line, style)


def print_stat(page: TerminalOutput, stat: str, most: int = 10) -> None:
    """Print git's diff statistics, shortened for the end of a run: the last line is the total."""
    lines = stat.strip().splitlines()
    if not lines:
        page.line(("  no files changed", "dim"))
        return
    *files, total = lines
    for line in files[:most]:
        page.line(f"  {line.strip()}")
    if len(files) > most:
        page.line((f"  … and {len(files) - most} more", "dim"))
    page.line(f"  {total.strip()}")


def print_report(page: TerminalOutput, report: str, indent: int = 2) -> None:
    """Headings stand out, and long lines are wrapped."""
    margin = " " * indent
    for line in escape_text(report).strip("\n").splitlines():
        if line.startswith("## "):
            page.line(margin, (line[3:], "bold"))
        elif line.startswith("- "):
            page.paragraph(f"{margin}- ", text=line[2:], indent=indent + 2)
        elif line.strip():
            page.paragraph(margin, text=line, indent=indent)


def print_advice(page: TerminalOutput, steps: list[Suggestion]) -> None:
    room = max((len(command) for command, _ in steps), default=0)
    for command, use in steps:
        page.line("  ", (pad(command, room), "bold"), (f"  {use}", "dim"))
