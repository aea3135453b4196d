"""bough's side of the spawner (`spawner.py`): keeps its supervisors, and runs a command under one of them."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from bough.adapters.sandboxes.limits import END, END_NOW, GRACE, HIRE, PATIENCE, QUIT
from bough.adapters.tools.output_text import decode_output
from bough.core.errors import BoughError
from bough.trust.programs import run_program

# The spawner's program makes bough importable without its `__init__`, which imports packages that the spawner lacks.
_BOOT = """
import sys, types
bough = sys.modules["bough"] = types.ModuleType("bough")
bough.__path__ = sys.argv[1:]
from bough.adapters.sandboxes import namespaces, spawner
print(namespaces.probe()) if PROBE else spawner.serve()
"""
_IDLE = 8
"""The most idle supervisors that are kept; any more were needed only for a burst of commands."""
_PATIENCE = GRACE + PATIENCE + 2.0
"""Seconds to wait for the report on a command that was asked to end."""
_PROBING = (_PATIENCE, 4 * _PATIENCE)
"""Seconds for each attempt at a probe; the second is longer, because a busy machine is slow."""
SLOW = "finding out whether there are namespaces took too long"
_DRAIN = 1.0
"""Seconds to wait for the rest of the output after a command has ended."""
_NEWS = 0.1
"""The shortest time in seconds between two reports of progress."""
_NEWS_WIDTH = 300
"""The most characters in a report of progress."""


@lru_cache(maxsize=1)
def probe() -> str:
    """Explain why commands cannot have namespaces of their own on this system; empty if they can."""
    if sys.platform != "linux":
        return "only Linux has namespaces"
    for patience in _PROBING:
        try:
            done = run_program(_make_spawner_argv(probing=True), project=None, env={}, timeout=patience)
        except subprocess.TimeoutExpired:
            continue
        except OSError as error:
            return str(error)
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        told = done.stdout.decode(errors="replace").strip()
        return told if done.returncode == 0 else said or f"exit status {done.returncode}"
    return SLOW


def _make_spawner_argv(probing: bool = False) -> list[str]:
    boot = _BOOT.replace("PROBE", str(probing))
    # Run Python isolated and without site-packages: a `.pth` file or a PYTHONPATH of the person or a project would run
    # code here, outside every sandbox.
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", boot, str(Path(__file__).parents[2])]


class SupervisorPool:
    """Holds the control sockets of the spawner and its supervisors. The spawner is started with the first command at
    the latest, restarted if it dies, and ended with this object."""

    def __init__(self) -> None:
        self._orders: socket.socket | None = None
        self._idle: list[socket.socket] = []
        self._end: Callable[[], object] = lambda: None

    def start(self) -> None:
        if self._orders is None:
            self._start()

    def assign(self, length: int, handles: list[int]) -> socket.socket:
        """Return the control socket of a supervisor that was told to expect a request of that length, and was sent its
        handles, of which the first is the output's pipe."""
        head = length.to_bytes(4, "big")
        while self._idle:
            control = self._idle.pop()
            with suppress(OSError):
                socket.send_fds(control, [head], handles)
                return control
            control.close()  # The supervisor was killed while idle.
        control = self._hire()
        socket.send_fds(control, [head], handles)
        return control

    def give_back(self, control: socket.socket) -> None:
        if len(self._idle) < _IDLE:
            self._idle.append(control)
        else:
            control.close()

    def _hire(self) -> socket.socket:
        control, theirs = socket.socketpair()
        try:
            for _ in range(2):
                with suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(self._orders or self._start(), [HIRE], [theirs.fileno()])
                    return control
                self._end()
                self._orders = None
            raise BoughError(f"No command can be started: {sys.executable!r} ends at once. Is it installed completely?")
        except BaseException:
            control.close()
            raise
        finally:
            theirs.close()

    def _start(self) -> socket.socket:
        orders, theirs = socket.socketpair()
        try:
            pid = os.posix_spawn(
                sys.executable,
                _make_spawner_argv(),
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                # A separate process group, because Ctrl-C at the terminal is for bough, which then ends the commands.
                setpgroup=0,
            )
        except OSError as error:
            orders.close()
            raise BoughError(f"No command can be started: {sys.executable!r} does not run ({error}).") from error
        finally:
            theirs.close()
        self._orders = orders
        self._end = weakref.finalize(self, _end_spawner, orders, pid, self._idle)
        return orders


def _end_spawner(orders: socket.socket, pid: int, idle: list[socket.socket]) -> None:
    with suppress(OSError):
        orders.send(QUIT)  # Closing the socket has the same effect, unless another process holds a copy of it.
    orders.close()
    while idle:
        idle.pop().close()
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


