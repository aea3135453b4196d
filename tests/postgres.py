"""A real PostgreSQL server for tests: from the `pgserver` wheel, or the one that `BOUGH_TEST_POSTGRES` names."""

from __future__ import annotations

import os
import tempfile
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
