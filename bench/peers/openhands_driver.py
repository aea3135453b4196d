"""OpenHands SDK: an `Agent` with one tool in a `Conversation` that persists its events in a folder, as its guide on
persistence shows; nothing is drawn. Its stuck detection stays on, as it ships."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import GOAL, KEY, MODEL, TOOL, TOOL_HELP, TOOL_RESULT, Entry, main


def _register() -> None:
    """Tell the SDK about the tool; as its custom tools do, with an action, an observation and an executor."""
    from openhands.sdk.tool import (  # type: ignore[import-not-found]
        Action,
        Observation,
        ToolDefinition,
        ToolExecutor,
        register_tool,
    )

    class LookAction(Action):  # type: ignore[misc]
        part: int

    class LookObservation(Observation):  # type: ignore[misc]
        pass

    class LookExecutor(ToolExecutor):  # type: ignore[misc]
        def __call__(self, action: Any, conversation: Any = None) -> Any:
            return LookObservation.from_text(text=TOOL_RESULT)

    class LookTool(ToolDefinition):  # type: ignore[misc]
        @classmethod
        def create(cls, conv_state: Any = None, **params: Any) -> Sequence[Any]:
            executor = LookExecutor()
            return [
                cls(
                    description=TOOL_HELP,
                    action_type=LookAction,
                    observation_type=LookObservation,
                    executor=executor,
                )
            ]

    LookTool.name = TOOL
    register_tool(TOOL, LookTool)


async def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    from openhands.sdk import LLM, Agent, Conversation, Tool  # type: ignore[import-not-found]

    _register()
    llm = LLM(model=f"openai/{MODEL}", base_url=base_url, api_key=KEY, usage_id="agent")

    async def one(number: int) -> None:
        conversation = Conversation(
            Agent(llm=llm, tools=[Tool(name=TOOL)]),
            workspace=folder / "workspace",
            persistence_dir=folder / "conversations",
            max_iteration_per_run=n + 5,
            visualizer=None,
            delete_on_close=False,
        )
        conversation.send_message(GOAL)
        await conversation.arun()
        conversation.close()

    await asyncio.gather(*(one(number) for number in range(count)))


async def rounds(n: int, base_url: str, folder: Path) -> None:
    await agents(1, n, base_url, folder)


if __name__ == "__main__":
    main(Entry("openhands-sdk", ("openhands.sdk",), rounds, agents, final_tool="finish", final='{"message": "done"}'))
