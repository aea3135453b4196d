"""Do many machines work as one? Real processes, a real PostgreSQL, real git; only the model is scripted, at the wire.

python bench/cluster.py faults --faults 200      # four workers; kills, restarts, freezes, wrong clocks, at random
python bench/cluster.py faults --faults 0 --slots 4 --leaves 40 --check 4     # nobody is disturbed but by neighbours
python bench/cluster.py scale                    # 40 leaves that wait for their model: 1 worker against 4
python bench/cluster.py outages --count 20       # PostgreSQL is away in the middle of a run, each time longer
python bench/cluster.py calls                    # what each call of the store and the queue costs

`faults`: four workers, each with a folder of its own, and a bare repository as the git remote. Runs of 40 leaves come
one after the other; at random moments a worker, the coordinator or PostgreSQL is killed with SIGKILL and started again,
a worker is stopped (SIGSTOP) for longer than its lease, or a worker is started again with a clock that is hours off.
Each agent appends a line to its file in each of three rounds: a finished effect that was lost, or done again by whoever
took the task over, shows in the file. At the end of each run the files, the journal and its spend must be exact, a
task must have been started once and once more for each time that it was taken over, and no log may have a traceback.
Exit status 1 when anything was lost, done twice, charged wrongly, or said by a traceback.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleet import COSTS
from tests.postgres import OwnServer
from tests.spend import assert_spend
from tests.wire import WireModel

from bough.adapters.executors.dbos import QUEUE
from bough.adapters.executors.fleet import Janitor, Member
from bough.adapters.stores.postgresql import PostgresStore
from bough.core import events as e
from bough.core.messages import Answer, Call
from bough.core.tree.task_state import State

BOUGH = [sys.executable, "-m", "bough"]
KEY = "sk-planted-0123456789abcdef"
CLOCK = """
import os, time
_off, _real = float(os.environ.get("CLOCK_OFF", "0")), (time.time, time.time_ns)
if _off:
    time.time = lambda: _real[0]() + _off
    time.time_ns = lambda: _real[1]() + int(_off * 1e9)
"""


def answer(delay: Callable[[], float], rounds: int) -> Callable[[dict[str, Any]], Answer]:
    """An agent appends a line in each round, then says that it is done."""

    def reply(request: dict[str, Any]) -> Answer:
        time.sleep(delay())
        said = "\n".join(str(each.get("content")) for each in request["messages"] if each["role"] == "user")
        name = re.findall(r"Write (leaf-\d+)\.txt", said)[0]
        # A call that was interrupted is answered so, and was not carried out: then it is made again.
        results = [str(each.get("content")) for each in request["messages"] if each["role"] == "tool"]
        done = sum(not each.startswith("Interrupted") for each in results)
        if done < rounds:
            command = json.dumps({"command": f"echo {done + 1} >> {name}.txt"})
            return Answer(calls=(Call("c1", "bash", command),))
        return Answer(calls=(Call("c2", "done", json.dumps({"summary": "written"})),))

    return reply


def make_project(folder: Path, leaves: int, check: float = 0.0) -> Path:
    (folder / "workflows").mkdir(parents=True)
    steps = "".join(
        f"[[steps]]\nname = 'leaf-{n}'\naction = 'Write leaf-{n}.txt.'\n"
        f"test_command = '{f'sleep {check:g}; ' if check else ''}test -f leaf-{n}.txt'\n"
        f"files = ['leaf-{n}.txt']\n"
        for n in range(leaves)
    )
    header = "description = 'Write the files.'\nparallel = true\nrequires_testing = false\n"
    (folder / "workflows" / "flow.toml").write_text(header + steps)
    for n in range(50):
        (folder / f"file-{n}.txt").write_text(f"{n}\n" * 20)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *args], check=True)
    return folder


class Machine:
    """A worker in a folder of its own."""

    def __init__(self, folder: Path, env: dict[str, str], slots: int, lease: float) -> None:
        self.folder, self.env, self.slots, self.lease = folder, env, slots, lease
        folder.mkdir(exist_ok=True)
        self.log = folder.with_suffix(".log").open("a")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, off: float = 0.0) -> None:
        if self.process is not None and self.process.poll() is None:
            return
        options = ["--sandbox", "none", "--slots", str(self.slots), "--lease", str(self.lease)]
        self.process = subprocess.Popen(
            [*BOUGH, "worker", "--dir", str(self.folder), "--name", self.folder.name, *options],
            env={**self.env, "CLOCK_OFF": str(off)},
            stdout=self.log,
            stderr=self.log,
        )

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def drain(self) -> None:
        self.signal(signal.SIGTERM)
        if self.process is not None:
            self.process.wait(60)


@contextmanager
def stage(
    leaves: int, delay: Callable[[], float], rounds: int, check: float = 0.0
) -> Iterator[tuple[Path, OwnServer, dict[str, str], str]]:
    """A folder with a project and a remote, a server, an environment, and the model's address."""
    with tempfile.TemporaryDirectory(prefix="bough-cluster-", dir="/tmp") as place:
        top = Path(place)
        top.chmod(0o755)
        make_project(top / "project", leaves, check)
        subprocess.run(["git", "init", "-q", "--bare", str(top / "remote.git")], check=True)
        (top / "site").mkdir()
        (top / "site" / "sitecustomize.py").write_text(CLOCK)
        server = OwnServer()
        with WireModel(answer(delay, rounds)) as wire:
            env = {
                **os.environ,
                "BOUGH_STORE": f"{server.url}&schema=bench",
                "BOUGH_WORKER_ENDPOINTS": "*",
                "OPENAI_API_KEY": KEY,
                "XDG_STATE_HOME": str(top / "state"),
                "XDG_CONFIG_HOME": str(top / "config"),
                "PYTHONPATH": os.pathsep.join([str(top / "site"), os.environ.get("PYTHONPATH", "")]),
            }
            try:
                yield top, server, env, wire.base_url
            finally:
                server.close()


