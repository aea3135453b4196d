"""A real PostgreSQL server for tests: from the `pgserver` wheel, or the one that `BOUGH_TEST_POSTGRES` names."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
import warnings
from functools import cache
from itertools import count
from pathlib import Path

import pytest

_NAMED = os.environ.pop("BOUGH_TEST_POSTGRES", "")
"""Taken out, since the tests' own processes would refuse it as a setting that does not exist."""
_numbers = count(1)


@cache
def _server() -> str:
    if _NAMED:
        return _NAMED
    try:
        with warnings.catch_warnings(action="ignore"):  # about where it keeps its lock
            import pgserver
    except ImportError:
        return ""
    # Processes of one test session share it; the last one that ends removes it.
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    folder = Path(tempfile.gettempdir()) / f"bough-postgres-{session[:12]}"
    server = pgserver.get_server(folder, cleanup_mode="delete")  # type: ignore[attr-defined,unused-ignore]
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")  # no test cuts the power
    uri: str = server.get_uri()
    return uri


def new_schema() -> str:
    """The address of an empty journal. Skips the test if no server is available."""
    server = _server()
    if not server:
        pytest.skip("there is no PostgreSQL: install `pgserver`, or name a server in BOUGH_TEST_POSTGRES")
    mark = "&" if "?" in server else "?"
    return f"{server}{mark}schema=test_{os.getpid()}_{next(_numbers)}"


class OwnServer:
    """A server of one test, which may go away."""

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings(action="ignore"):
                import pgserver
        except ImportError:
            pytest.skip("there is no PostgreSQL to stop: install `pgserver`")
        # Not in the test's own folder: the server is another user, where root runs the tests.
        self.folder = Path(tempfile.mkdtemp(prefix="bough-postgres-"))
        self.folder.chmod(0o755)
        self._server = pgserver.get_server(self.folder / "data", cleanup_mode="delete")  # type: ignore[attr-defined,unused-ignore]
        self.url: str = self._server.get_uri()

    def stop(self) -> None:
        """At once, as when its machine is switched off."""
        file = self.folder / "data" / "postmaster.pid"
        os.kill(int(file.read_text().split()[0]), signal.SIGQUIT)
        while file.exists():
            time.sleep(0.02)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)
