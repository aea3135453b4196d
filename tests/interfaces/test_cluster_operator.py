"""What whoever operates many machines is told: who is missing, who failed, and what to do."""

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bough.adapters.executors.fleet import Worker, explain_wait
from bough.core.messages import Answer, Call
from tests import zygote
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

from ..postgres import OwnServer, new_schema
from ..wire import KEY, Reply, Status, WireModel
from .test_cluster import start, worker

FLOW = "description = 'Write the files.'\nparallel = true\nrequires_testing = false\n" + "".join(
    f"[[steps]]\nname = 'leaf-{n}'\naction = 'Write leaf-{n}.txt.'\ntest_command = 'test -f leaf-{n}.txt'\n"
    for n in range(3)
)
TAGGED = FLOW + "runs_on = ['gpu']\n"


def write_file(request: dict[str, Any]) -> Reply:
    said = "\n".join(str(message.get("content")) for message in request["messages"] if message["role"] == "user")
    name = re.findall(r"Write (leaf-\d)\.txt", said)[0]
    if not any(message["role"] == "tool" for message in request["messages"]):
        return Answer(calls=(Call("c1", "write", json.dumps({"path": f"{name}.txt", "content": name})),))
    return Answer(calls=(Call("c2", "done", '{"summary": "written"}'),))


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "BOUGH_STORE": new_schema(),
        "OPENAI_API_KEY": KEY,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "BOUGH_WORKER_ENDPOINTS": "*",
    }


def make_project(tmp_path: Path, flow: str = FLOW) -> Path:
    project = tmp_path / "project"
    (project / "workflows").mkdir(parents=True)
    (project / "workflows" / "flow.toml").write_text(flow)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return project


@contextmanager
def running(project: Path, env: dict[str, str], url: str) -> Iterator[subprocess.Popen[str]]:
    asking = ["--model", "openai:m", "--base-url", url, "--sandbox", "none", "--workers"]
    with start(env, "run", "--dir", str(project), "--workflow", "flow", *asking) as run:
        try:
            yield run
        finally:
            run.kill()


def told(project: Path, env: dict[str, str], *args: str) -> Any:
    status, shown, wrong = zygote.run("bough", *args, "--json", "--dir", str(project), env=env, waiting=True)
    assert status == 0, wrong
    return json.loads(shown)


