"""Starting the dashboard: alone, beside a run, for several projects, and where it cannot start."""

import asyncio
import json
import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bough.interfaces.cli.entry import run_command_line
from bough.interfaces.web.actions import _list_runs
from tests.harness import CHECK, FIXED, QUICK_CHECK, git, make_project
from tests.interfaces.shell import act, bough, ended, live, repair, run_args, until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.serving import serve, work_once
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


def test_the_address_is_stable_and_unique(tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    with serve(tmp_path) as first:
        kept = tmp_path / ".bough" / "serve.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert json.loads(kept.read_text()) == {"port": first.port}
    with serve(tmp_path) as again:
        assert (again.port, again.token == first.token) == (first.port, False)
        assert httpx2.get(f"{again.url}/api/runs", headers={"x-bough": first.token}).status_code == 401


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run_command_line(["serve", "--dir", str(tmp_path), "--port", str(port)]) == 2
    assert f"Port {port} on 127.0.0.1 is unavailable" in capsys.readouterr().err


@in_turn
def test_where_there_are_no_runs_yet_one_can_be_started(tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with WireModel(repair()) as wire:
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(place, **state, **settings) as served:
            (project,) = served.get("/api/runs")["projects"]
            assert (project["runs"], project["total"], "error" in project) == ([], 0, False)
            assert not (place / ".bough").exists(), "looking leaves no trace"
            choices = served.get(f"/api/{project['project']}/choices")
            assert choices["model"] == "openai:test"
            headers = {"origin": served.url}
            top = f"/api/{project['project']}"
            wrong = served.client.post(f"{top}/do/start", content=b'{"goal": " "}', headers=headers)
            assert wrong.status_code == 409 and "The goal is empty" in wrong.json()["error"]
            wrong = served.client.post(
                f"{top}/do/start", content=b'{"goal": "x", "continues": "no-such"}', headers=headers
            )
            assert wrong.status_code == 409 and "no run" in wrong.json()["error"]
            asked = {"goal": "Make add add.", "check": QUICK_CHECK, "rounds": 20, "jobs": 2}
            started = served.client.post(f"{top}/do/start", content=json.dumps(asked), headers=headers)
            assert started.status_code == 200, started.text
            name = started.json()["run"]
            until(lambda: served.get(served.of(name))["status"] == "completed")
            run = served.get(served.of(name))
            assert run["goal"] == "Make add add." and run["limits"]["rounds"] == 20 and run["progress"] == 1.0
            (begun,) = (one for one in served.get(f"{served.of(name)}/events")["events"] if one["kind"] == "RunStarted")
            assert begun["event"]["jobs"] == 2


@in_turn
def test_a_night_is_started_and_stopped_from_elsewhere(tmp_path: Path) -> None:
    """The process of the night is nobody's terminal: a stop reaches it through the journal."""
    place = make_project(tmp_path / "project")
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        git(place, "config", name, value)
    hurry = threading.Event()

    def look() -> dict[str, Any]:
        night: dict[str, Any] = served.get("/api/runs")["projects"][0]["nights"][0]
        return night

    with WireModel(work_once(hurry)) as wire:
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(place, XDG_STATE_HOME=str(tmp_path / "state"), **settings) as served:
            assert served.tell("add_goal", {"fields": {"goal": "Make add add.", "check": CHECK}}).is_success
            assert (look()["began"], look()["working"]) == (False, False)
            begun = served.tell("start_night", {"jobs": 2, "together": "night-1", "until": "23:59"})
            assert begun.is_success and "has begun" in begun.json()["said"], begun.text
            until(lambda: look()["working"] and wire.requests)
            late = served.tell("edit_goal", {"list": "backlog", "goal": "make-add-add", "fields": {"priority": 1}})
            assert late.json()["said"] == "Changed make-add-add. Its run has already begun with the old version."
            assert served.tell("stop_night", {"list": "backlog"}).is_success
            until(lambda: not look()["working"])
            assert look()["open"], "it can be continued"
            hurry.set()
            assert served.tell("start_night", {}).is_success
            until(lambda: not look()["open"])
            night = look()
            assert [group["heading"] for group in night["groups"]] == ["Done and proven"]
            assert night["branch"] == "night-1", "what the person chose for the night still holds"
            assert served.tell("start_night", {}).json()["said"] == "No goal can begin now: each goal says why."


def test_what_the_settings_of_a_repository_ask_for_is_answered_on_the_page(tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    (place / "bough.toml").write_text("[check]\naccept_failing = true\n")
    with serve(place, XDG_STATE_HOME=str(tmp_path / "state")) as served:
        (project,) = served.get("/api/runs")["projects"]
        assert project["wishes"] == {"check.accept_failing": "true"} and not project["runs"]
        address, headers = f"/api/{project['project']}/do/trust", {"origin": served.url}

        def answer(wishes: dict[str, str]) -> tuple[int, str]:
            body = json.dumps({"wishes": wishes, "allow": True})
            said = served.client.post(address, content=body, headers=headers)
            return said.status_code, said.text

        status, said = answer({"check.accept_failing": "false"})
        assert status == 409 and "have changed meanwhile" in said, "a yes holds for what was shown"
        status, said = answer(project["wishes"])
        assert status == 200 and "Allowed: check.accept_failing" in said
        (project,) = served.get("/api/runs")["projects"]
        assert project["wishes"] == {}


@in_turn
def test_the_same_address_after_a_restart_also_beside_a_run(tmp_path: Path) -> None:
    """The dashboard of a run takes no port that belongs to the project's own."""
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    with serve(tmp_path) as first:
        port = first.port
    with serve(tmp_path, "--until", str(os.getpid())) as beside:
        assert beside.port != port
        assert beside.get("/api/runs")["beside"] == os.getpid()
        with serve(tmp_path) as again:
            assert again.port == port


@in_turn
def test_a_run_that_is_removed_says_so(tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    journals.write(tmp_path, "opal-wren", journals.large(2, 1))
    with serve(tmp_path) as served:
        assert served.get(served.of("jade-fox"))["status"] == "completed"
        with served.client.stream("GET", served.live("jade-fox")) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith(("id", ":"))
            assert run_command_line(["rm", "jade-fox", "--dir", str(tmp_path), "--yes"]) == 0
            assert next(line for line in lines if line.startswith("event: ")) == "event: removed"
        gone = served.client.get(served.of("jade-fox"))
        assert gone.status_code == 404 and "jade-fox" in gone.json()["error"]
        assert [run["run"] for run in served.get("/api/runs")["projects"][0]["runs"]] == ["opal-wren"]


@in_turn
def test_all_projects_that_the_person_has_run_in(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    one, other = make_project(tmp_path / "one"), make_project(tmp_path / "other")
    with WireModel(lambda request: act("done", summary="as it is")) as wire:
        for place in (one, other):
            bough(place, *run_args(wire.base_url, "--json", "--rounds", "1"), XDG_STATE_HOME=state)
    with serve(one, "--all", XDG_STATE_HOME=state) as served:
        found = served.get("/api/runs")["projects"]
        assert [(each["root"], each["total"]) for each in found] == [(str(one), 1), (str(other), 1)]


@in_turn
def test_alongside_a_run(tmp_path: Path) -> None:
    """The run's own words are as ever; the dashboard is there while it is under way, and not after."""
    place = make_project(tmp_path / "project")
    let = threading.Event()

    def answer(request: object) -> object:
        assert let.wait(240)
        return next(answers)

    answers = iter([act("write", path="calc.py", content=FIXED), act("done", summary="add adds")])
    with WireModel(answer) as wire, live(place, *run_args(wire.base_url, "--web", "--json")) as process:  # type: ignore[arg-type]
        assert process.stderr is not None
        told = next(line for line in process.stderr if "The dashboard is at " in line)
        address = told.split()[-1]
        url = address.partition("/?")[0]
        with httpx2.Client(base_url=url, headers={"x-bough": address.partition("token=")[2]}) as client:
            until(lambda: client.get("/api/runs").json()["projects"][0]["runs"])
            found = client.get("/api/runs").json()
            (run,) = found["projects"][0]["runs"]
            assert run["status"] == "running"
            assert run["holder"].startswith(f"process {found['beside']} on this machine"), "the page opens with it"
        let.set()
        said = ended(process)
    assert said.status == 0 and said.events[-1]["event"]["event"] == "RunFinished"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/")


@in_turn
def test_without_the_extra(tmp_path: Path) -> None:
    """Nothing else needs it, and a person who asks for the dashboard is told what to install."""
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    hidden = tmp_path / "hidden"
    for name in ("starlette", "uvicorn"):
        (hidden / name).mkdir(parents=True)
        (hidden / name / "__init__.py").write_text(f"raise ModuleNotFoundError('no', name='{name}')\n")
    said = bough(tmp_path, "serve", PYTHONPATH=str(hidden))
    assert said.status == 2 and "needs an extra. Install it with: " in said.err and "[web]" in said.err
    assert bough(tmp_path, "show", PYTHONPATH=str(hidden)).status == 0
    assert bough(tmp_path, "export", "--json", PYTHONPATH=str(hidden)).status == 0


def test_a_run_that_has_made_its_folder_and_no_journal_yet_is_awaited(tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    assert asyncio.run(_list_runs(place)) == []
    (place / ".bough").mkdir()
    assert asyncio.run(_list_runs(place)) == []
