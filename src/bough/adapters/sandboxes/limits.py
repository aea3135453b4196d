"""Limits the size of files, the processes and the memory of a command, so that it cannot bring the machine down, and
has the constants that bough and its spawner process share.

Uses per-process limits, which every system has and which need no privileges. When many processes exhaust memory
together, the kernel kills a command first, not bough. Imports only the standard library: the spawner uses this file.
"""

import os
import resource
from contextlib import suppress

GRACE = 0.5
"""Seconds between asking a command to end (SIGTERM) and killing it (SIGKILL)."""
PATIENCE = 5.0
"""Seconds to wait for killed processes to disappear, because one may hang in the kernel for good."""
HIRE, QUIT = b"+", b"-"
"""bough's messages to the spawner: start a supervisor, whose control socket comes along; end."""
END, END_NOW = b"t", b"k"
"""bough's messages to a supervisor while its command runs: end it after a grace period; kill it at once."""
SHARED = 2
"""How many handles a command needs to join the user and network namespaces of a workspace's services."""
PROXY_PORT = 3128
"""The port of the relay's proxy inside the commands' network namespace."""
FILE = 8 << 30
"""The most bytes of a file that a command writes."""
PROCESSES = 4096
"""The most processes of all commands in a workspace together. The kernel does not apply this to root."""
_SHARE = 0.8
"""The share of the machine's memory that the data of one process may take."""
_FIRST_TO_GO = "800"
"""The `oom_score_adj` of commands, up to 1000: the higher, the sooner the kernel kills them when memory runs out."""


def find_memory_limit() -> int:
    """Return how many bytes of data one process may have."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE)


def limit_process(pid: int, own_users: bool) -> None:
    """Limit a process and what it starts from now on. `own_users`: it is in a user namespace of its own, where its
    processes are counted separately from the person's, so their number is limited, too."""
    wanted = {resource.RLIMIT_FSIZE: FILE, resource.RLIMIT_DATA: find_memory_limit(), resource.RLIMIT_CORE: 0}
    if own_users:
        wanted[resource.RLIMIT_NPROC] = PROCESSES
    for kind, most in wanted.items():
        with suppress(ProcessLookupError, PermissionError, ValueError):
            hard = resource.prlimit(pid, kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            # A command may lift the limit of its data: sanitizers reserve more addresses than there is memory.
            resource.prlimit(pid, kind, (most, hard if kind == resource.RLIMIT_DATA else most))
    be_first_to_go(pid)


def be_first_to_go(pid: int = 0) -> None:
    """Make the kernel kill a process (0: this one) and what it starts before others when memory runs out."""
    with suppress(OSError), open(f"/proc/{pid or 'self'}/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write(_FIRST_TO_GO)


def describe_hit(status: int | None, killed: str) -> str:
    """Describe the limit that a command hit, judging by its exit status; empty if it hit none."""
    if status == 128 + 25:  # SIGXFSZ
        return f"a file exceeded the limit of {FILE >> 30} GB"
    if status == 128 + 9 and not killed:
        return (
            f"the system ended it, most likely because memory ran out ({find_memory_limit() >> 30} GB for one process)"
        )
    return ""
