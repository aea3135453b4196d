"""Runs commands as processes that end with their call, together with everything they started.

Promises, with or without confinement: no process is left when `run` returns or is cancelled, nor soon after bough
itself is killed; a background process that holds the output open does not delay the call; no more than `limit` bytes
are read; the environment contains no secrets. The level (`levels.py`) decides what a command may see and write.
"""

import asyncio
import errno
import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from bough.adapters.sandboxes import kernel
from bough.adapters.sandboxes.env import find_own_sources
from bough.adapters.sandboxes.filter import AF_UNIX, INTERNET
from bough.adapters.sandboxes.levels import Mode, SandboxLevel, find_level
from bough.adapters.sandboxes.limits import SHARED
from bough.adapters.sandboxes.network import OFF, Network, describe_reach
from bough.adapters.sandboxes.seatbelt import Seatbelt
from bough.adapters.sandboxes.supervisors import Command, SupervisorPool
from bough.adapters.sandboxes.view import FileSystemView, find_private_folder, identify_mounts
from bough.core.errors import UsageError, WorkspaceError
from bough.ports import CommandResult, WorkFolder

EVER = 10.0**8
"""The timeout of a service in seconds, practically none: the caller that started the service ends it."""
MARK = "BOUGH_WORKSPACE"
"""The environment variable that marks a workspace's processes, so that a later bough process can find and end them."""


def make_sandbox(
    mode: Mode,
    env: Mapping[str, str],
    writable: Sequence[Path] = (),
    *,
    readable: Sequence[Path] = (),
    hidden: Sequence[Path] = (),
    network: Network = OFF,
) -> "ProcessSandbox":
    """Make the sandbox for a mode; `auto` means the strongest kind available here, which `level` then names.

    `env` is the base of every command's environment (see `make_env`); `writable` and `readable` are files and folders
    of the person that confined commands may use besides the workspace, `hidden` those that they must not see.
    """
    level = find_level(mode)
    parts = {"landlock": ("off", "on"), "seatbelt": ("off", "loopback", "on")}.get(level.name)
    if parts and network.mode not in parts:
        raise UsageError(
            f"This kind of network access is not available here ({level.why_not_more}): "
            f"use --network {' or '.join(parts)}."
        )
    if level.name == "namespaces":
        return ProcessSandbox(env, level, network, FileSystemView(env, hidden, readable, writable))
    if level.name == "seatbelt":
        return ProcessSandbox(env, level, network, seatbelt=Seatbelt(env, hidden, readable, writable))
    view = FileSystemView(env, hidden, readable)
    return ProcessSandbox(env, level, network, landlock=Landlock(view, writable) if level.confines else None)


