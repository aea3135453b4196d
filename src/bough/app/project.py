"""An open project. A process holds a run while it rewinds or removes it, so that no other process can work on it."""

import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from bough.adapters.models.wire import Client
from bough.adapters.sandboxes.levels import SandboxLevel, find_level
from bough.adapters.sandboxes.network import Network, parse_network
from bough.adapters.stores.liveness import worker_id
from bough.adapters.verifiers.check_slots import CheckSlots
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.surroundings import Surroundings
from bough.app import config as settings
from bough.app.choices import Choices
from bough.app.journal import Journal
from bough.core import events as e
from bough.core.errors import NewerRun, UsageError
from bough.core.ids import BACKLOG, CONTROL, GOAL, RUN, RUN_NAMES, make_run_name
from bough.core.journal.run_fold import Run, plan_rewind
from bough.core.journal.task_fold import list_points
from bough.core.tree.task import Task
from bough.ports import Claim
from bough.services.activity import name_activity_file
from bough.services.hooks import Herald
from bough.services.run_messages import find_person
from bough.views.details import Point, point_of


class Project(Journal, frozen=True):
    """A project that is open for work, with its settings, journal and file trees. One process at a time holds a run;
    this holder can rewind or remove it."""

    home: Path
    folder: str
    """The person's current folder, relative to the root."""
    config: settings.Config
    theirs: Mapping[str, str]
    """The settings that the repository's own file decided, by name."""
    workspaces: GitWorkspaces
    surroundings: Surroundings
    """The parts of the person's set-up (Python environment, variables, linked files) that checkouts get."""
    env: Mapping[str, str]
    client: Client
    """The HTTP client of all runs of the project, so that they share connections."""
    slots: CheckSlots
    """Limits how many checks of all runs of the project go on at once."""
    herald: Herald
    consent: settings.Allow
    """Takes the repository's wishes, and returns those that the person allows; asks them if it can."""

    @property
    def level(self) -> SandboxLevel:
        """Return how commands are confined on this machine."""
        return find_level(self.config.sandbox.mode)

    @property
    def network(self) -> Network:
        """Return the network access of commands."""
        return Network("on") if not self.level.confines else parse_network(self.config.sandbox.network, self.env)

    def as_begun(self, run: Run, choices: Choices) -> Self:
        """Return this project with the network access and set-up command that the person chose when the run began,
        unless they choose others now."""
        network, setup = choices.network or run.network or None, choices.setup or run.setup
        return replace(self, config=Choices(network=network, setup=setup).configure(self.config))

    async def find_free_name(self) -> str:
        """Find a name that no run has now; another process may take it at any time."""
        taken = set(await self.store.runs())
        while True:
            name = make_run_name(secrets.randbelow(RUN_NAMES * (1 + len(taken) // (RUN_NAMES // 2))))
            if name not in taken:
                return name

    async def rewind(self, name: str, to: int, task: str = GOAL, say: str = "") -> Point:
        """Rewind the run to a point of one of its tasks (0: before its first round or step): every task becomes as it
        was at that moment. Later events stay in the journal, but only their cost still counts. A message (`say`) goes
        to a fresh agent, which takes over that task."""
        async with self.hold(name) as (claim, run):
            await self.finish_rewind(name)
            records = await self.store.read(name, task)
            found = list_points(task, records)
            if not found:
                raise UsageError(f"{task} of {name} has not started: nothing to rewind.")
            if not 0 <= to < len(found):
                raise UsageError(
                    f"{name} can be rewound to points 0 to {len(found) - 1} of {task}, not {to}: "
                    "`bough rewind` lists them."
                )
            moment = next(record.seq for record in records if record.version == found[to].version)
            await self.store.append(claim, [e.RunReopened(task, to, moment, find_person())], run.version)
            await self.finish_rewind(name)
            if say.strip():
                async with self.hold_task(name, task) as (held, now):
                    await self.store.append(held, [e.PersonAnswered("", say.strip(), find_person())], now.version)

        return point_of(await self.task(name, task))

    async def finish_rewind(self, name: str) -> None:
        """If the run's last event is a rewind, rewind the tasks that it has not reached yet, because it is new or a
        crash interrupted it. The caller must hold the run."""
        last = (await self.store.read(name, RUN))[-1]
        if not isinstance(last.event, e.RunReopened) or not last.event.moment:
            return
        for path, event in plan_rewind(await self.store.read(name), last):
            async with self.hold_task(name, path) as (held, now):
                # The task's files are stored as trees, and its checkout is recreated when it is needed.
                await self.workspaces.discard(name, path)
                await self.store.append(held, [event], now.version)

    async def remove(self, name: str) -> None:
        """Remove a run with its work; what was applied stays in the person's files. The run's files go before its
        journal, so that it can be removed again after a crash."""
        async with self.hold(name) as (claim, run):
            if backlog := run.listed.rpartition("/")[0]:  # The backlog remembers what its goal has cost.
                removed = e.RunRemoved(run.name, (await self.view(run.name)).spend, bool(run.applied))
                await self.store.post(f"{BACKLOG}{backlog}", CONTROL, removed)
            await self.workspaces.forget(name)
            for file in (f"pr-{name}.md", name_activity_file(name)):
                (self.home / file).unlink(missing_ok=True)
            await self.store.forget(claim)

    async def list_removable(self, unfinished: bool) -> dict[str, float]:
        """List the finished runs that no process holds, each with the time of its last event, oldest first.
        `unfinished`: include those that can be resumed."""
        found = {}
        for name in await self.store.runs():
            with suppress(NewerRun):  # Only the newer bough that wrote the run can tell whether it is finished.
                over = (await self.run(name)).end is not None
                if (over or unfinished) and not await self.holder(name):
                    found[name] = (await self.store.read(name, RUN))[-1].at
        return dict(sorted(found.items(), key=lambda each: each[1]))

    async def clear_inspections(self) -> list[str]:
        """Remove the folders that killed checks outside any run (`bough check`) left behind, and return their names."""
        left = self.workspaces.list_inspections()
        left = [name for name in left if await self.store.holder(name, RUN) is None]
        for name in left:
            await self.workspaces.forget(name)
        return left

    def size(self) -> int:
        """Measure bough's files for this project in bytes, without the temporary files of an open journal."""
        found = 0
        for folder, _, files in os.walk(self.home):
            for name in files if folder != str(self.home) else {*files} - {"journal.db-wal", "journal.db-shm"}:
                with suppress(OSError):  # The file is gone meanwhile.
                    found += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118
        return found

    async def tidy(self) -> bool:
        """Remove stored files that no run needs any longer. Return False, and remove none, while any run is live."""
        for name in await self.store.runs():
            if await self.store.holder(name, RUN) is not None:
                return False
        await self.workspaces.compact(await self.store.compact())
        return True

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[tuple[Claim, Run]]:
        """Hold the run during this block, so that no other process can work on it."""
        run = await self.run(name)
        async with self.store.claim(name, RUN, worker_id(), run.rules.lease) as claim:
            yield claim, await self.run(name)

    async def record(self, name: str, event: e.AnyEvent) -> None:
        """Append an event to the journal of a run that no process holds."""
        async with self.hold(name) as (claim, now):
            await self.store.append(claim, [event], now.version)

    @asynccontextmanager
    async def hold_task(self, name: str, task: str) -> AsyncIterator[tuple[Claim, Task]]:
        now = await self.task(name, task)
        async with self.store.claim(name, task, worker_id(), now.rules.lease) as claim:
            yield claim, await self.task(name, task)
