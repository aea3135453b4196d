"""Where a run is shown while it runs: on a terminal, as lines, or as JSON for a program."""

from __future__ import annotations

import sys
from contextlib import suppress

from bough.core import events as e
from bough.interfaces.cli.options import print_json_line
from bough.interfaces.terminal.output import Display, make_output


class JsonDisplay(Display):
    """One event per line, and nothing else on standard output: the first says it all, and `bough log --json` has those
    from before. When the reader goes away, the run continues."""

    def __init__(self) -> None:
        self._gone = False

    def recorded(self, record: e.Record) -> None:
        if self._gone:
            return
        try:
            print_json_line(record)
            sys.stdout.flush()
        except OSError:
            self._gone = True

    def notice(self, text: str) -> None:
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)

    def waiting(self, text: str) -> None:
        if text:
            self.notice(text)


def make_display(as_json: bool) -> Display:
    if as_json:
        return JsonDisplay()
    page = make_output()
    if page.terminal and page.in_front:
        from bough.interfaces.terminal.live_display import LiveDisplay

        return LiveDisplay(page)
    from bough.interfaces.terminal.plain_display import PlainDisplay

    return PlainDisplay(page)
