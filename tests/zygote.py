"""Processes of bough without the time that Python takes to load it: each is a fork of one that has loaded it already.

They are real processes, with an environment, a folder and standard streams of their own, which can be killed. What
they do not show is how bough starts: that is for `tests/interfaces/test_startup.py`.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn

from tests import no_waiting

_CHOSEN_AT_START = ("PYTHON", "LANG", "LC_")
"""Variables that Python reads when it starts, so that a fork is too late for them."""
GARBAGE = 50_000
"""New objects after which Python looks for garbage: with its own 700, that takes 4 % of the tests' processor time."""


class ForkedProcess:
    """What is used of `subprocess.Popen`."""

    def __init__(self, link: socket.socket, output: IO[bytes]) -> None:
        self._link, self._output = link.makefile("rb"), output
        link.close()
        self.pid = int(self._link.readline())
        self._ended: tuple[int, str] | None = None

    def kill(self) -> None:
        if self._ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> tuple[int, str]:
        """How it ended (minus the signal, when one ended it) and what it said."""
        if self._ended is None:
            with self._link, self._output:
                status = int(self._link.readline())
                self._output.seek(0)
                self._ended = status, self._output.read().decode()
        return self._ended


def start(module: str, *args: str) -> ForkedProcess:
    """`python -m module args`, under way."""
    output = TemporaryFile()  # noqa: SIM115 (closed by `wait`)
    with TemporaryFile() as nothing:
        return _start(module, args, Path.cwd(), os.environ, (nothing, output, output), output)


def run(
    module: str,
    *args: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    waiting: bool = False,
) -> tuple[int, str, str]:
    """`python -m module args`: its exit status, what it printed, and what it said on standard error. `waiting`: with
    the waits that ship, but for those for the disk (`tests/no_waiting.py`)."""
    folder, env = cwd or Path.cwd(), os.environ if env is None else env
    if sys.platform != "linux":
        command = [sys.executable, "-m", module, *args]
        done = subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr
    out = TemporaryFile()  # noqa: SIM115 (closed by `wait`)
    with TemporaryFile() as given, TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        status, said = _start(module, args, folder, env, (given, out, err), out, waiting).wait()
        err.seek(0)
        return status, said, err.read().decode()


def open_process(*args: str, cwd: Path, env: Mapping[str, str], waiting: bool = False, **given: Any) -> Popen[str]:
    """`python -m bough args`, under way, with what `Popen` takes of streams and sessions; `waiting` as for `run`."""
    command = [sys.executable, "-m", "bough", *args]
    if sys.platform != "linux":
        return Popen(command, cwd=cwd, env=env, text=True, **given)
    return _Fork(command, waiting=waiting, cwd=cwd, env=env, text=True, **given)