class ProcessSandbox(Struct, eq=False):
    """Runs commands as processes of the person's user, confined as `level` says."""

    env: Mapping[str, str]
    level: SandboxLevel
    network: Network
    view: FileSystemView | None = None
    landlock: "Landlock | None" = None
    seatbelt: Seatbelt | None = None
    _supervisors: SupervisorPool = field(default_factory=SupervisorPool)
    _networks: dict[str, list[int]] = {}
    """Handles of the user and network namespaces that all commands of a workspace with services share, by workspace."""
    _serving: dict[str, set[asyncio.Task[CommandResult]]] = {}

    def __post_init__(self) -> None:
        self.network = self.network if self.level.confines else Network("on")

    @property
    def says(self) -> str:
        if self.level.name == "none":
            return "Only write in the workspace and $TMPDIR."
        says = describe_reach(self.level, self.network)
        reach = says[0].upper() + says[1:]
        if self.level.name == "namespaces":
            return (
                "Only the workspace, the home folder and /tmp can be written; the last two are private to this task "
                f"and not part of its result. {reach}."
            )
        return f"Only the workspace, the home folder and $TMPDIR can be written, not /tmp. {reach}."

    def start(self) -> None:
        """Start the spawner, so that the first command need not wait for a Python to start."""
        self._supervisors.start()

    async def run(
        self,
        argv: Sequence[str],
        *,
        workspace: WorkFolder,
        timeout: float,
        limit: int,
        progress: Callable[[str], None] = lambda line: None,
        env: Mapping[str, str] | None = None,
        handles: Sequence[int] = (),
    ) -> CommandResult:
        """Run a command. `handles`: a socket to which the command's user and network namespaces are sent."""
        begun = time.monotonic()
        workspace.scratch.mkdir(parents=True, exist_ok=True)
        handles = handles or self._networks.get(_make_mark(workspace), ())
        request = json.dumps(self._request(argv, workspace, env or {}, handles)).encode()
        with Command(self._supervisors, len(request), limit, progress, handles) as command:
            await command.send(request)
            killed = await command.attend(timeout)
            report = await command.report()
            if not report:
                # The supervisor was killed, so its command may still be running: find its processes by the workspace's
                # mark in their environment, and kill them.
                await self.sweep(workspace)
                killed = killed or "because its supervisor process ended"
            await command.drain()
        status, output = _read_outcome(argv, workspace, report, bytes(command.output))
        if status and self.landlock is not None:
            output += await copy_denied_folders(workspace, output)
        return CommandResult(None if killed else status, output, time.monotonic() - begun, killed)

    async def serve(
        self, argv: Sequence[str], *, workspace: WorkFolder, limit: int, env: Mapping[str, str]
    ) -> asyncio.Task[CommandResult]:
        mark = _make_mark(workspace)
        run = partial(self.run, argv, workspace=workspace, timeout=EVER, limit=limit, env=env)
        if self.view is not None and self.network.mode != "on" and mark not in self._networks:
            service = await self._serve_first(mark, run)
        else:
            service = asyncio.create_task(run())
        self._serving.setdefault(mark, set()).add(service)
        service.add_done_callback(lambda ended: self._has_ended(mark, ended))
        return service

    async def _serve_first(
        self, mark: str, run: Callable[..., Coroutine[Any, Any, CommandResult]]
    ) -> asyncio.Task[CommandResult]:
        """Start a workspace's first service, whose network the workspace's other commands share from now on."""
        link, theirs = socket.socketpair()
        arrived = asyncio.Event()
        asyncio.get_running_loop().add_reader(link, arrived.set)
        service = asyncio.create_task(run(handles=[theirs.fileno()]))
        waiting = asyncio.create_task(arrived.wait())
        try:
            await asyncio.wait((waiting, service), return_when=asyncio.FIRST_COMPLETED)
            if arrived.is_set():
                _, handles, _, _ = socket.recv_fds(link, 1, SHARED)
                self._networks[mark] = handles
        except BaseException:
            service.cancel()
            raise
        finally:
            waiting.cancel()
            asyncio.get_running_loop().remove_reader(link)
            link.close()
            theirs.close()
        return service

    def _has_ended(self, mark: str, service: asyncio.Task[CommandResult]) -> None:
        left = self._serving[mark]
        left.discard(service)
        if not left:
            del self._serving[mark]
            for handle in self._networks.pop(mark, ()):
                os.close(handle)

    async def sweep(self, workspace: WorkFolder) -> None:
        await asyncio.to_thread(_end_marked, _make_mark(workspace))

    def _request(
        self, argv: Sequence[str], workspace: WorkFolder, env: Mapping[str, str], handles: Sequence[int]
    ) -> dict[str, Any]:
        own = {"TMPDIR": str(workspace.scratch), "PWD": str(workspace.folder), MARK: _make_mark(workspace)}
        request: dict[str, Any] = {"argv": list(argv), "cwd": str(workspace.folder), "writable": None, "readable": None}
        # Without a network namespace, Unix sockets are forbidden: through one, a terminal multiplexer, a key agent or a
        # container daemon could be made to run commands outside the sandbox.
        request |= {"abi": self.level.abi, "families": INTERNET if self.network.mode == "on" else ()}
        if self.view is not None:
            mounts, writable = self.view.of(workspace, self.network.mode == "on")
            space = {"mounts": mounts, "of": identify_mounts(mounts), "network": self.network.request()}
            # File descriptors differ between processes; by the inodes the supervisor can tell whether its keeper is in
            # these namespaces already.
            space["joins"] = [os.fstat(handle).st_ino for handle in handles]
            request |= {"writable": writable, "families": (AF_UNIX, *INTERNET), "space": space}
            own |= {"TMPDIR": "/tmp", **self.network.env()}
        elif self.landlock is not None:
            request["writable"] = self.landlock.writable(workspace)
            request["readable"] = self.landlock.readable(workspace)
            own |= make_home_env(workspace, self.env)
        elif self.seatbelt is not None:
            request["argv"] = self.seatbelt.wrapped(argv, workspace, self.network)
            own |= make_home_env(workspace, self.env)
        sources = find_own_sources(workspace.root, workspace.folder, workspace.env.get("PYTHONPATH", ""))
        request["env"] = {**self.env, **workspace.env, **sources, **env, **own}
        return request