class Command:
    """One running command: its output so far, and its report once it has ended. Leaving the `with` block ends it."""

    def __init__(
        self,
        pool: SupervisorPool,
        length: int,
        limit: int,
        progress: Callable[[str], None],
        handles: Sequence[int] = (),
    ) -> None:
        self.output = bytearray()
        self._pool = pool
        self._limit = limit
        self._progress = progress
        self._news_at = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._said = bytearray()
        self._told = False
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[str] = self._loop.create_future()
        """Done when the command has ended (then empty), or bough should end it (then the reason)."""
        self._reported = asyncio.Event()
        self._drained = asyncio.Event()
        self._pipe, writes = os.pipe()
        try:
            self._control = pool.assign(length, [writes, *handles])
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(writes)

    def __enter__(self) -> "Command":
        self._control.setblocking(False)
        os.set_blocking(self._pipe, False)
        self._loop.add_reader(self._pipe, self._read_output)
        self._loop.add_reader(self._control, self._read_report)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._loop.remove_reader(self._pipe)
        self._loop.remove_reader(self._control)
        if self._later is not None:
            self._later.cancel()
        os.close(self._pipe)
        # A supervisor that was sent an order may have finished before, and would take the order for its next request.
        if kind is None and self._said.endswith(b"\n") and not self._told:
            self._pool.give_back(self._control)
        else:
            self._control.close()

    async def send(self, request: bytes) -> None:
        # If the supervisor is gone, the missing report is noticed.
        with suppress(BrokenPipeError, ConnectionResetError):
            # The request for a workspace with many mounts can exceed the socket's buffer, and must not block the loop.
            await self._loop.sock_sendall(self._control, request)

    async def attend(self, timeout: float) -> str:
        """Wait until the command has ended, or end it. Return why bough ended it, as a phrase; empty if it did not."""
        try:
            async with asyncio.timeout(timeout):
                killed = await self._over
            if killed:
                self._tell(END_NOW)
        except TimeoutError:
            killed = f"after {timeout:g} s"
            self._tell(END)
        except asyncio.CancelledError:
            self._tell(END_NOW)
            # A second cancellation would cut this wait short, but the command is killed anyway.
            await self.report()
            raise
        return killed

    async def report(self) -> dict[str, Any]:
        """Wait for the supervisor's report, and return it; empty if the supervisor died without one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._reported.wait()
        return dict(json.loads(self._said)) if self._said.endswith(b"\n") else {}

    async def drain(self) -> None:
        """Wait for the rest of the output after the command has ended."""
        with suppress(TimeoutError):
            # Do not wait for long: a process that left the session and survived could hold the pipe open.
            async with asyncio.timeout(_DRAIN):
                await self._drained.wait()

    def _tell(self, order: bytes) -> None:
        self._told = True
        with suppress(OSError):  # the supervisor has just ended
            self._control.send(order)

    def _read_report(self) -> None:
        try:
            piece = self._control.recv(65536)
        except BlockingIOError:
            return
        except ConnectionResetError:
            piece = b""
        self._said += piece
        if not piece or piece.endswith(b"\n"):
            self._loop.remove_reader(self._control)
            self._reported.set()
            self._finish("")

    def _read_output(self) -> None:
        try:
            piece = os.read(self._pipe, 262144)
        except BlockingIOError:
            return
        self.output += piece
        if not piece or len(self.output) > self._limit:
            self._loop.remove_reader(self._pipe)
            self._drained.set()
        if len(self.output) > self._limit:
            # Reading has stopped as well, so that endless output fills the pipe and not the memory.
            del self.output[self._limit :]
            megabytes = self._limit >= 1_000_000
            size = f"{self._limit / 1_000_000:g} MB" if megabytes else f"{self._limit:,} bytes"
            self._finish(f"after {size} of output")
        elif piece:
            self._tell_news()

    def _finish(self, why: str) -> None:
        if not self._over.done():
            self._over.set_result(why)

    def _tell_news(self) -> None:
        now = time.monotonic()
        if self._later is not None:
            self._later.cancel()
        if now < self._news_at:  # Report the line later, so that the last one of a burst is not lost.
            self._later = self._loop.call_later(self._news_at - now, self._tell_news)
            return
        line = decode_output(bytes(self.output[-1000:])).rstrip().rpartition("\n")[2][-_NEWS_WIDTH:]
        if line:
            self._news_at = now + _NEWS
            self._progress(line)
