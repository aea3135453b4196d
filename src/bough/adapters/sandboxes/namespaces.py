"""Starting a command in namespaces of its own: it has its own users, processes, mounts, IPC and network.

A *keeper* holds the users, the network and the file system view for the commands of one workspace, because those are
slow to make. Each command starts as a copy of it, with processes, IPC and mounts of its own: the *first* process
confines itself, starts the command and reaps. When the first process ends, the kernel ends everything else in there,
whatever it did to hide; when the supervisor dies, so do they all.

Only the standard library is imported here (and `kernel`, `filter`), because the spawner runs without bough.
"""

# Paths are strings throughout: this process imports little.
# ruff: noqa: PTH112, PTH113, PTH118, PTH123, PTH208

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bough.adapters.sandboxes import kernel, limits, relay
from bough.adapters.sandboxes.kernel import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_REC, StartFailed
from bough.adapters.sandboxes.mounts import AT_RECURSIVE, ATTR_RDONLY, PIVOT_ROOT, SHM_SIZE, build_mounts

CLONE_PARENT = 0x8000
NEW_MOUNTS, NEW_UTS, NEW_IPC = 0x20000, 0x04000000, 0x08000000
NEW_USERS, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
SHARED = {"user": NEW_USERS, "net": NEW_NETWORK}
"""Namespaces that the commands of a workspace share with its services, in the order of entering."""
MOST_HANDLES = 1 + len(SHARED)
"""Handles of a request: the output, and those of the shared namespaces."""

PR_SET_DUMPABLE = 4


