"""A control group (version 2) for all commands of one bough together: memory and processes, which per-process limits
cannot bound. Where the system allows one: systemd gives every user's session its own part of the tree, and root has all
of it. Elsewhere only `limits.py` applies.

Only the standard library is imported here, because the spawner runs without bough.
"""

# Paths are strings throughout: this process imports little.
# ruff: noqa: PTH102, PTH106, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from bough.adapters.sandboxes import limits

NAME = "bough-"
_EVENTS = {"memory": ("memory.events", "oom_kill"), "processes": ("pids.events", "max")}


class Group:
    def __init__(self, path: str) -> None:
        self.path = path

    def hits(self) -> dict[str, int]:
        """How often each limit was hit so far."""
        return {
            what: _parse_count(_read_file(os.path.join(self.path, file)), key) for what, (file, key) in _EVENTS.items()
        }

    def hit_since(self, before: dict[str, int]) -> str:
        now = self.hits()
        return next((what for what in now if now[what] > before.get(what, 0)), "")


def enter_group(mounts: str = "/proc/self/mountinfo", own: str = "/proc/self/cgroup") -> Group | None:
    """Make a group and move this process there, and with it everything that it starts. None where that is not
    possible."""
    for parent in _list_parents(_read_file(mounts), _read_file(own)):
        if "memory" not in _read_file(os.path.join(parent, "cgroup.subtree_control")).split():
            continue
        _sweep(parent)
        place = os.path.join(parent, f"{NAME}{os.getpid()}")
        try:
            os.mkdir(place)
        except OSError:
            continue  # not ours to divide
        try:
            _write_file(place, "memory.max", str(limits.find_memory_limit()))
            with suppress(OSError):  # no such limit here
                _write_file(place, "pids.max", str(limits.PROCESSES))
            _write_file(place, "cgroup.procs", str(os.getpid()))
            return Group(place)
        except OSError:
            with suppress(OSError):
                os.rmdir(place)
    return None


def _list_parents(mounts: str, own: str) -> Iterator[str]:
    """Groups in which one may be made: those above our own, nearest first. Our own has processes in it, and the kernel
    allows no groups below such a one, except for the topmost."""
    top = next((words[4] for line in mounts.splitlines() if " - cgroup2 " in line and (words := line.split())), "")
    path = next((line[3:] for line in own.splitlines() if line.startswith("0::")), "")
    if not top or not path or ".." in path.split("/"):
        return
    place = os.path.join(top, path.strip("/")).rstrip("/")
    while place != top:
        place = os.path.dirname(place)
        yield place
    if path == "/":
        yield top


def _sweep(parent: str) -> None:
    """Groups of processes that are gone: a process cannot remove the group that it is in."""
    with suppress(OSError):
        for name in os.listdir(parent):
            number = name.removeprefix(NAME)
            if name.startswith(NAME) and number.isdecimal() and not os.path.exists(f"/proc/{number}"):  # noqa: PTH110
                with suppress(OSError):
                    os.rmdir(os.path.join(parent, name))


def describe_limit(what: str) -> str:
    """A limit that was hit, for the model."""
    if what == "memory":
        return f"together, this run's commands exceeded their memory limit ({limits.find_memory_limit() >> 30} GB)"
    return f"together, this run's commands exceeded their process limit ({limits.PROCESSES:,})"


def _read_file(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _write_file(place: str, name: str, text: str) -> None:
    handle = os.open(os.path.join(place, name), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _parse_count(text: str, key: str) -> int:
    return next((int(words[1]) for line in text.splitlines() if (words := line.split()) and words[0] == key), 0)
