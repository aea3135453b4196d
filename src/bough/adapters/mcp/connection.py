"""A connection to one server of the Model Context Protocol: to a command in the sandbox, or to an address."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import mcp_types
from mcp.client import Client, Transport
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from bough.adapters.sandboxes.pipes import Pipes
from bough.core.settings.sections import ToolServer, fill_variables

logging.getLogger("mcp").addHandler(logging.NullHandler())  # Errors go to the model, not to the terminal.
GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)


class ServerLost(Exception):
    """The server is gone, or never started; the text says why."""


class Connection:
    """Runs from `open` to `close` in an asyncio task of its own: the library must be exited in the task that entered
    it, but calls come from many tasks."""

    def __init__(self, transport: Transport, pipes: Pipes | None, timeout: float) -> None:
        self._transport, self._pipes, self._timeout = transport, pipes, timeout
        self._closing = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())

    async def open(self, patience: float) -> None:
        done, _ = await asyncio.wait((self._client,), timeout=patience)
        if not done:
            raise ServerLost(f"the server did not answer within {patience:g} s. {await self._why(0.0)}".strip())
        if (error := self._client.exception()) is not None:
            raise ServerLost(f"{await self._why() or _first(error)}") from error

    @property
    def lost(self) -> bool:
        return self._life.done() or (self._pipes is not None and (self._pipes.ended or self._pipes.unreadable))

    async def tools(self) -> list[mcp_types.Tool]:
        found: list[mcp_types.Tool] = []
        cursor: str | None = None
        for _ in range(50):
            page = await self._client.result().list_tools(cursor=cursor)
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    async def call(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        """Call a tool. Raises `ServerLost` if the server dies or is too slow: then the server must be restarted."""
        asking = asyncio.ensure_future(self._client.result().call_tool(tool, arguments))
        await asyncio.wait((asking, self._life), timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            if self.lost:
                raise ServerLost(await self._why() or "it is gone.")
            raise ServerLost(f"the server did not answer within {self._timeout:g} s, and was stopped.")
        try:
            return asking.result()
        except MCPError as error:
            if self.lost:
                raise ServerLost(await self._why(0.2) or "the server's message was too large.") from error
            raise
        except (*GONE, OSError, RuntimeError) as error:
            raise ServerLost(await self._why() or _first(error)) from error

    async def close(self) -> None:
        self._closing.set()
        if self._pipes is not None:
            await self._pipes.close()
        done, _ = await asyncio.wait((self._life,), timeout=5.0)
        if not done:
            self._life.cancel()
        await asyncio.gather(self._life, return_exceptions=True)
        if self._client.done() and not self._client.cancelled():
            self._client.exception()

    async def _live(self) -> None:
        try:
            async with Client(self._transport) as client:
                if not self._client.done():
                    self._client.set_result(client)
                await self._closing.wait()
        except BaseException as error:
            if not self._client.done():
                self._client.set_exception(_first(error))
            if isinstance(error, asyncio.CancelledError):
                raise

    async def _why(self, patience: float = 1.0) -> str:
        return await self._pipes.why(patience) if self._pipes is not None else ""


def _first(error: BaseException) -> Exception:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else ServerLost(f"the server was stopped ({type(error).__name__}).")


@asynccontextmanager
async def over_pipes(pipes: Pipes) -> AsyncIterator[Any]:
    """Exchange one message per line. Any other line is skipped: programs print all kinds of things."""
    to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def listen() -> None:
        async with to_session:
            while line := await pipes.read_line():
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue
                try:
                    await to_session.send(SessionMessage(message))
                except GONE:
                    return

    async def speak() -> None:
        async with from_session:
            async for message in from_session:
                await pipes.write_line(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        group.start_soon(speak)
        try:
            yield read, write
        finally:
            group.cancel_scope.cancel()
            for stream in (read, write, to_session, from_session):
                stream.close()


@asynccontextmanager
async def over_http(server: ToolServer, env: Mapping[str, str]) -> AsyncIterator[Any]:
    url = fill_variables(server.url or "", env)
    headers = {name: fill_variables(value, env) for name, value in server.headers.items()}
    async with AsyncExitStack() as stack:
        auth = None
        if (oauth := server.oauth) is not None:
            auth = ClientCredentialsOAuthProvider(
                url, _Memory(), oauth.client_id, env.get(oauth.secret_env, ""), scope=oauth.scope, issuer=oauth.issuer
            )
        client = await stack.enter_async_context(create_mcp_http_client(headers, auth=auth))
        yield await stack.enter_async_context(streamable_http_client(url, http_client=client))


class _Memory:
    """Stores tokens in memory for the run's duration, and nowhere else."""

    _tokens: Any = None
    _info: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return self._info

    async def set_client_info(self, client_info: Any) -> None:
        self._info = client_info
