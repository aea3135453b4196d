"""The machines, the projects and the examination of finished runs for `cluster.py`."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.postgres import OwnServer
from tests.spend import assert_spend
from tests.wire import WireModel

from bough.adapters.stores.postgresql import PostgresStore
from bough.core import events as e
from bough.core.messages import Answer, Call
from bough.core.tree.task_state import State

Found = TypeVar("Found")
ROUNDS = 3
"""How many lines an agent appends to its file."""
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


class Stage:
    """A folder with a project and a remote, a server, an environment, and the model's address."""

    def __init__(self, top: Path, server: OwnServer, url: str) -> None:
        self.top, self.server, self.url = top, server, url
        self.project, self.remote = top / "project", top / "remote.git"
        self.env = {
            **os.environ,
            "BOUGH_STORE": f"{server.url}&schema=bench",
            "BOUGH_WORKER_ENDPOINTS": "*",
            "OPENAI_API_KEY": KEY,
            "XDG_STATE_HOME": str(top / "state"),
            "XDG_CONFIG_HOME": str(top / "config"),
            "PYTHONPATH": os.pathsep.join([str(top / "site"), os.environ.get("PYTHONPATH", "")]),
        }

    def machines(self, count: int, slots: int, lease: float, name: str = "worker") -> list[Machine]:
        return [Machine(self.top / f"{name}-{n}", self.env, slots, lease) for n in range(count)]

    def start(self, machines: list[Machine]) -> None:
        """Start the workers, and wait until the store knows all of them."""
        for machine in machines:
            machine.start()
        while True:
            listed = self.bough("workers", "--json")
            if listed.returncode == 0 and len(json.loads(listed.stdout)) >= len(machines):
                return
            time.sleep(0.5)

    def bough(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*BOUGH, *words, "--dir", str(self.project)]
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)

    def coordinator(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.top / "coordinator.log").open("a")
        asking = ["--model", "openai:m", "--base-url", self.url, "--protocol", "tools", "--sandbox", "none"]
        command = [*BOUGH, *words, "--dir", str(self.project), *asking, "--workers"]
        return subprocess.Popen(command, env=self.env, stdout=log, stderr=log)

    @property
    def said(self) -> str:
        """The end of the coordinator's log."""
        return (self.top / "coordinator.log").read_text()[-2000:]

    def read(self, what: Callable[[PostgresStore], Coroutine[Any, Any, Found]]) -> Found:
        async def opened() -> Found:
            store = PostgresStore(self.env["BOUGH_STORE"], create=False)
            try:
                return await what(store)
            finally:
                await store.close()

        return asyncio.run(opened())

    def runs(self) -> list[str]:
        return self.read(lambda store: store.runs())

    def count_events(self) -> int:
        """How much has happened in the last run."""
        name = self.runs()[-1]
        return len(self.read(lambda store: store.read(name)))

    def find_wrong(self, leaves: int, starts: Counter[str]) -> list[str]:
        """What is wrong with the last run, which is finished. Counts how often its leaves were started."""
        name = self.runs()[-1]
        return [
            f"{name}: {each}" for each in (*self._judge_journal(name, leaves, starts), *self._judge_files(name, leaves))
        ]

    def _judge_journal(self, name: str, leaves: int, starts: Counter[str]) -> Iterator[str]:
        self.read(lambda store: store.verify())
        records = self.read(lambda store: store.read(name))
        try:
            tasks = assert_spend(records)
        except AssertionError as error:
            yield f"the budget: {error}"
            return
        for path in (f"leaf-{number}" for number in range(leaves)):
            if path not in tasks or tasks[path].state is not State.COMPLETED:
                yield f"{path} is lost"
            events = [record.event for record in records if record.task == path]
            starts["starts"] += sum(isinstance(event, e.TaskCreated | e.TaskResumed) for event in events)
            starts["tasks"] += 1
            finished = Counter(event.call for event in events if isinstance(event, e.ToolFinished))
            yield from (f"{path}: call {call} finished {n} times" for call, n in finished.items() if n != 1)

    def _judge_files(self, name: str, leaves: int) -> Iterator[str]:
        shown = self.bough("diff", name)
        shown.check_returncode()
        for number in range(leaves):
            part = re.search(rf"\+\+\+ b/leaf-{number}\.txt\n@@.*@@\n((?:\+.*\n?)*)", shown.stdout)
            found = re.findall(r"\+(\d+)", part[1]) if part else []
            if found != [str(n + 1) for n in range(ROUNDS)]:
                yield f"leaf-{number}.txt has the lines {found}"

    def count_tracebacks(self, seen: Counter[str]) -> None:
        """In all logs, and how often workers said that they started a task."""
        seen["tracebacks"] = seen["logged starts"] = 0
        for log in self.top.glob("*.log"):
            text = log.read_text(errors="replace")
            seen["tracebacks"] += text.count("Traceback (most recent call last)")
            seen["logged starts"] += len(re.findall(r": started$", text, re.MULTILINE)) if "worker-" in log.name else 0


@contextmanager
def open_stage(leaves: int, delay: Callable[[], float], rounds: int, check: float = 0.0) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="bough-cluster-", dir="/tmp") as place:
        top = Path(place)
        top.chmod(0o755)
        make_project(top / "project", leaves, check)
        subprocess.run(["git", "init", "-q", "--bare", str(top / "remote.git")], check=True)
        (top / "site").mkdir()
        (top / "site" / "sitecustomize.py").write_text(CLOCK)
        server = OwnServer()
        with WireModel(answer(delay, rounds)) as wire:
            try:
                yield Stage(top, server, wire.base_url)
            finally:
                server.close()
