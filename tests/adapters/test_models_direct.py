"""The way to a server: connections that are used again or not, TLS, and what servers do to answers."""

import asyncio
import gzip
import ssl
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from bough.adapters.models import wire
from bough.adapters.models.direct import DirectLink
from bough.adapters.models.faults import BadAddress, LinkError, Silent, Timeouts, Unreachable
from bough.adapters.models.wire import Client, read_everything

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


async def post(link: DirectLink, url: str, body: bytes, quiet: float = 5) -> tuple[int, bytes]:
    async with link.exchange("POST", url, [(b"accept", b"*/*")], body, Timeouts(5, quiet)) as reply:
        return reply.status, await read_everything(reply.pieces)


def told(
    server: Callable[[], Server],
    use: Callable[[Server, DirectLink, str], Awaitable[T]],
    *,
    idle: float = 30.0,
    secure: ssl.SSLContext | None = None,
    trusted: ssl.SSLContext | None = None,
) -> T:
    async def main() -> T:
        one = server()
        listener = await asyncio.start_server(one.serve, "127.0.0.1", 0, ssl=secure)
        url = f"{'https' if secure else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}/x?y=1"
        link = DirectLink(idle, trusted or ssl.create_default_context())
        try:
            return await use(one, link, url)
        finally:
            await link.close()
            listener.close()
            await listener.wait_closed()

    return asyncio.run(main())


def test_a_connection_is_used_again() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab\n\r\n1\r\nc\r\n0\r\n\r\n"

    async def use(server: Server, link: DirectLink, url: str) -> None:
        assert await post(link, url, b"one") == (200, b"ok")
        assert await post(link, url, b"two") == (200, b"ab\nc")
        assert (await post(link, url, b""))[0] == 503
        assert server.connections == 1
        assert [request.partition(b"\r\n\r\n")[2] for request in server.requests] == [b"one", b"two", b""]
        assert server.requests[0].startswith(b"POST /x?y=1 HTTP/1.1\r\n")

    told(lambda: Server(PLAIN, chunked, PLAIN.replace(b"200", b"503")), use)


@pytest.mark.parametrize("how", ["too old", "closed by the server", "to be closed", "not read to its end"])
def test_a_connection_that_is_not_used_again(how: str) -> None:
    first = PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if how == "to be closed" else PLAIN

    async def use(server: Server, link: DirectLink, url: str) -> None:
        if how == "not read to its end":
            async with link.exchange("POST", url, [], b"one", Timeouts(5, 5)) as reply:
                assert reply.status == 200
        else:
            assert await post(link, url, b"one") == (200, b"ok")
        if how == "closed by the server":
            await server.gone.wait()
            await asyncio.sleep(0.05)
        assert await post(link, url, b"two") == (200, b"ok")
        assert server.connections == 2

    told(lambda: Server(first, PLAIN, hang_up=how == "closed by the server"), use, idle=-1 if how == "too old" else 30)


def test_an_answer_that_ends_with_its_connection_and_one_after_a_first_word() -> None:
    async def use(server: Server, link: DirectLink, url: str) -> None:
        assert await post(link, url, b"one") == (200, b"until the end")
        assert await post(link, url, b"two") == (200, b"ok")

    endless = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
    told(lambda: Server(endless, b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN, hang_up=True), use)


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000 + b"\r\n\r\n", PLAIN[:-1]]
)
def test_what_is_not_an_answer(answer: bytes) -> None:
    async def use(server: Server, link: DirectLink, url: str) -> None:
        with pytest.raises(LinkError):
            await post(link, url, b"one")

    told(lambda: Server(answer, hang_up=True), use)


@pytest.fixture
def identity(tmp_path: Path) -> Path:
    path = tmp_path / "identity.pem"
    path.write_text(IDENTITY)
    return path


def test_a_secure_connection_is_used_again(identity: Path) -> None:
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(identity)

    async def use(server: Server, link: DirectLink, url: str) -> None:
        assert await post(link, url, b"x" * 1_000_000) == (200, b"ok")
        assert await post(link, url, b"two") == (200, b"ok")
        assert server.connections == 1 and server.requests[0].endswith(b"x" * 1_000_000)

    told(lambda: Server(PLAIN, PLAIN), use, secure=secure, trusted=ssl.create_default_context(cafile=identity))


def test_a_server_with_an_untrusted_certificate(identity: Path) -> None:
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(identity)

    async def use(server: Server, link: DirectLink, url: str) -> None:
        with pytest.raises(Unreachable) as refused:
            await post(link, url, b"one")
        assert isinstance(refused.value.__cause__, BaseException)
        assert server.requests == []

    told(lambda: Server(PLAIN), use, secure=secure)


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "[::1]:1"])
def test_a_host_that_is_not_there(host: str) -> None:
    async def use(server: Server, link: DirectLink, url: str) -> None:
        with pytest.raises(Unreachable):
            await post(link, f"http://{host}/", b"one")

    told(lambda: Server(), use)


