"""The MCP servers of a run: each command in a sandbox of its own, with what was named for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode
from bough.adapters.sandboxes.network import Network, parse_network
from bough.adapters.sandboxes.process import make_sandbox
from bough.core.errors import UsageError
from bough.core.servers import ToolServer
from bough.installed import lacking
from bough.ports import Sandbox, Tools
from bough.trust.programs import list_program_folders

if TYPE_CHECKING:
    from bough.adapters.mcp.tools import McpTools


def make_servers(
    configured: Mapping[str, ToolServer],
    tools: Tools,
    *,
    env: Mapping[str, str],
    hidden: Sequence[str],
    mode: Mode,
    confines: bool,
    root: Path,
) -> McpTools:
    """bough's tools with those of the servers, which start where they are first needed. One that does not start is left
    out, and the journal says why. `hidden`: secrets that no server sees, unless its own settings name them."""
    try:
        from bough.adapters.mcp.tools import McpTools, make_served
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "pydantic", "anyio"):
            raise
        raise lacking("An MCP server", "mcp") from None
    plain = {**make_env(env, hidden), "PATH": list_program_folders(root, env)}

    def sandbox(settings: ToolServer, line: list[str]) -> Sandbox:
        own = dict(plain)
        if line and line[0].startswith("/"):  # Then the sandbox shows it, with what was installed alongside.
            own["PATH"] = f"{Path(line[0]).parent}:{own['PATH']}"
        network = parse_network(settings.network, env) if confines else Network("on")
        return make_sandbox(mode, own, hidden=[root], network=network)

    served = {}
    for name, settings in configured.items():
        if bool(settings.command) == bool(settings.url):
            raise UsageError(f"The MCP server {name} needs either a command or a url: see `bough config`.")
        served[name] = make_served(name, settings, env, sandbox, root)
    return McpTools(tools, served)
