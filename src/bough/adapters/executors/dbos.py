"""Leaf tasks dispatched by DBOS: durable queues in the store's own database.

Promises: an enqueued task runs even if workers, the coordinator or the server die; one worker at a time runs it,
because the journal's claim decides and not the queue; enqueued tasks are found again after a crash and not enqueued
twice.

DBOS only finds a worker: one workflow is one task until it halts. The journal says whether it is done, and with what
result. A workflow that ends before the task halts is enqueued again, under the next number.

    workflow   RUN:PATH:NUMBER
    queue      leaves          any worker            leaves gpu node20     workers with both tags
"""

import asyncio
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from bough.adapters.executors.fleet import Janitor, explain_wait, list_present_workers
from bough.adapters.stores.postgresql_server import Server
from bough.adapters.stores.sql import PATIENCE
from bough.core import events as e
from bough.core.errors import StoreError, WorkspaceError
from bough.core.events import decoder, encode
from bough.core.ids import CONTROL, RUN, worker_name
from bough.core.journal.run_fold import Run
from bough.core.journal.task_fold import evolve_task, fold_task
from bough.core.planning.plan import Tier
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.installed import lacking
from bough.ports import Ports

if TYPE_CHECKING:
    from dbos import DBOSClient, EnqueueOptions

NAME = "bough"
VERSION = "1"
"""The version of the queued format, not of bough: DBOS's own version, a hash of the source, would leave work pending
for ever after an edit."""
WORKFLOW = "leaf"
QUEUE = "leaves"
POLLED = 0.1
"""Seconds between a worker's polls of its queues."""
FOLLOWED = 0.25
"""Seconds between the coordinator's polls of the journal."""
LOOKED_AFTER = 2.0
"""Seconds between the coordinator's polls of its workflows."""
TRIES = 3
"""Workflows that may fail in a row without progress on the task."""
LIVE = ("ENQUEUED", "PENDING", "DELAYED")


class QueuedTask(msgspec.Struct, frozen=True):
    """A task as it is enqueued, as JSON."""

    run: str
    path: str
    first: str
    """The task's event `TaskCreated`, as in the journal."""
    again: Tier | None
    since: int


def load_dbos() -> tuple[Any, Any]:
    """Return DBOS with its serializer for JSON. By default DBOS uses pickle, and it unpickles rows that are marked so
    even with another serializer. Whoever may write to the database could run code on every worker: refuse such rows."""
    try:
        with warnings.catch_warnings(action="ignore"):
            import dbos
            from dbos import _serialization
    except ModuleNotFoundError as error:
        raise lacking("A worker", "cluster") from error
    setattr(_serialization.DefaultSerializer, "deserialize", _refuse_pickle)  # noqa: B010
    return dbos, _serialization.DBOSPortableJSONSerializer()


def _refuse_pickle(serializer: object, text: str) -> None:
    raise TypeError("a row of the queue is pickled, not JSON: bough never writes such rows")


@contextmanager
def explain_errors(server: Server) -> Iterator[None]:
    """Raise database errors in this block as the store's own: DBOS uses its database, and does not wrap such errors."""
    from psycopg import Error
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, Error) as error:
        raise server.explain(getattr(error, "orig", None) or error) from error


def parse_tags(queue: str) -> set[str] | None:
    """Return the tags that a queue asks of a worker; None: the queue is not ours."""
    name, *tags = queue.split(" ")
    return set(tags) if name == QUEUE else None


def find_tables(server: Server) -> dict[str, str]:
    """Return DBOS's settings for the place of its own tables: in the store's database, in a schema of their own."""
    return {"system_database_url": server.url, "dbos_system_schema": f"{server.schema}_dbos"}


class _Waiting(msgspec.Struct, eq=False):
    """An enqueued task."""

    task: Task
    result: asyncio.Future[Task]
    handed: QueuedTask
    tags: tuple[str, ...]
    workflow: str = ""
    failures: int = 0
    moved: int = 0
    """The task's version when it was last enqueued."""
    worker: str = ""
    """The worker that took the task last."""

    @property
    def is_over(self) -> bool:
        """Whether the task has halted since it was enqueued."""
        return bool(self.workflow) and self.task.version > self.moved and self.task.resting and not self.result.done()