class _Fork(Popen[str]):
    """What starts and ends differs from any other process: it is not a child of ours."""

    def __init__(self, command: list[str], *, waiting: bool, **given: Any) -> None:
        self._waiting = waiting
        super().__init__(command, **given)

    def _execute_child(self, args: list[str], *given: Any) -> None:
        cwd, env, pipes, session = given[4], given[5], given[9:15], given[20]
        streams = [number if each == -1 else each for number, each in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._link = _send_order("bough", args[3:], cwd, env, streams, self._waiting, session).detach()
        self.pid = int(b"".join(iter(lambda: os.read(self._link, 1), b"\n")))
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if not select.select([self._link], [], [], 0 if flags & os.WNOHANG else None)[0]:
            return 0, 0
        code = int(os.read(self._link, 100))
        os.close(self._link)
        return self.pid, -code if code < 0 else code << 8

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        lock: threading.Lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(False):
            try:
                pid, status = self._try_wait(os.WNOHANG) if self.returncode is None else (0, 0)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                lock.release()
        return self.returncode


def _start(
    module: str,
    args: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    streams: Sequence[IO[bytes]],
    output: IO[bytes],
    waiting: bool = False,
) -> ForkedProcess:
    return ForkedProcess(_send_order(module, args, cwd, env, [stream.fileno() for stream in streams], waiting), output)


def _send_order(
    module: str,
    args: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    streams: Sequence[int],
    waiting: bool,
    session: bool = False,
) -> socket.socket:
    """The end of a link on which the process's id comes, and how it ended."""
    order = {"module": module, "args": list(args), "cwd": str(cwd), "env": dict(env)}
    request = json.dumps(order | {"waiting": waiting, "session": session}).encode()
    zygote = _zygote(frozenset((name, value) for name, value in env.items() if name.startswith(_CHOSEN_AT_START)))
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(zygote, [len(request).to_bytes(4, "big")], [theirs.fileno(), *streams])
        zygote.sendall(request)
    return ours


@cache
def _zygote(chosen: frozenset[tuple[str, str]]) -> socket.socket:
    """The process that was started with these variables, and with none of its kind besides."""
    ours, theirs = socket.socketpair()
    env = {name: value for name, value in os.environ.items() if not name.startswith(_CHOSEN_AT_START)} | dict(chosen)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.zygote"], stdin=theirs.fileno(), cwd=Path(__file__).parents[1], env=env
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _load() -> None:
    """What nearly every command needs. Statements, so that a module that is renamed is found by mypy."""
    import encodings.idna  # noqa: F401

    import bough.adapters.models.chat
    import bough.adapters.models.direct
    import bough.adapters.verifiers.verifier
    import bough.app.session
    import bough.app.workflow_files
    import bough.engine.examine_work
    import bough.engine.run_loop
    import bough.interfaces.cli.backlog_run
    import bough.interfaces.cli.entry
    import bough.interfaces.cli.execution
    import bough.interfaces.cli.printing
    import bough.interfaces.cli.run
    import bough.interfaces.cli.watch
    import bough.interfaces.terminal.plain_display
    import bough.services.examine
    import bough.views.task_rows
    import tests.harness  # noqa: F401

    with suppress(ModuleNotFoundError):  # A test may hide what the dashboard needs.
        import bough.interfaces.web.startup  # noqa: F401


def warm() -> None:
    """Before forks: what every process that runs a check finds out and builds, and what does not depend on where it
    runs: whether this system has namespaces, how settings are read, and the patterns of all runners and languages."""
    import msgspec

    from bough.adapters.sandboxes.supervisors import probe
    from bough.app.config import Config
    from bough.core.acceptance.verdict import Report
    from bough.core.verdict import missing, registry

    probe()
    msgspec.convert({}, Config)
    registry.read_closing_lines("said", "")
    missing.find_missing(1, "said", "said", Report("exit status"), missing.ProjectFacts({}, []))
    _settle()


def _settle() -> None:
    gc.collect()
    gc.freeze()  # What is loaded stays: a fork that looks through it for garbage copies all of its memory.
    gc.set_threshold(GARBAGE)


@cache
def _load_protocol(name: str) -> None:
    """What only these commands need, and what takes longer to load than all else."""
    with suppress(ModuleNotFoundError):
        if name == "acp":
            import bough.interfaces.acp
        if name == "mcp":
            import bough.interfaces.mcp  # noqa: F401
    _settle()


def _serve() -> None:
    _load()
    warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    orders = socket.socket(fileno=0)
    while True:
        head, handles, _, _ = socket.recv_fds(orders, 4, 4)
        if not head:
            os._exit(0)
        request = b""
        while len(request) < int.from_bytes(head, "big"):
            request += orders.recv(1 << 20)
        order = json.loads(request)
        for name in {"acp", "mcp"} & set(order["args"][:1]):
            _load_protocol(name)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            orders.close()
            _watch(order, handles)
        for handle in handles:
            os.close(handle)


def _watch(request: dict[str, object], handles: list[int]) -> NoReturn:
    """Fork the process, and tell how it ends."""
    pid = os.fork()
    if pid == 0:
        os.close(handles[0])
        _become(request, handles[1:])
    for handle in handles[1:]:
        os.close(handle)
    with suppress(BrokenPipeError):
        os.write(handles[0], f"{pid}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(handles[0], f"{status}\n".encode())
    os._exit(0)


def _become(request: dict[str, object], streams: list[int]) -> NoReturn:
    status = 1
    try:
        if request["session"]:
            os.setsid()
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
            os.close(handle)
        # Standard error is written line by line, as the interpreter has it: whoever reads along waits for it.
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115 (for good)
        os.chdir(str(request["cwd"]))
        os.environ.clear()
        os.environ.update(request["env"])  # type: ignore[call-overload]
        time.tzset()
        no_waiting.spare_disk() if request["waiting"] else no_waiting.apply()
        module, args = str(request["module"]), list(request["args"])  # type: ignore[call-overload]
        sys.argv = [module, *args]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001 (as the interpreter does)
        import traceback

        traceback.print_exc()
    finally:
        leave(status)


def leave(status: int) -> NoReturn:
    """End a fork, without what its parent has registered for its own end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve()
