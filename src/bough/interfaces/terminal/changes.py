"""Changed files and diffs."""

from __future__ import annotations

from collections.abc import Sequence

from bough.interfaces.terminal.formatting import one_line
from bough.interfaces.terminal.output import TerminalOutput
from bough.ports import FileChange

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
    """git's diff statistics, shortened for the end of a run: the last line is the total."""
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
