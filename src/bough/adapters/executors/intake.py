"""The worker's side of the queue: takes tasks, never more than it has slots, and runs them."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bough.adapters.executors import dbos as executor
from bough.adapters.stores.postgresql_server import Server

if TYPE_CHECKING:
    from dbos import DBOS

MANY = 25
"""Above this number of workers each polls less often, so that the server's load does not grow."""
RunHanded = Callable[[executor.QueuedTask, Callable[[], None]], Coroutine[Any, Any, str]]
"""Runs a task, and calls the given function when the task halts: the work after that needs no slot."""


class Intake:
    """The queues, as this worker uses them; tasks run in the event loop."""

    def __init__(self, server: Server, executor: str, slots: int, tags: Sequence[str], run_task: RunHanded) -> None:
        self._server = server
        self._executor = executor
        self._slots = slots
        self._tags = set(tags)
        self._run_task = run_task
        self._loop = asyncio.get_running_loop()
        self._works: dict[str, asyncio.Task[str]] = {}
        self._taken: set[str] = set()
        """Workflows that have a slot, from the moment they leave their queue."""
        self._taking = threading.Lock()
        self._dbos: type[DBOS] | None = None
        self.open = True
        self.fleet = 1
        """Number of workers."""

    @property
    def running(self) -> int:
        return len(self._taken | self._works.keys())

    def start(self) -> None:
        """Make DBOS's tables and start its threads. Call this in a thread."""
        dbos, serializer = executor.load_dbos()
        DBOS = dbos.DBOS
        DBOS(
            config={
                "name": executor.NAME,
                "application_version": executor.VERSION,
                "executor_id": self._executor,
                "serializer": serializer,
                "log_level": "CRITICAL",
                # A workflow holds its thread until the task halts, and DBOS needs some for itself.
                "max_executor_threads": self._slots + 8,
                "sys_db_pool_size": 4,
                **executor.find_tables(self._server),
            }
        )

        def leaf(handed: dict[str, Any]) -> str:
            """Run the workflow, in one of DBOS's threads. It has no steps in the sense of DBOS: another machine would
            not repeat a finished step, although the files that the step left are only on this one."""
            name = DBOS.workflow_id or ""
            try:
                task = msgspec.convert(handed, executor.QueuedTask)
                return asyncio.run_coroutine_threadsafe(self._run(name, task), self._loop).result()
            finally:
                self._taken.discard(name)

        # By default DBOS gives a workflow up after some recoveries. Only the coordinator, which sees progress, may give
        # a task up (`TRIES`).
        DBOS.workflow(name=executor.WORKFLOW, max_recovery_attempts=None)(leaf)
        logging.getLogger("dbos").setLevel(logging.CRITICAL)
        self._limit_to_slots()
        with executor.explain_errors(self._server):
            DBOS.launch()
            self._dbos = DBOS
            DBOS.register_queue(executor.QUEUE, polling_interval_sec=executor.POLLED, on_conflict="never_update")

    def _limit_to_slots(self) -> None:
        """Limit each poll to this worker's free slots: DBOS has one limit for all workers of a queue, while workers
        have different numbers of slots, for all queues together. Called before launch, because DBOS polls at once."""
        from dbos._sys_db import SystemDatabase

        database: Any = SystemDatabase
        start, read = database.start_queued_workflows, database.get_queue

        def limited(own: Any, queue: Any, *args: Any, **named: Any) -> Any:
            needed = executor.parse_tags(queue.name)
            if needed is None:
                return start(own, queue, *args, **named)
            # DBOS polls each queue in a thread of its own: two of them could give away the last slot.
            with self._taking:
                room = self._slots - len(self._taken) if self.open and needed <= self._tags else 0
                if room <= 0:
                    return [], "worker_concurrency"
                _, _, _, running, *_ = args
                queue._worker_concurrency = running + room
                found, why = start(own, queue, *args, **named)
                self._taken.update(found)
                return found, why

        known: dict[str, Any] = {}

        def slowed(own: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            if executor.parse_tags(name) is None:
                return read(own, name, *args, **kwargs)
            if name not in known or len(self._taken) < self._slots:  # Without a free slot there is no need to poll.
                known[name] = read(own, name, *args, **kwargs)
            if known[name] is not None:
                known[name]._polling_interval_sec = executor.POLLED * max(1.0, self.fleet / MANY)
            return known[name]

        database.start_queued_workflows, database.get_queue = limited, slowed

    async def _run(self, name: str, task: executor.QueuedTask) -> str:
        work = self._works[name] = asyncio.ensure_future(self._run_task(task, lambda: self._taken.discard(name)))
        try:
            return await work
        except asyncio.CancelledError:
            return "called off"
        finally:
            self._works.pop(name, None)

    async def call_off_cancelled(self) -> None:
        """End tasks that the coordinator cancelled, and those that another worker has taken."""
        if not self._taken or self._dbos is None:
            return
        with executor.explain_errors(self._server):
            found = await asyncio.to_thread(
                self._dbos.list_workflows, workflow_ids=list(self._taken), load_input=False, load_output=False
            )
        for status in found:
            if status.status == "PENDING" and status.executor_id == self._executor:
                continue
            if status.workflow_id in self._works:
                self._works[status.workflow_id].cancel()
            else:  # The coordinator cancelled the task before it started here.
                self._taken.discard(status.workflow_id)

    async def recover(self, there: set[str]) -> None:
        """Enqueue again the tasks of executors that are gone: DBOS itself recovers only its own."""
        if self._dbos is None:
            return
        with executor.explain_errors(self._server):
            pending = await asyncio.to_thread(
                self._dbos.list_workflows, status="PENDING", load_input=False, load_output=False
            )
            gone = {status.executor_id for status in pending if status.executor_id and status.executor_id not in there}
            if gone:
                await asyncio.to_thread(self._dbos._recover_pending_workflows, sorted(gone))

    async def end_all(self) -> None:
        """Take no more tasks, and cancel all that run here."""
        self.open = False
        works = list(self._works.values())
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)

    def stop(self) -> None:
        if self._dbos is not None:
            with executor.explain_errors(self._server):
                self._dbos.destroy()
            self._dbos = None
