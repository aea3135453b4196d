"""An agent of the Agent Client Protocol that does what a file says: python acp_agent.py SCRIPT.json

The file is a list of [words, deeds]: the first whose words are in the prompt says what is done in that turn. It is a
real process that speaks the real protocol; only its thoughts are written down.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema


class ScriptedAgent:
    def __init__(self) -> None:
        self.count, self.cancelled = 0, asyncio.Event()

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **given: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **given: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id="one")

    async def cancel(self, session_id: str, **given: Any) -> None:
        self.cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **given: Any) -> schema.PromptResponse:
        self.cancelled.clear()
        told = "".join(part.text for part in prompt)
        script = json.loads(Path(sys.argv[1]).read_text())
        deeds = next(deeds for words, deeds in script if words in told)
        for deed in deeds:
            if self.cancelled.is_set():
                return schema.PromptResponse(stop_reason="cancelled")
            (kind, value), *_ = deed.items()
            if kind == "stop":
                return schema.PromptResponse(stop_reason=value)
            await getattr(self, f"do_{kind}")(value)
        if self.cancelled.is_set():
            return schema.PromptResponse(stop_reason="cancelled")
        usage = schema.Usage(total_tokens=150, input_tokens=100, output_tokens=50)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

    async def update(self, update: Any) -> None:
        await self.client.session_update(session_id="one", update=update)

    async def do_say(self, text: str) -> None:
        await self.update(acp.update_agent_message_text(text))

    async def do_cost(self, amount: float) -> None:
        cost = schema.Cost(amount=amount, currency="USD")
        await self.update(schema.UsageUpdate(session_update="usage_update", used=1000, size=100_000, cost=cost))

    async def do_write(self, value: list[str]) -> None:
        path, text = value
        id = await self.begin(f"Write {path}", "edit", {"file_path": path})
        try:
            Path(path).write_text(text)
        except OSError as error:
            return await self.end(id, str(error), "failed")
        return await self.end(id, "written")

    async def do_run(self, command: str) -> None:
        id = await self.begin(command, "execute", {"command": command})
        chosen = [schema.PermissionOption(option_id="y", name="Allow", kind="allow_once")]
        chosen += [schema.PermissionOption(option_id="n", name="Reject", kind="reject_once")]
        asked = schema.ToolCallUpdate(tool_call_id=id)
        answer = await self.client.request_permission(session_id="one", tool_call=asked, options=chosen)
        if getattr(answer.outcome, "option_id", "") != "y":
            return await self.end(id, "not allowed", "failed")
        ran = await asyncio.to_thread(subprocess.run, command, shell=True, capture_output=True, text=True)
        return await self.end(id, ran.stdout + ran.stderr, "completed" if ran.returncode == 0 else "failed")

    async def do_read(self, path: str) -> None:
        id = await self.begin(f"Read {path}", "read", {"file_path": path})
        await self.end(id, Path(path).read_text())

    async def do_again(self, value: list[Any]) -> None:
        times, deed = value
        for _ in range(times):
            if self.cancelled.is_set():
                return
            (kind, inner), *_ = deed.items()
            await getattr(self, f"do_{kind}")(inner)

    async def begin(self, title: str, kind: Any, given: Any) -> str:
        self.count += 1
        id = f"call-{self.count}"
        await self.update(acp.start_tool_call(id, title, kind=kind, status="pending", raw_input=given))
        return id

    async def end(self, id: str, text: str, status: Any = "completed") -> None:
        content = [acp.tool_content(acp.text_block(text))]
        await self.update(acp.update_tool_call(id, status=status, content=content))


if __name__ == "__main__":
    asyncio.run(acp.run_agent(ScriptedAgent()))  # type: ignore[arg-type]