def coordinator(top: Path, env: dict[str, str], url: str, *words: str) -> subprocess.Popen[bytes]:
    log = (top / "coordinator.log").open("a")
    asking = ["--model", "openai:m", "--base-url", url, "--protocol", "tools", "--sandbox", "none", "--workers"]
    command = [*BOUGH, *words, "--dir", str(top / "project"), *asking]
    return subprocess.Popen(command, env=env, stdout=log, stderr=log)


def until_workers(env: dict[str, str], project: Path, count: int) -> None:
    while True:
        listed = subprocess.run(
            [*BOUGH, "workers", "--json", "--dir", str(project)], env=env, capture_output=True, check=False
        )
        if listed.returncode == 0 and len(json.loads(listed.stdout)) >= count:
            return
        time.sleep(0.5)


# ── faults ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LEASE = 3.0
ROUNDS = 3


class Chaos:
    """Does something to somebody, again and again."""

    def __init__(self, rng: random.Random, server: OwnServer, machines: list[Machine]) -> None:
        self.rng, self.server, self.machines = rng, server, machines
        self.coordinator: subprocess.Popen[bytes] | None = None
        self.counts: Counter[str] = Counter()
        self._later: list[threading.Timer] = []

    def strike(self) -> None:
        kinds = ["worker killed", "coordinator killed", "server killed", "worker frozen", "clock off"]
        kind = self.rng.choices(kinds, (4, 2, 1, 2, 1))[0]
        machine = self.rng.choice(self.machines)
        if kind == "worker killed":
            machine.kill()
            # At once, or so late that others have struck it off by then.
            self._after(self.rng.choice((0.0, 0.5, LEASE + 1.5)), machine.start)
        elif kind == "coordinator killed":
            if self.coordinator is None or self.coordinator.poll() is not None:
                return
            self.coordinator.kill()
        elif kind == "server killed":
            self.server.kill()
            self.server.start()
        elif kind == "worker frozen":
            machine.signal(signal.SIGSTOP)
            self._after(LEASE + 1.5, lambda: machine.signal(signal.SIGCONT))
        else:
            machine.kill()
            machine.start(self.rng.choice((-86_400.0, -3_600.0, 3_600.0, 86_400.0)))
        self.counts[kind] += 1

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        if not seconds:
            action()
            return
        timer = threading.Timer(seconds, action)
        timer.start()
        self._later.append(timer)

    def settle(self) -> None:
        for timer in self._later:
            timer.join()