def test_only_encrypted_links_read_the_authorities(identity: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them takes 40 ms, which a model on this machine need not wait for. A link without them trusts nobody."""

    class AuthoritiesRead(Exception):
        pass

    def read() -> ssl.SSLContext:
        raise AuthoritiesRead

    monkeypatch.setattr(wire, "_load_authorities", read)
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(identity)

    async def use(server: Server, _: DirectLink, url: str) -> None:
        client = Client()
        try:
            plain = client.link("http://127.0.0.1:1/v1")
            with pytest.raises(AuthoritiesRead):
                client.link(url)
            with pytest.raises(Unreachable):
                await post(plain, url, b"one")
            assert server.requests == []
        finally:
            await client.close()

    told(lambda: Server(PLAIN), use, secure=secure)


@pytest.mark.parametrize("scheme", ["http", *(["https"] if sys.platform == "linux" else [])])
def test_without_a_proxy_a_call_loads_no_http_library(scheme: str) -> None:
    code = """
import asyncio, sys
from bough.adapters.models.faults import Timeouts, Unreachable
from bough.adapters.models.wire import Client

async def main():
    client = Client()
    try:
        url = f"{sys.argv[1]}://127.0.0.1:1/"
        async with client.link(url).exchange("GET", url, [], b"", Timeouts(5, 5)):
            pass
    except Unreachable:
        print([name for name in sys.modules if name.startswith(("httpx", "httpcore", "anyio"))])

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code, scheme], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_with_a_proxy_in_the_environment_requests_go_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        proxy = Server(PLAIN)
        listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}")
        client = Client()
        try:
            assert await post(client.link(), "http://model.example/v1", b"one") == (200, b"ok")
        finally:
            await client.close()
            listener.close()
            await listener.wait_closed()
        assert proxy.requests[0].startswith(b"POST http://model.example/v1 HTTP/1.1\r\n")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", Silent),
        (b"", Silent),
        (b"nonsense\r\n\r\n", LinkError),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", LinkError),
    ],
)
def test_what_goes_wrong_is_one_of_our_errors(answer: bytes, error: type[LinkError]) -> None:
    async def use(server: Server, link: DirectLink, url: str) -> None:
        with pytest.raises(error):
            await post(link, url, b"one", quiet=0.2)
        with pytest.raises(Unreachable):
            await post(link, "http://127.0.0.1:1/", b"one")

    told(lambda: Server(answer), use)


@pytest.mark.parametrize("packed", [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)])
def test_what_a_server_packs_unasked_is_unpacked(packed: tuple[str, Callable[[bytes], bytes]]) -> None:
    name, pack = packed
    content = b"data: a line of a stream\n\n" * 1_000
    body = pack(content)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {name}\r\nContent-Length: {len(body)}\r\n\r\n"

    async def use(server: Server, link: DirectLink, url: str) -> None:
        assert await post(link, url, b"one") == (200, content)

    told(lambda: Server(head.encode() + body), use)


def test_credentials_in_a_url_are_sent_and_no_others() -> None:
    async def use(server: Server, link: DirectLink, url: str) -> None:
        named = url.replace("://", "://me:a%20secret@")
        async with link.exchange("POST", named, [(b"authorization", b"Bearer x")], b"one", Timeouts(5, 5)) as reply:
            assert reply.status == 200
        assert server.requests[0].count(b"uthorization: Basic bWU6YSBzZWNyZXQ=") == 1
        assert b"Bearer" not in server.requests[0] and b"@" not in server.requests[0]

    told(lambda: Server(PLAIN), use)


@pytest.mark.parametrize("url", ["", "x", "ftp://a/b", "http://", "http://a:b/", "http://[::1/", "http://ü" + "x" * 70])
def test_what_is_not_an_address(url: str) -> None:
    async def use(server: Server, link: DirectLink, _: str) -> None:
        with pytest.raises(BadAddress):
            await post(link, url, b"one")

    told(lambda: Server(), use)


def test_silence_is_limited_once_an_answer_has_begun_and_not_before() -> None:
    slow = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"

    async def use(server: Server, link: DirectLink, url: str) -> None:
        patient = Timeouts(5, 0.2, patient=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5), link.exchange("POST", url, [], b"one", patient):
                pass
        with pytest.raises(Silent):
            async with link.exchange("POST", url, [], b"two", patient) as reply:
                await read_everything(reply.pieces)

    told(lambda: Server(b"", slow), use)


@pytest.mark.parametrize("status", [200, 407])
def test_an_encrypted_request_goes_through_a_tunnel(
    identity: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    heads: list[bytes] = []

    async def use(server: Server, _: DirectLink, url: str) -> None:
        async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 %d said\r\n\r\n" % status)
            if status == 200:
                host, _, port = heads[0].split()[1].decode().partition(":")
                theirs, ours = await asyncio.open_connection(host, int(port))
                await asyncio.gather(*(pass_on(*ends) for ends in ((reader, ours), (theirs, writer))))
            writer.close()
            ended.set()

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while piece := await reader.read(65_536):
                    writer.write(piece)
            writer.close()

        ended = asyncio.Event()
        listener = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        proxy = f"http://me:secret@127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        link = DirectLink(30, ssl.create_default_context(cafile=str(identity)), {"https": proxy})
        try:
            if status == 200:
                assert await post(link, url, b"one") == (200, b"ok")
                assert await post(link, url, b"two") == (200, b"ok")
                assert server.connections == len(heads) == 1
            else:
                with pytest.raises(Unreachable, match="407"):
                    await post(link, url, b"one")
        finally:
            await link.close()
            await ended.wait()
            listener.close()
        assert heads[0].startswith(b"CONNECT 127.0.0.1:") and b"proxy-authorization: Basic bWU6c2VjcmV0" in heads[0]

    monkeypatch.setenv("NO_PROXY", "")
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(identity)
    told(lambda: Server(PLAIN, PLAIN), use, secure=secure)


def test_an_excepted_host_is_reached_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(server: Server, _: DirectLink, url: str) -> None:
        link = DirectLink(30, None, {"all": "http://127.0.0.1:1"})
        try:
            with pytest.raises(Unreachable):
                await post(link, url, b"one")
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            assert await post(link, url, b"two") == (200, b"ok")
        finally:
            await link.close()

    monkeypatch.setenv("NO_PROXY", "")
    told(lambda: Server(PLAIN), use)
