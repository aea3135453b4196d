"""The report of a task that was given up, as lines."""

from __future__ import annotations

from bough.core.textual.cleaning import escape_text
from bough.interfaces.terminal.output import TerminalOutput


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
