"""Where a run is shown while it runs: on a terminal, as lines, or as JSON for a program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from bough.core import events as e
from bough.interfaces.cli.options import print_json_line
from bough.interfaces.terminal.output import Line, make_output


class Display(Protocol):
    """Receives what happens."""

    def announce(self, lines: list[Line], more: bool = False) -> None:
        """What a person should know before it starts. `more`: further lines follow."""

    def seen(self, record: e.Record) -> None:
        """An event from before the run was resumed."""

    def recorded(self, record: e.Record) -> None: ...

    def progress(self, task: str, text: str) -> None: ...

    def notice(self, text: str) -> None: ...

    def doing(self, task: str, what: str) -> None:
        """What goes on for a task where no event says it; empty: no longer."""

    def waiting(self, text: str) -> None:
        """What the whole run waits for; empty: for nothing any longer."""

    def shown(self) -> AbstractContextManager[None]: ...

    def aside(self) -> AbstractContextManager[None]:
        """Leave the terminal to the person while they answer a question."""


class JsonDisplay:
    """One event per line, and nothing else on standard output. When the reader goes away, the run continues."""

    def __init__(self) -> None:
        self._gone = False

    def announce(self, lines: list[Line], more: bool = False) -> None:
        """The first event says it all."""

    def seen(self, record: e.Record) -> None:
        """Print nothing: only new events are printed, and `bough log --json` has the rest."""

    def recorded(self, record: e.Record) -> None:
        if self._gone:
            return
        try:
            print_json_line(record)
            sys.stdout.flush()
        except OSError:
            self._gone = True

    def progress(self, task: str, text: str) -> None:
        """Print nothing: this is no event."""

    def notice(self, text: str) -> None:
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)

    def doing(self, task: str, what: str) -> None:
        """Print nothing: this is no event."""

    def waiting(self, text: str) -> None:
        if text:
            self.notice(text)

    @contextmanager
    def shown(self) -> Iterator[None]:
        yield

    @contextmanager
    def aside(self) -> Iterator[None]:
        yield


def make_display(as_json: bool) -> Display:
    if as_json:
        return JsonDisplay()
    page = make_output()
    if page.terminal and page.in_front:
        from bough.interfaces.terminal.live_display import LiveDisplay

        return LiveDisplay(page)
    from bough.interfaces.terminal.plain_display import PlainDisplay

    return PlainDisplay(page)
