"""Names the process that holds a claim, and tells whether that process still runs.

Promises: a worker's name is unique among all processes of all machines, now and after a reboot; `is_alive` says True or
False only when it is sure, because a claim taken from a live worker would let two of them work on one task. A process
that is stopped (Ctrl-Z, SIGSTOP, a suspended machine) is alive."""

import fcntl
import hashlib
import os
import re
import socket
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bough.trust.files import Place
from bough.trust.handles import OpenHandle

_PROC = Path("/proc")
_UNKNOWN = "0"
"""The value if the system does not tell (no /proc); it is never taken as evidence."""


class _Process(Struct, frozen=True):
    host: str
    pid: int
    started: str
    """Clock ticks from boot to the start of the process: tells the process from a later one with the same number."""
    boot: str
    """The id of the machine's current boot: it changes with every restart."""
    space: str
    """The namespace in which the process number is valid: containers of one machine have their own."""

    @property
    def same_machine(self) -> bool:
        """Whether the process runs or ran on this machine since its last boot. The host name may change meanwhile, so
        the boot id decides if it is known."""
        if _UNKNOWN in (self.boot, _read_boot_id()):
            return self.host == socket.gethostname()
        return self.boot == _read_boot_id()


def worker_id() -> str:
    """Return the name of this process as a worker: `host:pid:start:boot-namespace`."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_read_start_time(pid) or _UNKNOWN}:{_read_boot_id()}-{_read_namespace()}"


def is_alive(worker: str, folder: Path | None = None) -> bool | None:
    """Return whether this worker is alive; None: that cannot be known here. `folder` holds the lock files of workers
    (`Presence`), which work across the containers of one machine."""
    process = _parse_worker(worker)
    if process is None:
        return None
    marks = folder.glob(f"{_mark_name(worker)}-*") if folder is not None else ()
    present = max(map(_is_locked_file, marks), default=None)  # None: the worker has no lock file there.
    # A held lock proves life anywhere. A free one proves an end only on this machine: on a shared file system other
    # machines' locks may be invisible.
    if present or (present is False and process.same_machine):
        return present
    if (
        process.host == socket.gethostname()
        and _UNKNOWN not in (process.boot, _read_boot_id())
        and process.boot != _read_boot_id()
    ):
        return False  # The machine was rebooted since the process started.
    if not process.same_machine or process.space != _read_namespace():
        return None
    try:
        # Process numbers are reused: the start time below tells the process from a later one.
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # The process exists, and belongs to another user.
    now = _read_start_time(process.pid)
    return None if now is None or process.started == _UNKNOWN else now == process.started


def is_gone(worker: str) -> bool:
    """Whether this worker has certainly ended."""
    return is_alive(worker) is False


def is_stopped(worker: str) -> bool:
    """Whether this worker is a stopped process of this machine (Ctrl-Z, SIGSTOP)."""
    process = _parse_worker(worker)
    here = process is not None and process.same_machine and process.space == _read_namespace()
    return process is not None and here and next(iter(_read_stat(process.pid)), "") in ("T", "t")


class Presence:
    """Shows that this process is alive, by a lock that the system releases when the process ends, however it ends."""

    def __init__(self, folder: Path, worker: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Remove the lock files that killed workers left behind.
        for path in folder.iterdir():
            with suppress(OSError), OpenHandle(os.open(path, os.O_RDWR | os.O_CLOEXEC)) as fd:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        # Each `Presence` of a process has a file of its own.
        self._path = folder / f"{_mark_name(worker)}-{os.urandom(6).hex()}"
        while True:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            # Use flock, not fcntl's record locks: those end when any descriptor of the file is closed in this process,
            # which a check for presence does.
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), self._path.stat()):
                    return
            os.close(self._fd)  # Another process removed the file between opening and locking.

    def end(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def _mark_name(worker: str) -> str:
    return hashlib.sha256(worker.encode()).hexdigest()[:24]


def _is_locked_file(path: Path) -> bool:
    try:
        with OpenHandle(os.open(path, os.O_RDWR | os.O_CLOEXEC)) as fd:
            # Lock the file shared, so that two checks at the same moment do not take each other for the holder.
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:  # Any other error means that the holder has just ended.
        return isinstance(error, BlockingIOError)
    return False


def describe_worker(worker: str) -> str:
    """Describe the worker as a person would look for it: `process 4242 on this machine (otter)`."""
    process = _parse_worker(worker)
    if process is None:
        return f"worker {worker}"
    here = f"this machine ({process.host})" if process.host == socket.gethostname() else f"machine {process.host}"
    stopped = ", which is stopped (Ctrl-Z?)" if is_stopped(worker) else ""
    return f"process {process.pid} on {here}{stopped}"


def _parse_worker(worker: str) -> _Process | None:
    parts = worker.rsplit(":", 3)
    if len(parts) != 4 or not re.fullmatch(r"[0-9]{1,9}", parts[1]):
        return None
    boot, _, space = parts[3].partition("-")
    return _Process(parts[0], int(parts[1]), parts[2], boot, space)


def _read_start_time(pid: int) -> str | None:
    """Return the start time of a process; None if it cannot be seen, `ended` if it is a zombie."""
    fields = _read_stat(pid)
    return None if not fields else "ended" if fields[0] in "ZX" else fields[19]


def _read_stat(pid: int) -> list[str]:
    # The second field is the program's name in parentheses, which may itself have spaces and parentheses.
    return Place(_PROC, f"{pid}/stat").text().rpartition(")")[2].split()


def _read_boot_id() -> str:
    boot = Place(_PROC, "sys/kernel/random/boot_id").text().strip()
    return hashlib.sha256(boot.encode()).hexdigest()[:12] if boot else _UNKNOWN


def _read_namespace() -> str:
    try:
        return (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return _UNKNOWN
