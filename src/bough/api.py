"""bough from Python: small and typed."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from bough.core.planning.plan import Plan, Step, build_goal_step

if TYPE_CHECKING:
    from bough.app import RunObserver
    from bough.ports import Model
    from bough.views.run_view import Outcome


class RunOptions(TypedDict, total=False):
    """Options of a run; those left out are as configured."""

    model: str | Model
    fast_model: str | Model
    strong_model: str | Model
    agent: str
    strong_agent: str
    agent_env: tuple[str, ...]
    agent_network: str
    base_url: str
    record: Path
    rounds: int
    tokens: int
    cost: float
    minutes: float
    allow_unpriced: bool
    continues: str
    max_depth: int
    flat: bool
    jobs: int
    checks: int
    fresh: bool
    sandbox: Literal["auto", "namespaces", "landlock", "none"]
    network: str
    trust_config: bool


def _warn(ignored: Mapping[str, str]) -> None:
    listed = ", ".join(f"{name} = {value}" for name, value in ignored.items())
    warnings.warn(
        f"Settings of this repository are ignored ({listed}): allow them with trust_config=True.", stacklevel=2
    )


async def run(
    goal: str | Step | Plan,
    *,
    dir: Path | str = ".",
    check: str | None = None,
    criteria: tuple[str, ...] = (),
    requires_testing: bool = True,
    apply: bool = False,
    watch: RunObserver | None = None,
    **chosen: Unpack[RunOptions],
) -> Outcome:
    """Run a goal in a private workspace of the project around `dir`, and return how it ended.

    `check` is the command that proves the goal; without one bough looks for the project's own tests. A goal may also be
    a `Step`, which says all of that itself and may have smaller steps: they run first, in order, and then the goal's
    own check proves the whole. A `Plan`, which `load_workflow` makes of a file, runs as it is written. With `apply` the
    changes of a completed run are applied to the project's files; without it the files stay untouched.
    """
    from bough.app import Choices, RunObserver, open_session

    step = goal
    if isinstance(step, str):
        step = build_goal_step(step, check=check, criteria=criteria, requires_testing=requires_testing)
    choices = Choices(**chosen)
    async with open_session(dir, create=True, choices=choices, tell=_warn) as opened:
        outcome = await opened.start(step, choices, watch or RunObserver())
        if apply and outcome.completed:
            await opened.apply(outcome.run)
        return outcome


def load_workflow(path: Path | str, /, **inputs: object) -> Plan:
    """The plan in a workflow file, with its inputs filled in, for `run`. `WorkflowError`, a `BoughError`, names
    everything that is wrong with the file or the inputs, each with its line."""
    from bough.workflows import plan_of

    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in inputs.items()}
    file = Path(path)
    return plan_of(file, file.parent if file.is_file() else Path(), texts)


async def resume(
    run: str | None = None, *, dir: Path | str = ".", watch: RunObserver | None = None, **chosen: Unpack[RunOptions]
) -> Outcome:
    """Resume a run (by default the latest) at its first unfinished effect."""
    from bough.app import Choices, RunObserver, open_session

    choices = Choices(**chosen)
    async with open_session(dir, choices=choices) as opened:
        name = await opened.find(run)
        return await (await opened.as_begun(name, choices)).resume(name, choices, watch or RunObserver())


def run_sync(
    goal: str | Step | Plan,
    *,
    dir: Path | str = ".",
    check: str | None = None,
    apply: bool = False,
    watch: RunObserver | None = None,
    **chosen: Unpack[RunOptions],
) -> Outcome:
    """`run` for programs without an event loop."""
    return asyncio.run(run(goal, dir=dir, check=check, apply=apply, watch=watch, **chosen))
