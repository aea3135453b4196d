"""Published MCP servers as tools of bough's agents: does each start in the sandbox, and does a call come back?

The model is scripted: it calls each tool once and then makes the repair. Everything else is real: the servers as they
are published, the sandbox, the protocol, the verdict.

    npm install --prefix /tmp/npm -g @modelcontextprotocol/server-everything @modelcontextprotocol/server-filesystem
    python3 -m venv /tmp/mcp && /tmp/mcp/bin/pip install mcp-server-time mcp-server-git
    PATH=/tmp/npm/bin:/tmp/mcp/bin:$PATH python bench/tool_servers.py
"""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bough import app
from bough.core import events as e
from bough.core.messages import Answer
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call

SERVERS: dict[str, tuple[str, tuple[str, ...], tuple[Answer, ...]]] = {
    "time": (
        "mcp-server-time",
        ("--local-timezone", "UTC"),
        (call("time__get_current_time", timezone="Europe/Berlin"),),
    ),
    "git": ("mcp-server-git", (), (call("git__git_log", repo_path=".", max_count=3),)),
    "filesystem": (
        "mcp-server-filesystem",
        (".",),
        (call("filesystem__list_directory", path="."), call("filesystem__read_text_file", path="calc.py")),
    ),
    "everything": (
        "mcp-server-everything",
        (),
        (call("everything__echo", message="hello"), call("everything__get-sum", a=2, b=3)),
    ),
}
GOAL = "Make add add."
CHECK = "python3 -c 'from calc import add; assert add(2, 3) == 5'"


def make_project(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a bug"]):
        subprocess.run([*git, *words], check=True)
    return folder


async def run(name: str, home: Path) -> str:
    command, arguments, calls = SERVERS[name]
    project = make_project(home / name)
    settings = home / "config" / "bough" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"[mcp.{name}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(list(arguments))}\n")
    fix = call("write", path="calc.py", content="def add(a, b):\n    return a + b\n")
    choices = app.Choices(model=ScriptedModel([*calls, fix, call("done", summary="adds")]), flat=True)
    records: list[e.Record] = []
    began = time.monotonic()
    async with app.open_session(project, create=True, choices=choices) as session:
        watch = app.RunObserver(recorded=records.append)
        outcome = await session.start(build_goal_step(GOAL, check=CHECK), choices, watch)
    seconds = time.monotonic() - began
    listed = next(record.event for record in records if isinstance(record.event, e.ToolServersListed))
    if listed.failed:
        return f"left out: {listed.failed[name]} | 0 | | {seconds:.1f}"
    ended = [record.event for record in records if isinstance(record.event, e.ToolFinished)][: len(calls)]
    said = "; ".join(f"{'ok' if one.ok else 'failed'}: {_short(one.output)}" for one in ended)
    return f"{outcome.status} | {len(listed.tools[name])} | {said} | {seconds:.1f}"


def _short(output: str) -> str:
    text = " ".join(output.partition("instruction]\n")[2].split()) or output
    return (text if len(text) <= 60 else f"{text[:60]} …").replace("|", "\\|")


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="bough-servers-"))
    os.environ |= {"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
    print("| server | run | tools | what the calls gave | seconds |")
    print("| --- | --- | --- | --- | --- |")
    for name in SERVERS:
        print(f"| {name} | {asyncio.run(run(name, home))} |", flush=True)
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
