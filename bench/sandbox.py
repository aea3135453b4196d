"""What the sandbox costs a command: `python -m bench.sandbox [N]`.

The same trivial command at every level, taking turns so that what else the machine does falls on all of them alike.
"""

import asyncio
import os
import statistics
import sys
import tempfile
from pathlib import Path

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.workspaces.plain_folder import PlainFolder
from bough.core.errors import UsageError

MODES: tuple[Mode, ...] = ("none", "landlock", "namespaces")


async def measure(count: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as top:
        sandboxes = {}
        for mode in MODES:
            try:
                sandboxes[mode] = make_sandbox(mode, make_env(os.environ))
            except UsageError as error:
                print(f"{mode}: {error}")
                continue
            root = Path(top, mode)
            root.mkdir()
            taken[mode] = []
        for turn in range(count + 3):
            for mode, sandbox in sandboxes.items():
                root = Path(top, mode)
                workspace = PlainFolder(root, root, Path(top, f"{mode}-scratch"))
                finished = await sandbox.run(["true"], workspace=workspace, timeout=60, limit=100)
                assert finished.exit_status == 0, finished
                if turn >= 3:  # the first ones start interpreters and namespaces
                    taken[mode].append(finished.seconds * 1000)
    return taken


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    taken = asyncio.run(measure(count))
    plain = statistics.median(taken["none"])
    print(f"{count} commands each, milliseconds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'level':<12}{'best':>8}{'median':>8}{'p90':>8}{'above none':>12}")
    for mode, times in taken.items():
        times.sort()
        median = statistics.median(times)
        print(f"{mode:<12}{times[0]:>8.1f}{median:>8.1f}{times[len(times) * 9 // 10]:>8.1f}{median - plain:>12.1f}")


if __name__ == "__main__":
    main()
