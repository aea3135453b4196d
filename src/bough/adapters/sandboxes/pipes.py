"""Runs a command in the sandbox, and writes its input and reads its output meanwhile.

The sandbox starts commands without input and collects what they print. Here a shell connects input and output to two
named pipes in the workspace's folder for temporary files, which works in every kind of sandbox; standard error is still
collected. Other commands in the workspace could open the pipes, so what comes out of them is no more trustworthy than
the workspace itself."""

import asyncio
import os
import secrets
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bough.adapters.tools.output_text import decode_output
from bough.ports import CommandResult, Sandbox, WorkFolder
from bough.trust.handles import OpenHandle

_SCRIPT = 'exec "$@" <"$0/in" >"$0/out"'
_CHATTER = 20_000_000
"""The most bytes that the command may print to standard error."""
_SAID = 600
"""The most characters at the end of the error output that a message quotes."""


class Pipes(Struct, eq=False):
    """The input and output of a running command. `reader` reaches its end when the command has ended."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _running: asyncio.Task[CommandResult]
    _transport: asyncio.ReadTransport
    _folder: Path
    unreadable: bool = False
    """Whether nothing more can be read, because the command has ended or sent a line that is too long."""

    @classmethod
    async def open(
        cls, sandbox: Sandbox, argv: Sequence[str], *, workspace: WorkFolder, env: Mapping[str, str], longest: int
    ) -> "Pipes":
        """Start the program with two pipes for its input and output. `longest`: the most bytes of one line."""
        loop = asyncio.get_running_loop()
        workspace.scratch.mkdir(parents=True, exist_ok=True)
        folder = workspace.scratch / f".pipes-{secrets.token_hex(8)}"
        folder.mkdir(0o700)
        ends = _make_pipes(folder)
        try:
            line = ["/bin/sh", "-c", _SCRIPT, str(folder), *argv]
            running = await sandbox.serve(line, workspace=workspace, limit=_CHATTER, env=env)
        except BaseException:
            for end in ends.values():
                os.close(end)
            shutil.rmtree(folder, ignore_errors=True)
            raise
        reader = asyncio.StreamReader(limit=longest)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ends["read"], "rb", buffering=0)
        )
        speaks, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop=loop), os.fdopen(ends["write"], "wb", buffering=0)
        )
        writer = asyncio.StreamWriter(speaks, protocol, None, loop)

        def let_go(ended: object) -> None:
            for held in ("reader", "writer"):  # The output ends once its last writer is closed.
                os.close(ends[held])

        running.add_done_callback(let_go)
        return cls(reader, writer, running, transport, folder)

    async def read_line(self) -> bytes | None:
        """Read the next line. Return None if nothing more can be read."""
        try:
            return await self.reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            self.unreadable = True
            return None

    async def write_line(self, line: bytes) -> None:
        self.writer.write(line + b"\n")
        await self.writer.drain()

    @property
    def ended(self) -> bool:
        return self._running.done()

    async def why(self, patience: float = 2.0) -> str:
        """Describe in a sentence how the command ended, with its last error output; empty while it runs."""
        await asyncio.wait((self._running,), timeout=patience)
        if not self._running.done() or self._running.cancelled():
            return ""
        if (error := self._running.exception()) is not None:
            return str(error)
        finished = self._running.result()
        how = f"was stopped {finished.killed}" if finished.killed else f"ended with exit status {finished.exit_status}"
        said = " ".join(decode_output(finished.output[-4 * _SAID :]).split())[-_SAID:]
        return f"It {how}{f': {said}' if said else ''}."

    async def close(self) -> None:
        """End the command with everything that it started."""
        self.writer.close()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        self._transport.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _make_pipes(folder: Path) -> dict[str, int]:
    """Create both pipes, and open both ends of each, so that neither side waits for the other to open it, and reading
    does not end before the command does. A name that was replaced by a link is refused."""
    ends: dict[str, int] = {}
    with OpenHandle(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)) as place:
        try:
            for name, kept, held in (("in", "write", "reader"), ("out", "read", "writer")):
                os.mkfifo(name, 0o600, dir_fd=place)
                # Open the reading end first: the other cannot be opened without a reader.
                for end in sorted((kept, held)):
                    way = os.O_RDONLY if end.startswith("read") else os.O_WRONLY
                    ends[end] = os.open(name, way | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
                    if not stat.S_ISFIFO(os.fstat(ends[end]).st_mode):
                        raise FileNotFoundError(name)
        except BaseException:
            for handle in ends.values():
                os.close(handle)
            raise
    return ends
