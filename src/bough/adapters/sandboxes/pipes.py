"""A command in the sandbox whose input and output bough writes and reads while it runs.

The sandbox starts commands without input and collects what they print. Here a shell replaces those with two named pipes
in the workspace's folder for temporary files, so that every kind of sandbox can do it; standard error is still
collected. Others in the same workspace could open the pipes: their output is no more trustworthy than the workspace
itself.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bough.adapters.tools.output_text import decode_output
from bough.ports import Finished, Sandbox, WorkFolder
from bough.trust.handles import OpenHandle

_SCRIPT = 'exec "$@" <"$0/in" >"$0/out"'
_CHATTER = 20_000_000
"""Most bytes on standard error."""
_SAID = 600
"""The most characters of its last error output that a message quotes."""


class Pipes(Struct, eq=False):
    """`reader` ends when the command has ended."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _running: asyncio.Task[Finished]
    _transport: asyncio.ReadTransport
    _folder: Path
    unreadable: bool = False
    """Nothing more can be read: it has ended, or sent something unreadable."""

    @classmethod
    async def open(
        cls, sandbox: Sandbox, argv: Sequence[str], *, workspace: WorkFolder, env: Mapping[str, str], longest: int
    ) -> Pipes:
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
            for held in ("reader", "writer"):  # When the last writer is gone, the output has an end.
                os.close(ends[held])

        running.add_done_callback(let_go)
        return cls(reader, writer, running, transport, folder)

    async def read_line(self) -> bytes | None:
        """Read the next line; None: nothing more can be read."""
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
        """Explain how it ended, with its last error output, in a sentence; empty while it runs."""
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
        """End it, with everything it started."""
        self.writer.close()
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        self._transport.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _make_pipes(folder: Path) -> dict[str, int]:
    """Create both pipes, open at both ends: then neither side waits for the other, and there is no end before the
    command's. Opened from the folder, and never through a link."""
    ends: dict[str, int] = {}
    with OpenHandle(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)) as place:
        try:
            for name, kept, held in (("in", "write", "reader"), ("out", "read", "writer")):
                os.mkfifo(name, 0o600, dir_fd=place)
                for end in sorted((kept, held)):  # Reading first: writing needs a reader.
                    way = os.O_RDONLY if end.startswith("read") else os.O_WRONLY
                    ends[end] = os.open(name, way | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
                    if not stat.S_ISFIFO(os.fstat(ends[end]).st_mode):
                        raise FileNotFoundError(name)
        except BaseException:
            for handle in ends.values():
                os.close(handle)
            raise
    return ends
