"""Two workers as processes with folders of their own, a real PostgreSQL, a model at the wire: one worker is killed in
the middle of a task, the other takes it over, and nothing is lost or done twice."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.stores.postgresql import PostgresStore
from bough.app.journal_location import find_address, remember_store
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.messages import Answer, Call
from bough.core.tree.task_state import State
from tests import zygote
from tests.interfaces.shell import until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

from ..postgres import new_schema
from ..spend import assert_spend
from ..wire import KEY, WireModel

FLOW = "description = 'Write the files.'\nparallel = true\nrequires_testing = false\n" + "".join(
    f"[[steps]]\nname = 'leaf-{n}'\naction = 'Write leaf-{n}.txt.'\ntest_command = 'test -f leaf-{n}.txt'\n{tags}\n"
    for n, tags in enumerate(("runs_on = ['first']", "", ""))
)


class Provider:
    """Each agent writes its file and says that it is done. That of leaf-0 waits for `go` before its second answer."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go = threading.Event()

    def __call__(self, request: dict[str, Any]) -> Answer:
        said = "\n".join(str(message.get("content")) for message in request["messages"] if message["role"] == "user")
        name = re.findall(r"Write (leaf-\d)\.txt", said)[0]
        if not any(message["role"] == "tool" for message in request["messages"]):
            arguments = json.dumps({"path": f"{name}.txt", "content": name})
            return Answer(calls=(Call("c1", "write", arguments),))
        if name == "leaf-0":
            self.asked.set()
            self.go.wait(120)
        return Answer(calls=(Call("c2", "done", '{"summary": "written"}'),))


