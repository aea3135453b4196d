"""What would the live tree cost if `rich` drew it? One frame of the same run, by bough and by rich.

Needs rich, which is no dependency of bough: install both into an environment of its own.

    python bench/terminal.py [--tasks 200] [--at-work 8]
    python bench/terminal.py --watch rich|bough      # draw until Ctrl-C, to resize the window and look
"""

import argparse
import asyncio
import io
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.interfaces.journals import started, task_events

from bough.core.events import AnyEvent, Record
from bough.core.ids import GOAL, RUN
from bough.core.tree.task_state import State
from bough.interfaces.terminal.live_display import LiveDisplay
from bough.interfaces.terminal.output import TerminalOutput, make_output
from bough.interfaces.terminal.run_tree import ICONS
from bough.views.formatting import format_duration
from bough.views.task_rows import describe_rounds, describe_standing, describe_task, list_rows
from bough.views.vocabulary import STATE_STYLES

FRAMES = 200
NOW = time.time()


class Window(io.StringIO):
    """A terminal of a fixed size that counts what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = self.writes = 0

    def write(self, text: str) -> int:
        self.bytes, self.writes = self.bytes + len(text.encode()), self.writes + 1
        return len(text)

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


class FixedOutput(TerminalOutput, frozen=True):
    @property
    def size(self) -> tuple[int, int]:
        return 120, 40


def make_events(tasks: int, at_work: int) -> list[Record]:
    """A run in the middle: most tasks completed, the last few in the middle of a round."""
    found: list[tuple[str, AnyEvent]] = [(RUN, started())]
    for number in range(tasks):
        phase, part = divmod(number - 1, 25)
        name = GOAL if number == 0 else f"phase-{phase}" + (f"/step-{part}" if part else "")
        events = task_events(name, 3)
        busy = number == 0 or number >= tasks - at_work
        found += [(name, event) for event in (events[:5] if busy else events)]
    return [Record(seq, "amber-heron", task, seq, NOW + seq / 1000, event) for seq, (task, event) in enumerate(found)]


def make_display(output: TerminalOutput, events: list[Record], clock: Callable[[], float] = time.time) -> LiveDisplay:
    display = LiveDisplay(output, clock)
    for record in events:
        display.recorded(record)
    return display


def make_tree(display: LiveDisplay) -> Any:
    """The same rows as a `rich.tree.Tree`."""
    from rich.text import Text
    from rich.tree import Tree

    nodes: dict[str, Any] = {}
    top: Any = None
    for row in list_rows(display._run):
        task = row.task
        label = Text.assemble(
            (f"{ICONS[task.state]} ", STATE_STYLES.get(task.state, "")),
            row.name,
            "  ",
            (describe_standing(task), STATE_STYLES.get(task.state, "")),
            f"  {describe_rounds(row)} rounds",
            (f"  {describe_task(task)}", "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )
        if task.doing and task.state is State.IN_PROGRESS:
            label.append(f"\n  {task.doing}  {format_duration(display._clock() - task.last_at)}")
        parent = nodes.get(task.path.rpartition("/")[0]) or nodes.get(GOAL)
        nodes[task.path] = parent.add(label) if parent is not None else (top := Tree(label))
    return top


def make_lines(display: LiveDisplay) -> Any:
    """The rows that bough chose and laid out, styled and written by rich."""
    from rich.console import Group
    from rich.text import Text

    lines = display._frame(119, 40)
    return Group(*(Text.assemble(*line, no_wrap=True, overflow="ellipsis") for line in lines))


def measure(name: str, draw: Callable[[], object], window: Window) -> None:
    draw()
    window.bytes = window.writes = 0
    took = []
    for _ in range(FRAMES):
        began = time.process_time()
        draw()
        took.append(time.process_time() - began)
    per_frame = f"{window.bytes / FRAMES:8,.0f} bytes {window.writes / FRAMES:5.1f} writes"
    print(f"{name:18} {min(took) * 1000:7.2f} ms best {statistics.median(took) * 1000:7.2f} ms median  {per_frame}")


def compare(tasks: int, at_work: int) -> None:
    from rich.console import Console
    from rich.live import Live

    events = make_events(tasks, at_work)
    window = Window()
    now = NOW + 60

    def tick() -> float:
        """A second passes between frames, so that every frame differs from the last."""
        nonlocal now
        now += 1.0
        return now

    display = make_display(FixedOutput(window, True, True), events, tick)
    measure("bough", lambda: display._painter.draw(display._frame), window)
    other = Window()
    console = Console(file=other, force_terminal=True, width=120, height=40, color_system="standard")
    live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    live.start()
    measure("rich, its own tree", lambda: live.update(make_tree(display), refresh=True), other)
    measure("rich, our rows", lambda: live.update(make_lines(display), refresh=True), other)
    live.stop()


async def watch(which: str, events: list[Record]) -> None:
    display = make_display(make_output(), events)
    if which == "bough":
        with display.shown():
            await asyncio.Event().wait()
    from rich.live import Live

    with Live(make_tree(display), auto_refresh=False, transient=True) as live:
        while True:
            live.update(make_tree(display), refresh=True)
            await asyncio.sleep(0.125)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--at-work", type=int, default=8)
    parser.add_argument("--watch", choices=("rich", "bough"))
    given = parser.parse_args()
    if given.watch:
        os.environ.setdefault("TERM", "xterm")
        asyncio.run(watch(given.watch, make_events(given.tasks, given.at_work)))
    else:
        compare(given.tasks, given.at_work)


if __name__ == "__main__":
    main()
