"""pydantic-ai as it ships: `Agent.run` on its chat-completions model. Nothing is kept on disk."""

import asyncio
from pathlib import Path

from harness import GOAL, KEY, MODEL, TOOL, TOOL_HELP, TOOL_RESULT, Entry, main

IMPORTS = ("pydantic_ai", "pydantic_ai.models.openai", "pydantic_ai.providers.openai")


async def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    from pydantic_ai import Agent, Tool, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def look(part: int) -> str:
        return TOOL_RESULT

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base_url, api_key=KEY))
    agent = Agent(model, tools=[Tool(look, name=TOOL, description=TOOL_HELP)])
    limits = UsageLimits(request_limit=None)
    await asyncio.gather(*(agent.run(GOAL, usage_limits=limits) for _ in range(count)))


async def rounds(n: int, base_url: str, folder: Path) -> None:
    await agents(1, n, base_url, folder)


if __name__ == "__main__":
    main(Entry("pydantic-ai-slim", IMPORTS, rounds, agents))