def start(env: dict[str, str], *args: str) -> subprocess.Popen[str]:
    """A process of bough, with both of its streams in one."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return zygote.open_process(*args, cwd=Path.cwd(), env=env, waiting=True, **streams)


@contextmanager
def worker(folder: Path, env: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    folder.mkdir()
    with start(env, "worker", "--dir", str(folder), "--sandbox", "none", "--lease", "2", *options) as process:
        try:
            assert process.stdout is not None and "1 slot" in process.stdout.readline()
            yield process
        finally:
            process.kill()


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_killed_workers_task_is_taken_over(tmp_path: Path) -> None:
    store = new_schema()
    provider = Provider()
    project = tmp_path / "project"
    (project / "workflows").mkdir(parents=True)
    (project / "workflows" / "flow.toml").write_text(FLOW)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    env = {**os.environ, "BOUGH_STORE": store, "OPENAI_API_KEY": KEY, "BOUGH_WORKER_ENDPOINTS": "*"}
    with (
        WireModel(provider) as wire,
        worker(tmp_path / "one", env, "--tag", "first", "--name", "one") as first,
        worker(tmp_path / "two", env, "--tag", "first", "--name", "two") as second,
    ):
        asking = ["--model", "openai:m", "--base-url", wire.base_url, "--sandbox", "none", "--workers"]
        with start(env, "run", "--dir", str(project), "--workflow", "flow", *asking) as run:
            assert provider.asked.wait(120), "nobody took leaf-0"
            _, listed, _ = zygote.run("bough", "workers", "--json", "--dir", str(project), env=env, waiting=True)
            busy = {each["name"] for each in json.loads(listed) for _, task in each["tasks"] if task == "leaf-0"}
            (first if busy == {"one"} else second).kill()
            left = second if busy == {"one"} else first
            provider.go.set()
            output, _ = run.communicate(timeout=200)
            assert run.returncode == 0, output
        drain = ["worker", "--drain", "--dir", str(project), "--name", "two" if busy == {"one"} else "one"]
        assert zygote.run("bough", *drain, env=env, waiting=True)[0] == 0
        assert left.wait(240) == 0

    async def look() -> list[e.Record]:
        journal = PostgresStore(store, create=False)
        try:
            (name,) = await journal.runs()
            return await journal.read(name)
        finally:
            await journal.close()

    records = asyncio.run(look())
    tasks = assert_spend(records)
    assert {path: task.state for path, task in tasks.items() if "/" not in path} == dict.fromkeys(
        ("goal", "leaf-0", "leaf-1", "leaf-2"), State.COMPLETED
    )
    of_leaf = [record.event for record in records if record.task == "leaf-0"]
    carried = [each.worker for each in of_leaf if isinstance(each, e.TaskCreated | e.TaskResumed)]
    assert carried == [*busy, *({"one", "two"} - busy)]  # each in its turn
    wrote = [each for each in of_leaf if isinstance(each, e.ToolFinished) and each.ok]
    assert len(wrote) == 2  # the file once, for all that its worker died, and the claim that it is done


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_worker_refuses_what_its_owner_does_not_allow(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "workflows").mkdir(parents=True)
    (project / "workflows" / "flow.toml").write_text(FLOW)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    env = {**os.environ, "BOUGH_STORE": new_schema(), "OPENAI_API_KEY": KEY}
    with WireModel(Provider()) as wire, worker(tmp_path / "one", env, "--tag", "first", "--name", "one") as serving:
        options = ["--model", "openai:m", "--base-url", wire.base_url, "--sandbox", "none", "--workers"]
        with start(env, "run", "--dir", str(project), "--workflow", "flow", *options) as run:
            output, _ = run.communicate(timeout=200)
        assert run.returncode == 1 and "does not allow base_url" in output and "bough resume" in output, output
        assert serving.poll() is None and not wire.requests, "no key left the worker"


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_hooks_are_those_of_who_started_the_run_never_the_workers(tmp_path: Path) -> None:
    """A worker with hooks does the work, which fails; only the person who started the run is told."""
    project, told = tmp_path / "project", {name: tmp_path / f"{name}.told" for name in ("starter", "worker")}
    (project / "workflows").mkdir(parents=True)
    (project / "workflows" / "flow.toml").write_text(FLOW.replace("runs_on = ['first']", ""))
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    envs, store = {}, new_schema()
    for name, file in told.items():
        place = tmp_path / f"{name}-home"
        (place / "bough").mkdir(parents=True)
        (place / "bough" / "config.toml").write_text(f"notify = ['sh', '-c', 'cat >> {file}; echo >> {file}']\n")
        own = {"XDG_CONFIG_HOME": str(place), "XDG_STATE_HOME": str(place / "state")}
        own |= {"BOUGH_STORE": store, "OPENAI_API_KEY": KEY, "BOUGH_WORKER_ENDPOINTS": "*"}
        envs[name] = {**os.environ, **own}

    def claim(request: dict[str, Any]) -> Answer:
        return Answer(calls=(Call("c1", "done", '{"summary": "written"}'),))

    def heard() -> list[dict[str, Any]]:
        lines = told["starter"].read_text().splitlines() if told["starter"].exists() else []
        return [json.loads(line) for line in lines if line]

    with WireModel(claim) as wire, worker(tmp_path / "one", envs["worker"], "--name", "one"):
        options = ["--model", "openai:m", "--base-url", wire.base_url, "--sandbox", "none", "--workers"]
        asking = ["run", "--dir", str(project), "--workflow", "flow", *options]
        _, said, _ = zygote.run("bough", *asking, env=envs["starter"], waiting=True)
        (notice,) = until(heard)
    assert (notice["hook_event_name"], notice["status"]) == ("given_up", "failed"), said
    assert "the check still fails" in notice["message"], "as the worker found out"
    assert not told["worker"].exists() and not (tmp_path / "worker-home/state/bough/hooks").exists()


def test_an_address_in_a_repository_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BOUGH_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project = tmp_path / "project"
    (project / ".bough").mkdir(parents=True)
    (project / ".bough" / "stores").write_text(f"postgresql://elsewhere/x\t{project}\n")
    assert find_address(project) == ""
    monkeypatch.setenv("BOUGH_STORE", "postgresql://me:secret@db/x?schema=shop")
    remember_store(project)
    monkeypatch.delenv("BOUGH_STORE")
    assert find_address(project) == "postgresql://me@db/x?schema=shop"
    assert find_address(tmp_path) == ""
    monkeypatch.setenv("BOUGH_STORE", "local")
    assert find_address(project) == ""
    monkeypatch.setenv("BOUGH_STORE", "mysql://db/x")
    with pytest.raises(UsageError, match="`mysql` is not an address of a journal"):
        find_address(project)


ALONE = """
import sys
import bough
from bough.testing import ScriptedModel, call

model = ScriptedModel([call("write", path="a.txt", content="a"), call("done", summary="written")])
outcome = bough.run_sync("Write a.txt.", check="test -f a.txt", model=model, dir=sys.argv[1], sandbox="none")
assert outcome.status == "completed", outcome
loaded = {name.partition(".")[0] for name in sys.modules} & {"psycopg", "dbos", "sqlalchemy"}
heavy = ("bough.adapters.executors", "bough.adapters.stores.postgresql_server")
ours = [name for name in sys.modules if name.startswith(heavy)]
assert not loaded and not ours, (loaded, ours)
"""


@in_turn
@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
def test_a_run_on_one_machine_loads_none_of_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    done = subprocess.run([sys.executable, "-c", ALONE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
