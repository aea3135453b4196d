"""The current activity of a live run, in a small file beside the journal, for observers in other processes.

The journal records only beginnings and ends, not each line of a check's output. The file is written at most once a
second, only after a change, and is removed when the run's process ends."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.stores.redacted import strike_secrets
from bough.app.choices import RunObserver
from bough.core.events import Record
from bough.core.textual.spelling import UNREADABLE
from bough.ports import Store
from bough.trust.files import Place

EVERY = 1.0
"""Seconds between two writes."""
LONGEST = 64_000
"""The most bytes of the file that are read."""
WIDTH = 300
"""The most characters of a line that are kept."""


class TaskActivity(Struct, frozen=True):
    what: str = ""
    """What the task is doing, if no event says so: `merging into goal`."""
    since: float = 0.0
    line: str = ""


def name_activity_file(run: str) -> str:
    return f"now-{run}.json"


def load_activity(home: Path, run: str) -> dict[str, TaskActivity]:
    """Load each task's activity; empty if there is none, or the run's process is on another machine."""
    try:
        return msgspec.json.decode(Place(home, name_activity_file(run)).read(LONGEST), type=dict[str, TaskActivity])
    except (OSError, *UNREADABLE):
        return {}


class ActivityFile:
    """Maintains the activity file of a run, and passes everything on to an observer in this process."""

    def __init__(self, home: Path, watch: RunObserver, store: Store) -> None:
        """`home`: the folder of the activity file. `store`: the journal; what it redacts is redacted here, too."""
        self._home = home
        self._store = store
        self._watch = watch
        self._run = ""
        self._tasks: dict[str, TaskActivity] = {}
        self._written: dict[str, TaskActivity] = {}
        self._timer: asyncio.TimerHandle | None = None

    def recorded(self, record: Record) -> None:
        if not self._run:
            self._run = record.run
            self._remove()  # A killed process may have left the file behind.
        if (known := self._tasks.get(record.task)) is not None and known.line:
            # Drop the stored line of output: it is older than this event.
            self._set(record.task, replace(known, line=""))
        self._watch.recorded(record)

    def doing(self, task: str, what: str) -> None:
        self._set(task, TaskActivity(what, time.time()))
        self._watch.doing(task, what)

    def progress(self, task: str, text: str) -> None:
        self._set(task, replace(self._tasks.get(task, TaskActivity()), line=text.strip().rpartition("\n")[2][-WIDTH:]))
        self._watch.progress(task, text)

    def _set(self, task: str, activity: TaskActivity) -> None:
        if activity.what or activity.line:
            self._tasks[task] = activity
        else:
            self._tasks.pop(task, None)
        if not self._tasks and self._written:
            self._write()  # Write at once, so that finished work is not shown for another second.
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY, self._write)

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._run or self._tasks == self._written:
            return
        self._written = dict(self._tasks)
        with suppress(OSError):  # The run itself reports a full disk or a removed project.
            if self._written:
                struck = {
                    task: replace(each, line=strike_secrets(self._store, each.line))
                    for task, each in self._written.items()
                }
                Place(self._home, name_activity_file(self._run)).write(msgspec.json.encode(struck), 0o600)
            else:
                self._remove()

    def _remove(self) -> None:
        (self._home / name_activity_file(self._run)).unlink(missing_ok=True)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._run:
            self._remove()
