"""A small MCP server, made with the protocol's own library: python mcp_server.py [http PORT]"""

import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("small")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


@server.tool()
def put(path: str, text: str) -> str:
    """Write a text to a file."""
    Path(path).write_text(text)
    return f"{path} is written"


@server.tool()
def see(path: str) -> str:
    """What a file holds."""
    return Path(path).read_text()


@server.tool()
def know(name: str) -> str:
    """A variable of mine."""
    return os.environ.get(name, "(not set)")


@server.tool()
def wait(seconds: float) -> str:
    """Take a while."""
    time.sleep(seconds)
    return "slept"


@server.tool()
def die() -> str:
    """End at once."""
    os._exit(3)


@server.tool()
def flood(bytes: int) -> str:
    """Say a lot."""
    return "x" * bytes


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")
