"""A backlog's list and its morning page, for a terminal, as Markdown and as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from bough.core.budget.ledger import Spend
from bough.core.textual.cleaning import clean_markdown, escape_text
from bough.interfaces.terminal.formatting import (
    count_cells,
    cut,
    first_sentence,
    format_clock,
    format_cost,
    format_count,
    format_duration,
    format_moment,
    one_line,
    pad,
    pluralize,
)
from bough.interfaces.terminal.output import Span, TerminalOutput
from bough.views.night import GoalLine, NightPage

STYLES = {
    "proven": ("✔", "green"),
    "not_proven": ("◐", "yellow"),
    "waiting": ("?", "yellow"),
    "given_up": ("✘", "red"),
    "running": ("●", "cyan"),
    "ready": ("○", "dim"),
    "not_begun": ("○", "dim"),
}
NAMES = 34
"""Columns for the names of goals."""


def print_page(page: TerminalOutput, night: NightPage, details: bool = True) -> None:
    """One screen, then what each goal needs to say."""
    page.line((describe_night(night), "bold"))
    page.line(describe_totals(night))
    if night.branch:
        page.line((f"Together on the branch {night.branch}.", "green"))
    elif night.trouble:
        page.paragraph(text=f"There is no night branch: {night.trouble}", style="yellow")
    room = min(NAMES, max((count_cells(goal.name) for goal in night.goals), default=0))
    for heading, goals in night.groups:
        page.line("")
        page.line((f"{heading} ({len(goals)})", "bold"))
        for goal in goals:
            glyph, style = STYLES[goal.kind]
            start: list[Span] = [(f" {glyph} ", style), (pad(cut(goal.name, room), room), ""), ("  ", "")]
            page.paragraph(*start, text=describe_goal(goal) or first_sentence(goal.title), indent=room + 5)
            for line in describe_details(goal) if details else ():
                page.paragraph(" " * (room + 5), text=line, indent=room + 5, style="dim")


def describe_night(night: NightPage) -> str:
    if not night.started_at:
        option = f" --list {night.name}" if night.name != "backlog" else ""
        return f"The backlog {night.name} has not been worked on yet: start it with `bough backlog run{option}`."
    begun, named = format_moment(night.started_at), f" of {night.name}" if night.name != "backlog" else ""
    if not night.ended_at:
        return f"The night{named} that began {begun} is not over"
    soon = night.ended_at - night.started_at < 86_400  # The date would say nothing new.
    ended = format_clock(night.ended_at)[:5] if soon else format_moment(night.ended_at)
    return f"The night{named} from {begun} to {ended}: {night.why}"


def describe_totals(night: NightPage) -> str:
    counts = [f"{len(goals)} {heading.lower()}" for heading, goals in night.groups]
    return f"{pluralize(len(night.goals), 'goal')}: {', '.join(counts) or 'none'}. {', '.join(describe_spent(night))}."


def describe_spent(night: NightPage) -> list[str]:
    cost = [] if _is_unpriced(night.spend) else [format_cost(night.spend)]
    seconds = sum(goal.seconds for goal in night.goals)
    return [*cost, f"{format_count(night.spend.tokens)} tokens", f"{format_duration(seconds)} of work"]


def _is_unpriced(spend: Spend) -> bool:
    return bool(spend.unpriced and not spend.cost)


def describe_goal(goal: GoalLine) -> str:
    """What came of it, on one line."""
    parts = []
    if goal.requirements:
        parts.append(f"{goal.proven} of {pluralize(goal.requirements, 'requirement')} proven")
    if goal.files:
        parts.append(f"{pluralize(goal.files, 'file')} +{goal.added} −{goal.removed}")
    if goal.check and goal.kind in ("proven", "not_proven"):
        parts.append(goal.check)
    parts += [part for part in (goal.branch, goal.address) if part]
    if goal.kind != "proven" and not goal.question:
        parts.append(goal.why)
    if goal.question:
        parts.append(f"asks: {goal.question}")
    if goal.seconds:
        tokens = f"{format_count(goal.spend.tokens)} tokens"
        cost = tokens if _is_unpriced(goal.spend) else format_cost(goal.spend)
        parts.append(f"{cost}, {format_duration(goal.seconds)}")
    return one_line(" · ".join(part for part in parts if part))


def describe_details(goal: GoalLine) -> Iterator[str]:
    """What else a person needs to decide about it, and the commands to do so."""
    yield from describe_findings(goal)
    if goal.kind == "waiting":
        yield f'answer: bough answer {goal.run} "…" (or `bough approve {goal.run}`)'
    if goal.kind in ("given_up", "not_proven") and goal.run:
        yield f"see: bough report {goal.run}, bough diff {goal.run}"


def describe_findings(goal: GoalLine) -> Iterator[str]:
    """What it conflicts with, and what was tried."""
    if goal.together and goal.together != "on it":
        yield f"left out of the night branch: {goal.together}"
    elif not goal.together:
        for other, files in goal.conflicts.items():
            yield f"conflicts with {other} in {', '.join(files)}"
    for heading, lines in _read_report(goal.tried):
        if heading in ("What was tried", "What was learned"):
            yield f"{heading.lower()}: {'; '.join(lines)}"


def _read_report(text: str) -> Iterator[tuple[str, list[str]]]:
    """The sections of a run's report, each with its points."""
    for section in text.split("\n## ")[1:]:
        heading, *lines = section.splitlines()
        yield heading.strip(), [line.removeprefix("- ").strip() for line in lines if line.strip()]


