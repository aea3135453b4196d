"""A worker process: runs single tasks of runs that other processes hold, as many at once as it has slots."""

import asyncio
import fcntl
import hashlib
import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

import bough
from bough.adapters.executors.dbos import QueuedTask, decode_first
from bough.adapters.executors.fleet import LEASE, Janitor, Member, Worker, drain, list_present_workers
from bough.adapters.executors.intake import Intake
from bough.adapters.stores.postgresql import PostgresStore
from bough.app.choices import Choices, OutsideAgents, RunObserver
from bough.app.cluster import find_shared_store
from bough.app.journal import find_project_root, require_folder
from bough.app.journal_location import find_address
from bough.app.run_models import find_endpoints
from bough.app.run_ports import open_ports
from bough.app.session import Session
from bough.core.errors import BoughError, ClaimHeld, ClaimLost, PermissionNeeded, StoreError, UsageError
from bough.engine.run_loop import carry_leaf
from bough.ports import Ports, Store
from bough.services.permissions import describe_wants, list_refused
from bough.trust.handles import OpenHandle

NEEDED = ("bough.app.run_ports", "bough.adapters.models.chat")
"""Modules that are needed to run a task, loaded in advance."""
Ended = Literal["drained", "lost"]
Say = Callable[[str], None]
_NAME = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_TAG = re.compile("[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")


_NEEDS_STORE = "Workers need a shared journal: pass --store postgresql://USER@HOST/DATABASE."


def make_worker_name(folder: Path | str) -> str:
    """Return a worker name that is the same at every start, and different in every folder and machine, because two
    workers with one name would take each other's tasks."""
    return f"{socket.gethostname()}-{hashlib.sha256(os.fsencode(require_folder(folder))).hexdigest()[:6]}"


