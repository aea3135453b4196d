"""A run as lines, for logs, pipes and terminals that cannot be drawn on: one line per notable event."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from bough.core.events import Record
from bough.interfaces.terminal.event_lines import Teller, format_line
from bough.interfaces.terminal.formatting import one_line
from bough.interfaces.terminal.output import Line, TerminalOutput


class PlainDisplay:
    """Writes a run's news. If the reader goes away, it falls silent; the run continues."""

    def __init__(self, paper: TerminalOutput) -> None:
        self._paper = paper
        self._teller = Teller()
        self._gone = False
        self._waiting = ""

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
        """Lines are written after something happens, not while it happens."""

    def notice(self, text: str) -> None:
        self._say(text)

    def waiting(self, text: str) -> None:
        if text != self._waiting:
            self._say(f"{time.strftime('%H:%M:%S')}  {one_line(text) or 'no longer waiting'}")
        self._waiting = text

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        yield

    def _say(self, text: str) -> None:
        if self._gone:
            return
        try:
            self._paper.write(text + "\n")
            self._paper.flush()
        except OSError:
            self._gone = True
