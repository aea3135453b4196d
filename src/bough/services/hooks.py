"""Calls the person's hooks: commands from their own settings that bough starts on events.

A separate process delivers the notices, so that they outlive the run; a run only wakes it through a pipe. After each
notice, the progress of each stream (a run or a backlog) is saved in the person's state folder: if the process is
killed, a notice may be repeated, with the same id, but none is lost. Only the process that starts or resumes a run, or
works through a backlog, reports its events; workers do not."""

import asyncio
import fcntl
import hashlib
import logging
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from bough.adapters.state_folder import find_state_folder, make_state_folder
from bough.app import config
from bough.app.journal import Journal
from bough.app.journal_location import find_address
from bough.core import events as e
from bough.core.backlog.state import fold_backlog, make_stream
from bough.core.errors import BoughError, UsageError
from bough.core.ids import BACKLOG, CONTROL
from bough.core.settings.sections import Command, HookSettings
from bough.core.textual.spelling import UNREADABLE
from bough.services.notices import STARTED, TOLD, Link, Notice, list_notices, sum_up
from bough.trust.files import Place
from bough.trust.handles import OpenHandle
from bough.trust.programs import run_hook, start_own
from bough.views.formatting import cut, last_line

EVENTS = ("run_finished", "given_up", "budget", "needs_you", "backlog_finished")
BEFORE = ("before_apply", "before_push")
REFUSED = 2
"""The exit status by which a `before_*` hook refuses."""
LOOK = 5.0
"""Seconds between two reads of a journal that other machines write to."""
LOG = 1_000_000
"""The most bytes of the log of hooks. When it is full, the newer half is kept."""


class HookCall(Struct, frozen=True):
    at: float
    id: str
    event: str
    command: Command
    status: int | None
    """The exit status; None if the hook was killed at its time limit."""
    seconds: float = 0.0
    out: str = ""
    err: str = ""

    @property
    def failure(self) -> str:
        """Return a phrase about the failure; empty if the hook succeeded."""
        if self.status is None:
            return f"did not end within {self.seconds:.0f} s and was killed"
        why = f" ({cut(last_line(self.err), 200)})" if self.err.strip() else ""
        return f"ended with status {self.status}{why}" if self.status else ""


def find_next_moment(clock: str, now: float) -> float:
    """Return the next moment at which it is this time of day (`07:00`)."""
    at, today = time.strptime(clock, "%H:%M"), time.localtime(now)
    days = (time.mktime((*today[:2], today[2] + d, at.tm_hour, at.tm_min, 0, 0, 0, -1)) for d in range(3))
    return next(moment for moment in days if moment > now)


def find_quiet_end(hours: str, now: float) -> float:
    """Return when the quiet hours (`22:00-07:00`) end; 0 if they do not apply now."""
    if not hours:
        return 0.0
    begin, end = (find_next_moment(clock, now) for clock in hours.split("-"))
    return end if end < begin else 0.0


