"""A real PostgreSQL server for tests and benches: from the `pgserver` wheel, the system's own programs, or the one that
`BOUGH_TEST_POSTGRES` names."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import pytest

_NAMED = os.environ.pop("BOUGH_TEST_POSTGRES", "")
"""Taken out, since the tests' own processes would refuse it as a setting that does not exist."""
_numbers = count(1)
Made = tuple[Callable[[], object], Callable[[], object], str]
"""How to start a server again, how to end it, and its address."""


@cache
def _server() -> str:
    if _NAMED:
        return _NAMED
    server = OwnServer()
    atexit.register(server.close)
    return server.url


def new_schema() -> str:
    """The address of an empty journal. Skips the test if no server is available."""
    server = _server()
    mark = "&" if "?" in server else "?"
    return f"{server}{mark}schema=test_{os.getpid()}_{next(_numbers)}"


class OwnServer:
    """A server of one process, which may go away."""

    def __init__(self) -> None:
        # Not in the test's own folder: the server is another user, where root runs the tests.
        self.folder = Path(tempfile.mkdtemp(prefix="bough-postgres-", dir="/tmp"))
        self.folder.chmod(0o755)
        self._data = self.folder / "data"
        self._start, self._end, self.url = _make_from_wheel(self._data) or self._make_from_system()

    @property
    def _pids(self) -> list[int]:
        """The server and its children."""
        pid = (self._data / "postmaster.pid").read_text().split()[0]
        children = subprocess.run(["pgrep", "-P", pid], capture_output=True, text=True, check=False).stdout.split()
        return [int(pid), *map(int, children)]

    def start(self) -> None:
        self._start()

    def stop(self) -> None:
        """At once, as when its machine is switched off."""
        os.kill(self._pids[0], signal.SIGQUIT)
        while (self._data / "postmaster.pid").exists():
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL to all of it."""
        pids = self._pids
        self._signal(signal.SIGKILL)
        while any(_lives(each) for each in pids):
            time.sleep(0.02)
        # Where nobody reaps them they stay as zombies, which it would take for a server that lives.
        for file in (self._data / "postmaster.pid", *self.folder.rglob(".s.PGSQL.5432*")):
            file.unlink(missing_ok=True)

    def freeze(self) -> None:
        """It answers nobody, and no connection breaks: as behind a network that swallows everything."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for each in self._pids:
            try:
                os.kill(each, number)
            except ProcessLookupError:
                continue

    def used(self) -> float:
        """Seconds of processor that it has used, its children included."""
        ticks = 0
        for at, each in enumerate(self._pids):
            try:
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks += sum(map(int, fields[11:13] if at else fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_from_system(self) -> Made:
        programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
        if programs is None:
            shutil.rmtree(self.folder)
            pytest.skip("there is no PostgreSQL: install `pgserver`, or name a server in BOUGH_TEST_POSTGRES")
        user = "postgres" if os.geteuid() == 0 else None  # It refuses to run as root.
        if user:
            shutil.chown(self.folder, user)

        def call(*argv: str | Path) -> None:
            subprocess.run(argv, user=user, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

        def start() -> None:
            options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
            call(programs / "pg_ctl", "-D", self._data, "-o", options, "-l", self.folder / "log", "-w", "start")

        def end() -> None:
            if (self._data / "postmaster.pid").exists():
                self.kill()

        call(programs / "initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync")
        start()
        return start, end, f"postgresql:///postgres?host={self.folder}&user=postgres"


def _make_from_wheel(data: Path) -> Made | None:
    """None: the wheel is not installed."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about where it keeps its lock
            import pgserver
    except ImportError:
        return None
    server = pgserver.get_server(data, cleanup_mode="delete")  # type: ignore[attr-defined,unused-ignore]
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")  # no test cuts the power
    return server.ensure_postgres_running, server.cleanup, server.get_uri()


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