class Keeper:
    """The supervisor's side of the process that keeps a workspace's namespaces while commands come and go."""

    def __init__(self, space: dict[str, Any], joins: Sequence[int] = ()) -> None:
        """Start it. `joins`: handles of another keeper's users and network, to join. Raises `StartFailed` if
        unavailable."""
        self.space = space
        self.shares: list[int] = []
        """Handles of the users and the network, for others to join."""
        self._joins = bool(joins)
        self._relay = 0
        self._link, theirs = socket.socketpair()
        ready, tells_ready = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                # The wakeup pipe of signals is the supervisor's: our signals must not wake the supervisor.
                signal.set_wakeup_fd(-1)
                # Above all the output of the current command: while it is open here, it has no end.
                _close_other_handles(theirs.fileno(), tells_ready, *joins)
                _run_keeper(space, theirs, tells_ready, joins)
            finally:
                os._exit(125)
        theirs.close()
        os.close(tells_ready)
        try:
            self._prepare(ready)
        except BaseException:
            self.end()
            raise
        finally:
            os.close(ready)

    def _prepare(self, ready: int) -> None:
        """It sends `.` when it waits for its users to be mapped, and finally either `.` or the error."""
        why = os.read(ready, 1)
        if why == b".":
            with kernel.doing("namespaces", "users cannot be mapped: "):
                if not self._joins:
                    # From outside, since a process cannot map more than itself in a namespace that it has just made.
                    _map_ids(self._pid)
            # Now, because it soon becomes inaccessible to others.
            self.shares = [os.open(f"/proc/{self._pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in SHARED]
            self._link.send(b".")
            self._serve()
            why = b""
        while piece := os.read(ready, 65536):
            why += piece
        if why != b".":
            raise StartFailed.told(why)

    def _serve(self) -> None:
        """Start the relay out of the network: it listens inside and connects from here, outside."""
        network = self.space["network"]
        if self._joins or not (network["hosts"] or network["ports"]):
            return
        _, handles, _, _ = socket.recv_fds(self._link, 1, 1 + len(network["ports"]))
        self._relay = os.fork()
        if self._relay == 0:
            try:
                # Out of the supervisor's session: a signal to its group must not end the only way out of the network.
                os.setsid()
                _close_other_handles(*handles)
                relay.serve(network, [socket.socket(fileno=handle) for handle in handles])
            finally:
                os._exit(1)
        for handle in handles:
            os.close(handle)

    def start(self, request: dict[str, Any], output: int) -> int:
        """Start a command in these namespaces; its first process is a child of ours. Raises `StartFailed`."""
        said, says = os.pipe()
        try:
            body = json.dumps(request).encode()
            socket.send_fds(self._link, [len(body).to_bytes(4, "big")], [output, says])
            self._link.sendall(body)
            pid = int.from_bytes(self._link.recv(4), "big")
        except OSError:
            pid = 0
        finally:
            os.close(says)
        why = b""
        # The other end closes when the command's program starts (it is not inherited), so an end without a message
        # means success.
        while piece := os.read(said, 65536):
            why += piece
        os.close(said)
        if pid and not why:
            return pid
        if pid:
            with suppress(ChildProcessError):
                # It failed, but is our child: unreaped, it would stay as long as this supervisor.
                os.waitpid(pid, 0)
        raise StartFailed.told(why)

    def end(self) -> None:
        self._link.close()
        while self.shares:
            os.close(self.shares.pop())
        for pid in (self._pid, self._relay):
            if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def _map_ids(pid: int) -> None:
    """Map the users: everyone keeps their outside ID. Root keeps all users, as archives and installers expect; others
    can map only themselves."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        with suppress(PermissionError):  # root of a container that is itself mapped, or has fewer rights
            _write(f"/proc/{pid}/uid_map", "0 0 4294967295\n")
            return _write(f"/proc/{pid}/gid_map", "0 0 4294967295\n")
    _write(f"/proc/{pid}/uid_map", f"{uid} {uid} 1\n")
    # The kernel's condition for mapping a group without rights: otherwise leaving a group could give access that the
    # group denies.
    _write(f"/proc/{pid}/setgroups", "deny")
    return _write(f"/proc/{pid}/gid_map", f"{gid} {gid} 1\n")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _run_keeper(space: dict[str, Any], link: socket.socket, ready: int, joins: Sequence[int]) -> None:
    """The keeper: in users, mounts and a network of its own (or the users and network that it joins); each command also
    gets its own processes and IPC."""
    try:
        with kernel.doing("namespaces"):
            _enter(space, link, ready, joins)
    except StartFailed as failed:
        os.write(ready, str(failed).encode())
        return
    os.write(ready, b".")
    os.close(ready)
    # Once for all commands, since it reads all of /proc.
    settings = _list_kernel_settings()
    while True:
        if (received := receive_request(link)) is None:
            os._exit(0)
        request, (output, says) = received
        request["settings"] = settings
        # A child of the supervisor, not ours: it waits for the command as for any other.
        pid = kernel.clone(CLONE_PARENT | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC | NEW_UTS)
        if pid == 0:
            _run_first_process(request, output, says)
        link.send(pid.to_bytes(4, "big"))
        os.close(output)
        os.close(says)


def _enter(space: dict[str, Any], link: socket.socket, ready: int, joins: Sequence[int]) -> None:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Commands inherit it. They could not set it themselves: their own entry in /proc is root's by then.
    limits.be_first_to_go()
    network = space["network"]
    for handle, kind in zip(joins, SHARED.values(), strict=False):
        kernel.enter_namespace(handle, kind)
        os.close(handle)
    # Mounts are never shared: each keeper builds its own view, of one workspace.
    own = 0 if joins else NEW_USERS | (0 if network["shared"] else NEW_NETWORK)
    kernel.unshare(NEW_MOUNTS | own)
    os.write(ready, b".")
    if not link.recv(1):
        os._exit(125)
    # Only now: entering a user namespace changes credentials, and that clears this setting.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    # Nobody of the same user, and so no command, can trace the keeper or read its memory through /proc.
    kernel.prctl(PR_SET_DUMPABLE, 0)
    if not network["shared"]:
        kernel.raise_loopback()
    if not joins and (network["hosts"] or network["ports"]):
        listeners = relay.listen(network)
        socket.send_fds(link, [b"."], [listener.fileno() for listener in listeners])
        for listener in listeners:
            listener.close()
    build_mounts(space["mounts"])


def _list_kernel_settings() -> list[str]:
    """List the writable entries of /proc that are not about processes: the machine's settings, which root may change in
    any namespace."""
    places = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal() or entry.is_symlink():
                continue
            if entry.is_dir() or entry.stat().st_mode & 0o222:
                places.append(entry.path)
    return sorted(places)


def receive_request(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive a request: its length in four bytes, along with the output's pipe and other handles, then JSON. None:
    there are no more."""
    head, handles, _, _ = socket.recv_fds(link, 4, MOST_HANDLES)
    for handle in handles:  # for us alone: no command must inherit one
        os.set_inheritable(handle, False)
    length = int.from_bytes(head, "big")
    body = bytearray()
    while len(body) < length:
        piece = link.recv(min(length - len(body), 1 << 20))
        if not piece:
            return None
        body += piece
    return (json.loads(body), handles) if handles else None


def _run_first_process(request: dict[str, Any], output: int, says: int) -> None:
    """The first process of the namespace: confine, start the command, reap until it has ended."""
    status = 125
    try:
        with kernel.doing("namespaces"):
            status = _run_command(request, output, says)
    except StartFailed as failed:
        os.write(says, str(failed).encode())
    finally:
        os._exit(status)


def _run_command(request: dict[str, Any], output: int, says: int) -> int:
    # If the supervisor is killed, the kernel ends this process, and with the first process the whole namespace.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    _close_other_handles(output, says)  # the keeper's handles are none of this process's business
    # Mount the new /proc over the outer one; the kernel refuses a new /proc unless one is visible.
    kernel.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")
    # /proc/sys, /proc/sysrq-trigger and the like are the machine's, not the namespace's: root inside could switch it
    # off.
    for place in request["settings"]:
        kernel.mount(place, place, "", MS_BIND | MS_REC, "")
        kernel.set_mount(place, AT_RECURSIVE, ATTR_RDONLY)
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{SHM_SIZE}")
    # Before it is confined: its rank among the kernel's victims is a file of /proc, which it may not write to then.
    limits.limit_process(0, own_users=True)
    with kernel.doing("folder"):
        os.chdir(request["cwd"])
    with kernel.doing("confine"):
        kernel.confine(request["writable"], request["abi"], tuple(request["families"]))
    command = os.fork()
    if command == 0:
        try:
            _exec_command(request, output)
        except (OSError, ValueError) as error:
            os.write(says, str(StartFailed("exec", error)).encode())
        finally:
            os._exit(125)
    # The kernel delivers to the first process of a namespace only signals that it handles.
    signal.signal(signal.SIGTERM, lambda number, frame: end_group(command, signal.SIGTERM))
    os.close(output)
    os.close(says)
    while True:
        try:
            # All of them, since orphans in here become children of the first process, and would stay as zombies.
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return 125
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def end_group(command: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(command, number)


def _exec_command(request: dict[str, Any], output: int) -> None:
    # A session of its own, so that the command's group can be ended without ending the first process.
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # Masks and ignored signals survive exec: a command that ignored SIGPIPE would write for ever.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    kernel.prctl(PR_SET_DUMPABLE, 1)
    os.execve(find_program(request["argv"][0], request["env"].get("PATH", os.defpath)), request["argv"], request["env"])


def find_program(name: str, path: str) -> str:
    """The program of that name as a shell would find it, in the command's own view of the files."""
    if "/" in name:
        return name
    for folder in path.split(os.pathsep):
        program = os.path.join(folder, name)
        if os.access(program, os.X_OK) and os.path.isfile(program):
            return program
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def _close_other_handles(*kept: int) -> None:
    for handle in [int(name) for name in os.listdir("/proc/self/fd")]:
        if handle > 2 and handle not in kept:
            with suppress(OSError):  # the handle that listed them is closed already
                os.close(handle)


def probe() -> str:
    """Explain why a command cannot have namespaces of its own here; empty if it can. Starts one to find out."""
    if os.uname().machine not in PIVOT_ROOT:
        return f"bough does not know the system calls of {os.uname().machine}"
    places = [place for place in ("/usr", "/etc", "/bin", "/lib", "/lib64", "/nix") if os.path.isdir(place)]
    mounts = [["read", os.path.realpath(place), os.path.realpath(place), ""] for place in places]
    mounts += [["empty", "/empty", "", ""], ["processes", "/proc", "", ""], ["devices", "/dev", "", ""]]
    network = {"shared": False, "hosts": [], "ports": [], "upstream": ""}
    own = {"mounts": list({line[1]: line for line in mounts}.values()), "network": network}
    request = {"argv": [""], "env": {}, "cwd": "/", "writable": [], "abi": kernel.landlock_abi()}
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        keeper = Keeper(own)
        keeper.start({**request, "families": []}, null)
    except StartFailed as failed:
        # There is no program of that name: everything else worked.
        return "" if failed.report["failed"] == "exec" else str(failed.report["why"])
    finally:
        os.close(null)
    return "a program without a name was started"
