"""What every driver has in common: a process that imports, runs once and writes what it cost into a file.

A driver is a script that calls `main` with an `Entry`. It runs in the virtual environment of its peer, so this file
needs nothing but the standard library, and the folder above on `PYTHONPATH`:

    NAME_driver.py --server http://127.0.0.1:PORT --folder DIR --result FILE --rounds N [--agents N]
"""

import argparse
import asyncio
import importlib
import inspect
import json
import platform
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from server import MODEL, ROUND, Script

GOAL = "Look at every part, one after the other, then finish."
TOOL = "look"
TOOL_HELP = "Look at one part."
TOOL_RESULT = "The part is as it should be; go on with the next one."
"""What the tool answers, always, without doing anything: what is measured is everything around it."""
KEY = "not-a-key"

__all__ = ["GOAL", "KEY", "MODEL", "ROUND", "TOOL", "TOOL_HELP", "TOOL_RESULT", "Entry", "main"]

Rounds = Callable[[int, str, Path], Awaitable[None] | None]
Agents = Callable[[int, int, str, Path], Awaitable[None] | None]


@dataclass(frozen=True)
class Entry:
    """How one peer is driven."""

    package: str
    """The distribution whose version is reported."""
    imports: tuple[str, ...]
    """Modules that the work needs; importing them is timed on its own."""
    rounds: Rounds
    """(rounds, base_url, folder): one agent from the goal to its end; what it keeps on disk is below the folder."""
    agents: Agents
    """(agents, rounds, base_url, folder): so many agents at once."""
    tool: str = TOOL
    arguments: str = f'{{"part": {ROUND}}}'
    final_tool: str = ""
    final: str = "Everything is as it should be."

    def base_url(self, server: str, label: str, rounds: int) -> str:
        script = Script(label, rounds, self.tool, self.arguments, self.final_tool, self.final)
        return f"{server}/{script.encode()}/v1"


def main(entry: Entry) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--result", type=Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--agents", type=int, default=0)
    args = parser.parse_args()
    started = time.perf_counter()
    for module in entry.imports:
        importlib.import_module(module)
    imported = time.perf_counter() - started
    base_url = entry.base_url(args.server, "run", args.rounds)
    if args.agents:
        # One round of one agent first, so that what is loaded on first use is not shared out among the agents' rounds.
        warm = args.folder.parent / "warm"
        warm.mkdir()
        _run(entry.rounds(1, entry.base_url(args.server, "warm", 1), warm))
    started, used = time.perf_counter(), time.process_time()
    if args.agents:
        _run(entry.agents(args.agents, args.rounds, base_url, args.folder))
    else:
        _run(entry.rounds(args.rounds, base_url, args.folder))
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    report = {
        "version": version(entry.package),
        "python": platform.python_version(),
        "import_seconds": imported,
        "run_seconds": seconds,
        "rss": _peak(),
        "cpu_seconds": cpu,
    }
    args.result.write_text(json.dumps(report))


def _run(work: Awaitable[None] | None) -> None:
    """Peers with a blocking interface have done the work already."""
    if inspect.iscoroutine(work):
        asyncio.run(work)


def _peak() -> int:
    """The most memory this process has held, in bytes. `getrusage` would count what its parent held before it."""
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(fields["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
