"""A backlog on a terminal, as Markdown and as HTML: the page about its goals and their outcomes, and the display of
`bough backlog run` (a night), whose lines stay, with each goal in progress and its current activity below them."""

import contextlib
import time
from collections.abc import Callable, Iterator
from html import escape

from bough.core import events as e
from bough.core.backlog.state import TOGETHER
from bough.core.events import Record
from bough.core.textual.cleaning import clean_markdown, clean_markdown_line, escape_text
from bough.core.tree.task_state import SETTLED
from bough.interfaces.terminal.live_display import Painter, draw_frames
from bough.interfaces.terminal.output import Line, Span, TerminalOutput
from bough.views.formatting import count_cells, cut, first_sentence, format_duration, one_line, pad
from bough.views.night import (
    NightPage,
    describe_branch,
    describe_details,
    describe_goal,
    describe_night,
    describe_proposals,
    describe_totals,
)
from bough.views.run_view import RunView

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
"""The most columns for the names of goals."""


def print_page(page: TerminalOutput, night: NightPage) -> None:
    """Print the totals, then the goals by outcome, each with its details."""
    page.line((describe_night(night), "bold"))
    page.line(describe_totals(night))
    if said := describe_branch(night):
        page.paragraph(text=said, style="green" if night.branch else "yellow")
    room = min(NAMES, max((count_cells(goal.name) for goal in night.goals), default=0))
    for heading, goals in night.groups:
        page.line("")
        page.line((f"{heading} ({len(goals)})", "bold"))
        for goal in goals:
            glyph, style = STYLES[goal.kind]
            start: list[Span] = [(f" {glyph} ", style), (pad(cut(goal.name, room), room), ""), ("  ", "")]
            page.paragraph(*start, text=describe_goal(goal) or first_sentence(goal.title), indent=room + 5)
            for line in describe_details(goal):
                page.paragraph(" " * (room + 5), text=line, indent=room + 5, style="dim")
    if proposals := describe_proposals(night):
        page.line("")
        page.line((f"Proposed by agents ({len(proposals)})", "bold"))
        for line in proposals:
            page.paragraph("   ", text=line, indent=3)


def render_markdown(night: NightPage) -> str:
    parts = [f"# {describe_night(night)}", describe_totals(night), clean_markdown_line(describe_branch(night))]
    for heading, goals in night.groups:
        parts.append(f"## {heading}")
        for goal in goals:
            parts.append(f"### {clean_markdown_line(goal.name)}")
            parts.append(clean_markdown(goal.title))
            lines = [text for text in (describe_goal(goal), *describe_details(goal)) if text]
            parts.append("\n".join(f"- {clean_markdown_line(line)}" for line in lines))
    if proposals := describe_proposals(night):
        parts += ["## Proposed by agents", "\n".join(f"- {clean_markdown_line(line)}" for line in proposals)]
    return "\n\n".join(part for part in parts if part) + "\n"


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}table{border-collapse:collapse;width:100%}"
    "td{padding:.35rem .6rem .35rem 0;vertical-align:top;border-top:1px solid #ddd}td:first-child{white-space:nowrap;"
    "font-family:ui-monospace,monospace}small{color:#666;display:block}.proven{color:#177a3c}.given_up{color:#b3261e}"
    ".waiting,.not_proven{color:#8a5a00}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}"
    "td{border-color:#333}small{color:#999}.proven{color:#5bc27e}.given_up{color:#f2857c}.waiting,.not_proven{color:#e0b050}}"
)


def render_html(night: NightPage) -> str:
    """Render one HTML file that loads nothing and runs no scripts."""
    rows = []
    for heading, goals in night.groups:
        rows.append(f"<h2>{escape(heading)} ({len(goals)})</h2><table>")
        for goal in goals:
            small = "".join(f"<small>{_html(line)}</small>" for line in describe_details(goal))
            what = f"{_html(goal.title)}<small>{_html(describe_goal(goal))}</small>{small}"
            rows.append(f'<tr><td class="{goal.kind}">{_html(goal.name)}</td><td>{what}</td></tr>')
        rows.append("</table>")
    if proposals := describe_proposals(night):
        rows.append(f"<h2>Proposed by agents</h2>{''.join(f'<p>{_html(line)}</p>' for line in proposals)}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_html(night.name)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{_html(describe_night(night))}</h1><p>{_html(describe_totals(night))}</p><p>{_html(describe_branch(night))}</p>"
        f"{''.join(rows)}</body></html>\n"
    )


def _html(text: str) -> str:
    return escape(escape_text(text))


class _Goal:
    """A goal in progress: the view of its run, the time of its last event, and activities that have no event."""

    def __init__(self, run: str, at: float) -> None:
        self.view = RunView(run)
        self.at = at
        self.doing: dict[str, str] = {}

    def describe(self) -> str:
        busy = [task for task in self.view.tasks.values() if task.state not in SETTLED]
        said = [task.doing for task in busy if task.doing] or [*self.doing.values()] or ["preparing"]
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        return one_line(min(said, key=lambda what: what.startswith("waiting"))) + more


class NightDisplay:
    """Draws the goals in progress below the lines that stay. Without a terminal it writes only those lines."""

    def __init__(self, paper: TerminalOutput, clock: Callable[[], float] = time.time) -> None:
        self._paper = paper
        self._painter = Painter(paper)
        self._clock = clock
        self._goals: dict[str, _Goal] = {}
        """The goals in progress, by name."""

    def tell(self, line: Line) -> None:
        if self._paper.terminal:
            self._painter.keep([line])
        else:
            self._paper.line(*line)
            self._paper.flush()

    def listed(self, record: Record) -> None:
        """Process an event of the backlog: a goal begins or ends, or the branches are merged."""
        match record.event:
            case e.GoalTaken(run):
                self._goals.pop(record.task, None)  # The goal that began last is shown last.
                self._goals[record.task] = _Goal(run, record.at)
            case e.GoalSettled():
                self._goals.pop(record.task, None)
            case e.NightJoining(run):
                self._goals[TOGETHER] = _Goal(run, record.at)
            case e.NightJoined() | e.NightEnded():
                self._goals.clear()

    def recorded(self, record: Record) -> None:
        for goal in self._goals.values():
            if goal.view.name == record.run:
                goal.view.see(record)
                goal.at = record.at

    def doing(self, name: str, task: str, what: str) -> None:
        """Show what a goal's task is doing, if no event says so; `what` is empty when that has ended."""
        if goal := self._goals.get(name):
            goal.doing.pop(task, None)
            goal.doing |= {task: what} if what else {}

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Draw while the `with` block runs."""
        if not self._paper.terminal:
            yield
            return
        with draw_frames(self._paper, self._painter, self._frame):
            yield

    def _frame(self, width: int, height: int) -> list[Line]:
        now, goals = self._clock(), list(self._goals.items())
        shown = goals[: max(1, height // 2)]
        lines: list[Line] = [
            [
                ("● ", "cyan"),
                (name.removeprefix("@"), "bold"),
                (f"  {goal.describe()}", ""),
                (f"  {format_duration(now - goal.at)}", "dim"),
            ]
            for name, goal in shown
        ]
        left_out = len(goals) - len(shown)
        return [*lines, [(f"… and {left_out} more", "dim")]] if left_out else lines
