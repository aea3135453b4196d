"""Starting the dashboard: alone, beside a run, for several projects, and where it cannot start."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import httpx2
import pytest

from bough.interfaces.cli.entry import run_command_line
from tests.harness import FIXED, make_project
from tests.interfaces.shell import act, bough, run_args
from tests.web import journals
from tests.web.serving import serve
from tests.wire import WireModel


def test_the_address_is_stable_and_unique(tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    with serve(tmp_path) as first:
        kept = tmp_path / ".bough" / "serve.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert json.loads(kept.read_text()) == {"port": first.port}
    with serve(tmp_path) as again:
        assert (again.port, again.token == first.token) == (first.port, False)
        assert httpx2.get(f"{again.url}/?token={first.token}").status_code == 401


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run_command_line(["serve", "--dir", str(tmp_path), "--port", str(port)]) == 2
    assert f"Port {port} on 127.0.0.1 is unavailable" in capsys.readouterr().err


def test_where_there_are_no_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["serve", "--dir", str(tmp_path)]) == 2
    assert "There are no runs" in capsys.readouterr().err


def test_all_projects_that_the_person_has_run_in(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    one, other = make_project(tmp_path / "one"), make_project(tmp_path / "other")
    with WireModel(lambda request: act("done", summary="as it is")) as wire:
        for place in (one, other):
            bough(place, *run_args(wire.base_url, "--json", "--rounds", "1"), XDG_STATE_HOME=state)
    with serve(one, "--all", XDG_STATE_HOME=state) as served:
        found = served.get("/api/runs")["projects"]
        assert [(each["root"], each["total"]) for each in found] == [(str(one), 1), (str(other), 1)]


def test_alongside_a_run(tmp_path: Path) -> None:
    """The run's own words are as ever; the dashboard is there while it is under way, and not after."""
    place = make_project(tmp_path / "project")
    seen: list[int] = []

    def answer(request: object) -> object:
        if not seen:
            kept = json.loads((place / ".bough" / "serve.json").read_text())
            url = f"http://127.0.0.1:{kept['port']}"
            assert httpx2.get(f"{url}/").status_code == 401, "it is there, and wants its token"
            seen.append(kept["port"])
            return act("write", path="calc.py", content=FIXED)
        return act("done", summary="add adds")

    with WireModel(answer) as wire:  # type: ignore[arg-type]
        said = bough(place, *run_args(wire.base_url, "--web", "--json"), XDG_STATE_HOME=str(tmp_path))
    assert said.status == 0 and f"The dashboard is at http://127.0.0.1:{seen[0]}/?token=" in said.err
    assert said.events[-1]["event"]["event"] == "RunFinished"
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"http://127.0.0.1:{seen[0]}/")


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
