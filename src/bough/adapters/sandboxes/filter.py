"""Builds the seccomp filter that denies commands dangerous system calls: a second protection inside namespaces, and
the only one against these calls where there are no namespaces.

A denied call fails as on a kernel that does not have it, or as for a user who may not use it, so that programs fall
back or say why. Imports only the standard library, because the spawner's Python has no installed packages.
"""

import errno
import os
import struct
from collections.abc import Iterable
from functools import lru_cache

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
"""The bit that marks calls of the x32 ABI on x86_64: the same calls under other numbers, which are all denied."""

# name: (number on x86_64, number on aarch64). 0 on aarch64: that architecture has no such call.
_NUMBERS: dict[str, tuple[int | None, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chmod": (90, 0),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "creat": (85, 0),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, 0),
    "iopl": (172, 0),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mknod": (133, 0),
    "mknodat": (259, 33),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open": (2, 0),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}

_NEVER = """
    acct add_key adjtimex bpf clock_adjtime clock_settime delete_module fanotify_init finit_module fsconfig fsmount
    fsopen fspick init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mount mount_setattr
    move_mount open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root quotactl quotactl_fd reboot
    request_key setdomainname sethostname setns settimeofday swapoff swapon syslog umount2 userfaultfd vhangup
""".split()  # noqa: SIM905
# What these calls do is in a structure that a filter cannot read, so they are denied; programs then use older calls.
_ABSENT = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")

_NEW_NAMESPACES = 0x7E020080
"""The flags CLONE_NEW* except CLONE_NEWTIME. They are denied, because in a new user namespace a process would be root
again."""
_SPECIAL_MODES = 0o6000
"""The bits set-user-ID and set-group-ID, which are denied because such a file gives rights outside the sandbox, too.
(New folders still inherit set-group-ID from the folder around them.)"""
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2}
"""The position of each call's mode argument."""
_CREATING = {"open": (1, 2), "openat": (2, 3), "creat": (None, 1)}
"""The positions of each call's flags (None: always creates) and mode, which counts only when a file is created."""
_O_CREAT = 0o100 | 0o20000000  # O_CREAT, and the bit that only O_TMPFILE has
_TERMINAL = (0x5412, 0x541C)
"""The ioctl requests TIOCSTI and TIOCLINUX, with which a process could type into the person's terminal."""
AF_UNIX = 1
INTERNET = (2, 10, 16)
"""The address families of commands with a network: AF_INET, AF_INET6 and AF_NETLINK."""

# Instructions of classic BPF: load a word of the call's data, compare and jump, return.
_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ERRNO = 0x00050000
_ALLOW = (_RETURN, 0, 0, 0x7FFF0000)
_NUMBER, _ARCHITECTURE = 0, 4


def is_supported() -> bool:
    return os.uname().machine in _ARCHITECTURES


@lru_cache(maxsize=4)
def build_program(families: tuple[int, ...]) -> bytes:
    """Build the filter as an array of BPF instructions. `families`: the address families of permitted sockets."""
    machine = os.uname().machine
    column = list(_ARCHITECTURES).index(machine)
    code = [(_LOAD, 0, 0, _ARCHITECTURE), (_JEQ, 1, 0, _ARCHITECTURES[machine]), _deny(errno.ENOSYS)]
    code.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        code += [(_JGE, 0, 1, _X32), _deny(errno.ENOSYS)]
    for name, body in _list_rules(families):
        number = _NUMBERS[name][column]
        if number or (machine == "x86_64" and number is not None):
            # A conditional jump reaches at most 255 instructions, which is enough to skip any body.
            code += [(_JEQ, 0, len(body), number), *body]
    code.append(_ALLOW)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _list_rules(families: tuple[int, ...]) -> Iterable[tuple[str, list[tuple[int, int, int, int]]]]:
    """Yield each filtered call with the instructions that allow or deny it, the frequent calls first."""
    for name, (flags, mode) in _CREATING.items():
        wanted = [] if flags is None else [*_load_argument(flags), (_JSET, 1, 0, _O_CREAT), _ALLOW]
        yield name, [*wanted, *_load_argument(mode), (_JSET, 0, 1, _SPECIAL_MODES), _deny(errno.EPERM), _ALLOW]
    for name, mode in _MODES.items():
        yield name, [*_load_argument(mode), (_JSET, 0, 1, _SPECIAL_MODES), _deny(errno.EPERM), _ALLOW]
    for name in ("clone", "unshare"):
        yield name, [*_load_argument(0), (_JSET, 0, 1, _NEW_NAMESPACES), _deny(errno.EPERM), _ALLOW]
    allowed = [instruction for family in families for instruction in ((_JEQ, 0, 1, family), _ALLOW)]
    yield "socket", [*_load_argument(0), *allowed, _deny(errno.EACCES)]
    typing = [instruction for request in _TERMINAL for instruction in ((_JEQ, 0, 1, request), _deny(errno.EPERM))]
    yield "ioctl", [*_load_argument(1), *typing, _ALLOW]
    # Deny changing the limits of another process: with too low ones, a supervisor could not end its command.
    changes = [*_load_argument(2), (_JEQ, 0, 2, 0), (_LOAD, 0, 0, 16 + 8 * 2 + 4), (_JEQ, 1, 0, 0), _deny(errno.EPERM)]
    yield "prlimit64", [*_load_argument(0), (_JEQ, len(changes), 0, 0), *changes, _ALLOW]
    for name in _ABSENT:
        yield name, [_deny(errno.ENOSYS)]
    for name in _NEVER:
        yield name, [_deny(errno.EPERM)]


def _load_argument(index: int) -> list[tuple[int, int, int, int]]:
    """Load the lower 32 bits of an argument: both architectures are little-endian, and the rest is not needed here."""
    return [(_LOAD, 0, 0, 16 + 8 * index)]


def _deny(number: int) -> tuple[int, int, int, int]:
    return _RETURN, 0, 0, _ERRNO | number
