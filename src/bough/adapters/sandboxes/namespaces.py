"""Starting a command in namespaces of its own: it has its own users, processes, mounts, IPC and network.

A *keeper* holds the users, the network and the file system view for the commands of one workspace, because those are
slow to make. Each command starts as a copy of it, with processes, IPC and mounts of its own: the *first* process
confines itself, starts the command and reaps. When the first process ends, the kernel ends everything else in there,
whatever it did to hide; when the supervisor dies, so do they all.

Only the standard library is imported here (and `kernel`, `filter`), because the spawner runs without bough.
"""

# Paths are strings throughout: this process imports little.
# ruff: noqa: PTH102, PTH106, PTH112, PTH113, PTH118, PTH120, PTH208, PTH211

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bough.adapters.sandboxes import kernel, limits, relay

CLONE_PARENT = 0x8000
NEW_MOUNTS, NEW_UTS, NEW_IPC = 0x20000, 0x04000000, 0x08000000
NEW_USERS, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
SHARED = {"user": NEW_USERS, "net": NEW_NETWORK}
"""What the commands of a workspace share with its services, in the order in which it is entered."""

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_SLAVE = 2, 4, 8, 0x1000, 0x4000, 0x80000
MNT_DETACH = 2
AT_RECURSIVE = 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}

NEW = "/tmp"
"""Where the new root is built: a folder that every system has."""
NOTHING = "/.nothing"
_FROM = ("read", "lent", "write", "over", "cache")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
SHM_SIZE = "size=1g"

Trouble = dict[str, Any]


class StartFailed(Exception):
    """A step that failed, in the terms of a report."""

    def __init__(self, step: str, error: OSError | ValueError, what: str = "") -> None:
        number = error.errno if isinstance(error, OSError) else 0
        self.report: Trouble = {"failed": step, "errno": number, "why": f"{what}{error}"}
        super().__init__(json.dumps(self.report))

    @classmethod
    def told(cls, why: bytes) -> StartFailed:
        """The failure that another process reported; one that ended without a report was killed."""
        failed = cls("namespaces", OSError(errno.ESRCH, "the process that prepares them was killed"))
        if why:
            failed.report = json.loads(why)
        return failed


class Keeper:
    """The supervisor's side of the process that keeps a workspace's namespaces while commands come and go."""

    def __init__(self, space: dict[str, Any], joins: Sequence[int] = ()) -> None:
        """`joins`: handles of another keeper's users and network, to join. `StartFailed` when they are unavailable."""
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
                # The pipe that signals wake is the supervisor's: its copy here would have the supervisor woken by our
                # signals.
                signal.set_wakeup_fd(-1)
                # Above all the output of the command that it is made for: while it is open here, it has no end.
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
            try:
                if not self._joins:
                    # From outside, since a process cannot map more than itself in a namespace that it has just made.
                    _map_ids(self._pid)
            except OSError as error:
                raise StartFailed("namespaces", error, "users cannot be mapped: ") from error
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
        """A command in these namespaces; its first process is a child of ours. `StartFailed` when it cannot be
        started."""
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
        # The other end closes when the command's program is started (it is not inherited), so an end without a word
        # means that all went well.
        while piece := os.read(said, 65536):
            why += piece
        os.close(said)
        if pid and not why:
            return pid
        if pid:
            with suppress(ChildProcessError):
                # It has failed, but is our child: unreaped, it would stay for as long as this supervisor.
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
    """Everyone keeps their outside ID. Root keeps all users, as archives and installers expect; others can map only
    themselves."""
    uid, gid = os.geteuid(), os.getegid()
    every = "0 0 4294967295\n" if uid == 0 else ""
    try:
        _write(f"/proc/{pid}/uid_map", every or f"{uid} {uid} 1\n")
        _write(f"/proc/{pid}/gid_map", every or f"{gid} {gid} 1\n") if every else _map_own_group(pid, gid)
    except PermissionError:
        if not every:
            raise
        # Root of a container that is itself mapped, or has fewer rights.
        _write(f"/proc/{pid}/uid_map", "0 0 1\n")
        _map_own_group(pid, gid)


