"""The settings, by a person or a repository, of a Model Context Protocol (MCP) server whose tools agents can use."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from bough.core.planning.plan import Role

_PLACE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


class OAuth(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Client credentials for a server reached over HTTP."""

    client_id: str
    secret_env: str
    """The variable that holds the secret."""
    issuer: str
    """The authorization server they belong to: they are sent to no other."""
    scope: str | None = None


class ToolServer(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A server: a command that bough starts in the sandbox, or an address."""

    command: str | None = None
    """The program, or (without `args`) a whole command line."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    """Its variables. `${NAME}` is a variable of yours, here and in `command`, `args`, `url` and `headers`."""
    network: str = "off"
    """What a command can reach: off, loopback, registries, allow:HOST,… or on."""
    url: str | None = None
    """Address of a server that speaks streamable HTTP. bough itself calls it, from outside the sandbox."""
    headers: dict[str, str] = field(default_factory=dict)
    oauth: OAuth | None = None
    tools: tuple[str, ...] = ()
    """The server's tools that agents get, as patterns (`get_*`); empty: all."""
    roles: tuple[Role, ...] = ()
    """The agents that get them: builder, bug_hunter, test_writer; empty: all."""
    timeout: Annotated[float, Meta(gt=0)] = 60.0
    """Seconds that a call may take."""


def argv(server: ToolServer, env: Mapping[str, str]) -> list[str]:
    line = [server.command or "", *server.args] if server.args else shlex.split(server.command or "")
    return [placed(word, env) for word in line]


def placed(text: str, env: Mapping[str, str]) -> str:
    """Return the text with `${NAME}` and `${NAME:-default}` substituted."""
    return _PLACE.sub(lambda found: env.get(found[1]) or found[2] or "", text)


def described(server: Mapping[str, Any]) -> str:
    """Describe a server in one line for the person who is asked to allow it: what is started or called, and how."""
    rest = {key: value for key, value in server.items() if key not in ("command", "args", "url", "type") and value}
    words = [str(server.get("command", "")), *map(str, server.get("args", ()))]
    what = str(server["url"]) if server.get("url") else " ".join(word for word in words if word)
    return f"{what} {json.dumps(rest, sort_keys=True)}" if rest else what


def read(text: str) -> dict[str, dict[str, Any]]:
    """Read the servers of a `.mcp.json` as settings, without those that bough cannot use."""
    try:
        servers = json.loads(text).get("mcpServers")
    except (ValueError, AttributeError, RecursionError):  # Not bough's file: its own tools will complain.
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name, server in servers.items() if isinstance(servers, dict) else ():
        if not isinstance(server, dict) or server.get("type") == "sse":
            continue
        kept = {key: server[key] for key in ("command", "args", "env", "url", "headers") if server.get(key)}
        try:
            usable = msgspec.convert(kept, ToolServer)
        except msgspec.ValidationError:
            continue
        if usable.command or usable.url:
            found[str(name)] = kept
    return found