class Serving:
    """A running worker. `drain` ends it when its tasks are finished; `end` ends it at once."""

    def __init__(
        self, session: Session, name: str, slots: int, tags: Sequence[str], say: Say, lease: float | None = None
    ) -> None:
        journal = _require_shared_store(session.store)
        if not _NAME.fullmatch(name):
            raise UsageError(f"`{name}` cannot be a worker's name: use letters, digits, `.`, `_` and `-`.")
        if odd := next((tag for tag in tags if not _TAG.fullmatch(tag)), None):
            raise UsageError(f"`{odd}` cannot be a tag: use letters, digits, `.`, `_`, `+` and `-`.")
        self._session = session
        self._journal = journal
        self._say = say
        self._member = Member(journal.server, name, slots, tuple(tags), bough.__version__, lease or LEASE, journal.left)
        self._janitor = Janitor(journal.server)
        self._draining = asyncio.Event()
        self._ending = asyncio.Event()

    @property
    def name(self) -> str:
        return self._member.name

    def drain(self) -> None:
        self._draining.set()

    def end(self) -> None:
        self._draining.set()
        self._ending.set()

    async def serve(self) -> Ended:
        """Run tasks until the worker is drained, or was unresponsive for so long that others have taken its tasks."""
        member = self._member
        with _lock_folder(self._session.home):
            for name in NEEDED:  # Load the modules now, so that the first task begins as quickly as the next ones.
                await asyncio.to_thread(import_module, name)
            await asyncio.to_thread(member.join)
            intake = Intake(self._journal.server, member.id, member.slots, member.tags, self._run_task)
            try:
                ended = await self._start(intake) or await self._go_on(intake)
            finally:
                await intake.end_all()
            if ended == "lost" and self._draining.is_set():
                return "drained"  # Other workers have the tasks now, so nothing is left to finish.
            if ended == "drained":
                with suppress(StoreError):  # If the message cannot be sent, the others notice that the heartbeat ends.
                    await asyncio.to_thread(intake.stop)
                    await asyncio.to_thread(member.leave)
            return ended

    async def _start(self, intake: Intake) -> Ended | None:
        """Start to take tasks, with a heartbeat, since on a busy machine this can take longer than a lease."""
        starting = asyncio.ensure_future(asyncio.to_thread(intake.start))
        while not starting.done():
            if await self._beat(intake) is None:
                return "lost"
            await asyncio.wait([starting], timeout=min(1.0, self._member.lease / 5))
        try:
            starting.result()
        except StoreError as error:
            self._say(f"{error}")
            return "lost"
        return None

    async def _go_on(self, intake: Intake) -> Ended:
        aside = ""
        while True:
            # A lease spans several beats, however many workers there are.
            pause = min(max(1.0, intake.fleet / 200), self._member.lease / 5)
            beaten = await self._beat(intake)
            if beaten is None:
                return "lost"
            asked, trouble = beaten
            if trouble and trouble != aside:
                self._say(f"set aside until this worker or a run is started again: {trouble}")
            aside = trouble
            if asked and not self._draining.is_set():
                self._say("asked to drain")
                self._draining.set()
            intake.open = not self._draining.is_set() and not aside
            if self._draining.is_set() and (not intake.running or self._ending.is_set()):
                return "drained"
            try:
                await intake.call_off_cancelled()
                there = await asyncio.to_thread(self._janitor.look)
                if there is not None:
                    intake.fleet = len(there)
                    await intake.recover(there)
            except StoreError as error:
                self._say(f"{error}")
            await asyncio.sleep(pause)

    async def _beat(self, intake: Intake) -> tuple[bool, str] | None:
        """Return whether to drain, and why this worker is set aside. Return None, and end all tasks, if the worker was
        removed or could not reach the server for a whole lease: others may have its tasks then, so it has to start
        again under another identity."""
        try:
            return await asyncio.to_thread(self._member.beat)
        except StoreError as error:
            self._say(f"{error}")
            await intake.end_all()
            return None

    async def _run_task(self, handed: QueuedTask, rests: Callable[[], None]) -> str:
        """Run one task until it is finished or halts. The coordinator gets errors, and finds another worker."""
        name = f"{handed.run} {handed.path}"
        self._say(f"{name}: started")
        try:
            async with self._ports(handed.run) as ports:
                task = await carry_leaf(
                    handed.run, handed.path, decode_first(handed), handed.again, handed.since, ports
                )
                rests()
                await ports.workspaces.discard(handed.run, handed.path)
        except (ClaimHeld, ClaimLost):
            self._say(f"{name}: taken by another worker")
            return "taken by another worker"
        except asyncio.CancelledError:
            self._say(f"{name}: cancelled")
            raise
        except BoughError as error:
            self._say(f"{name}: {error}")
            return f"{self.name}: {error}"
        said = task.halt.message if task.halt is not None else task.why
        self._say(f"{name}: {'halted' if task.halt else task.state.value}: {said}")
        return task.state.value

    @asynccontextmanager
    async def _ports(self, name: str) -> AsyncIterator[Ports]:
        """Open the ports for one task, with the run's models and limits, and this machine's keys, sandbox and set-up.
        The run gets more access only if the settings of the machine's owner allow it."""
        run = await self._session.run(name)
        if refused := list_refused(self._session, run):
            raise PermissionNeeded(
                f"this worker does not allow {describe_wants(refused)}: its owner can, with [worker] in their settings"
            )
        session = self._session.as_begun(run, Choices())
        outside = OutsideAgents(run.agents, run.agent_env, run.agent_network, run.plan.goal, run.models)
        async with open_ports(
            session,
            run.models,
            Choices(),
            RunObserver(),
            find_endpoints(session, run.models, Choices(), run.endpoints),
            run.folder,
            outside=outside,
            began=run.protocols,
        ) as ports:
            # The coordinator holds the run. This worker may act only while it is listed among the workers.
            ports.fence.hold(self._check_member)
            yield replace(ports, worker=self._member.id)

    async def _check_member(self) -> None:
        if not await asyncio.to_thread(self._member.is_member):
            raise ClaimLost(f"The worker {self.name} was unresponsive for too long: others have taken over its tasks.")


def require_shared_journal(folder: Path | str) -> None:
    """Raise an error if the project's journal is in its folder, where no other machine can reach it."""
    if not find_address(find_project_root(folder)):
        raise UsageError(_NEEDS_STORE)


async def list_workers(store: Store) -> list[Worker]:
    return await _require_shared_store(store).transact(list_present_workers)


async def list_waiting(store: Store) -> list[tuple[str, str]]:
    """List the runs that wait, each with what it waits for."""
    query = (
        "SELECT run, to_jsonb(runs) ->> 'waiting' FROM runs WHERE to_jsonb(runs) ->> 'waiting' <> '' ORDER BY number"
    )
    return await _require_shared_store(store).transact(lambda db: db.all(query))


async def drain_worker(session: Session, name: str) -> None:
    """Ask a worker on any machine to exit when its tasks are finished."""
    if not await _require_shared_store(session.store).transact(lambda db: drain(db, name)):
        raise UsageError(f"There is no worker `{name}`: `bough workers` lists them.")


def _require_shared_store(store: Store) -> PostgresStore:
    journal = find_shared_store(store)
    if journal is None:
        raise UsageError(_NEEDS_STORE)
    return journal


@contextmanager
def _lock_folder(home: Path) -> Iterator[None]:
    """Lock the project's folder for one worker during this block, because two would share checkouts."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with OpenHandle(os.open(home / "worker.lock", flags, 0o600)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            there = f"Another worker is running in {home.parent}"
            raise UsageError(f"{there}: give this one a folder of its own (--dir).") from None
        yield
