"""Limits of one command, so that it cannot bring the machine down: sizes of files, processes, memory.

Per-process limits, which every system has and which need no privileges. When many processes exhaust memory together,
the kernel ends a command first, and never bough. Only the standard library is imported here.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

FILE = 8 << 30
"""The most bytes of one file."""
PROCESSES = 4096
"""Processes of all commands in a workspace together. The kernel does not limit root."""
_SHARE = 0.8
"""The share of the machine's memory that the data of one process may take."""
_FIRST_TO_GO = "800"
"""Readiness, up to 1000, with which the kernel ends it when memory runs out."""


def find_memory_limit() -> int:
    """Bytes of data that one process may have."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE)


def limit_process(pid: int, own_users: bool) -> None:
    """Limit a process and what it starts from now on. `own_users`: it is in a user namespace, so that its processes are
    counted separately from the person's own."""
    wanted = {resource.RLIMIT_FSIZE: FILE, resource.RLIMIT_DATA: find_memory_limit(), resource.RLIMIT_CORE: 0}
    if own_users:
        wanted[resource.RLIMIT_NPROC] = PROCESSES
    for kind, most in wanted.items():
        with suppress(ProcessLookupError, PermissionError, ValueError):
            hard = resource.prlimit(pid, kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, kind, (most, most))
    be_first_to_go(pid)


def be_first_to_go(pid: int = 0) -> None:
    """Make the kernel end this process, and what it starts, before others when memory runs out."""
    with suppress(OSError), open(f"/proc/{pid or 'self'}/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write(_FIRST_TO_GO)


def describe_hit(status: int | None, killed: str) -> str:
    """Describe the limit that a command hit, by its exit status; else empty."""
    if status == 128 + 25:  # SIGXFSZ
        return f"a file exceeded the limit of {FILE >> 30} GB"
    if status == 128 + 9 and not killed:
        return (
            f"the system ended it, most likely because memory ran out ({find_memory_limit() >> 30} GB for one process)"
        )
    return ""