class DbosExecutor:
    """Enqueues leaf tasks, follows them in the journal, and reports when they halt."""

    ports: Ports
    """The ports of the run whose tasks are enqueued; set before the first task is."""
    _client: "DBOSClient"
    """The client of the queue, which connects with the first task."""

    def __init__(self, server: Server, takes: Callable[[str, e.TaskCreated], bool], slots: int) -> None:
        """Make the executor. `slots`: the number of slots that the current workers have."""
        self._server = server
        self._janitor = Janitor(server)
        self.slots = slots
        self.takes = takes
        self._waiting: dict[str, _Waiting] = {}
        self._follower: asyncio.Task[None] | None = None
        self._queues: set[str] = set()
        self._seq = 0
        self._since: int | None = None
        self._run = ""
        self._beginning = asyncio.Lock()
        self._passed_on: list[e.AnyEvent] = []
        self._said = ""
        """The last announced cause of a wait."""
        self._met = time.strftime("%H:%M:%S")
        """The time at which a worker was last there."""
        # Loading DBOS takes a second, so begin now, while the run is still being prepared.
        self._connecting = asyncio.ensure_future(asyncio.to_thread(self._connect))

    async def run_task(self, run: Run, path: str, first: e.TaskCreated, again: Tier | None) -> Task:
        await self._begin(run)
        handed = QueuedTask(run.name, path, encode(first).decode(), again, self._since or 0)
        result = asyncio.get_running_loop().create_future()
        waiting = self._waiting[path] = _Waiting(Task(path), result, handed, first.step.runs_on)
        try:
            # Catch up only once the task is followed, so that no event from a worker is missed.
            await self._catch_up(waiting)
            task = waiting.task
            # Enqueue a task at rest only if it was halted, or if a stronger model takes over.
            taken_up = again is not None and task.state is State.BLOCKED and task.models.tier != again
            if task.created and task.resting and task.halt is None and not taken_up:
                return task
            await self._hand_in(waiting)
            return await waiting.result
        except asyncio.CancelledError:
            # The next worker opens the same workspace: until this one releases it, two would work in it.
            await asyncio.shield(self._call_off(waiting))
            raise
        finally:
            del self._waiting[path]

    async def _begin(self, run: Run) -> None:
        async with self._beginning:
            if self._since is None:
                self._run = run.name
                asked = await self.ports.store.read(run.name, CONTROL)
                self._seq = (await self.ports.store.read(run.name, RUN))[-1].seq
                since = asked[-1].seq if asked else 0
                with explain_errors(self._server):
                    self._client = await self._connecting
                # Workers that were set aside get another chance: a person has started or resumed a run.
                again = "UPDATE workers SET trouble = '' WHERE trouble <> ''"
                await asyncio.to_thread(self._server.run, lambda db: db.run(again), PATIENCE)
                self._since = since
                self._follower = asyncio.create_task(self._follow())
                self.ports.stop.watch(self._pass_on_stop)

    def _connect(self) -> "DBOSClient":
        dbos, serializer = load_dbos()
        client: DBOSClient = dbos.DBOSClient(serializer=serializer, application_name=NAME, **find_tables(self._server))
        return client

    async def _hand_in(self, waiting: _Waiting) -> None:
        """Enqueue the task under the next number, unless the workflow of an earlier coordinator process still runs."""
        until = time.monotonic() + self._server.patience
        # Set `moved` before the task is enqueued: otherwise `_read_news` would take its earlier halt for the new
        # result.
        waiting.moved = waiting.task.version
        while True:
            try:
                with explain_errors(self._server):
                    await asyncio.to_thread(self._enqueue, waiting)
                break
            except StoreError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(1.0)

    def _enqueue(self, waiting: _Waiting) -> None:
        prefix = f"{self._run}:{waiting.task.id}:"
        known = self._client.list_workflows(workflow_id_prefix=prefix, load_input=False, load_output=False)
        numbers = {int(each.workflow_id.rpartition(":")[2]): each for each in known}
        last = max(numbers, default=0)
        if last and numbers[last].status in LIVE:
            # The task was enqueued before a crash of the coordinator. A second workflow for it would only wait for the
            # claim of the first.
            waiting.workflow = numbers[last].workflow_id
            return
        queue = " ".join((QUEUE, *sorted(set(waiting.tags))))
        if queue not in self._queues:
            self._client.register_queue(queue, polling_interval_sec=POLLED, on_conflict="never_update")
            self._queues.add(queue)
        waiting.workflow = f"{prefix}{last + 1}"
        options: EnqueueOptions = {
            "workflow_name": WORKFLOW,
            "queue_name": queue,
            "workflow_id": waiting.workflow,
            "app_version": VERSION,
        }
        self._client.enqueue(options, msgspec.to_builtins(waiting.handed))

    async def _call_off(self, waiting: _Waiting) -> None:
        """Cancel the task's workflow, and wait until no worker holds the task."""
        if not waiting.workflow:
            return
        await asyncio.to_thread(self._client.cancel_workflow, waiting.workflow)
        while True:
            holder = await self.ports.store.holder(self._run, waiting.task.id)
            if holder is None or not worker_name(holder):
                return
            await asyncio.sleep(FOLLOWED)

    def _pass_on_stop(self) -> None:
        """Pass a stop of the coordinator on to the workers."""
        stop, person = self.ports.stop, self.ports.person
        paused = stop.halt[0] == "paused"
        event: e.AnyEvent = e.PauseRequested(person) if paused else e.StopRequested(stop.now, person)
        # A stop that came from the journal was passed on already, and must not be posted again for ever.
        if event not in self._passed_on:
            self._passed_on.append(event)
            self._posting = asyncio.ensure_future(self.ports.store.post(self._run, CONTROL, event))

    async def _follow(self) -> None:
        """Follow the journal: pass on the workers' events, and return halted tasks to whoever waits for them."""
        looked = 0.0
        reached = self.ports.timer()
        while True:
            try:
                await self._read_news()
                if self.ports.timer() - looked > LOOKED_AFTER:
                    with explain_errors(self._server):
                        await self._look_after()
                    looked = self.ports.timer()
                reached = self.ports.timer()
            except Exception as error:  # noqa: BLE001 (not swallowed: whoever waits gets it)
                if isinstance(error, StoreError) and self.ports.timer() - reached < 5 * self._server.patience:
                    await asyncio.sleep(1.0)
                    continue
                for waiting in self._waiting.values():
                    if not waiting.result.done():
                        waiting.result.set_exception(error)
                return
            await asyncio.sleep(FOLLOWED)

    async def _read_news(self) -> None:
        for record in await self.ports.store.read(self._run, since=self._seq):
            self._seq = record.seq
            waiting = self._waiting.get(record.task)
            if waiting is not None:
                if record.version == waiting.task.version + 1:
                    waiting.task = evolve_task(waiting.task, record)
                elif record.version > waiting.task.version:
                    await self._catch_up(waiting)
                if isinstance(record.event, e.TaskCreated | e.TaskResumed):
                    waiting.worker = record.event.worker
                self.ports.recorded(record)
            elif any(record.task.startswith(f"{path}/") for path in self._waiting) and "/merge" not in record.task:
                self.ports.recorded(record)
        for waiting in [each for each in self._waiting.values() if each.is_over]:
            # Wait until its worker has released the task, so that another can take it.
            if await self.ports.store.holder(self._run, waiting.task.id) is None and not waiting.result.done():
                await self._settle(waiting)

    async def _settle(self, waiting: _Waiting) -> None:
        """Set aside a worker whose model cannot be used (a wrong key, no network), and let another one take its task;
        without another, the task halts as it is, and so does the run."""
        halt, name = waiting.task.halt, waiting.worker
        if halt is not None and halt.reason == "unavailable" and name:
            if await self._set_aside(waiting, name, halt.message):
                await self._hand_in(waiting)
                return
            halt = msgspec.structs.replace(halt, message=f"on worker {name}: {halt.message}")
        waiting.result.set_result(msgspec.structs.replace(waiting.task, halt=halt))

    async def _set_aside(self, waiting: _Waiting, name: str, why: str) -> bool:
        """Make a worker take no more tasks from its next heartbeat on; return whether another worker can take this
        task."""
        aside = "UPDATE workers SET trouble = %s WHERE worker = %s"
        await asyncio.to_thread(self._server.run, lambda db: db.run(aside, why, name), PATIENCE)
        self.ports.progress(waiting.task.id, f"\nworker {name} is set aside: {why}\n")
        there = await asyncio.to_thread(self._server.run, list_present_workers, PATIENCE)
        return any(each.takes_tasks and set(waiting.tags) <= set(each.tags) for each in there)

    async def _catch_up(self, waiting: _Waiting) -> None:
        read = fold_task(waiting.task.id, await self.ports.store.read(self._run, waiting.task.id))
        if read.version > waiting.task.version:
            waiting.task = read

    async def _look_after(self) -> None:
        """Enqueue tasks again whose workflow ended without a result."""
        open_ = [waiting for waiting in self._waiting.values() if waiting.workflow and not waiting.result.done()]
        if not open_:
            return
        found = await asyncio.to_thread(
            self._client.list_workflows, workflow_ids=[each.workflow for each in open_], load_input=False
        )
        status = {each.workflow_id: each for each in found}
        queued = {each.workflow_id for each in found if each.status in ("ENQUEUED", "DELAYED")}
        # Nobody else removes the last worker after it was killed.
        await asyncio.to_thread(self._janitor.look)
        await self._say_what_is_missing(open_, queued)
        for waiting in open_:
            now = status.get(waiting.workflow)
            if waiting.result.done() or (now is not None and now.status in LIVE):
                continue
            # A workflow can end before its worker has written the last events: while a worker holds the task, the task
            # is not lost.
            if await self.ports.store.holder(self._run, waiting.task.id) is not None:
                continue
            # Read the task's last events first: a task that has halted must not be enqueued again.
            await self._read_news()
            if waiting.result.done() or waiting.is_over:
                continue
            waiting.failures = waiting.failures + 1 if waiting.task.version == waiting.moved else 1
            said = str(now.error or now.output or "") if now is not None else "its workflow is gone"
            elsewhere = waiting.failures < 2 or await self._set_aside(waiting, said.partition(": ")[0], said)
            if waiting.failures > TRIES or not elsewhere:
                waiting.result.set_exception(WorkspaceError(f"{waiting.task.id} fails on its workers: {said}"))
                continue
            self.ports.progress(waiting.task.id, f"\nqueued again: {said}\n")
            await self._hand_in(waiting)

    async def _say_what_is_missing(self, open_: list[_Waiting], enqueued: set[str]) -> None:
        """Announce what tasks wait for, here and through the store elsewhere. Only tasks in a queue wait for something,
        but if no worker sends a heartbeat, all of them do."""
        there = await asyncio.to_thread(self._server.run, list_present_workers)
        if any(each.takes_tasks and each.is_heard for each in there):
            self._met = time.strftime("%H:%M:%S")
        queued = [each for each in open_ if each.workflow in enqueued]
        for waiting in queued:
            fitting = [each for each in there if set(waiting.tags) <= set(each.tags)]
            if fitting and all(each.trouble for each in fitting):
                # No worker can take the task until a person repairs something: halt, as if one had taken it and failed.
                await self._call_off(waiting)
                said = f"on worker {fitting[0].name}: {fitting[0].trouble}"
                waiting.result.set_result(msgspec.structs.replace(waiting.task, halt=e.TaskHalted("unavailable", said)))
        heard = any(each.is_heard for each in there)
        queued = [each for each in (queued if heard else open_) if not each.result.done()]
        await self._say(explain_wait([(each.task.id, each.tags) for each in queued], there, self._met))

    async def _say(self, text: str) -> None:
        if text == self._said:
            return
        self._said = text
        self.ports.waiting(text)
        say = "UPDATE runs SET waiting = %s WHERE run = %s"
        await asyncio.to_thread(self._server.run, lambda db: db.run(say, text, self._run))

    async def close(self) -> None:
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.gather(self._follower, return_exceptions=True)
            with suppress(StoreError):
                await self._say("")
        await asyncio.wait([self._connecting])
        if not self._connecting.cancelled() and self._connecting.exception() is None:
            await asyncio.to_thread(self._connecting.result().destroy)


def decode_first(handed: QueuedTask) -> e.TaskCreated:
    decoded: Any = decoder("TaskCreated")(handed.first.encode())
    assert isinstance(decoded, e.TaskCreated)
    return decoded
