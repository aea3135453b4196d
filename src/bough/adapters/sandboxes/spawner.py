"""The small processes that start commands for bough, and make sure that none of their processes is left over.

bough starts one spawner and asks it for *supervisors*: forks of this small process, one for each concurrent command,
which are reused. A supervisor starts a command in a new session, and adopts every orphan among the command's
descendants, so that the kernel tells whether any is left: even a daemon that left its group and cleared its environment
is found. The supervisor kills all of them when the command ends, when bough asks for it, and when bough is gone for
whatever reason, which it sees by its control socket.

On systems without such adoption only the command's process group is killed.

Imports only the standard library and files of this folder: the spawner runs isolated from the person's Python set-up,
without installed packages and with an empty environment."""

import json
import os
import resource
import select
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from bough.adapters.sandboxes import kernel, limits, namespaces
from bough.adapters.sandboxes.kernel import StartFailed
from bough.adapters.sandboxes.limits import END, GRACE, HIRE, PATIENCE, SHARED

RESET = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD)


def serve() -> None:
    """Take orders from the socket that is this process's standard input, until bough closes it."""
    # Close whatever bough had open without O_CLOEXEC (libraries do that), before any command could inherit it.
    os.closerange(3, 65536)
    # Signals must not end the spawner or its supervisors: nobody would be left to end the commands.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel reaps supervisors that end.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kernel.landlock_abi()  # Load what every supervisor would otherwise have to load itself.
    orders = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    # Commands inherit standard input, which must not be the socket of orders.
    os.dup2(null, 0)
    os.close(null)
    while True:
        order, handles, _, _ = socket.recv_fds(orders, 1, 1)
        if order != HIRE:
            os._exit(0)
        if os.fork() == 0:
            orders.close()
            os.set_inheritable(handles[0], False)  # No command must inherit the handle.
            Supervisor(socket.socket(fileno=handles[0])).serve()
            os._exit(0)
        os.close(handles[0])


class Supervisor:
    """Runs one command after the other, from its request to its report."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._keeper: namespaces.Keeper | None = None
        # Adopt orphans here and not in the spawner, so that everything that a supervisor adopts belongs to its own
        # command.
        kernel.adopt_orphans()
        self._woken, wakes = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wakes, False)
        # The handler does nothing, but with an ignored SIGCHLD the poll would not wake, and the exit status be lost.
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)

    def serve(self) -> None:
        clean = True
        while clean and (received := namespaces.receive_request(self._control)):
            request, (output, *handles) = received
            try:
                command = self._start(request, output, handles)
            except StartFailed as failed:
                report = failed.report
            else:
                try:
                    status = self._attend(command)
                finally:  # End the command even if this supervisor fails.
                    # In a process namespace of its own, all of a command ends with its first process. Otherwise, if a
                    # process hangs in the kernel, this supervisor ends, and the next command gets another one.
                    clean = "space" in request or self._end_all(command)
                report = {"status": os.waitstatus_to_exitcode(status)}
            # Leave the workspace's folder: while a process is in it, it cannot be unmounted.
            os.chdir("/")
            try:
                self._control.sendall(json.dumps(report).encode() + b"\n")
            except OSError:
                return  # If the report cannot be sent, bough is gone.

    def _start(self, request: dict[str, Any], output: int, handles: list[int]) -> int:
        """Start the command's process. `handles`, which are closed here: the user and network namespaces that it joins,
        or a socket to which its own are sent. Raises `StartFailed`."""
        try:
            if (space := request.get("space")) is None:
                command = _start(request, output)
                if sys.platform == "linux":
                    limits.limit_process(command, own_users=False)
                return command
            if self._keeper is None or self._keeper.space != space:
                self._end_keeper()
                self._keeper = namespaces.Keeper(space, handles if len(handles) == SHARED else ())
            command = self._keeper.start({**request, "space": None}, output)
            if len(handles) == 1:
                # The receiver of the handles may be gone.
                with socket.socket(fileno=os.dup(handles[0])) as link, suppress(OSError):
                    socket.send_fds(link, [b"."], self._keeper.shares)
            return command
        except StartFailed as failed:
            if failed.report["failed"] == "namespaces":
                self._end_keeper()
            raise
        finally:
            for handle in (output, *handles):
                os.close(handle)

    def _end_keeper(self) -> None:
        if self._keeper is not None:
            self._keeper.end()
            self._keeper = None

    def _attend(self, command: int) -> int:
        """Wait for the command, and end it when bough asks for it or is gone. Return its wait status."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        poll.register(self._control, select.POLLIN)
        end_at: float | None = None
        while True:
            # Look before polling, because the command may have ended before the handler was installed.
            pid, status = os.waitpid(command, os.WNOHANG)
            if pid:
                return status
            if end_at is not None and time.monotonic() >= end_at:
                namespaces.end_group(command, signal.SIGKILL)
                end_at = None
            wait = None if end_at is None else max(0.0, end_at - time.monotonic()) * 1000 + 1
            ready = [handle for handle, _ in poll.poll(wait)]
            if self._woken in ready:
                os.read(self._woken, 4096)
            if self._control.fileno() in ready:
                try:
                    order = self._control.recv(1)
                except ConnectionResetError:
                    order = b""
                namespaces.end_group(command, signal.SIGTERM if order == END else signal.SIGKILL)
                if order == END:
                    end_at = time.monotonic() + GRACE
                # An empty order is the end of the socket: bough is gone. It stays readable for ever, which would make
                # this loop spin.
                elif not order:
                    poll.unregister(self._control)

    def _end_all(self, command: int) -> bool:
        """Kill the command's descendants until the kernel reports none left. Return False if one does not disappear."""
        namespaces.end_group(command, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid:
                continue
            # Scan again and again, because a process may fork during a scan.
            for child in kernel.list_children():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            if poll.poll(20):
                os.read(self._woken, 4096)
        return False


def _start(request: dict[str, Any], output: int) -> int:
    """Start the command's process. Raises `StartFailed`.

    Landlock confines a thread and what that thread starts. So a separate thread, which ends right away, starts the
    command, without a fork of Python. The rest of this process stays unconfined, and out of the command's reach."""
    started: list[int | StartFailed] = []

    def start() -> None:
        try:
            with kernel.doing("folder"):
                os.chdir(request["cwd"])
            with kernel.doing("confine"):
                if request["writable"] is not None:
                    kernel.confine(request["writable"], request["abi"], tuple(request["families"]), request["readable"])
            argv, env = request["argv"], request["env"]
            with kernel.doing("exec"):
                # The command gets a new session, no input, and one pipe for both its output and its errors.
                pid = os.posix_spawn(
                    namespaces.find_program(argv[0], env.get("PATH", os.defpath)),
                    argv,
                    env,
                    file_actions=[(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)],
                    setsid=True,
                    setsigmask=(),
                    setsigdef=RESET,
                )
            started.append(pid)
        except StartFailed as failed:
            started.append(failed)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    if isinstance(started[0], StartFailed):
        raise started[0]
    return started[0]
