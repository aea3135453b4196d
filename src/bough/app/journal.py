"""A project's journal, read-only. This module loads quickly, for `bough show` (docs/design/start-up.md)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.stores.liveness import describe_worker
from bough.adapters.workspaces.home import find_root
from bough.app.journal_location import find_address, open_store
from bough.core.errors import NotFound, StoreError, UsageError
from bough.core.ids import GOAL, INSPECTION, RUN
from bough.ports import Store
from bough.trust.home import check_home
from bough.views.run_view import EXACT_KINDS, KINDS, Outcome, RunView, view_run

if TYPE_CHECKING:
    from bough.core.acceptance.evidence_table import Table
    from bough.core.journal.run_fold import Run
    from bough.core.tree.task import Task
    from bough.views.details import Point


class Journal(Struct, frozen=True):
    """A project's journal, read-only."""

    root: Path
    store: Store

    async def find(self, name: str | None) -> str:
        """Find the run that a name, a unique prefix, `latest` or nothing refers to."""
        runs = await self.store.runs()
        if not runs and (lost := self._list_work_folders()):
            raise StoreError(
                f"The journal {self.root / '.bough' / 'journal.db'} has no runs, but work of {', '.join(lost)} exists: "
                "journal.db-wal was lost or removed; put it back, or restore both files from a backup."
            )
        if not runs:
            raise NotFound(f"There are no runs in {self.root} yet: start one with `bough run GOAL`.")
        if name in (None, "latest"):
            return runs[-1]
        if name in runs:
            return str(name)
        matches = [run for run in runs if run.startswith(str(name))]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(f"`{name}` is ambiguous: {', '.join(matches)}.")
        raise NotFound(f"There is no run `{name}` here: `bough runs` lists them.")

    async def find_task(self, run: str | None, task: str | None) -> tuple[str, str | None]:
        """Find the run and the task that `[RUN] [TASK]` mean. A task path alone refers to the latest run."""
        if run is None or task is not None:
            name = await self.find(run)
            if task is not None and not await self._has_task(name, task):
                raise NotFound(f"{name} has no task `{task}`: `bough show {name}` lists them.")
            return name, task
        try:
            return await self.find(run), None
        except UsageError as error:
            latest = (await self.store.runs())[-1:]
            if latest and await self._has_task(latest[0], run):
                return latest[0], run
            if isinstance(error, NotFound) and latest:
                raise NotFound(
                    f"There is no run `{run}` here, and the latest run has no such task: `bough runs` and `bough show` "
                    "list them."
                ) from None
            raise

    async def _has_task(self, run: str, task: str) -> bool:
        return bool(await self.store.read(run, task, kinds=("TaskCreated",))) or task in (await self.view(run)).tasks

    def _list_work_folders(self) -> list[str]:
        folder = self.root / ".bough" / "repo.git" / "histories"
        if find_address(self.root):  # With a shared journal, other machines may have the runs of these folders.
            return []
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        return [name for name in names if not name.startswith(INSPECTION)][:3]

    async def run(self, name: str) -> "Run":
        from bough.core.journal.run_fold import fold_run

        return fold_run(name, await self.store.read(name, RUN))

    async def task(self, name: str, task: str = GOAL) -> "Task":
        found = await self.look_at_task(name, task)
        if not found.version:
            raise NotFound(f"{name} has no task `{task}`: `bough show {name}` lists them.")
        return found

    async def work(self, name: str) -> "Task":
        """Return the run's goal with the person's files as its base, so that its changes include those of earlier runs
        that this one continues."""
        task = await self.task(name)
        return replace(task, base=(await self.run(name)).origin or task.base)

    async def view(self, name: str) -> RunView:
        run = view_run(name, await self.store.read(name, kinds=KINDS))
        for path in run.unsure:
            run.look_again(path, await self.store.read(name, path, kinds=EXACT_KINDS))
        return run

    async def holder(self, name: str) -> str | None:
        """Describe the process that is working on a run; None if there is none."""
        found = await self.store.holder(name, RUN)
        return describe_worker(found) if found is not None else None

    async def standing(self, run: RunView) -> tuple[str, str | None]:
        """Return the status of a run and a description of its process. `interrupted`: unfinished, without a process."""
        if holder := await self.holder(run.name):
            return "running", holder
        # The run may have ended and released its claim since the view was loaded.
        if run.status == "running" and ((now := await self.run(run.name)).end or now.halt):
            run = await self.view(run.name)
        return "interrupted" if run.status == "running" else run.status, None

    async def waiting(self, name: str) -> str:
        """Say what a run on several machines waits for, such as workers; empty if nothing is missing."""
        ask = getattr(getattr(self.store, "inner", self.store), "waiting", None)
        return str(await ask(name)) if ask is not None else ""

    async def outcome(self, name: str) -> Outcome:
        run = await self.view(name)
        status = run.exit_status if run.exit_status is not None else 1
        return Outcome(name, run.status, run.summary, status, tuple(run.tasks.values()), run.spend, run.until)

    async def evidence(self, name: str) -> "Table":
        """Load the evidence for each requirement of a run's goal."""
        from bough.core.acceptance.evidence_table import KINDS as OF_EVIDENCE
        from bough.core.acceptance.evidence_table import build_table

        return build_table(await self.store.read(name, kinds=OF_EVIDENCE))

    async def points(self, name: str, task: str = GOAL) -> "list[Point]":
        """List the points to which the task can be rewound, oldest first: the ends of its rounds and of its steps."""
        from bough.core.journal.task_fold import list_points
        from bough.views.details import point_of

        return [point_of(point) for point in list_points(task, await self.store.read(name, task))]

    async def look_at_task(self, name: str, task: str = GOAL) -> "Task":
        """Load one task, even if it has not started."""
        from bough.core.journal.task_fold import fold_task

        return fold_task(task, await self.store.read(name, task))


@asynccontextmanager
async def open_journal(folder: Path | str = ".") -> AsyncIterator[Journal]:
    """Open the journal of the project that contains a folder, read-only and without loading git, keys or settings."""
    root = find_project_root(folder)
    check_home(root / ".bough")
    store = open_store(root, root / ".bough", create=False)
    try:
        yield Journal(root, store)
    finally:
        await store.close()


def find_project_root(folder: Path | str) -> Path:
    """Return the top folder of the project that contains a folder."""
    return find_root(require_folder(folder))


def require_folder(folder: Path | str) -> Path:
    here = Path(folder).resolve()
    if not here.is_dir():
        raise UsageError(f"{folder} is not a folder: give one with --dir.")
    return here
