"""Wraps Linux calls that Python lacks: Landlock, seccomp, namespaces, mounts, and the adoption of orphan processes.

Imports only the standard library and `filter`, because the spawner's Python has no installed packages."""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bough.adapters.sandboxes import filter

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 36, 38
SECCOMP_MODE_FILTER = 2
MOUNT_SETATTR = 442
CLONE = {"x86_64": 56, "aarch64": 220}
# The numbers of system calls are the same on all architectures that bough supports.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1

WRITE_FILE = 1 << 1
READ_DIR = 1 << 3
READ = 1 << 0 | 1 << 2 | READ_DIR
"""The rights to execute and read files, and to list folders."""
IN_FOLDERS = sum(1 << bit for bit in range(4, 13))
"""The rights to remove and create folder entries of every kind."""
DEVICES = 1 << 6 | 1 << 11
"""The rights to make device files. No command gets them, because root could access the whole disk through one."""
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
_CAPABILITIES = 64
_KEPT = frozenset({0, 1, 3, 5, 6, 7, 8, 10, 13, 18, 29})
"""The capabilities that root keeps: owners and modes of files, signals, changing users, low ports, raw sockets, chroot.
CAP_FSETID and CAP_SETFCAP are dropped, so that no file that a command leaves in the person's folders gives rights."""
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC = 2, 4, 8, 0x1000, 0x4000


class StartFailed(Exception):
    """A step of starting a command failed. `report` is what the supervisor sends to bough about it."""

    def __init__(self, step: str, error: OSError | ValueError, what: str = "") -> None:
        number = error.errno if isinstance(error, OSError) else 0
        self.report: dict[str, Any] = {"failed": step, "errno": number, "why": f"{what}{error}"}
        super().__init__(json.dumps(self.report))

    @classmethod
    def told(cls, why: bytes) -> "StartFailed":
        """Return the failure that another process reported; if it ended without a report (empty), it was killed."""
        failed = cls("namespaces", OSError(errno.ESRCH, "the process that prepares the namespaces was killed"))
        if why:
            failed.report = json.loads(why)
        return failed


@contextmanager
def doing(step: str, what: str = "") -> Iterator[None]:
    """Turn an error in the block, which is a step of starting a command, into a `StartFailed`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise StartFailed(step, error, what) from error


def landlock_abi() -> int:
    """Return the version of Landlock that this kernel supports; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    try:
        return syscall(LANDLOCK_CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    except OSError:
        return 0


def confine(
    writable: Sequence[str], abi: int, families: tuple[int, ...], readable: Sequence[str] | None = None
) -> None:
    """Confine this thread and what it starts, irrevocably: they can change files only at or below the `writable` paths,
    read and execute others only at or below the `readable` ones (None: all), make sockets only of these `families`, and
    not use the calls that `filter` denies.

    From ABI 6 on they cannot signal processes outside either, nor connect to their abstract Unix sockets. Paths that do
    not exist are skipped. ABI 0: no Landlock."""
    # Commands of root lose all capabilities that reach beyond the file system, into other processes and the kernel.
    if os.geteuid() == 0:
        for capability in range(_CAPABILITIES):
            if capability not in _KEPT:
                with suppress(OSError):  # The kernel does not know the capability, or it is not ours to drop.
                    prctl(PR_CAPBSET_DROP, capability)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if abi:
        # Handle, and so forbid by default, every change to the file system that this version of Landlock knows.
        later = sum(right for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)) if abi >= since)
        handled = WRITE_FILE | IN_FOLDERS | later | (0 if readable is None else READ)
        scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS if abi >= 6 else 0
        # A kernel accepts the shorter structure of an older version, but rejects a longer one than it knows.
        attributes = struct.pack("=QQQ", handled, 0, scoped)[: 8 if abi < 4 else 16 if abi < 6 else 24]
        ruleset = syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
        try:
            for path in readable or ():
                _allow_path(ruleset, path, READ)
            for path in writable:
                _allow_path(ruleset, path, handled)
            syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0)
        finally:
            os.close(ruleset)
    if filter.is_supported():
        program = filter.build_program(families)

        class Program(ctypes.Structure):
            _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(program) // 8, program)))


def clone(flags: int) -> int:
    """Fork this process into new namespaces; returns as `os.fork` does. Only for a process with one thread."""
    # PyDLL keeps the interpreter's lock during the call, so that the copy holds it, too.
    answer = ctypes.PyDLL(None, use_errno=True).syscall(
        ctypes.c_long(CLONE[os.uname().machine]), ctypes.c_ulong(flags | signal.SIGCHLD), *[ctypes.c_long(0)] * 4
    )
    return _check_result(answer)


def unshare(flags: int) -> None:
    _check_result(_LIBC.unshare(flags))


def enter_namespace(namespace: int, kind: int) -> None:
    """Move into another process's namespace. Only for a process with one thread."""
    _check_result(_LIBC.setns(namespace, kind))


def mount(source: str, target: str, kind: str, flags: int, options: str) -> None:
    words = (os.fsencode(word) or None for word in (source, target, kind))
    _check_result(_LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(options) or None))


def unmount(target: str, flags: int) -> None:
    _check_result(_LIBC.umount2(os.fsencode(target), flags))


def set_mount(target: str, flags: int, attributes: int) -> None:
    """Add attributes (read-only …) to a mount, or to all mounts below a path."""
    body = struct.pack("=QQQQ", attributes, 0, 0, 0)
    syscall(MOUNT_SETATTR, -100, os.fsencode(target), flags, body, len(body))


def raise_loopback() -> None:
    """Bring up the loopback interface of this network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH22x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def _allow_path(ruleset: int, path: str, handled: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        folder = stat.S_ISDIR(os.fstat(place).st_mode)
        allowed = handled & ~DEVICES if folder else handled & (WRITE_FILE | TRUNCATE | IOCTL_DEV | READ & ~READ_DIR)
        syscall(LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
    finally:
        os.close(place)


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends, even if it left its process group."""
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def list_children() -> list[int]:
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{me}/children").read_text().split()]
    except FileNotFoundError:  # The kernel was built without that file.
        return [pid for pid in list_processes() if _find_parent(pid) == me]


def list_processes() -> list[int]:
    """List every process that /proc shows; empty where there is no /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (names are enough)
    except FileNotFoundError:
        return []


def _find_parent(pid: int) -> int:
    try:
        # The second field is the program's name in brackets, which may contain anything, even brackets: skip past it.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def syscall(number: int, *arguments: int | bytes | None) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _check_result(_LIBC.syscall(ctypes.c_long(number), *words))


def prctl(option: int, value: int, more: Any = 0) -> None:
    further = ctypes.c_ulong(more) if isinstance(more, int) else more
    _check_result(_LIBC.prctl(option, ctypes.c_ulong(value), further, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def _check_result(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