def _read_outcome(
    argv: Sequence[str], workspace: WorkFolder, report: dict[str, Any], output: bytes
) -> tuple[int, bytes]:
    """Return a command's exit status and output as a shell would: 127 if it was not found, 126 if it cannot be run,
    128 + n if signal n ended it."""
    step, number = report.get("failed"), report.get("errno")
    if step is None:
        status = int(report.get("status", 0))
        return (status if status >= 0 else 128 - status), output
    if step != "exec":
        what = "the command's folder cannot be entered" if step == "folder" else "the command cannot be confined"
        raise WorkspaceError(f"No command can run in {workspace.folder}, because {what}: {report['why']}.")
    if number in (errno.ENOENT, errno.ENOTDIR):
        return 127, os.fsencode(f"{argv[0]}: command not found\n")
    if number == errno.E2BIG:
        return 126, b"The command line is too long for the system: put the text into a file and run that.\n"
    return 126, os.fsencode(f"{argv[0]}: {report['why']}\n")


def _make_mark(workspace: WorkFolder) -> str:
    return os.path.realpath(workspace.root)


def _end_marked(mark: str) -> None:
    wanted = b"\0" + os.fsencode(f"{MARK}={mark}") + b"\0"
    # Repeat until a scan finds none, because a process may be forked between a scan and the kill.
    for _ in range(100):
        marked = []
        for pid in kernel.list_processes():
            with suppress(OSError):  # the process has ended, or is another user's
                if pid != os.getpid() and wanted in b"\0" + Path(f"/proc/{pid}/environ").read_bytes() + b"\0":
                    marked.append(pid)
        if not marked:
            return
        for pid in marked:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "shm", "mqueue"))
_TOOLCHAINS = {"RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv", "NVM_DIR": ".nvm", "RBENV_ROOT": ".rbenv"}
"""The folder in the home that each toolchain uses if its variable is not set."""
_DENIED = re.compile(rb"permission denied|EACCES|read-only file system|EROFS|operation not permitted", re.IGNORECASE)
_END = 20_000
"""How many bytes at the end of the output are searched for a message that access was denied."""


class Landlock:
    """Decides which paths a command may write to and read with Linux's Landlock alone, where namespaces are forbidden.

    Files can be created, changed and removed only in the workspace, its scratch folder, a private home and the usual
    device files. What namespaces would hide cannot be read, unless it lies in a folder that must be readable.
    `levels.py` lists what this does not stop."""

    def __init__(self, view: FileSystemView, more: Sequence[Path] = ()) -> None:
        """Set up the paths. `more`: files and folders that the person makes writable besides the usual ones."""
        self._view = view
        self._more = [os.path.realpath(path) for path in (*map(Path, DEVICES), *more)]

    def writable(self, workspace: WorkFolder) -> list[str]:
        return [
            os.path.realpath(workspace.root),
            str(workspace.scratch),
            str(find_private_folder(workspace)),
            *self._more,
        ]

    def readable(self, workspace: WorkFolder) -> list[str]:
        lines, _ = self._view.of(workspace, network=True)
        sources = [source for kind, _, source, _ in lines if kind in ("read", "lent", "over", "cache")]
        return ["/proc", *DEVICES, *sources]


def make_home_env(workspace: WorkFolder, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that give commands a home of their own, since they may not write to the person's."""
    theirs, own = Path(env.get("HOME") or "/"), find_private_folder(workspace) / "home"
    own.mkdir(parents=True, exist_ok=True)
    tools = {name: str(theirs / folder) for name, folder in _TOOLCHAINS.items() if (theirs / folder).is_dir()}
    return {name: place for name, place in tools.items() if name not in env} | {"HOME": str(own)}


async def copy_denied_folders(workspace: WorkFolder, output: bytes) -> bytes:
    """Copy each folder that the workspace borrows from the person into the workspace if a command's output shows that
    it was denied writing there: Landlock cannot give it a copy-on-write view. Returns a message about the copies."""
    text = output[-_END:]
    if not workspace.mounts or not _DENIED.search(text):
        return b""
    told = b""
    for mount in workspace.mounts:
        name = mount.source.name
        if mount.mode == "overlay" and os.fsencode(f"{name}/") in text and await workspace.own(mount):
            told += os.fsencode(
                f"\nbough: {name} is now a copy that belongs to this workspace: run the command again.\n"
            )
    return told