class Outbox:
    """Stores up to which event each stream (a run or a backlog) of a project has been reported to hooks."""

    def __init__(self, root: Path, env: Mapping[str, str] = os.environ) -> None:
        name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
        self._env, self.folder = env, find_state_folder(env) / "hooks" / name

    def load(self) -> dict[str, tuple[int, int]]:
        """Load the streams, each with the last event reported, and how often a process began to follow it."""
        try:
            return msgspec.json.decode(Place(self.folder, "told.json").read(), type=dict[str, tuple[int, int]])
        except FileNotFoundError:
            return {}
        except (OSError, *UNREADABLE) as error:
            raise BoughError(f"{self.folder / 'told.json'} cannot be read ({error}): remove it.") from None

    def follow(self, stream: str, seq: int) -> bool:
        """Follow a stream from this event on. Return True if earlier events may not have been reported yet."""
        with self._changing() as known:
            since, times = known.get(stream, (seq, 0))
            known[stream] = since, times + 1
            return len(known) > 1 or times > 0

    def advance(self, stream: str, seq: int) -> None:
        with self._changing() as known:
            if stream in known:
                known[stream] = max(seq, known[stream][0]), known[stream][1]

    def forget(self, stream: str, times: int) -> None:
        """Stop following a stream, unless another process has begun to follow it since."""
        with self._changing() as known:
            if known.get(stream, (0, 0))[1] == times:
                del known[stream]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, tuple[int, int]]]:
        with self.lock("told"):
            known = self.load()
            yield known
            Place(self.folder, "told.json").write(msgspec.json.encode(known), 0o600)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        make_state_folder(self._env)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with OpenHandle(os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def log(self, call: HookCall) -> None:
        with self.lock("log"):
            place = Place(self.folder, "log.jsonl")
            known = place.read(LOG) if place.is_regular() else b""
            if len(known) >= LOG:
                known = known[LOG // 2 :].partition(b"\n")[2]
            place.write(known + msgspec.json.encode(call) + b"\n", 0o600)

    def read_log(self) -> list[HookCall]:
        """Read the logged calls, oldest first."""
        with suppress(OSError, *UNREADABLE):
            lines = Place(self.folder, "log.jsonl").read(LOG).splitlines()
            return [msgspec.json.decode(line, type=HookCall) for line in lines]
        return []


class Herald:
    """Wakes the process that calls the hooks, and starts it when the first notice is due."""

    def __init__(self, root: Path, hooks: HookSettings) -> None:
        self._root = root
        self._wanted = any(getattr(hooks, name) for name in ("notify", *EVENTS))
        self._pipe: int | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def observe(self, recorded: Callable[[e.Record], None]) -> Callable[[e.Record], None]:
        """Return a function that calls `recorded` and also reports the event to the hooks."""

        def seen(record: e.Record) -> None:
            recorded(record)
            self.hear(record)

        return seen

    def hear(self, record: e.Record) -> None:
        kind = type(record.event)
        if not self._wanted or not (kind in TOLD or kind in STARTED):
            return
        try:
            if kind in TOLD or Outbox(self._root).follow(record.run, record.seq) or find_address(self._root):
                self._wake()
        except (OSError, BoughError) as error:  # The run continues without hooks.
            logging.getLogger("bough").warning("bough: your hooks are not called: %s", error)
            self._wanted = False

    def _wake(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self._drop()
        if self._pipe is None:
            reads, self._pipe = os.pipe()
            os.set_blocking(self._pipe, False)
            with OpenHandle(reads), OpenHandle(os.open(os.devnull, os.O_RDWR)) as nothing:
                words = ("hooks", "deliver", "--dir", str(self._root))
                self._process = start_own(self._root, *words, out=nothing, err=nothing, feed=reads)
        # A full pipe: the process is awake already. A broken one: it ended, and the next event starts another.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._pipe, b"\n")

    def _drop(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None

    def close(self) -> None:
        """Close the pipe without waiting for hooks. The delivering process ends when everything is delivered."""
        self._drop()
        if self._process is not None:
            self._process.poll()
            # Avoid Python's warning that the child process still runs.
            self._process.returncode = self._process.returncode or 0


def call_hook(outbox: Outbox, root: Path, command: Command, notice: Notice, timeout: float) -> HookCall:
    began, event = time.time(), notice.hook_event_name
    own = {"BOUGH_EVENT": event, "BOUGH_MESSAGE": notice.message}
    try:
        said = run_hook(command, project=root, feed=msgspec.json.encode(notice), own=own, timeout=timeout)
    except (OSError, ValueError) as error:  # The command is missing, may not be run, or has a NUL in its name.
        said = 127, "", str(getattr(error, "strerror", None) or error)
    made = HookCall(began, notice.id, event, command, said[0], time.time() - began, *said[1:])
    outbox.log(made)
    return made


class NoticeDelivery:
    """Calls the hooks for the events of a project's runs and backlogs."""

    def __init__(self, journal: Journal, link: Link, env: Mapping[str, str] = os.environ) -> None:
        self._journal, self._link, self._env = journal, link, env
        self._outbox = Outbox(journal.root, env)
        self._failing: set[str] = set()

    async def run(self, feed: int) -> None:
        """Deliver notices whenever something is written to the pipe `feed`, until it is closed and nothing is left."""
        shared, open_ = bool(find_address(self._journal.root)), True
        while True:
            later = await self.drain(over=not open_)
            if not open_ and not later:
                return
            if open_:
                open_ = await asyncio.to_thread(_wait, feed, LOOK if shared or later else None)
            else:
                await asyncio.sleep(min(60.0, max(0.0, later - time.time())))

    async def drain(self, *, over: bool = True) -> float:
        """Deliver all pending notices. During quiet hours, deliver none and return when they end; otherwise return 0.
        `over`: the process that works on the backlog has ended, so its digest is due."""
        hooks = config.load_hooks(self._env)
        if later := find_quiet_end(hooks.quiet, time.time()):
            return later
        with self._outbox.lock("deliver"):
            found: list[tuple[int, str, Notice]] = []
            done: list[tuple[str, int]] = []
            for stream, (since, times) in self._outbox.load().items():
                ended, night = await self._look(stream)
                if hooks.digest and night and not over:
                    continue
                notices = await list_notices(self._journal, stream, since, self._link)
                found += [(seq, stream, notice) for seq, notice in notices]
                done += [(stream, times)] if ended else []
            found.sort(key=lambda one: one[0])
            summed = hooks.digest and len(found) > 1
            for seq, stream, notice in found:
                commands = (getattr(hooks, notice.hook_event_name), "" if summed else hooks.notify)
                await self._tell(stream, notice, commands, hooks.timeout)
                if not summed:
                    self._outbox.advance(stream, seq)
            if summed:
                root = self._journal.root
                notice = sum_up([notice for *_, notice in found], root.name, str(root))
                await self._tell(found[-1][1], notice, (hooks.notify,), hooks.timeout)
                for seq, stream, _ in found:
                    self._outbox.advance(stream, seq)
            for stream, times in done:
                self._outbox.forget(stream, times)
        return 0.0

    async def _look(self, stream: str) -> tuple[bool, bool]:
        """Return whether a stream is finished, and whether its backlog is still being worked through."""
        store, name = self._journal.store, stream
        run = await self._journal.run(stream) if not stream.startswith(BACKLOG) else None
        if run is not None:
            name = make_stream(run.listed.rpartition("/")[0]) if run.listed else ""
        backlog = fold_backlog(name, await store.read(name)) if name else None
        night = backlog is not None and backlog.open_night is not None
        return (run.end is not None or not run.version) if run is not None else not night, night

    async def _tell(self, stream: str, notice: Notice, commands: tuple[Command, ...], timeout: float) -> None:
        for command in (one for one in commands if one):
            call = call_hook(self._outbox, self._journal.root, command, notice, timeout)
            key = str(command)
            if call.failure and key not in self._failing:  # Report a failing hook once, until it works again.
                await self._journal.store.post(stream, CONTROL, e.HookFailed(notice.hook_event_name, call.failure))
            (self._failing.add if call.failure else self._failing.discard)(key)


def _wait(feed: int, timeout: float | None) -> bool:
    """Wait until something is written to the pipe, or the time is over. Return False if the pipe was closed."""
    ready, _, _ = select.select([feed], [], [], timeout)
    return not ready or bool(os.read(feed, 1 << 16))


async def ask_before(journal: Journal, event: str, run: str, message: str, branch: str = "") -> None:
    """Run a `before_*` hook. If it refuses, raise `UsageError` with its reason; if it fails otherwise, only warn."""
    hooks = config.load_hooks(os.environ)
    if not (command := getattr(hooks, event)):
        return
    notice = Notice(
        hook_event_name=event,
        session_id=run,
        cwd=str(journal.root),
        message=message,
        branch=branch,
        id=os.urandom(8).hex(),
    )
    call = await asyncio.to_thread(call_hook, Outbox(journal.root), journal.root, command, notice, hooks.timeout)
    if call.status == REFUSED:
        raise UsageError(f"Your hook {event} refuses: {last_line(call.err) or 'it gives no reason'}.")
    if call.failure:
        logging.getLogger("bough").warning("bough: your hook %s %s", event, call.failure)