def render_markdown(night: NightPage) -> str:
    parts = [f"# {describe_night(night)}", describe_totals(night)]
    if night.branch:
        parts.append(f"Together on the branch `{night.branch}`.")
    elif night.trouble:
        parts.append(f"There is no night branch: {_escape_line(night.trouble)}")
    for heading, goals in night.groups:
        parts.append(f"## {heading}")
        for goal in goals:
            parts.append(f"### {_escape_line(goal.name)}")
            parts.append(clean_markdown(goal.title))
            lines = [text for text in (describe_goal(goal), *describe_details(goal)) if text]
            parts.append("\n".join(f"- {_escape_line(line)}" for line in lines))
    return "\n\n".join(part for part in parts if part) + "\n"


def _escape_line(text: str) -> str:
    """Text of a model, a person or a tracker cannot become markup."""
    plain = " ".join(escape_text(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "[]*_`#|!" else character for character in plain)


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}table{border-collapse:collapse;width:100%}"
    "td{padding:.35rem .6rem .35rem 0;vertical-align:top;border-top:1px solid #ddd}td:first-child{white-space:nowrap;"
    "font-family:ui-monospace,monospace}small{color:#666;display:block}.proven{color:#177a3c}.given_up{color:#b3261e}"
    ".waiting,.not_proven{color:#8a5a00}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}"
    "td{border-color:#333}small{color:#999}.proven{color:#5bc27e}.given_up{color:#f2857c}.waiting,.not_proven{color:#e0b050}}"
)


def render_html(night: NightPage) -> str:
    """One file that loads nothing and runs nothing."""
    rows = []
    for heading, goals in night.groups:
        rows.append(f"<h2>{escape(heading)} ({len(goals)})</h2><table>")
        for goal in goals:
            small = "".join(f"<small>{_html(line)}</small>" for line in describe_details(goal))
            what = f"{_html(goal.title)}<small>{_html(describe_goal(goal))}</small>{small}"
            rows.append(f'<tr><td class="{goal.kind}">{_html(goal.name)}</td><td>{what}</td></tr>')
        rows.append("</table>")
    night_branch = f"Together on the branch {night.branch}." if night.branch else night.trouble
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_html(night.name)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{_html(describe_night(night))}</h1><p>{_html(describe_totals(night))}</p><p>{_html(night_branch)}</p>"
        f"{''.join(rows)}</body></html>\n"
    )


def _html(text: str) -> str:
    return escape(escape_text(text))