def _map_own_group(pid: int, gid: int) -> None:
    # The kernel's condition for mapping a group without rights: else leaving a group could give access that the group
    # denies.
    _write(f"/proc/{pid}/setgroups", "deny")
    _write(f"/proc/{pid}/gid_map", f"{gid} {gid} 1\n")


def _write(path: str, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _run_keeper(space: dict[str, Any], link: socket.socket, ready: int, joins: Sequence[int]) -> None:
    """The keeper: in users, mounts and a network of its own (or the users and network that it joins); each command also
    gets its own processes and IPC."""
    try:
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
            return
        # Only now: entering a user namespace changes credentials, and that clears this setting.
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
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
    except StartFailed as failed:
        os.write(ready, str(failed).encode())
        return
    except OSError as error:
        os.write(ready, str(StartFailed("namespaces", error)).encode())
        return
    os.write(ready, b".")
    os.close(ready)
    # Once for all commands, since it looks at all of /proc.
    settings = _list_kernel_settings()
    while True:
        head, (output, says) = _receive_request(link)
        body = bytearray()
        while len(body) < head:
            body += link.recv(head - len(body))
        request = {**json.loads(body), "settings": settings}
        # A child of the supervisor, not ours: it waits for the command as for any other.
        pid = kernel.clone(CLONE_PARENT | NEW_MOUNTS | NEW_PROCESSES | NEW_IPC | NEW_UTS)
        if pid == 0:
            _run_first_process(request, output, says)
        link.send(pid.to_bytes(4, "big"))
        os.close(output)
        os.close(says)


def _list_kernel_settings() -> list[str]:
    """The entries of /proc that are not about processes and could be written: the whole machine's settings, which root
    may change just by being root, in any namespace."""
    places = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdecimal() or entry.is_symlink():
                continue
            if entry.is_dir() or entry.stat().st_mode & 0o222:
                places.append(entry.path)
    return sorted(places)


def _receive_request(link: socket.socket) -> tuple[int, list[int]]:
    head, handles, _, _ = socket.recv_fds(link, 4, 2)
    if len(head) != 4 or len(handles) != 2:
        os._exit(0)
    for handle in handles:
        os.set_inheritable(handle, False)
    return int.from_bytes(head, "big"), handles


def _run_first_process(request: dict[str, Any], output: int, says: int) -> None:
    """The first process of the namespace: confine, start the command, reap until it has ended."""
    status = 125
    try:
        status = _run_command(request, output, says)
    except StartFailed as failed:
        os.write(says, str(failed).encode())
    except (OSError, ValueError) as error:
        os.write(says, str(StartFailed("namespaces", error)).encode())
    finally:
        os._exit(status)


def _run_command(request: dict[str, Any], output: int, says: int) -> int:
    # Should the supervisor be killed: the kernel then ends this process, and with the first process the whole
    # namespace.
    kernel.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    _close_other_handles(output, says)  # what the keeper has is none of this process's business
    # Over that of the outside processes, without which the kernel would not have allowed it.
    kernel.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "")
    # /proc/sys, /proc/sysrq-trigger and the like are the machine's, not the namespace's: root inside could switch it
    # off.
    for place in request["settings"]:
        kernel.mount(place, place, "", MS_BIND | MS_REC, "")
        kernel.set_mount(place, AT_RECURSIVE, ATTR_RDONLY)
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{SHM_SIZE}")
    # Before it is confined: its place in the order of victims is a file of /proc, which it may not write to then.
    limits.limit_process(0, own_users=True)
    try:
        os.chdir(request["cwd"])
    except OSError as error:
        raise StartFailed("folder", error) from error
    try:
        kernel.confine(request["writable"], request["abi"], tuple(request["families"]))
    except OSError as error:
        raise StartFailed("confine", error) from error
    command = os.fork()
    if command == 0:
        try:
            _exec_command(request, output)
        except (OSError, ValueError) as error:
            os.write(says, str(StartFailed("exec", error)).encode())
        finally:
            os._exit(125)
    # To the first process of a namespace the kernel delivers only signals that it handles.
    signal.signal(signal.SIGTERM, lambda number, frame: _end_command(command))
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


