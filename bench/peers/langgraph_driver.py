"""LangGraph: the tool-calling graph of its quickstart with a checkpoint after every step in SQLite
(`AsyncSqliteSaver`), as its pages on persistence and durable execution say. `durability` is its default, `async`: a
checkpoint is written while the next step runs already. `DeltaChannel` (beta) is left out."""

import asyncio
from pathlib import Path
from typing import Any

from harness import GOAL, KEY, MODEL, TOOL, TOOL_HELP, TOOL_RESULT, Entry, main

IMPORTS = (
    "langchain_core.tools",
    "langchain_openai",
    "langgraph.checkpoint.sqlite.aio",
    "langgraph.graph",
    "langgraph.prebuilt",
)


def _graph(base_url: str) -> Any:
    from langchain_core.tools import StructuredTool  # type: ignore[import-not-found]
    from langchain_openai import ChatOpenAI  # type: ignore[import-not-found]
    from langgraph.graph import START, MessagesState, StateGraph  # type: ignore[import-not-found]
    from langgraph.prebuilt import ToolNode, tools_condition  # type: ignore[import-not-found]

    async def look(part: int) -> str:
        return TOOL_RESULT

    tools = [StructuredTool.from_function(coroutine=look, name=TOOL, description=TOOL_HELP)]
    model = ChatOpenAI(model=MODEL, base_url=base_url, api_key=KEY).bind_tools(tools)

    async def ask(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_node("tools", ToolNode(tools))
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", tools_condition)
    builder.add_edge("tools", "ask")
    return builder


async def agents(count: int, n: int, base_url: str, folder: Path) -> None:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # type: ignore[import-not-found]

    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        graph = _graph(base_url).compile(checkpointer=saver)

        async def one(number: int) -> None:
            config = {"configurable": {"thread_id": str(number)}, "recursion_limit": 2 * n + 10}
            await graph.ainvoke({"messages": [{"role": "user", "content": GOAL}]}, config)

        await asyncio.gather(*(one(number) for number in range(count)))


async def rounds(n: int, base_url: str, folder: Path) -> None:
    await agents(1, n, base_url, folder)


if __name__ == "__main__":
    main(Entry("langgraph", IMPORTS, rounds, agents))
