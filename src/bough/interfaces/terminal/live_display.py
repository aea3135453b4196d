"""Draws a run's tree and its current activity in place on a terminal.

A frame is written at once, and only if something changed, so that nothing flickers. No row is ever wider than the
terminal. After a resize, which wraps and moves old rows unpredictably, the screen is redrawn. A terminal that goes away
does not disturb the run. At the end, even after an error, the frame is removed and the cursor restored.
"""

import asyncio
import contextlib
import os
import signal
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from bough.core.events import Record
from bough.core.ids import GOAL
from bough.core.tree.task_state import SETTLED, State
from bough.interfaces.terminal.output import Display, Line, Span, TerminalOutput, format_line
from bough.interfaces.terminal.run_tree import render_name
from bough.views import formatting as f
from bough.views import task_rows
from bough.views.event_lines import EventFormatter
from bough.views.run_view import RunView
from bough.views.vocabulary import STATE_STYLES

REFRESH = 0.125
"""Seconds between frames."""
RECENT = 4
"""The most lines of news that are shown under the tree."""

HIDE, SHOW, ERASE, ERASE_REST, ERASE_SCREEN = "\x1b[?25l", "\x1b[?25h", "\x1b[2K", "\x1b[K", "\x1b[H\x1b[J"


Frame = Callable[[int, int], Sequence[Line]]
"""A function that returns the lines of a frame which fits into the given columns and rows."""


class Painter:
    """Redraws a frame in place, below the earlier output."""

    def __init__(self, paper: TerminalOutput) -> None:
        self._paper = paper
        self._bare = replace(paper, colour=False)
        self._rows: list[str] = []
        self._size = (0, 0)
        self._above: list[Line] = []
        """The lines above the frame, which are written again when the screen is redrawn."""

    def keep(self, lines: Sequence[Line]) -> None:
        """Write lines that stay above the frame."""
        self.clear()
        self._above += lines
        self._paper.put(self._kept(lines))

    def _kept(self, lines: Sequence[Line]) -> str:
        return "".join(self._paper.painted(line, self._paper.width - 1) + "\n" for line in lines)

    def draw(self, frame: Frame) -> None:
        """Get a frame that fits the terminal from `frame`, and show it."""
        if not self._paper.in_front:
            return
        columns, height = self._paper.size
        # The last column stays free: a row that fills it would wrap on some terminals and not on others.
        lines = frame(columns - 1, height)[:height]
        painted = [self._paper.painted(line, columns - 1) for line in lines]
        widths = [f.count_cells(self._bare.painted(line, columns - 1)) for line in lines]
        same = self._size == (columns, height)
        if same and painted == self._rows:
            return
        if same and self._rows:
            there = min(len(self._rows), height)  # The cursor cannot reach rows above the window.
            fewer = there - len(painted)
            written = (
                "\r" + (f"\x1b[{there - 1}A" if there > 1 else "") + "\n".join(row + ERASE_REST for row in painted)
            )
            if fewer > 0:
                written += f"\n{ERASE}" * fewer + f"\x1b[{fewer}A\x1b[{widths[-1] + 1}G"
        else:
            written = self._make_clearing(columns, height, len(painted)) + "\n".join(painted)
        self._rows, self._size = painted, (columns, height)
        self._paper.put(written)

    def clear(self) -> None:
        """Remove the frame; the next output takes its place."""
        self._paper.put(self._make_clearing(*self._paper.size))
        self._rows, self._size = [], (0, 0)

    def _make_clearing(self, columns: int, height: int, needed: int = 0) -> str:
        """Return the control codes that clear the frame. `needed`: how many rows the next frame has."""
        if not self._rows:
            return ""
        if self._size != (columns, height):
            # A resize may wrap the old frame into more rows, some of them above the window, and is reported late. So we
            # do not know where the frame begins: erase the whole screen.
            room = max(0, height - 1 - needed)
            return ERASE_SCREEN + self._kept(self._above[-room:] if room else ())
        # Erase row by row: some terminals save the rows to the scrollback if the whole screen is erased at once.
        return "\r" + ERASE + f"\x1b[1A{ERASE}" * (min(len(self._rows), height) - 1)


