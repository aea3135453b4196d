"""Who holds a claim, and whether that process is still there.

Promises: a worker's name is unique among all processes of all machines, now and after a reboot; `is_gone` says True
only when it is sure, because a claim taken from a live worker would let two of them work on one task.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc")
_UNKNOWN = "0"
"""Stands where the system does not tell (no /proc): never taken as evidence."""


class _Process(Struct, frozen=True):
    host: str
    pid: int
    started: str
    """Clock ticks from boot to the start of the process: tells it from a later one with the same number."""
    boot: str
    """Changes when the machine is started again."""
    space: str
    """The namespace in which the process number means something: containers of one machine have their own."""


def worker_id() -> str:
    """The name of this process as a worker: `host:pid:start:boot-namespace`."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_started(pid) or _UNKNOWN}:{_boot()}-{_space()}"


def is_gone(worker: str) -> bool:
    """Whether this worker has surely ended: it ran here, and the machine was restarted since, or its process number is
    free or belongs to a later process. Of a worker elsewhere, or one that cannot be made out, nobody here is sure."""
    process = _parse(worker)
    if process is None or process.host != socket.gethostname():
        return False
    if _UNKNOWN not in (process.boot, _boot()) and process.boot != _boot():
        return True
    if process.space != _space():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is there, and somebody else's
    now = _started(process.pid)
    return now is not None and process.started != _UNKNOWN and now != process.started


def in_words(worker: str) -> str:
    """The worker as a person would look for it: `process 4242 on this machine (otter)`."""
    process = _parse(worker)
    if process is None:
        return f"worker {worker}"
    here = f"this machine ({process.host})" if process.host == socket.gethostname() else f"machine {process.host}"
    return f"process {process.pid} on {here}"


def _parse(worker: str) -> _Process | None:
    parts = worker.rsplit(":", 3)
    if len(parts) != 4 or not re.fullmatch(r"[0-9]{1,9}", parts[1]):
        return None
    boot, _, space = parts[3].partition("-")
    return _Process(parts[0], int(parts[1]), parts[2], boot, space)


def _started(pid: int) -> str | None:
    """The start time of a process; None when it cannot be seen, `ended` when only its parent has yet to notice."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text("ascii", "replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses, which may itself have spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return "ended" if fields[0] in "ZX" else fields[19]


def _boot() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return _UNKNOWN
    return hashlib.sha256(boot).hexdigest()[:12]


def _space() -> str:
    try:
        return (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return _UNKNOWN
