"""Which run, and which of its tasks, a person means."""

from __future__ import annotations

from bough.adapters.stores.liveness import describe_worker
from bough.app import Journal
from bough.core.errors import NotFound, UsageError
from bough.core.ids import RUN
from bough.views.run_view import RunView


async def find_target(journal: Journal, run: str | None, task: str | None) -> tuple[str, str | None]:
    """The run and the task that `[RUN] [TASK]` mean. A task path alone refers to the latest run."""
    if run is None or task is not None:
        name = await journal.find(run)
        if task is not None and not await _has_task(journal, name, task):
            raise NotFound(f"{name} has no task `{task}`: `bough show {name}` lists them.")
        return name, task
    try:
        return await journal.find(run), None
    except UsageError as error:
        latest = (await journal.store.runs())[-1:]
        if latest and await _has_task(journal, latest[0], run):
            return latest[0], run
        if isinstance(error, NotFound) and latest:
            raise NotFound(
                f"There is no run `{run}` here, and the latest run has no such task: `bough runs` and `bough show` "
                "list them."
            ) from None
        raise


async def _has_task(journal: Journal, run: str, task: str) -> bool:
    """Whether it exists or is planned."""
    return bool(await journal.store.read(run, task, kinds=("TaskCreated",))) or task in (await journal.view(run)).tasks


async def find_standing(journal: Journal, run: RunView) -> tuple[str, str | None]:
    """The status of a run and the process that runs it. `interrupted`: unfinished, and no process runs it."""
    holder = await journal.store.holder(run.name, RUN)
    if holder is not None:
        return "running", describe_worker(holder)
    return "interrupted" if run.status == "running" else run.status, None
