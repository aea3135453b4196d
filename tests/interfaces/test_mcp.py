"""bough for other agents: driven by the protocol's own client, over standard input and output."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitResult

from bough.testing import call
from tests.harness import CHECK, FIXED, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY, VARIABLES
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

SCRIPT = [call("write", path="calc.py", content=FIXED), call("done", summary="adds")]


def spoken(project: Path, work: Callable[[Client], Awaitable[None]], *options: str, answer: Any = None) -> None:
    async def go() -> None:
        env = {"OPENAI_API_KEY": "k", "HOME": str(project.parent), **dict(VARIABLES.values())}
        argv = ["-m", "bough", "mcp", "--dir", str(project), *options]
        started = StdioServerParameters(command=sys.executable, args=argv, env=env)
        async with Client(started, elicitation_callback=answer) as client:
            await work(client)

    asyncio.run(go())


async def tool(client: Client, name: str, progress: Any = None, /, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments, progress_callback=progress)
    assert not result.is_error, result.content
    return result.structured_content


@in_turn
def test_an_agent_runs_a_goal_and_applies_it(tmp_path: Path) -> None:
    project, heard = make_project(tmp_path / "p"), list[str]()

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def work(client: Client) -> None:
        begun = await client.call_tool("status", {})
        assert begun.is_error and "no runs" in str(begun.content), "an error of bough's is one the agent can read"
        ended = await tool(client, "run", progress, goal="--check true", check=CHECK)
        assert ended["status"] == "completed" and ended["goal"] == "--check true", "a goal is never an option"
        name = ended["run"]
        assert "return a + b" in (await tool(client, "diff", run=name))["result"]
        assert [task["path"] for task in (await tool(client, "show"))["tasks"]] == ["goal"]
        assert (project / "calc.py").read_text() != FIXED
        await tool(client, "apply", run=name)
        assert (project / "calc.py").read_text() == FIXED
        (tree,) = (await client.read_resource(f"bough://runs/{name}")).contents
        assert json.loads(getattr(tree, "text", ""))["run"] == name
        refused = await client.call_tool("answer", {"run": name, "text": "yes"})
        assert refused.is_error and "is finished" in str(refused.content), refused.content

    with WireModel(SCRIPT) as wire:
        spoken(project, work, "--model", "openai:m", "--base-url", wire.base_url)
    assert any(message.startswith("goal: ") for message in heard), heard


@in_turn
def test_a_client_asks_its_person_what_the_settings_may(tmp_path: Path) -> None:
    project, asked = make_project(tmp_path / "p"), list[str]()
    (project / "bough.toml").write_text("[check]\naccept_failing = true\n")

    async def answer(context: Any, request: Any) -> ElicitResult:
        asked.append(request.message)
        return ElicitResult(action="accept", content={"allow": True})

    async def work(client: Client) -> None:
        ended = await tool(client, "run", goal="Make add add.", check=CHECK)
        assert ended["status"] == "completed"

    with WireModel(SCRIPT) as wire:
        spoken(project, work, "--model", "openai:m", "--base-url", wire.base_url, answer=answer)
    (message,) = asked
    assert "check.accept_failing = true" in message and "Allow that" in message


@in_turn
def test_a_run_continues_when_the_server_has_ended(tmp_path: Path) -> None:
    project, name = make_project(tmp_path / "p"), list[str]()

    async def begin(client: Client) -> None:
        begun = await tool(client, "run", goal="Make add add.", check=f"sleep 1; {CHECK}", wait_seconds=0)
        assert begun["status"] == "running", begun
        name.append(begun["run"])

    async def look(client: Client) -> None:
        until = time.monotonic() + 240
        while (found := await tool(client, "status", run=name[0]))["status"] == "running":
            assert time.monotonic() < until, found
            await asyncio.sleep(0.1)
        assert found["status"] == "completed"

    with WireModel(SCRIPT) as wire:
        spoken(project, begin, "--model", "openai:m", "--base-url", wire.base_url)
        spoken(project, look)


@in_turn
def test_an_agent_adds_to_the_backlog_and_reads_it(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")

    async def work(client: Client) -> None:
        added = await tool(client, "backlog_add", goal="--file /etc/passwd", check=CHECK, priority=2)
        assert added["name"] == "file-etc-passwd" and not added["refused"], "a goal is never an option"
        await tool(client, "backlog_add", goal="Then this.", needs=["file-etc-passwd"])
        page = await tool(client, "backlog_report")
        assert [goal["name"] for goal in page["goals"]] == ["file-etc-passwd", "then-this"]
        assert page["goals"][1]["why"] == "it needs file-etc-passwd, which is not finished yet"
        refused = await client.call_tool("backlog_add", {"goal": "x", "needs": ["nobody"]})
        assert refused.is_error and "no goal `nobody`" in str(refused.content)

    spoken(project, work)