async def examine(url: str, name: str, leaves: int, starts: Counter[str]) -> list[str]:
    """What is wrong with a finished run. Counts how often its leaves were started and interrupted."""
    store = PostgresStore(url, create=False)
    try:
        records = await store.read(name)
        await store.verify()
    finally:
        await store.close()
    wrong = []
    try:
        tasks = assert_spend(records)
    except AssertionError as error:
        return [f"{name}: the budget: {error}"]
    for number in range(leaves):
        path = f"leaf-{number}"
        if path not in tasks or tasks[path].state is not State.COMPLETED:
            wrong.append(f"{name}: {path} is lost")
        begun = [r for r in records if r.task == path and isinstance(r.event, e.TaskCreated | e.TaskResumed)]
        starts["starts"] += len(begun)
        starts["tasks"] += 1
        finished = Counter(r.event.call for r in records if r.task == path and isinstance(r.event, e.ToolFinished))
        wrong += [f"{name}: {path}: call {call} finished {n} times" for call, n in finished.items() if n != 1]
    return wrong


def files_of(env: dict[str, str], project: Path, name: str, leaves: int) -> list[str]:
    diff = subprocess.run(
        [*BOUGH, "diff", name, "--dir", str(project)], env=env, capture_output=True, text=True, check=True
    ).stdout
    wrong = []
    for number in range(leaves):
        part = re.search(rf"\+\+\+ b/leaf-{number}\.txt\n@@.*@@\n((?:\+.*\n?)*)", diff)
        found = re.findall(r"\+(\d+)", part[1]) if part else []
        if found != [str(n + 1) for n in range(ROUNDS)]:
            wrong.append(f"{name}: leaf-{number}.txt has the lines {found}")
    return wrong


def count_tracebacks(top: Path, seen: Counter[str]) -> None:
    """In all logs, and how often workers said that they started a task."""
    seen["tracebacks"] = seen["logged starts"] = 0
    for log in top.glob("*.log"):
        text = log.read_text(errors="replace")
        seen["tracebacks"] += text.count("Traceback (most recent call last)")
        seen["logged starts"] += len(re.findall(r": started$", text, re.MULTILINE)) if "worker-" in log.name else 0


def faults(
    count: int, seed: int, pause: float, leaves: int = 40, workers: int = 4, slots: int = 4, check: float = 0.0
) -> int:
    rng = random.Random(seed)
    wrong: list[str] = []
    starts: Counter[str] = Counter()
    runs, began = 0, time.monotonic()
    with stage(leaves, lambda: rng.uniform(0.1, 0.8), ROUNDS, check) as (top, server, env, url):
        machines = [Machine(top / f"worker-{n}", env, slots=slots, lease=LEASE) for n in range(workers)]
        # One of them is a clone of the project, the others start with nothing.
        subprocess.run(["git", "clone", "-q", str(top / "project"), str(machines[0].folder)], check=True)
        for machine in machines:
            machine.start()
        until_workers(env, top / "project", workers)
        chaos = Chaos(rng, server, machines)
        while not runs or chaos.counts.total() < count:
            runs += 1
            process = chaos.coordinator = coordinator(
                top, env, url, "run", "--workflow", "flow", "--remote", str(top / "remote.git"), "--fresh"
            )
            # A merge runs the checks of all steps that landed since its own step began: with checks that take seconds,
            # that is most of the time.
            limit = 600 + 12 * leaves * check
            started, deadline = time.monotonic(), time.monotonic() + limit
            while True:
                time.sleep(rng.uniform(0.3, pause))
                if process.poll() is not None:
                    if process.returncode == 0:
                        break
                    names = asyncio.run(_names(env["BOUGH_STORE"]))
                    if len(names) < runs:  # It was killed before it had begun anything.
                        process = chaos.coordinator = coordinator(
                            top, env, url, "run", "--workflow", "flow", "--remote", str(top / "remote.git"), "--fresh"
                        )
                        continue
                    process = chaos.coordinator = coordinator(top, env, url, "resume", names[-1])
                if chaos.counts.total() < count:
                    chaos.strike()
                if time.monotonic() > deadline:
                    process.kill()
                    wrong.append(f"run {runs} did not end within {limit:.0f} s")
                    break
            chaos.settle()
            name = asyncio.run(_names(env["BOUGH_STORE"]))[-1]
            wrong += asyncio.run(examine(env["BOUGH_STORE"], name, leaves, starts))
            wrong += files_of(env, top / "project", name, leaves)
            count_tracebacks(top, starts)
            wrong += [f"{name}: {starts['tracebacks']} tracebacks"] if starts["tracebacks"] else []
            if not count and starts["logged starts"] != starts["tasks"]:
                wrong.append(f"{name}: nobody was disturbed, and {dict(starts)}")
            print(
                f"run {runs} {name}: {time.monotonic() - started:.0f} s, {chaos.counts.total()} faults so far",
                flush=True,
            )
            if wrong:
                keep = Path("/tmp") / f"bough-cluster-wrong-{os.getpid()}"
                shutil.copytree(top, keep, symlinks=True)
                journal = subprocess.run(
                    [*BOUGH, "log", name, "--json", "--dir", str(top / "project")], env=env, capture_output=True
                )
                (keep / "journal.jsonl").write_bytes(journal.stdout)
                print(f"kept in {keep}")
                break
        for machine in machines:
            machine.drain()
    took = time.monotonic() - began
    print(f"{chaos.counts.total()} faults in {runs} runs of {leaves} leaves, {took:.0f} s: {dict(chaos.counts)}")
    print(f"{dict(starts)}")
    for each in wrong:
        print(f"WRONG {each}")
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


