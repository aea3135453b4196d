"""`bough doctor` tries to escape the sandbox that runs get here, and reports what it found."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.ports import Sandbox
from bough.trust.programs import start_program

_SECRET = "bough-doctor-canary"


async def try_to_break_out(sandbox: Sandbox) -> tuple[int, list[str]]:
    """How many escapes were tried, and those that succeeded, as things that commands can do."""
    with (
        tempfile.TemporaryDirectory(prefix="bough-doctor-") as top,
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        start_program(["sleep", "60"], project=None, env={}) as bystander,
    ):
        try:
            return await _try_escapes(sandbox, Path(top), server, bystander)
        finally:
            bystander.kill()


async def _try_escapes(
    sandbox: Sandbox, top: Path, server: socket.socket, bystander: subprocess.Popen[bytes]
) -> tuple[int, list[str]]:
    mine, token = top / "mine.txt", f"7{os.getpid()}"
    mine.write_text(_SECRET)
    mine.chmod(0o600)
    workspace = make_plain_folder(top)
    server.settimeout(0.1)
    port = server.getsockname()[1]
    attempts: list[tuple[str, str, Callable[[bytes], bool]]] = [
        ("read your files", f"cat {mine}", lambda said: _SECRET.encode() in said),
        ("write outside of the workspace", f"echo x > {mine}", lambda said: mine.read_text() != _SECRET),
        ("change modes of your files", f"chmod 666 {mine}", lambda said: mine.stat().st_mode & 0o777 != 0o600),
        ("reach services on this machine", f"exec 3<>/dev/tcp/127.0.0.1/{port}", lambda said: _was_reached(server)),
        ("kill your processes", f"kill -9 {bystander.pid}", lambda said: bystander.poll() is not None),
        ("see your processes", f"cat /proc/{bystander.pid}/cmdline", lambda said: b"sleep" in said),
        ("outlive their call", f"setsid sleep {token} & exit 0", lambda said: _is_alive(token)),
        ("be root in a namespace of their own", "unshare -Ur cat /proc/self/uid_map", lambda said: b" 0 " in said),
        ("leave set-user-ID files", "cp /bin/true t; chmod u+s t", lambda said: _is_special(workspace.root / "t")),
    ]  # fmt: skip
    found = []
    for can, line, succeeded in attempts:
        finished = await sandbox.run(["bash", "-c", line], workspace=workspace, timeout=20, limit=100_000)
        if succeeded(finished.output):
            found.append(can)
    return len(attempts), found


def _was_reached(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except TimeoutError:
        return False
    return True


def _is_alive(token: str) -> bool:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if token.encode() in place.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def _is_special(path: Path) -> bool:
    return path.is_file() and bool(path.stat().st_mode & 0o4000)
