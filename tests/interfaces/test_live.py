"""The live tree, seen through a terminal."""

import asyncio
import io
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core import events as e
from bough.core.backlog.entry import GoalReport
from bough.core.ids import GOAL, RUN
from bough.core.messages import Call
from bough.core.tree.task_state import State
from bough.interfaces.terminal import plain_display
from bough.interfaces.terminal.live_display import LiveDisplay, Painter
from bough.interfaces.terminal.night_page import NightDisplay
from bough.interfaces.terminal.output import Line, TerminalOutput, make_output
from bough.views.formatting import count_cells
from tests.interfaces.journals import started, task_events
from tests.interfaces.vt import Terminal


class Window(io.StringIO):
    """A stream that a terminal shows."""

    def __init__(self, columns: int, rows: int = 24) -> None:
        super().__init__()
        self.terminal = Terminal(columns)
        self.rows = rows

    def write(self, text: str) -> int:
        self.terminal.write(text)
        return len(text)


class SizedPaper(TerminalOutput, frozen=True):
    """Paper as wide as its window is now."""

    @property
    def size(self) -> tuple[int, int]:
        assert isinstance(self.stream, Window)
        return self.stream.terminal.columns, self.stream.rows


def on(window: Window, colour: bool = False) -> TerminalOutput:
    return SizedPaper(window, True, colour)


def frame(*rows: str) -> Sequence[Line]:
    return [[(row, "")] for row in rows]


@given(st.lists(st.lists(st.text("abc ", max_size=30), min_size=1, max_size=6), min_size=1, max_size=8))
def test_only_the_last_frame_is_there(frames: list[list[str]]) -> None:
    window = Window(24)
    window.write("before\n")
    painter = Painter(on(window))
    for rows in frames:
        painter.draw(lambda width, height, rows=rows: frame(*rows))  # type: ignore[misc]
    expected = [on(window).painted([(row, "")], 23) for row in frames[-1]]
    while expected and not expected[-1]:
        expected.pop()
    assert window.terminal.shown == ["before", *expected]
    painter.clear()
    window.write("after")
    assert window.terminal.shown == ["before", "after"]


def test_a_resized_terminal_keeps_no_trace_of_earlier_frames() -> None:
    window = Window(80)
    painter = Painter(on(window))
    painter.keep(frame("amber-heron", "what stays"))
    rows = ("a row that is nearly as wide as the window was when it was drawn at first", "short", "another " * 8)
    for columns, height in ((80, 24), (40, 24), (7, 24), (60, 4), (60, 24)):
        window.terminal.resize(columns)
        window.rows = height
        for late in ("", "late"):  # A terminal may be resized some time before it says so.
            painter.draw(lambda width, height, late=late: frame(late or "x", *rows))  # type: ignore[misc]
        shown = window.terminal.shown
        above = [row for row in shown if row.startswith(("amber", "what"))]
        assert len(shown) == len(above) + 1 + len(rows), shown
        assert len(above) == (2 if height > 4 else 0), "what stays is there, as far as there is room"
        assert all(len(row) < columns for row in shown)
    window.terminal.resize(30)
    painter.clear()
    assert window.terminal.shown == ["amber-heron", "what stays"]


def test_an_unchanged_frame_is_not_written_again() -> None:
    window = Window(40)
    painter = Painter(on(window))
    painter.draw(lambda width, height: frame("the same"))
    window.terminal.write = lambda text: (_ for _ in ()).throw(AssertionError(text))  # type: ignore[method-assign]
    painter.draw(lambda width, height: frame("the same"))


def display_of(records: Sequence[e.Record], window: Window, now: float = 100.0) -> LiveDisplay:
    display = LiveDisplay(on(window), clock=lambda: now)
    for record in records:
        display.recorded(record)
    return display


def records(task: str, events: Sequence[e.AnyEvent], at: float = 90.0) -> list[e.Record]:
    return [e.Record(n, "amber-heron", task, n, at + n / 100, event) for n, event in enumerate(events, 1)]


def drawn(display: LiveDisplay, width: int, height: int) -> list[str]:
    return ["".join(text for text, _ in line) for line in display._frame(width, height)]


def test_it_says_what_the_task_is_doing() -> None:
    begun = task_events(GOAL, 0)[:4]
    call = Call("c", "bash", '{"command": "pytest -q\\n"}')
    display = display_of([*records(RUN, [started()]), *records(GOAL, [*begun, e.RoundStarted()])], Window(80))
    display.progress(GOAL, "I think ")
    display.progress(GOAL, "it is the sign")
    assert "● goal  in progress  1/40 rounds" in drawn(display, 79, 24)
    thinking = drawn(display, 79, 24)[2]
    assert thinking.startswith("  thinking… 22 characters  ")
    assert drawn(display, 79, 24)[3].strip() == "I think it is the sign"

    answered = e.ModelAnswered("", (call,), "calls")
    for record in records(GOAL, [*begun, e.RoundStarted(), answered, e.ToolStarted("c", True)])[-2:]:
        display.recorded(record)
    display.progress(GOAL, "3 passed \x1b[2J")
    lines = drawn(display, 79, 24)
    assert lines[2].startswith("  bash pytest -q  ")
    assert lines[3].strip() == "3 passed"
    assert lines[-1].endswith("round 1: bash pytest -q")


