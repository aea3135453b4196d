"""Starts a command in its own namespaces of users, processes, mounts, IPC and network.

A *keeper* process holds the user and network namespaces and the file system for the commands of one workspace, because
those are slow to make. For each command it makes a copy of itself with new process, IPC and mount namespaces. This
*first process* confines itself, starts the command and reaps. When it ends, the kernel kills all others in its process
namespace, however they tried to hide; when the supervisor dies, all of them are killed.

Imports only the standard library and files of this folder, because the spawner's Python has no installed packages."""

# ruff: noqa: PTH112, PTH113, PTH118, PTH123, PTH208

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
"""The namespaces that the commands of a workspace share with its services, in the order in which they are entered."""
MOST_HANDLES = 1 + len(SHARED)
"""The most handles that come with a request: the output's, and those of the shared namespaces."""

PR_SET_DUMPABLE = 4


class Keeper:
    """The supervisor's side of the process that keeps a workspace's namespaces while commands come and go."""

    def __init__(self, space: dict[str, Any], joins: Sequence[int] = ()) -> None:
        """Start the process. `joins`: handles of another keeper's user and network namespaces, which it joins. Raises
        `StartFailed`."""
        self.space = space
        self.shares: list[int] = []
        """Handles of the user and network namespaces, which other keepers can join."""
        self._joins = bool(joins)
        self._relay = 0
        self._link, theirs = socket.socketpair()
        ready, tells_ready = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                # This fork has inherited the supervisor's wakeup pipe: its signals must not wake the supervisor.
                signal.set_wakeup_fd(-1)
                # Above all the current command's output must be closed here, or its reader would never see the end.
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
        """Answer the keeper while it prepares: it sends `.` when its users can be mapped, and at the end `.` or an
        error."""
        why = os.read(ready, 1)
        if why == b".":
            with kernel.doing("namespaces", "users cannot be mapped: "):
                if not self._joins:
                    # IDs must be mapped from outside: in its new namespace a process can map only itself.
                    _map_ids(self._pid)
            # Open the namespaces now, because the keeper's entry in /proc soon becomes inaccessible.
            self.shares = [os.open(f"/proc/{self._pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC) for kind in SHARED]
            self._link.send(b".")
            self._serve()
            why = b""
        while piece := os.read(ready, 65536):
            why += piece
        if why != b".":
            raise StartFailed.told(why)

    def _serve(self) -> None:
        """Start the relay, which listens inside the network namespace and connects from outside it."""
        network = self.space["network"]
        if self._joins or not (network["hosts"] or network["ports"]):
            return
        _, handles, _, _ = socket.recv_fds(self._link, 1, 1 + len(network["ports"]))
        self._relay = os.fork()
        if self._relay == 0:
            try:
                # Leave the supervisor's session, so that a signal to its process group does not end the relay.
                os.setsid()
                _close_other_handles(*handles)
                relay.serve(network, [socket.socket(fileno=handle) for handle in handles])
            finally:
                os._exit(1)
        for handle in handles:
            os.close(handle)

    def start(self, request: dict[str, Any], output: int) -> int:
        """Start a command in these namespaces, and return its first process, a child of ours. Raises `StartFailed`."""
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
        # The other end of the pipe closes when the command's program starts (it is not inherited), so an end without a
        # message means success.
        while piece := os.read(said, 65536):
            why += piece
        os.close(said)
        if pid and not why:
            return pid
        if pid:
            with suppress(ChildProcessError):
                # The failed process is a child of this supervisor, and would stay as a zombie if it were not reaped.
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
    """Map the user IDs of a new user namespace, each to the same ID outside. Root maps all, as archives and installers
    expect; other users can map only themselves."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        with suppress(PermissionError):  # The root user of a container may be unable to map all IDs.
            _write(f"/proc/{pid}/uid_map", "0 0 4294967295\n")
            return _write(f"/proc/{pid}/gid_map", "0 0 4294967295\n")
    _write(f"/proc/{pid}/uid_map", f"{uid} {uid} 1\n")
    # The kernel requires this before an unprivileged process maps a group: otherwise leaving a group could give access
    # that files deny to the group.
    _write(f"/proc/{pid}/setgroups", "deny")
    return _write(f"/proc/{pid}/gid_map", f"{gid} {gid} 1\n")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _run_keeper(space: dict[str, Any], link: socket.socket, ready: int, joins: Sequence[int]) -> None:
    """Run the keeper's process: enter namespaces of users, mounts and network (new ones, or those that it joins), then
    start a first process for each request."""
    try:
        with kernel.doing("namespaces"):
            _enter(space, link, ready, joins)
    except StartFailed as failed:
        os.write(ready, str(failed).encode())
        return
    os.write(ready, b".")
    os.close(ready)
    # List the settings once for all commands, since that reads all of /proc.
    settings = _list_kernel_settings()
    while True:
        if (received := receive_request(link)) is None:
            os._exit(0)
        request, (output, says) = received
        request["settings"] = settings
        # CLONE_PARENT makes the first process a child of the supervisor, which waits for it as for any command.
        pid = kernel.clone(CLONE_PARENT | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC | NEW_UTS)
        if pid == 0:
            _run_first_process(request, output, says)
        link.send(pid.to_bytes(4, "big"))
        os.close(output)
        os.close(says)


def _enter(space: dict[str, Any], link: socket.socket, ready: int, joins: Sequence[int]) -> None:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # Commands inherit the score. They could not set it themselves, because their entries in /proc belong to root by
    # then.
    limits.be_first_to_go()
    network = space["network"]
    for handle, kind in zip(joins, SHARED.values(), strict=False):
        kernel.enter_namespace(handle, kind)
        os.close(handle)
    # Mounts are never shared: each keeper builds the file system of its own workspace.
    own = 0 if joins else NEW_USERS | (0 if network["shared"] else NEW_NETWORK)
    kernel.unshare(NEW_MOUNTS | own)
    os.write(ready, b".")
    if not link.recv(1):
        os._exit(125)
    # Ask for a signal at the parent's death only now: entering a user namespace changes credentials, which clears it.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    # Now no process of the same user, and so no command, can trace the keeper or read its memory through /proc.
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
    """List the folders and writable files of /proc that are not about processes: the machine's settings, which root
    could change even in a namespace."""
    places = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal() or entry.is_symlink():
                continue
            if entry.is_dir() or entry.stat().st_mode & 0o222:
                places.append(entry.path)
    return sorted(places)


def receive_request(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Receive a request: its length in four bytes, together with the output's pipe and other handles, then JSON. Return
    None if the other side has closed the link."""
    head, handles, _, _ = socket.recv_fds(link, 4, MOST_HANDLES)
    for handle in handles:  # No command must inherit the handles.
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
    """Be the first process of a process namespace: confine itself, start the command, and reap until it has ended."""
    status = 125
    try:
        with kernel.doing("namespaces"):
            status = _run_command(request, output, says)
    except StartFailed as failed:
        os.write(says, str(failed).encode())
    finally:
        os._exit(status)


def _run_command(request: dict[str, Any], output: int, says: int) -> int:
    # If the supervisor is killed, the kernel kills this first process, and with it the whole namespace.
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    _close_other_handles(output, says)  # This process has inherited the keeper's handles, too.
    # Mount the new /proc over the outer one, since the kernel allows it only while another /proc is visible.
    kernel.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")
    # Make /proc/sys, /proc/sysrq-trigger and the like read-only. They belong to the machine, not to the namespace: by
    # writing to them, root in here could even switch the machine off.
    for place in request["settings"]:
        kernel.mount(place, place, "", MS_BIND | MS_REC, "")
        kernel.set_mount(place, AT_RECURSIVE, ATTR_RDONLY)
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{SHM_SIZE}")
    # Set the limits before confining: one of them is a file in /proc, which cannot be written afterwards.
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
    # Pass SIGTERM on: the kernel gives the first process of a namespace only signals for which it has a handler.
    signal.signal(signal.SIGTERM, lambda number, frame: end_group(command, signal.SIGTERM))
    os.close(output)
    os.close(says)
    while True:
        try:
            # Wait for any child, since orphans in here become children of the first process, and would stay as zombies.
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
    # Start a new session, so that the command's process group can be killed without the first process.
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # Masks and ignored signals survive exec, and a command that ignores SIGPIPE might write for ever: reset them.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    kernel.prctl(PR_SET_DUMPABLE, 1)
    os.execve(find_program(request["argv"][0], request["env"].get("PATH", os.defpath)), request["argv"], request["env"])


def find_program(name: str, path: str) -> str:
    """Find a program on `path` as a shell would, in the file system that the command sees."""
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
            with suppress(OSError):  # `listdir` has closed the handle with which it listed the others.
                os.close(handle)


def probe() -> str:
    """Try to start a command in its own namespaces, and return why that is impossible here; empty if it works."""
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
        Keeper(own).start({**request, "families": []}, null)
    except StartFailed as failed:
        # The program's name is empty, so starting it must fail; if only that fails, everything else works.
        return "" if failed.report["failed"] == "exec" else str(failed.report["why"])
    finally:
        os.close(null)
    return "a program without a name was started"
