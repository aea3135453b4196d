"""Everything that offers tools, held to every promise of `tools.py`."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bough.adapters.fenced_ports import fence_port
from bough.adapters.mcp.tools import McpTools, make_served
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.tools.workbench import WorkbenchTools
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.settings.sections import ToolServer
from bough.ports import Tools
from bough.ports.steering import Fence

from .tools import PROMISES, Promise, fill

SANDBOX = make_sandbox("auto", make_env(os.environ))
SERVER = Path(__file__).parents[1] / "mcp_server.py"


def of_a_server() -> Tools:
    program = f"exec(compile({SERVER.read_text()!r}, 'small', 'exec'))"
    settings = ToolServer(command=sys.executable, args=("-c", program), tools=("[!d]*",))  # all but `die`
    return McpTools(WorkbenchTools(SANDBOX), {"small": make_served("small", settings, {}, lambda *given: SANDBOX)})


TOOLS: dict[str, Callable[[], Tools]] = {
    "workbench": lambda: WorkbenchTools(SANDBOX),
    "own search": lambda: WorkbenchTools(SANDBOX, ripgrep=None),
    "fenced": lambda: fence_port(WorkbenchTools(SANDBOX), Fence()),
    "server": of_a_server,
}


@pytest.fixture(params=TOOLS, scope="module")
def kit(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[asyncio.Runner, Tools, PlainFolder]]:
    """One folder for all promises: a server is started once in each."""
    tools, here = TOOLS[request.param](), make_plain_folder(tmp_path_factory.mktemp("tools"))
    with asyncio.Runner() as runner:
        if isinstance(tools, McpTools):
            listed = runner.run(tools.prepare(here))
            assert listed is not None and listed.tools["small"] and not listed.failed
        yield runner, tools, here
        if isinstance(tools, McpTools):
            runner.run(tools.close())


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promise(kit: tuple[asyncio.Runner, Tools, PlainFolder], promise: Promise) -> None:
    runner, tools, here = kit
    for path in here.root.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    fill(here.root)

    async def hold() -> None:
        await promise(tools, here)

    runner.run(hold())
