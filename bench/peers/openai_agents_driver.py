"""openai-agents as it ships: `Runner.run` on its chat-completions model, tracing off. Nothing is kept on disk."""

import asyncio
from pathlib import Path

from harness import GOAL, KEY, MODEL, TOOL, TOOL_HELP, TOOL_RESULT, Entry, main


async def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    from agents import (  # type: ignore[import-not-found]
        Agent,
        OpenAIChatCompletionsModel,
        RunConfig,
        Runner,
        function_tool,
    )
    from openai import AsyncOpenAI

    async def look(part: int) -> str:
        return TOOL_RESULT

    tool = function_tool(look, name_override=TOOL, description_override=TOOL_HELP)
    async with AsyncOpenAI(base_url=base_url, api_key=KEY) as client:
        agent = Agent("bench", tools=[tool], model=OpenAIChatCompletionsModel(MODEL, openai_client=client))
        config = RunConfig(tracing_disabled=True)
        runs = (Runner.run(agent, GOAL, max_turns=n + 5, run_config=config) for _ in range(count))
        await asyncio.gather(*runs)


async def rounds(n: int, base_url: str, folder: Path) -> None:
    await agents(1, n, base_url, folder)


if __name__ == "__main__":
    main(Entry("openai-agents", ("agents", "openai"), rounds, agents))
