"""Shows `bough backlog run` (a night) on a terminal: lines about the backlog stay, and below them each goal in progress
shows its current activity."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from bough.core import events as e
from bough.core.backlog.state import TOGETHER
from bough.core.events import Record
from bough.core.tree.task_state import SETTLED
from bough.interfaces.terminal.live_display import Painter, draw_frames
from bough.interfaces.terminal.output import Line, TerminalOutput
from bough.views.formatting import format_duration, one_line
from bough.views.run_view import RunView


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
        """Write a line that stays."""
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
        """Process an event of a goal's run."""
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