async def _count(url: str) -> int:
    """How much has happened in the last run."""
    store = PostgresStore(url, create=False)
    try:
        return len(await store.read((await store.runs())[-1]))
    finally:
        await store.close()


async def _names(url: str) -> list[str]:
    store = PostgresStore(url, create=False)
    try:
        return await store.runs()
    finally:
        await store.close()


# ── outages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def outages(count: int, least: float, most: float, patience: float, lease: float, seed: int, part: str) -> int:
    """PostgreSQL is away once in the middle of each run, from `least` to `most` seconds: killed, stopped as its own
    tools do it, or frozen, by turns. A run hangs when nothing happens in it for two minutes and two leases; a
    coordinator that gave up says how to resume, and that is done. `part`: only every so many-th of them, as `2/4`."""
    rng, leaves, wrong, resumed = random.Random(seed), 4, list[str](), 0
    chosen = range(int(part.partition("/")[0]) - 1, count, int(part.partition("/")[2]))
    with stage(leaves, lambda: rng.uniform(1.0, 4.0), ROUNDS) as (top, server, env, url):
        env |= {"BOUGH_STORE": f"{env['BOUGH_STORE']}&patience={patience:g}"}
        ways = (
            ("killed", (server.kill, server.start)),
            ("stopped", (server.stop, server.start)),
            ("frozen", (server.freeze, server.thaw)),
        )
        seen: Counter[str] = Counter()
        machines = [Machine(top / f"worker-{n}", env, slots=2, lease=lease) for n in range(2)]
        for machine in machines:
            machine.start()
        until_workers(env, top / "project", len(machines))
        for number in chosen:
            away = least * (most / least) ** (number / max(1, count - 1))
            count_tracebacks(top, seen)
            before = seen["logged starts"]
            process = coordinator(top, env, url, "run", "--workflow", "flow", "--fresh")
            while seen["logged starts"] == before:
                assert process.poll() is None, (top / "coordinator.log").read_text()[-2000:]
                time.sleep(0.2)
                count_tracebacks(top, seen)
            time.sleep(rng.uniform(0.0, 4.0))
            assert process.poll() is None, "the run was over before the outage"
            how, (leave, back_again) = ways[number % len(ways)]
            leave()
            time.sleep(away)
            back_again()
            back = moved = time.monotonic()
            name, events = "", 0
            while process.poll() != 0 and time.monotonic() - moved < 120.0 + 2 * lease:
                time.sleep(1.0)
                if (known := asyncio.run(_count(env["BOUGH_STORE"]))) != events:
                    events, moved = known, time.monotonic()
                if process.poll():
                    print(f"  {(top / 'coordinator.log').read_text().strip().splitlines()[-1]}", flush=True)
                    name = name or asyncio.run(_names(env["BOUGH_STORE"]))[-1]
                    process, resumed = coordinator(top, env, url, "resume", name), resumed + 1
            took, hangs = time.monotonic() - back, process.poll() is None
            if hangs:
                process.kill()
                wrong.append(f"outage {number + 1}, {how} for {away:.0f} s: the run hangs")
            else:
                name = asyncio.run(_names(env["BOUGH_STORE"]))[-1]
                wrong += asyncio.run(examine(env["BOUGH_STORE"], name, leaves, Counter()))
                wrong += files_of(env, top / "project", name, leaves)
            end = "HANGS" if hangs else f"ended {took:.0f} s later"
            print(f"outage {number + 1}: {how} for {away:.0f} s, {end}", flush=True)
        for machine in machines:
            machine.drain()
        if wrong:
            shutil.copytree(top, f"/tmp/bough-outages-{os.getpid()}")
    print(f"{len(chosen)} outages, {resumed} coordinators resumed, {len(wrong)} wrong")
    for each in wrong:
        print(f"WRONG {each}")
    return 1 if wrong else 0