class LiveDisplay(Display):
    """Shows a run on a terminal while it runs."""

    def __init__(self, paper: TerminalOutput, clock: Callable[[], float] = time.time) -> None:
        self._painter = Painter(paper)
        self._paper = paper
        self._clock = clock
        self._run = RunView("")
        self._teller = EventFormatter()
        self._recent: deque[tuple[Record, tuple[str, str]]] = deque(maxlen=RECENT)
        self._streams: dict[str, _Stream] = {}
        self._doing: dict[str, tuple[str, _Stream]] = {}
        """The activities that no event describes, each with the output since it began, by task."""
        self._notice = self._waiting = ""
        self._asking = False
        self._echo: Callable[[bool], None] = lambda on: None

    def announce(self, lines: list[Line], more: bool = False) -> None:
        self._painter.keep(lines if more else [*lines, []])

    def seen(self, record: Record) -> None:
        """Process an event from before the run was resumed: it changes the tree, but is not shown as news."""
        self._run.see(record)
        self._teller.tell(record)

    def recorded(self, record: Record) -> None:
        self._run.name = record.run
        self._run.see(record)
        self._streams[record.task] = _Stream(record.at)
        if told := self._teller.news(record):
            self._recent.append((record, told))

    def progress(self, task: str, text: str) -> None:
        thinking = task in self._run.tasks and self._run.tasks[task].doing == "thinking"
        self._streams.setdefault(task, _Stream(self._clock())).add(text, thinking)
        if task in self._doing:
            self._doing[task][1].add(text, False)

    def notice(self, text: str) -> None:
        """Show a message that stays until the run ends."""
        self._notice = text
        if not self._asking:
            self._painter.draw(self._frame)

    def doing(self, task: str, what: str) -> None:
        if what:
            self._doing[task] = (what, _Stream(self._clock()))
        else:
            self._doing.pop(task, None)

    def waiting(self, text: str) -> None:
        self._waiting = f.one_line(text)

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Draw while the `with` block runs."""
        with draw_frames(self._paper, self._painter, self._frame, lambda: not self._asking) as self._echo:
            yield

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the terminal to the person while they answer a question."""
        self._asking = True
        self._painter.clear()
        self._echo(True)
        try:
            yield
        finally:
            self._echo(False)
            self._asking = False

    def _frame(self, width: int, height: int) -> list[Line]:
        now = self._clock()
        bottom: list[Line] = [[(said, "yellow")] for said in (self._waiting, self._notice) if said]
        room = height - 1 - len(bottom)
        tree = self._render_tree(width, room, now)
        news = [format_line(record, told) for record, told in self._recent] if height >= 12 else []
        news = news[-min(len(news), max(0, room - len(tree) - 1)) :] if room - len(tree) > 1 else []
        spaced: list[Line] = (
            [[], *([(text, style or "dim") for text, style in entry] for entry in news)] if news else []
        )
        words = f"{f.format_duration(self._run.elapsed(now))} · {f.format_usage(self._run.spend)}"
        summary: Line = [(f.one_line(self._run.name) or "bough", "bold"), (f"  {words}", "")]
        return [summary, *tree, *spaced, *bottom]

    def _render_tree(self, width: int, room: int, now: float) -> list[Line]:
        """Render the most important tasks that fit into `room` lines: active ones first, then the latest changed."""
        drawn = task_rows.list_rows(self._run)
        if not drawn:
            what, stream = self._doing.get(GOAL, ("preparing", _Stream(now)))
            return [[("○ ", "dim"), *stream.doing(what, now, width - 2)], *stream.tail("  ")]
        blocks = [self._render_block(row, width, now) for row in drawn]
        shown = _choose_rows(drawn, blocks, room)
        lines: list[Line] = [line for number in sorted(shown) for line in blocks[number]]
        left_out = len(drawn) - len(shown)
        return [*lines, [(f"… and {left_out} more", "dim")]] if left_out else lines

    def _render_block(self, row: task_rows.TaskRow, width: int, now: float) -> list[Line]:
        task = row.task
        waiting = task.state in SETTLED or task.state is State.PENDING
        style = STATE_STYLES.get(task.state, "")
        first = [*render_name(row, min(width, 40)), ("  ", ""), (task_rows.describe_standing(task), style)]
        if task.worker:
            first.append((f"  on {f.one_line(task.worker)}", ""))
        if task.started_at:
            first.append((f"  {task_rows.describe_rounds(row)} rounds", ""))
            if row.subtree.cost and not row.leaf:
                first.append((f"  {f.format_cost(row.subtree)} total, {f.format_cost(row.spend)} own", "dim"))
        if task.path != GOAL:
            first.append((f"  {task_rows.describe_task(task)}", "dim"))
        bar = row.prefix.replace("├─ ", "│  ").replace("└─ ", "   ") + "  "
        said = task_rows.describe_trouble(task)
        stuck: list[Line] = [[(bar, "dim"), (said, "yellow")]] if said else []
        what, stream = self._doing.get(task.path, ("", _Stream(now)))
        if task.doing and not waiting:  # The activity from an event says more.
            what, stream = task.doing, self._streams.get(task.path) or _Stream(now)
        if not what:
            return [first, *stuck]
        activity = [(bar, "dim"), *stream.doing(what, now, width - f.count_cells(bar))]
        return [first, *stuck, activity, *stream.tail(bar + "  ")]