def _end_command(command: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(command, signal.SIGTERM)


def _exec_command(request: dict[str, Any], output: int) -> None:
    # A session of its own, so that the command's group can be ended without ending the first process.
    os.setsid()
    os.dup2(output, 1)
    os.dup2(output, 2)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    # Masks and ignored signals survive exec: a command that ignored SIGPIPE would write into the void for ever.
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
            with suppress(OSError):  # the one that listed them is closed already
                os.close(handle)


def probe() -> str:
    """Why a command cannot have namespaces of its own here; empty when it can. Starts one to find out."""
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
        # There is no program of that name: everything else has worked.
        return "" if failed.report["failed"] == "exec" else str(failed.report["why"])
    finally:
        os.close(null)
    return "a program without a name was started"


# ── the view of the file system ─────────────────────────────────────────────────────────────────────────────────────


def build_mounts(mounts: list[list[str]]) -> None:
    """Make the file system that the command sees out of a list of (kind, target, source, more), parents first:

    `read` and `write`: the source, as it is outside; `lent`: read-only, and without the sockets in it; `over`: a
    copy-on-write view of the source, whose changes go to the folder `more` (where that cannot be had, `lent`); `cache`:
    the same (else nothing); `empty`: an empty folder that covers what is there; `folder`: one where there is nothing to
    cover; `link`: a symbolic link to the source; `blank`: an empty file; `processes` and `devices`.
    """
    mount = kernel.mount
    # Open handles now: the new root covers what is at its place.
    sources = {source: _open_source(source) for kind, _, source, _ in mounts if kind in _FROM}
    sources |= {more: _open_source(more) for kind, _, _, more in mounts if kind in ("over", "cache")}
    # What we mount must not appear outside. What is mounted outside later (a disk, a network home) may appear here.
    mount("", "/", "", MS_SLAVE | MS_REC, "")
    mount("tmpfs", NEW, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
    os.mkdir(NEW + NOTHING)
    sealed = [NEW]
    for kind, target, source, more in mounts:
        try:
            _mount(kind, target, source, more, sealed, sources)
        except OSError as error:
            raise StartFailed("namespaces", error, f"{kind} {target}: ") from error
    os.rmdir(NEW + NOTHING)
    # Sealed at the end, since places to mount at are still made in them until then.
    for place in reversed(sealed):
        kernel.set_mount(place, 0, ATTR_RDONLY)
    for handle in sources.values():
        os.close(handle)
    os.chdir(NEW)
    # The old root lands on top of the new one, at the same place, and is then unmounted: no folder is needed for it,
    # and not even a process with all rights can climb back, as out of a chroot.
    kernel.syscall(PIVOT_ROOT[os.uname().machine], b".", b".")
    kernel.unmount(".", MNT_DETACH)
    os.chdir("/")


def _open_source(source: str) -> int:
    """Never through a link at the end: bough opens exactly what it checked."""
    try:
        handle = os.open(source, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise StartFailed("namespaces", error) from error
    if stat.S_ISLNK(os.fstat(handle).st_mode):
        raise StartFailed("namespaces", OSError(errno.ELOOP, "is a link", source))
    return handle


def _mount(kind: str, target: str, source: str, more: str, sealed: list[str], sources: dict[str, int]) -> None:
    mount = kernel.mount
    place = NEW + target
    if kind == "link":
        os.close(_open_target(os.path.dirname(target)))
        os.symlink(source, place)
    elif kind == "blank":
        # Covered rather than removed: it is the person's file.
        mount("/dev/null", place, "", MS_BIND, "")
    elif kind == "folder":
        os.close(_open_target(target))
    elif kind == "empty":
        handle = _open_target(target)
        mount("tmpfs", _handle_path(handle), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m")
        os.close(handle)
        sealed.append(place)
    elif kind == "processes":
        os.close(_open_target(target))
        mount("/proc", place, "", MS_BIND | MS_REC, "")
    elif kind == "devices":
        _make_devices(target)
    elif kind in ("over", "cache"):
        try:
            _overlay(target, sources[source], sources[more])
        except OSError:  # this kernel or this disk has no such mounts
            if kind == "over":
                _mount_read_only(target, sources[source])
    elif kind == "lent":
        _mount_read_only(target, sources[source])
    else:
        _bind(target, sources[source], writable=kind == "write")


def _handle_path(handle: int) -> str:
    return f"/proc/self/fd/{handle}"


def _bind(target: str, source: int, writable: bool) -> None:
    handle = _open_target(target, folder=stat.S_ISDIR(os.fstat(source).st_mode))
    # By handles on both sides: a path could be exchanged for a link between our look and the mount.
    kernel.mount(_handle_path(source), _handle_path(handle), "", MS_BIND | MS_REC, "")
    os.close(handle)
    # By its path, since the handle refers to what is now below the mount.
    kernel.set_mount(NEW + target, AT_RECURSIVE, ATTR_NOSUID | ATTR_NODEV | (0 if writable else ATTR_RDONLY))


def _mount_read_only(target: str, source: int) -> None:
    """Read-only, and only for reading: connecting to a socket is not a write to the system, and leads outside. Through
    a layer, a socket is a file that nobody listens on."""
    if stat.S_ISDIR(os.fstat(source).st_mode):
        handle = _open_target(target)
        try:
            options = f"lowerdir={NEW}{NOTHING}:{_handle_path(source)},userxattr"
            return kernel.mount("overlay", _handle_path(handle), "overlay", MS_NOSUID | MS_NODEV, options)
        except OSError:
            pass  # this kernel or this disk has no such mounts
        finally:
            os.close(handle)
    return _bind(target, source, writable=False)


def _overlay(target: str, source: int, changes: int) -> None:
    # Half-done work is in `work`, and mounting clears it: keepers of one workspace must not share it.
    upper, work = f"{_handle_path(changes)}/files", f"{_handle_path(changes)}/work/{os.getpid()}"
    with suppress(FileExistsError):
        os.mkdir(work)
    options = f"lowerdir={_handle_path(source)},upperdir={upper},workdir={work},userxattr"
    handle = _open_target(target)
    try:
        kernel.mount("overlay", _handle_path(handle), "overlay", MS_NOSUID | MS_NODEV, options)
    finally:
        os.close(handle)


def _open_target(target: str, folder: bool = True) -> int:
    """A handle of the place to mount at. What is missing on the way is created, and what is in the way, in a folder
    that commands can write to, is removed: a link there must not lead anywhere."""
    names = [name for name in target.split("/") if name]
    place = os.open(NEW, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for index, name in enumerate(names):
        last = index == len(names) - 1
        below = _open_step(place, name, folder or not last)
        os.close(place)
        place = below
    return place


def _open_step(place: int, name: str, folder: bool) -> int:
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    # A command that runs in this workspace right now can put something in the way again and again; it does not get to
    # keep us.
    for _ in range(5):
        try:
            handle = os.open(name, flags, dir_fd=place)
        except FileNotFoundError:
            with suppress(FileExistsError):  # another keeper of this workspace, at the same moment: look again
                _create(place, name, folder)
            continue
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
            return handle
        os.close(handle)
        with suppress(FileNotFoundError):
            os.rmdir(name, dir_fd=place) if stat.S_ISDIR(mode) else os.unlink(name, dir_fd=place)
    raise OSError(errno.EBUSY, "something keeps getting in the way", name)


def _create(place: int, name: str, folder: bool) -> None:
    if folder:
        os.mkdir(name, 0o755, dir_fd=place)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644, dir_fd=place))


def _make_devices(target: str) -> None:
    place = NEW + target
    os.close(_open_target(target))
    kernel.mount("tmpfs", place, "tmpfs", MS_NOSUID, "mode=0755,size=1m")
    for name in DEVICES:
        os.close(os.open(f"{place}/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        kernel.mount(f"/dev/{name}", f"{place}/{name}", "", MS_BIND, "")
    for name, to in (("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1")):
        os.symlink(to, f"{place}/{name}")
    os.symlink("/proc/self/fd/2", f"{place}/stderr")
    os.symlink("/proc/kcore", f"{place}/core")
    os.mkdir(f"{place}/pts")
    # An instance of its own: the person's terminals must not be there to be typed into.
    kernel.mount("devpts", f"{place}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{place}/ptmx")
    os.mkdir(f"{place}/shm")
    kernel.mount("tmpfs", f"{place}/shm", "tmpfs", MS_NOSUID | MS_NODEV, f"mode=1777,{SHM_SIZE}")
    kernel.set_mount(place, 0, ATTR_RDONLY)