# ── more workers ────────────────────────────────────────────────────────────────────────────────────────────────────


def scale(counts: list[int], leaves: int, wait: float) -> int:
    took: dict[int, float] = {}
    with stage(leaves, lambda: wait, 1) as (top, _, env, url):
        for count in counts:
            machines = [Machine(top / f"worker-{count}-{n}", env, slots=1, lease=15.0) for n in range(count)]
            for machine in machines:
                machine.start()
            until_workers(env, top / "project", count)
            began = time.monotonic()
            jobs = ["--jobs", str(leaves)]
            process = coordinator(top, env, url, "run", "--workflow", "flow", "--fresh", *jobs)
            assert process.wait() == 0, (top / "coordinator.log").read_text()[-2000:]
            took[count] = time.monotonic() - began
            ideal = leaves / count * 2 * wait
            print(
                f"{count} workers: {took[count]:.1f} s for {leaves} leaves of 2 x {wait:g} s ({ideal:.0f} s of waiting)"
            )
            for machine in machines:
                machine.drain()
    first, last = counts[0], counts[-1]
    print(f"{first} -> {last} workers: {took[first] / took[last]:.2f} x faster")
    return 0


# ── what calls cost ─────────────────────────────────────────────────────────────────────────────────────────────────


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


def _queue_calls(url: str, found: Calls) -> None:
    from dbos import DBOS, DBOSClient
    from dbos._dbos import _get_dbos_instance
    from dbos._serialization import DBOSPortableJSONSerializer

    from bough.adapters.stores.postgresql_server import Server, split_own

    plain, own = split_own(url)
    schema = own["schema"]
    DBOS(
        config={
            "name": "bough",
            "application_version": "1",
            "executor_id": "bench",
            "system_database_url": plain,
            "dbos_system_schema": f"{schema}_dbos",
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "CRITICAL",
        }
    )

    def leaf(text: str) -> str:
        return text

    DBOS.workflow(name="leaf")(leaf)
    DBOS.launch()
    client = DBOSClient(
        system_database_url=plain,
        dbos_system_schema=f"{schema}_dbos",
        serializer=DBOSPortableJSONSerializer(),
        application_name="bough",
    )
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    chaos = kinds.add_parser("faults")
    chaos.add_argument("--faults", type=int, default=200)
    chaos.add_argument("--seed", type=int, default=1)
    chaos.add_argument("--workers", type=int, default=4)
    chaos.add_argument("--slots", type=int, default=4, help="of each worker")
    chaos.add_argument("--leaves", type=int, default=40)
    chaos.add_argument("--check", type=float, default=0.0, help="seconds that a check takes")
    chaos.add_argument("--pause", type=float, default=3.0, help="seconds between two faults, at most")
    away = kinds.add_parser("outages")
    away.add_argument("--count", type=int, default=20)
    away.add_argument("--least", type=float, default=5.0, help="seconds of the first")
    away.add_argument("--most", type=float, default=180.0, help="seconds of the last")
    away.add_argument("--patience", type=float, default=60.0, help="seconds that a server is waited for")
    away.add_argument("--lease", type=float, default=15.0)
    away.add_argument("--seed", type=int, default=1)
    away.add_argument("--part", default="1/1", help="K/N: every N-th of them, from the K-th on")
    more = kinds.add_parser("scale")
    more.add_argument("--workers", type=int, nargs="+", default=[1, 4])
    more.add_argument("--leaves", type=int, default=40)
    more.add_argument("--wait", type=float, default=2.0)
    costs = kinds.add_parser("calls")
    costs.add_argument("--repeat", type=int, default=500)
    costs.add_argument("--json", type=Path, help="the costs, for fleet.py --costs")
    given = parser.parse_args()
    if given.kind == "faults":
        return faults(given.faults, given.seed, given.pause, given.leaves, given.workers, given.slots, given.check)
    if given.kind == "outages":
        return outages(given.count, given.least, given.most, given.patience, given.lease, given.seed, given.part)
    if given.kind == "scale":
        return scale(given.workers, given.leaves, given.wait)
    return calls(given.repeat, given.json)


if __name__ == "__main__":
    raise SystemExit(main())
