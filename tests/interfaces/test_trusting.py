"""A repository's wishes, answered elsewhere than at the prompt of a run: `bough trust`, the page, an editor."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bough.interfaces.acp import EditorSession
from bough.interfaces.web import actions
from bough.services.permission_store import list_open_wishes
from tests.harness import make_project
from tests.interfaces.shell import bough
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

SETTINGS = '[workspace]\nlink = ["data"]\n[check]\naccept_failing = true\ntimeout = 600\n'
WISHES = {"workspace.link": '["data"]', "check.accept_failing": "true"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = make_project(tmp_path / "p")
    (place / "bough.toml").write_text(SETTINGS)
    return place


@pytest.mark.parametrize("answer", ["--yes", "--no"])
def test_on_the_command_line(project: Path, tmp_path: Path, answer: str) -> None:
    own = {"XDG_STATE_HOME": str(tmp_path / "state")}
    asked = bough(project, "trust", "--json", **own)
    assert asked.status == 1 and json.loads(asked.out)["wishes"] == WISHES
    assert bough(project, "trust", **own).status == 1
    said = bough(project, "trust", answer, **own)
    assert said.status == 0 and "workspace.link" in said.out
    assert bough(project, "trust", "--json", **own).status == 0
    config = bough(project, "config", "--json", **own).out
    assert ("accept_failing" in json.dumps(json.loads(config)["settings"])) == (answer == "--yes")


@pytest.mark.parametrize("yes", [True, False])
def test_in_an_editor(project: Path, yes: bool) -> None:
    asked: list[str] = []

    class Client:
        async def request_permission(self, **given: Any) -> Any:
            asked.append(given["tool_call"].title)
            outcome = type("Outcome", (), {"option_id": "yes" if yes else "no"})
            return type("Session", (), {"outcome": outcome})

    async def go() -> None:
        from bough.app import Choices

        session = EditorSession("s", project, Client(), Choices())  # type: ignore[arg-type]
        await session._ask_consent()
        await session._ask_consent()

    asyncio.run(go())
    assert len(asked) == 1 and "workspace.link" in asked[0]
    assert list_open_wishes(project)[1] == {}


def test_another_value_is_another_question(project: Path) -> None:
    asyncio.run(actions.act(project, "", "trust", json.dumps({"wishes": WISHES, "allow": False}).encode()))
    (project / "bough.toml").write_text(SETTINGS.replace("data", "other"))
    assert list_open_wishes(project)[1] == {"workspace.link": '["other"]'}
