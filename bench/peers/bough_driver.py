"""bough through its Python interface: the whole engine, the journal in SQLite with every event durable before the next
effect, a private workspace for each agent, a real file read in every round. No check, since no peer runs one, and no
question beforehand how big the goal is. The stuck detector looks at every round; hundreds of reads that nothing comes
of would be just what it is for, so that threshold and the soft limit are out of reach, like peers' limits on steps."""

import asyncio
import os
from pathlib import Path

from harness import GOAL, KEY, MODEL, ROUND, TOOL_RESULT, Entry, main

PARTS = "parts.txt"
IMPORTS = ("bough", "bough.api", "bough.app")


def _project(n: int, folder: Path) -> None:
    """A small plain folder with a file of one line for each round, so that no two reads are the same."""
    os.environ |= {
        "OPENAI_API_KEY": KEY,
        "BOUGH_PLANNING_FLAT": "true",
        "BOUGH_STUCK_LOOKS": "100000",
        "BOUGH_LADDER_TASK_ROUNDS": "100000",
    }
    (folder / PARTS).write_text(f"{TOOL_RESULT}\n" * n)


async def rounds(n: int, base_url: str, folder: Path) -> None:
    import bough

    _project(n, folder)
    os.environ["BOUGH_MODELS_PROTOCOL"] = "tools"  # The server's script has no answer to a trial.
    outcome = await bough.run(
        GOAL, dir=folder, requires_testing=False, model=f"openai:{MODEL}", base_url=base_url, rounds=2 * n + 10
    )
    assert outcome.completed, outcome


async def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    """So many runs at once in one project: one journal and one set of workspaces for all of them."""
    from bough.app import Choices, RunObserver, open_session
    from bough.core.planning.plan import build_goal_step

    _project(n, folder)
    step = build_goal_step(GOAL, check=None, criteria=(), requires_testing=False)
    choices = Choices(model=f"openai:{MODEL}", base_url=base_url, protocol="tools", rounds=2 * n + 10)
    async with open_session(folder, create=True) as opened:
        outcomes = await asyncio.gather(*(opened.start(step, choices, RunObserver()) for _ in range(count)))
    assert all(outcome.completed for outcome in outcomes), outcomes


if __name__ == "__main__":
    call = f'{{"path": "{PARTS}", "start": {ROUND}, "lines": 1}}'
    done = '{"summary": "Everything is as it should be."}'
    main(Entry("bough-agent", IMPORTS, rounds, agents, "read", call, "done", done))
