"""smolagents as it ships: a `ToolCallingAgent` that prints nothing and keeps nothing on disk. Its interface blocks, so
that agents at once are threads."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import GOAL, KEY, MODEL, TOOL, TOOL_HELP, TOOL_RESULT, Entry, main


def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    from smolagents import LogLevel, OpenAIModel, Tool, ToolCallingAgent  # type: ignore[import-not-found]

    class Look(Tool):  # type: ignore[misc]
        name = TOOL
        description = TOOL_HELP
        inputs = {"part": {"type": "integer", "description": "Its number."}}  # noqa: RUF012 (the peer reads a plain dict)
        output_type = "string"

        def forward(self, part: int) -> str:
            return TOOL_RESULT

    model = OpenAIModel(MODEL, api_base=base_url, api_key=KEY)

    def one(number: int) -> None:
        agent = ToolCallingAgent([Look()], model, max_steps=n + 5, verbosity_level=LogLevel.OFF)
        agent.run(GOAL)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))


def rounds(n: int, base_url: str, folder: Path) -> None:
    agents(1, n, base_url, folder)


if __name__ == "__main__":
    main(
        Entry(
            "smolagents",
            ("smolagents", "openai"),
            rounds,
            agents,
            final_tool="final_answer",
            final='{"answer": "done"}',
        )
    )
