"""What each call of the store and the queue costs, for `cluster.py` and `fleet.py`."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSClient
from dbos._dbos import _get_dbos_instance
from dbos._serialization import DBOSPortableJSONSerializer
from fleet import COSTS
from tests.postgres import OwnServer

from bough.adapters.executors.dbos import QUEUE
from bough.adapters.executors.fleet import Janitor, Member
from bough.adapters.stores.postgresql import PostgresStore
from bough.adapters.stores.postgresql_server import Server, split_own
from bough.core import events as e


def calls(repeat: int, to: Path | None) -> int:
    """For each call the milliseconds that it takes (the tenth percentile, since other work on the machine only ever
    adds) and those of the server's processors. The simulation (`fleet.py`) takes its numbers from here."""
    server = OwnServer()
    try:
        url = f"{server.url}&schema=calls"
        found = Calls(server, repeat)
        asyncio.run(_store_calls(url, found))
        _queue_calls(url, found)
        rates = {}
        for same in (True, False):
            for writers in (1, 4, 16):
                kind = "the same run" if same else "runs of their own"
                rates[f"{writers} writers to {kind}"] = _together(url, writers, same)
    finally:
        server.close()
    print("| call | ms | of the server's processors, ms |")
    print("| --- | --- | --- |")
    for name, (took, used) in found.costs.items():
        print(f"| {name} | {took:.2f} | {used:.2f} |")
    for name, rate in rates.items():
        print(f"appends a second, {name}: {rate:.0f}")
    if to is not None:
        costs = {name: used for name, (_, used) in found.costs.items() if name in COSTS}
        costs["hold"] = found.costs["append"][0]
        to.write_text(json.dumps(costs))
    return 0


class Calls:
    """How long calls take, and what they use of the server."""

    def __init__(self, server: OwnServer, repeat: int) -> None:
        self.server, self.repeat = server, repeat
        self.costs: dict[str, tuple[float, float]] = {}

    @contextmanager
    def measured(self, name: str, each: int = 1) -> Iterator[list[float]]:
        """Of the times that are put into the list. `each`: how many there are in one of them."""
        times: list[float] = []
        before = self.server.used()
        yield times
        used = 1000 * (self.server.used() - before) / (len(times) * each)
        self.costs[name] = (1000 * statistics.quantiles(times, n=10)[0] / each, used)


@contextmanager
def timed(times: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    times.append(time.perf_counter() - began)


async def _store_calls(url: str, found: Calls) -> None:
    store = PostgresStore(url)
    note = e.NoteKept("decision", "x" * 400)
    pack = os.urandom(2000)
    async with store.claim("run", "task", "w", 15.0) as claim:
        with found.measured("append") as times:
            for version in range(found.repeat):
                with timed(times):
                    await store.append(claim, [note], version)
        with found.measured("check") as times:
            for _ in range(found.repeat):
                with timed(times):
                    await store.check(claim)
        with found.measured("follow") as times:
            for version in range(found.repeat):
                with timed(times):
                    await store.read("run", since=found.repeat - version % 5)
        query = "INSERT INTO trees (tree, part, body) VALUES (%s, 0, %s)"
        with found.measured("send") as times:
            for number in range(found.repeat):
                with timed(times):
                    await store.transact(lambda db, n=number: db.run(query, f"{n:040d}", pack))  # type: ignore[misc]
    with found.measured("claim") as times:
        for number in range(found.repeat):
            with timed(times):
                async with store.claim("run", f"t{number}", "w", 15.0):
                    pass
    await store.close()


def _open_queue(plain: str, schema: str) -> DBOSClient:
    """Launch the queue in this process, and return a client of it."""
    own = f"{schema}_dbos"
    DBOS(
        config={
            "name": "bough",
            "application_version": "1",
            "executor_id": "bench",
            "system_database_url": plain,
            "dbos_system_schema": own,
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "CRITICAL",
        }
    )

    def leaf(text: str) -> str:
        return text

    DBOS.workflow(name="leaf")(leaf)
    DBOS.launch()
    readable = DBOSPortableJSONSerializer()
    return DBOSClient(system_database_url=plain, dbos_system_schema=own, serializer=readable, application_name="bough")


def _queue_calls(url: str, found: Calls) -> None:
    plain, own = split_own(url)
    client = _open_queue(plain, own["schema"])
    client.register_queue("idle", polling_interval_sec=1000)
    client.register_queue(QUEUE, polling_interval_sec=1000)
    database: Any = _get_dbos_instance()._sys_db
    with found.measured("poll") as times:
        for _ in range(found.repeat):
            with timed(times):
                queue = database.get_queue("idle")
                database.start_queued_workflows(queue, "bench", "1", None, 0, owner_xid="x")
    with found.measured("enqueue") as times:
        for number in range(found.repeat):
            options = {"workflow_name": "leaf", "queue_name": QUEUE, "workflow_id": f"w{number}", "app_version": "1"}
            with timed(times):
                client.enqueue(options, "x" * 4000)  # type: ignore[arg-type]
    member = Member(Server(url), "bench", 1, (), "1")
    member.join()
    janitor = Janitor(member.server)
    with found.measured("beat") as times:
        for _ in range(found.repeat):
            with timed(times):
                member.beat()
                janitor.look()
                DBOS.list_workflows(workflow_ids=["w0"], load_input=False, load_output=False)
                DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
    queue = database.get_queue(QUEUE)
    with found.measured("dequeue") as times:
        for number in range(found.repeat):
            queue._worker_concurrency = 1
            with timed(times):
                (name,), _ = database.start_queued_workflows(queue, "bench", "1", None, 0, owner_xid=f"x{number}")
                database.get_workflow_statuses([name])
                database.update_workflow_outcome(name, "SUCCESS", output='""', owner_xid=f"x{number}")
    client.destroy()
    DBOS.destroy()


WRITER = """
import asyncio, sys, time
from bough.adapters.stores.postgresql import PostgresStore
from bough.adapters.stores.postgresql_server import Server, split_own
from bough.core.events import NoteKept

async def main(url, run, task, seconds):
    store = PostgresStore(url)
    async with store.claim(run, task, "w", 15.0) as claim:
        print("ready", flush=True); sys.stdin.readline()
        version, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            await store.append(claim, [NoteKept("decision", "x" * 400)], version)
            version += 1
    print(version)
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
"""


def _together(url: str, writers: int, same: bool, seconds: float = 3.0) -> float:
    mark = f"{writers}-{same}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, f"r{mark}" if same else f"r{mark}-{n}", f"t{n}", str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(writers)
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return sum(int(process.communicate()[0]) for process in processes) / seconds
