"""Hostile repositories, archives and models, and what they get out of bough's own, unconfined process.

`python -m tests.escape.hostile NAMES…` tries the attacks, each in a process with a home and a project of its own, and
prints what each achieved as JSON: nothing, if bough holds. A program of its own, so that it can be run as another user
than that of the tests. `SECRET` lies in files of the home that no attack may read; code of the repository that runs
outside the sandbox leaves a file in the home.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.escape import hostile_files, hostile_programs, hostile_settings
from tests.escape.place import ATTACKS, MEMORY, SECONDS, Place

__all__ = ["ATTACKS", "hostile_files", "hostile_programs", "hostile_settings"]


def attempt(name: str) -> list[str]:
    """One attack in a process of its own, which is ended when it takes too long."""
    top = Path(tempfile.mkdtemp(prefix="hostile-", dir="/tmp"))
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        os.setsid()
        try:
            found = ATTACKS[name](Place(top))
        except BaseException:  # noqa: BLE001 - to be told
            found = [f"broken: {traceback.format_exc()[-1500:]}"]
        os.write(writes, json.dumps(found).encode()[:60_000])
        os._exit(0)
    os.close(writes)
    try:
        return _watch(child, reads)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
        subprocess.run(["chmod", "-R", "u+rwX", str(top)], check=False, capture_output=True)
        shutil.rmtree(top, ignore_errors=True)


def _watch(child: int, reads: int) -> list[str]:
    import select

    end, largest = time.monotonic() + SECONDS, 0
    with os.fdopen(reads, "rb", buffering=0) as stream:
        while time.monotonic() < end:
            if select.select([stream], [], [], 0.05)[0]:
                said = stream.read()
                break
            largest = max(largest, _resident(child))
            if largest > MEMORY:
                return [f"took: {largest >> 20} MB of memory"]
        else:
            return [f"blocked: bough, for {SECONDS:g} s"]
    return list(json.loads(said)) if said else ["broken: it died"]


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def outcomes(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    from concurrent.futures import ThreadPoolExecutor

    chosen = [name for name in ATTACKS if not names or any(part in name for part in names)]
    with ThreadPoolExecutor(2) as pool:
        yield from zip(chosen, pool.map(_timed, chosen), strict=True)


def _timed(name: str) -> list[str]:
    began = time.monotonic()
    found = attempt(name)
    print(f"{time.monotonic() - began:5.1f} s  {name}", file=sys.stderr)
    return found


if __name__ == "__main__":
    import bough.adapters.agents.acp
    import bough.adapters.mcp.tools
    import bough.app.run_ports
    import bough.engine.run_loop
    import bough.interfaces.mcp  # noqa: F401 - once, before the forks
    from tests import zygote

    zygote.warm()
    print(json.dumps(dict(outcomes(sys.argv[1:]))))