def until(found: Any, what: str) -> Any:
    deadline = time.monotonic() + 120
    while not (value := found()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return value


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_worker_without_a_usable_key_is_set_aside_and_named(tmp_path: Path, env: dict[str, str]) -> None:
    project = make_project(tmp_path)
    wire = WireModel(write_file)

    def by_key(request: dict[str, Any]) -> Reply:
        mine = next(seen for seen in reversed(wire.requests) if seen.body and seen.json == request)
        return write_file(request) if mine.headers["authorization"].endswith(KEY) else Status(401)

    wire._script = by_key
    with (
        wire,
        worker(tmp_path / "bad", {**env, "OPENAI_API_KEY": "sk-wrong-0123456789abcdef"}, "--name", "bad"),
        running(project, env, wire.base_url) as run,
    ):
        # It is the only one: the run halts, can be resumed, and says whose key it is.
        output, _ = run.communicate(timeout=150)
        assert run.returncode == 7 and "on worker bad: " in output and "bough resume" in output, output
        (listed,) = told(project, env, "workers")
        assert listed["name"] == "bad" and listed["trouble"]
        with worker(tmp_path / "good", env, "--name", "good"):
            status, *said = zygote.run("bough", "resume", "--dir", str(project), "--workers", env=env, waiting=True)
            assert status == 0, said
            troubles = {each["name"]: bool(each["trouble"]) for each in told(project, env, "workers")}
            assert troubles["good"] is False


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_who_waits_for_a_worker_says_so_everywhere(tmp_path: Path, env: dict[str, str]) -> None:
    project = make_project(tmp_path, TAGGED)
    with (
        WireModel(write_file) as wire,
        worker(tmp_path / "one", env, "--name", "one") as first,
        running(project, env, wire.base_url) as run,
    ):
        waiting = until(lambda: _waiting(project, env), "nobody says that a tag is missing")
        assert waiting == "Waiting: leaf-2 needs a worker with the tag `gpu`: start one with `bough worker --tag gpu`"
        first.kill()
        first.wait()
        alone = until(
            lambda: "no worker has taken tasks since" in (_waiting(project, env) or ""), "nobody says that all are gone"
        )
        assert alone
        with worker(tmp_path / "two", env, "--tag", "gpu", "--name", "two"):
            output, _ = run.communicate(timeout=150)
        assert run.returncode == 0, output
        assert "needs a worker with the tag `gpu`" in output and "no worker has taken tasks since" in output
        assert _waiting(project, env) is None


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_all_workers_are_killed_in_mid_task(tmp_path: Path, env: dict[str, str]) -> None:
    """Nothing is in the queue then: what they took waits for them."""
    project, asked, go = make_project(tmp_path), threading.Event(), threading.Event()

    def answer(request: dict[str, Any]) -> Reply:
        asked.set()
        go.wait(120)
        return write_file(request)

    with (
        WireModel(answer) as wire,
        worker(tmp_path / "one", env, "--name", "one") as first,
        running(project, env, wire.base_url) as run,
    ):
        assert asked.wait(120)
        first.kill()
        waiting = until(lambda: _waiting(project, env), "nobody says that all are gone")
        assert waiting.startswith("Waiting: no worker has taken tasks since")
        go.set()
        with worker(tmp_path / "two", env, "--name", "two"):
            output, _ = run.communicate(timeout=150)
        assert run.returncode == 0 and "no worker has taken tasks since" in output, output


@pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")
@in_turn
def test_a_server_that_is_away_for_longer_than_it_is_waited_for_hangs_nobody(tmp_path: Path) -> None:
    """The worker cannot release its claims; the ones of tasks that it no longer runs must not stay for ever."""
    server, asked, go = OwnServer(), threading.Event(), threading.Event()
    store = f"{server.url}&schema=away&patience=3"
    env = {**os.environ, "BOUGH_STORE": store, "OPENAI_API_KEY": KEY, "XDG_STATE_HOME": str(tmp_path / "state")}
    env["BOUGH_WORKER_ENDPOINTS"] = "*"
    project = make_project(tmp_path)

    def answer(request: dict[str, Any]) -> Reply:
        asked.set()
        go.wait(120)
        return write_file(request)

    try:
        with WireModel(answer) as wire, worker(tmp_path / "one", env, "--name", "one", "--slots", "1") as first:
            assert first.stdout is not None
            with running(project, env, wire.base_url) as run:
                assert asked.wait(120)
                server.stop()
                ended = (line for line in first.stdout if "restarting" in line)  # It has given up by then.
                assert next(ended, "")
                server.start()
                go.set()
                output, _ = run.communicate(timeout=150)
            if run.returncode:  # It waited for no longer, either, and said what to do.
                assert "cannot be reached" in output, output
                name = told(project, env, "runs")[0]["run"]
                again = ["resume", name, "--dir", str(project), "--base-url", wire.base_url, "--sandbox", "none"]
                status, output, wrong = zygote.run("bough", *again, "--workers", env=env, waiting=True)
                assert status == 0, output + wrong
            assert told(project, env, "runs")[0]["status"] == "completed", output
    finally:
        server.close()


def _waiting(project: Path, env: dict[str, str]) -> str | None:
    status, shown, _ = zygote.run("bough", "show", "--json", "--dir", str(project), env=env, waiting=True)
    return json.loads(shown)["waiting"] if status == 0 else None


def test_what_a_wait_is_called() -> None:
    def one(name: str, *tags: str, trouble: str = "", silent: float = 0.0) -> Worker:
        return Worker(name, "1", "host", 1, 2, tags, "0", False, 9.0, silent, trouble)

    assert explain_wait([], [], "12:00:00") == ""
    assert explain_wait([("a", ())], [one("w")], "12:00:00") == ""
    assert "since 12:00:00" in explain_wait([("a", ())], [one("w", silent=99.0)], "12:00:00")
    aside = explain_wait([("a", ())], [one("w", trouble="no key")], "12:00:00")
    assert aside.endswith("; w is set aside: no key")
    assert "tags `x` and `y`" in explain_wait([("a", ()), ("b", ("x", "y"))], [one("w", "x")], "12:00:00")
    assert explain_wait([("b", ("x",))], [one("w", "x", "y")], "12:00:00") == ""
