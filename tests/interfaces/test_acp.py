"""bough as an agent: driven by the protocol's own client library, over standard input and output."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from bough.testing import call
from tests.harness import FIXED, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

FIX = call("write", path="calc.py", content=FIXED)
DONE = call("done", summary="adds")
SUB = FIXED + "\n\ndef sub(a, b):\n    return a - b\n"


class Editor:
    """Shows everything, and answers every question alike."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.updates: list[Any] = []
        self.asked: list[str] = []
        self.called = asyncio.Event()
        self.process: asyncio.subprocess.Process | None = None

    def on_connect(self, conn: Any) -> None:
        """The connection is the test's."""

    async def session_update(self, session_id: str, update: Any, **given: Any) -> None:
        self.updates.append(update)
        if isinstance(update, schema.ToolCallStart):
            self.called.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **given: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(str(tool_call.title))
        kind = "allow_once" if self.says == "yes" else "reject_once"
        chosen = next(option.option_id for option in options if option.kind == kind)
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    def of(self, kind: type) -> list[Any]:
        return [update for update in self.updates if isinstance(update, kind)]

    def text(self) -> str:
        return "".join(update.content.text for update in self.of(schema.AgentMessageChunk))


Work = Callable[[Any, Editor], Awaitable[None]]


def in_editor(project: Path, wire: WireModel, work: Work, says: str = "yes") -> Editor:
    editor = Editor(says)

    async def go() -> None:
        env = {**os.environ, "OPENAI_API_KEY": "k", "BOUGH_PLANNING_FLAT": "true"}
        argv = ["-m", "bough", "acp", "--model", "openai:m", "--base-url", wire.base_url]
        limits = {"limit": 8 << 20}
        async with acp.spawn_agent_process(
            cast(acp.Client, editor), sys.executable, *argv, env=env, cwd=str(project), transport_kwargs=limits
        ) as (agent, editor.process):
            begun = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            assert begun.agent_info is not None and begun.agent_info.name == "bough"
            assert begun.agent_capabilities is not None and begun.agent_capabilities.load_session
            await work(agent, editor)

    asyncio.run(go())
    return editor


async def prompt(agent: Any, session: str, text: str) -> str:
    return str((await agent.prompt(session_id=session, prompt=[acp.text_block(text)])).stop_reason)


@in_turn
def test_a_goal_a_follow_up_and_the_same_session_after_a_restart(tmp_path: Path) -> None:
    project, sessions = make_project(tmp_path / "p"), list[str]()

    async def work(agent: Any, editor: Editor) -> None:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        sessions.append(session)
        assert await prompt(agent, session, "Make add add.") == "end_turn"
        assert (project / "calc.py").read_text() == FIXED, "it was allowed to apply it"
        assert await prompt(agent, session, "Now add sub(a, b).") == "end_turn"
        assert (project / "calc.py").read_text() == SUB

    with WireModel([FIX, DONE, call("write", path="calc.py", content=SUB), DONE]) as wire:
        editor = in_editor(project, wire, work)
    starts = editor.of(schema.ToolCallStart)
    assert [start.kind for start in starts if start.kind == "edit"] == ["edit", "edit"]
    (diff,) = starts[0].content
    assert diff.type == "diff" and diff.new_text == FIXED and diff.path == str(project / "calc.py")
    assert {update.status for update in editor.of(schema.ToolCallProgress)} == {"completed"}
    assert [entry.status for entry in editor.of(schema.AgentPlanUpdate)[-1].entries] == ["completed"]
    assert all("to your files?" in asked for asked in editor.asked) and len(editor.asked) == 2
    assert "check passed" in editor.text()

    async def again(agent: Any, editor: Editor) -> None:
        await agent.load_session(cwd=str(project), session_id=sessions[0], mcp_servers=[])
        refused = None
        try:
            await agent.load_session(cwd=str(project), session_id="../../etc", mcp_servers=[])
        except acp.RequestError as error:
            refused = error
        assert refused is not None

    with WireModel([]) as wire:
        seen = in_editor(project, wire, again)
    goals = [update.content.text for update in seen.of(schema.UserMessageChunk)]
    assert goals == ["Make add add.", "Now add sub(a, b)."]
    assert seen.text().count("completed: ") >= 2


@in_turn
def test_cancelled_and_killed_it_continues_with_the_next_prompt(tmp_path: Path) -> None:
    project, sessions = make_project(tmp_path / "p"), list[str]()

    async def begin(agent: Any, editor: Editor) -> None:
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        sessions.append(session)
        turn = asyncio.create_task(prompt(agent, session, "Make add add."))
        await asyncio.wait_for(editor.called.wait(), 240)
        await agent.cancel(session_id=session)
        assert await turn == "cancelled"
        editor.called.clear()
        turn = asyncio.create_task(prompt(agent, session, "Go on."))
        await asyncio.wait_for(editor.called.wait(), 240)
        assert editor.process is not None
        editor.process.kill()
        await asyncio.gather(turn, return_exceptions=True)

    async def go_on(agent: Any, editor: Editor) -> None:
        await agent.load_session(cwd=str(project), session_id=sessions[0], mcp_servers=[])
        assert await prompt(agent, sessions[0], "You were gone.") == "end_turn"

    with WireModel([call("bash", command="sleep 60"), call("bash", command="sleep 61"), FIX, DONE]) as wire:
        in_editor(project, wire, begin)
        editor = in_editor(project, wire, go_on, says="no")
        bodies = b"".join(request.body for request in wire.requests)
    assert b"Go on." in bodies and b"You were gone." in bodies, "the agent is told"
    assert "completed: " in editor.text() and len(editor.asked) == 1
    assert "return a - b" in (project / "calc.py").read_text(), "nothing was applied"
