"""The straight way to a server: connections that are used again or not, TLS, and what servers do to answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest

from bough.adapters.models import direct
from bough.adapters.models.direct import DirectTransport
from bough.adapters.models.wire import Client

T = TypeVar("T")

IDENTITY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqpjUtVtNr5Uz8T7i
Qz0DGKeqAGJLgPAZxcr4wO9YHAChRANCAATRkJs4SKr7QOZCzylywZueikphXyXX
eE/FgSs3+EfV3jKI1xO2wTmO6xnkSwdjh9OaTWWicFJaRbRXjjxkJHOX
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBqDCCAU6gAwIBAgIUa/wzPHuE9hUAZ6mmpY7ks2DcztUwCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVYSBzZXJ2ZXIgb2YgdGhlIHRlc3RzMCAXDTI2MTExNTA2NDgz
MVoYDzIxMjYxMDIyMDY0ODMxWjAgMR4wHAYDVQQDDBVhIHNlcnZlciBvZiB0aGUg
dGVzdHMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATRkJs4SKr7QOZCzylywZue
ikphXyXXeE/FgSs3+EfV3jKI1xO2wTmO6xnkSwdjh9OaTWWicFJaRbRXjjxkJHOX
o2QwYjAdBgNVHQ4EFgQUqlxbvKbh/lgSky/82jlhEXcNxmAwHwYDVR0jBBgwFoAU
qlxbvKbh/lgSky/82jlhEXcNxmAwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAG
hwR/AAABMAoGCCqGSM49BAMCA0gAMEUCIEAocffvj8EfR6qOVCJ520YKvC/vQqPz
8Mo3WGl2FhGjAiEAtOe9bJhyWft7WKPVKPELjtnIQIgl2jRRn4e6ZugDrjo=
-----END CERTIFICATE-----
"""
"""A key and a certificate for 127.0.0.1 that nobody but these tests trusts."""
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers every request with the next of its answers, and counts connections."""

    def __init__(self, *answers: bytes, hang_up: bool = False) -> None:
        self.answers = list(answers)
        self.hang_up = hang_up
        self.connections = 0
        self.requests: list[bytes] = []
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                writer.write(self.answers.pop(0))
                await writer.drain()
                if self.hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.gone.set()


def told(
    server: Callable[[], Server],
    use: Callable[[Server, httpx2.AsyncClient, str], Awaitable[T]],
    *,
    idle: float = 30.0,
    secure: ssl.SSLContext | None = None,
    trusted: ssl.SSLContext | None = None,
) -> T:
    async def main() -> T:
        one = server()
        listener = await asyncio.start_server(one.serve, "127.0.0.1", 0, ssl=secure)
        url = f"{'https' if secure else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}/x?y=1"
        transport = DirectTransport(trusted or ssl.create_default_context(), idle)
        try:
            async with httpx2.AsyncClient(transport=transport, timeout=5) as client:
                return await use(one, client, url)
        finally:
            listener.close()
            await listener.wait_closed()

    return asyncio.run(main())


def test_a_connection_is_used_again() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n1\r\nc\r\n0\r\n\r\n"

    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        assert (await client.post(url, content=b"one")).content == b"ok"
        assert (await client.post(url, content=b"two")).content == b"ab\nc"
        assert (await client.post(url, content=b"")).status_code == 503
        assert server.connections == 1
        assert [request.partition(b"\r\n\r\n")[2] for request in server.requests] == [b"one", b"two", b""]
        assert server.requests[0].startswith(b"POST /x?y=1 HTTP/1.1\r\n")

    told(lambda: Server(PLAIN, chunked, PLAIN.replace(b"200", b"503")), use)


@pytest.mark.parametrize("how", ["too old", "closed by the server", "to be closed", "not read to its end"])
def test_a_connection_that_is_not_used_again(how: str) -> None:
    first = PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if how == "to be closed" else PLAIN

    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        if how == "not read to its end":
            async with client.stream("POST", url, content=b"one") as response:
                assert response.status_code == 200
        else:
            assert (await client.post(url, content=b"one")).content == b"ok"
        if how == "closed by the server":
            await server.gone.wait()
            await asyncio.sleep(0.05)
        assert (await client.post(url, content=b"two")).content == b"ok"
        assert server.connections == 2

    told(lambda: Server(first, PLAIN, hang_up=how == "closed by the server"), use, idle=-1 if how == "too old" else 30)


def test_an_answer_that_ends_with_its_connection_and_one_after_a_first_word() -> None:
    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        assert (await client.post(url, content=b"one")).content == b"until the end"
        assert (await client.post(url, content=b"two")).content == b"ok"

    endless = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
    told(lambda: Server(endless, b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN, hang_up=True), use)


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 3 * direct.HEAD + b"\r\n\r\n", PLAIN[:-1]]
)
def test_what_is_no_answer(answer: bytes) -> None:
    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(url, content=b"one")

    told(lambda: Server(answer, hang_up=True), use)


@pytest.fixture
def identity(tmp_path: Path) -> Path:
    path = tmp_path / "identity.pem"
    path.write_text(IDENTITY)
    return path


def test_a_secure_connection_is_used_again(identity: Path) -> None:
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(identity)

    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        assert (await client.post(url, content=b"x" * 1_000_000)).content == b"ok"
        assert (await client.post(url, content=b"two")).content == b"ok"
        assert server.connections == 1 and server.requests[0].endswith(b"x" * 1_000_000)

    told(lambda: Server(PLAIN, PLAIN), use, secure=secure, trusted=ssl.create_default_context(cafile=identity))


def test_a_server_that_nobody_vouches_for(identity: Path) -> None:
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(identity)

    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        with pytest.raises(httpx2.ConnectError) as refused:
            await client.post(url, content=b"one")
        assert isinstance(refused.value.__cause__, BaseException)
        assert server.requests == []

    told(lambda: Server(PLAIN), use, secure=secure)


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "[::1]:1"])
def test_a_host_that_is_not_there(host: str) -> None:
    async def use(server: Server, client: httpx2.AsyncClient, url: str) -> None:
        with pytest.raises(httpx2.ConnectError):
            await client.post(f"http://{host}/", content=b"one")

    told(lambda: Server(), use)


def test_with_a_proxy_in_the_environment_requests_go_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        proxy = Server(PLAIN)
        listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
        client = Client(5)
        try:
            assert (await client.http.post("http://model.example/v1", content=b"one")).content == b"ok"
        finally:
            await client.close()
            listener.close()
            await listener.wait_closed()
        assert proxy.requests[0].startswith(b"POST http://model.example/v1 HTTP/1.1\r\n")

    asyncio.run(main())