def _choose_rows(drawn: list[task_rows.TaskRow], blocks: list[list[Line]], room: int) -> set[int]:
    """Choose the rows to show: all if they fit; else the goal, then active ones, then the most recently changed."""
    if sum(map(len, blocks)) <= room:
        return set(range(len(drawn)))
    order = sorted(
        range(len(drawn)), key=lambda n: (drawn[n].task.path != GOAL, len(blocks[n]) == 1, -drawn[n].task.last_at, n)
    )
    chosen: set[int] = set()
    taken = 1  # One line says how many rows are hidden.
    for number in order:
        if taken + len(blocks[number]) <= room:
            chosen.add(number)
            taken += len(blocks[number])
    return chosen


class _Stream:
    """The output since a task's last event: text from the model, or lines from a command."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._characters = 0
        self._text = ""

    def add(self, text: str, thinking: bool) -> None:
        self._characters += len(text)
        self._text = (self._text + text)[-400:] if thinking else text[-400:]

    def doing(self, words: str, now: float, room: int) -> list[Span]:
        took = f"  {f.format_duration(now - self._since)}"
        if words == "thinking":
            arrived = f" {f.format_count(self._characters)} characters" if self._characters else ""
            words, took = "thinking…", arrived + took
        return [(f.cut(f.one_line(words), max(room - f.count_cells(took), 8)), ""), (took, "dim")]

    def tail(self, bar: str) -> list[Line]:
        """Render the last line of the output, if there is any."""
        tail = f.last_line(self._text)
        return [[(bar + tail, "dim")]] if tail else []


@contextlib.contextmanager
def draw_frames(
    paper: TerminalOutput, painter: Painter, frame: Frame, wanted: Callable[[], bool] = lambda: True
) -> Iterator[Callable[[bool], None]]:
    """Draw frames while the `with` block runs and `wanted` is true. The cursor and typed text are hidden until the end,
    except while the process is suspended (Ctrl-Z); the yielded function shows (True) and hides (False) them."""
    terminal = paper.stream.fileno()
    before = termios.tcgetattr(terminal)

    def echo(on: bool) -> None:
        if not paper.in_front:
            return  # The kernel would stop a background process that changes the terminal.
        modes = before if on else [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        with contextlib.suppress(termios.error):
            termios.tcsetattr(terminal, termios.TCSANOW, modes)
        paper.put(SHOW if on else HIDE)

    def suspend() -> None:
        painter.clear()
        echo(True)
        os.kill(os.getpid(), signal.SIGSTOP)
        echo(False)

    async def draw() -> None:
        while True:
            if wanted():
                painter.draw(frame)
            await asyncio.sleep(REFRESH)

    loop = asyncio.get_running_loop()
    echo(False)
    loop.add_signal_handler(signal.SIGTSTP, suspend)
    drawing = loop.create_task(draw())
    try:
        yield echo
    finally:
        drawing.cancel()
        painter.clear()
        loop.remove_signal_handler(signal.SIGTSTP)
        echo(True)