def test_no_frame_is_larger_than_the_terminal() -> None:
    journal = [*records(RUN, [started("A goal with a long name " * 9)])]
    for number in range(60):
        name = GOAL if number == 0 else f"task-{number % 12}/part-{number}"
        ends = None if number % 3 else -6
        journal += records(name, task_events(name, 2)[:ends])
    display = display_of(journal, Window(80))
    display.notice("Stopping after the current effect.")
    for width in (79, 39, 19, 5):
        for height in (30, 24, 10, 4):
            lines = display._frame(width, height)
            assert len(lines) <= height
            painted = [on(Window(width)).painted(line, width) for line in lines]
            assert all(count_cells(row) <= width for row in painted)
    few = drawn(display, 79, 10)
    assert few[1].startswith(("✔ goal", "● goal"))
    assert any("more" in line for line in few)
    assert few[-1].startswith("Stopping")


def test_a_closed_terminal_does_no_harm() -> None:
    class ClosedWindow(Window):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    display = display_of(records(RUN, [started()]), ClosedWindow(80))
    display.announce([[("hello", "")]])
    display.notice("still here")


def test_a_settled_task_shows_no_activity() -> None:
    display = display_of([*records(RUN, [started()]), *records(GOAL, task_events(GOAL, 1, State.FAILED))], Window(80))
    assert drawn(display, 79, 8)[1:] == ["✘ goal  failed  1/40 rounds"]


def test_a_lower_window_does_not_scroll_the_frame_away() -> None:
    window = Window(40)
    painter = Painter(on(window))
    painter.draw(lambda width, height: frame(*(f"row {n}" for n in range(20))))
    window.rows = 6
    written: list[str] = []
    window.terminal.write = written.append  # type: ignore[method-assign, assignment]
    painter.draw(lambda width, height: frame("a", "b"))
    assert written == ["\x1b[H\x1b[Ja\nb"]


def test_nothing_is_drawn_from_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(40)
    monkeypatch.setattr(SizedPaper, "in_front", False)
    Painter(on(window)).draw(lambda width, height: frame("not yours"))
    assert window.terminal.shown == []


def test_what_no_event_says_is_shown_with_its_time_and_its_last_line() -> None:
    now = 100.0
    display = LiveDisplay(on(Window(80, 24)), clock=lambda: now)
    display.doing("goal", "checking your files as they are")
    display.progress("goal", "collecting …\n")
    now = 112.0
    before = "\n".join(drawn(display, 79, 23))
    assert "checking your files as they are  12 s" in before and "collecting …" in before
    for record in records("goal", task_events("goal", 1)):
        display.recorded(record)
    display.doing("goal", "merging into goal")
    display.waiting("Waiting: no worker has taken tasks since 12:00:00: start one with `bough worker`")
    now = 130.0
    shown = "\n".join(drawn(display, 79, 23))
    assert "merging into goal  18 s" in shown or "thinking" in shown
    assert "no worker has taken tasks since 12:00:00" in shown
    display.doing("goal", "")
    display.waiting("")
    assert "merging" not in "\n".join(drawn(display, 79, 23))


def test_a_log_says_what_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_display, "SILENCE", 0.05)
    heard = asyncio.Event()

    class Paper(io.StringIO):
        def write(self, text: str) -> int:
            if "still" in text:
                heard.set()
            return super().write(text)

    written = Paper()
    display = plain_display.PlainDisplay(make_output(written))

    async def main() -> None:
        with display.shown():
            display.doing("goal", "merging into goal")
            display.progress("goal", "running 3 of 9\n")
            await heard.wait()
            display.doing("goal", "")
            display.waiting("Waiting: no worker")
            display.waiting("Waiting: no worker")
            display.waiting("")

    asyncio.run(asyncio.wait_for(main(), 240))
    said = written.getvalue()
    assert re.search(r"goal: still merging into goal, for .*: running 3 of 9", said)
    assert said.count("Waiting: no worker") == 1 and "no longer waiting" in said


def test_a_night_says_what_each_goal_is_doing_below_what_happened() -> None:
    window, now = Window(80), 130.0
    display = NightDisplay(on(window), clock=lambda: now)

    def show() -> list[str]:
        display._painter.draw(display._frame)
        return window.terminal.shown

    display.tell([("the night begins with 2 goals", "")])
    display.listed(e.Record(1, "@backlog", "totals", 1, 100.0, e.GoalTaken("amber-heron", "b" * 40)))
    display.listed(e.Record(2, "@backlog", "names", 1, 100.0, e.GoalTaken("slate-wren", "b" * 40)))
    events = [started(), *task_events(GOAL, 1, State.IN_PROGRESS)]
    for version, event in enumerate(events[:6], 1):
        task = RUN if version == 1 else GOAL
        display.recorded(e.Record(version + 2, "amber-heron", task, version, 120.0, event))
    display.doing("names", GOAL, "running the base check")
    assert show() == [
        "the night begins with 2 goals",
        "● totals  thinking  10 s",
        "● names  running the base check  30 s",
    ]
    display.listed(e.Record(9, "@backlog", "totals", 2, 121.0, e.GoalSettled(GoalReport("completed"))))
    display.tell([("totals: completed", "")])
    assert show() == ["the night begins with 2 goals", "totals: completed", "● names  running the base check  30 s"]
