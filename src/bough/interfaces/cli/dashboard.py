"""The dashboard that `bough run --web` starts: a separate process, so that the engine never waits for a page."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec

from bough.core.errors import UsageError
from bough.installed import lacking
from bough.trust.programs import start_own


class Dashboard:
    """Starts the server process, which ends with this command, even if this process is killed."""

    def __init__(self) -> None:
        if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
            raise lacking("The dashboard", "web")
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self, root: Path) -> None:
        words = ("serve", "--dir", str(root), "--json", "--until", str(os.getpid()))
        self._process = start_own(root, *words, out=subprocess.PIPE)
        assert self._process.stdout is not None and self._process.stderr is not None
        said = self._process.stdout.readline()
        if not said:
            why = self._process.stderr.read().decode("utf-8", "replace").strip().removeprefix("bough: ")
            self.close()
            raise UsageError(f"The dashboard failed to start: {why}")
        self.url = str(msgspec.json.decode(said, type=dict[str, str | int])["url"])

    def stay(self) -> None:
        """Keep serving until the person presses Ctrl-C."""
        if self._process is None:
            return
        click.echo(f"\nThe dashboard stays at {self.url}\nuntil you press Ctrl-C.")
        with suppress(KeyboardInterrupt):
            self._process.wait()

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            self._process = None
