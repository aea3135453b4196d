"""Shows a run as one line per notable event, for logs, pipes and terminals that cannot be drawn on; and a task's
conversation: the agent's messages, answers, tool calls and results."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

from bough.core import events as e
from bough.core.events import Record
from bough.core.textual.cleaning import escape_text
from bough.interfaces.terminal.output import Display, Line, TerminalOutput, format_line
from bough.views.event_lines import EventFormatter
from bough.views.formatting import first_line, format_duration, last_line, one_line
from bough.views.task_events import describe_answer

SILENCE = 4.5
"""Seconds without a line after which the running work is named; each further silence may be twice as long."""
LONGEST_SILENCE = 60.0


class PlainDisplay(Display):
    """Writes a run's news. If the reader goes away, it stops writing, and the run continues."""

    def __init__(self, paper: TerminalOutput) -> None:
        self._paper = paper
        self._teller = EventFormatter()
        self._waiting = ""
        self._doing: dict[str, tuple[str, float]] = {}
        self._lines: dict[str, str] = {}
        """The last line of output, by task."""
        self._spoke = time.monotonic()

    def announce(self, lines: list[Line], more: bool = False) -> None:
        for entry in lines:
            self._say(self._paper.painted(entry, self._paper.width))
        if not more:
            self._say("")

    def seen(self, record: Record) -> None:
        self._teller.tell(record)

    def recorded(self, record: Record) -> None:
        if told := self._teller.news(record):
            self._say(self._paper.painted(format_line(record, told), self._paper.width))

    def progress(self, task: str, text: str) -> None:
        if line := last_line(text):
            self._lines[task] = line

    def doing(self, task: str, what: str) -> None:
        self._lines.pop(task, None)
        if what:
            self._doing[task] = (what, time.monotonic())
        else:
            self._doing.pop(task, None)

    def notice(self, text: str) -> None:
        self._say(text)

    def waiting(self, text: str) -> None:
        if text != self._waiting:
            self._say(f"{time.strftime('%H:%M:%S')}  {one_line(text) or 'no longer waiting'}")
        self._waiting = text

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Write lines after events and, during long work, now and then."""
        telling = asyncio.get_running_loop().create_task(self._tell_silences())
        try:
            yield
        finally:
            telling.cancel()

    async def _tell_silences(self) -> None:
        pause, spoke = SILENCE, self._spoke
        while True:
            await asyncio.sleep(max(0.1, self._spoke + pause - time.monotonic()))
            if spoke != self._spoke:  # A line was written meanwhile.
                pause, spoke = SILENCE, self._spoke
            if time.monotonic() - self._spoke < pause or not self._doing:
                continue
            now = time.monotonic()
            for task, (what, since) in list(self._doing.items()):
                tail = f": {self._lines[task]}" if task in self._lines else ""
                told = f"{task}: still {what}, for {format_duration(now - since)}{tail}"
                self._say(f"{time.strftime('%H:%M:%S')}  {one_line(told)}"[: self._paper.width])
            pause, spoke = min(2 * pause, LONGEST_SILENCE), self._spoke

    def _say(self, text: str) -> None:
        self._spoke = time.monotonic()
        self._paper.put(text + "\n")


MARGIN = "    "


class Conversation:
    """Prints each event that is part of a conversation, with its whole text."""

    def __init__(self, page: TerminalOutput) -> None:
        self._page = page
        self._teller = EventFormatter()

    def tell(self, record: e.Record) -> None:
        words, style = self._teller.tell(record)
        match record.event:
            case e.AttemptStarted(system=system, brief=brief):
                self._print(record, f"{words}, with this prompt:", style, system, brief)
            case e.ModelAnswered() as event:
                head = f"round {self._teller.round(record.task)}: {describe_answer(event)}:"
                self._print(record, head, style, event.text)
                for call in event.calls:
                    self._page.text(f"{MARGIN}→ {one_line(call.name)} {escape_text(call.arguments)}", "cyan")
            case (
                e.ToolFinished(output=text) | e.MessageAdded(text=text) | e.HelperAnswered(text=text) | e.Reported(text)
            ):
                # The whole text follows, so the line above it need not quote it.
                head = words.removesuffix(first_line(text)).removesuffix(last_line(text)).rstrip()
                self._print(record, head, style, text)
            case e.CheckFinished(verdict=verdict):
                self._print(record, words, style, verdict.output)
            case e.StateChanged() | e.SignalRaised() | e.Escalated() | e.Planned() | e.PlanRefused():
                self._print(record, words, style)
            case e.ContextPruned() | e.PersonAnswered() | e.ModelFailed() | e.TaskRewound():
                self._print(record, words, style)

    def _print(self, record: e.Record, head: str, style: str, *bodies: str) -> None:
        self._page.line(*format_line(record, (head, style)))
        for text in bodies:
            for line in escape_text(text).strip("\n").splitlines():
                self._page.text(MARGIN + line)
