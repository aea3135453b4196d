"""The relay, a small HTTP proxy through which commands in a network namespace reach the hosts that a person allowed.

It listens inside the commands' namespace and connects from outside it. Because its input comes from commands, its
process is confined itself: it cannot write files. `CONNECT` (for HTTPS) and plain HTTP requests are passed on to
allowed hosts, through the person's own proxy if they have one. In the network mode `loopback`, connections to a port
of localhost are passed on unchanged to the same port of the machine."""

import base64
import ipaddress
import select
import signal
import socket
import threading
from typing import Any
from urllib.parse import unquote, urlsplit

from bough.adapters.sandboxes import filter, kernel
from bough.adapters.sandboxes.limits import PROXY_PORT

_PORTS = (80, 443)
"""The ports that are allowed on a host for which the person named no port."""
_LONGEST = 65536
"""The most bytes of the request line and headers of a request."""
_PATIENCE = 30.0
"""Seconds to wait for a request's headers, and for a connection."""
_MOST = 64
"""The most connections at the same time; further ones are closed."""


def listen(network: dict[str, Any]) -> list[socket.socket]:
    """Open the listening sockets inside the namespace: first the proxy's, if hosts are allowed, then one for each port
    of the machine."""
    ports = [*([PROXY_PORT] if network["hosts"] else []), *network["ports"]]
    return [socket.create_server(("127.0.0.1", port), backlog=64) for port in ports]


def serve(network: dict[str, Any], listeners: list[socket.socket]) -> None:
    """Serve connections until the process is killed. To be called outside the namespace."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    socket.getaddrinfo("localhost", None)  # Load the resolver's libraries before this process is confined.
    kernel.confine([], kernel.landlock_abi(), filter.INTERNET)
    proxies = 1 if network["hosts"] else 0
    free = threading.BoundedSemaphore(_MOST)
    while True:
        for listener in select.select(listeners, [], [])[0]:
            index = listeners.index(listener)
            client, _ = listener.accept()
            port = network["ports"][index - proxies] if index >= proxies else 0
            if not free.acquire(blocking=False):
                client.close()
                continue
            threading.Thread(target=_handle_client, args=(client, network, port, free), daemon=True).start()


def _handle_client(client: socket.socket, network: dict[str, Any], port: int, free: threading.BoundedSemaphore) -> None:
    try:
        with client:
            client.settimeout(_PATIENCE)
            if port:
                with socket.create_connection(("127.0.0.1", port), _PATIENCE) as server:
                    _pass_on(client, server)
            else:
                _answer_request(client, network)
    except (OSError, ValueError):
        pass  # the other side sees a closed connection, as if a server had ended
    finally:
        free.release()


def _answer_request(client: socket.socket, network: dict[str, Any]) -> None:
    head, rest = _read_head(client)
    method, target, version = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if method == "CONNECT":
        host, _, number = target.rpartition(":")
        port = int(number)
    else:
        parts = urlsplit(target)
        if parts.scheme != "http" or not parts.hostname:
            return _refuse(client, 400, "The proxy takes CONNECT and plain http requests.")
        host, port = parts.hostname, parts.port or 80
    host = host.strip("[]").lower()
    if not is_allowed(host, port, network["hosts"]):
        allowed = ", ".join(network["hosts"])
        return _refuse(client, 403, f"The sandbox's network does not reach {host}:{port}; it allows: {allowed}.")
    try:
        server = _connect(host, port, network)
    except (OSError, ValueError) as error:
        return _refuse(client, 502, f"{host}:{port} cannot be reached: {error}.")
    with server:
        if method == "CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(rest)
        else:
            server.sendall(_rewrite_head(head, method, target, version) + rest)
        _pass_on(client, server)
    return None


def is_allowed(host: str, port: int, allowed: list[str]) -> bool:
    """Whether a host is allowed: the entry `example.org` allows ports 80 and 443 of just that host, `*.example.org`
    those of its subdomains, and `HOST:PORT` only that port."""
    for entry in allowed:
        name, _, number = entry.rpartition(":") if entry.rpartition(":")[2].isdecimal() else (entry, "", "")
        fits = host.endswith(name[1:]) if name.startswith("*.") else host == name.strip("[]")
        if fits and (port == int(number) if number else port in _PORTS):
            return True
    return False


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    body = b""
    while b"\r\n\r\n" not in body:
        piece = client.recv(65536)
        if not piece or len(body) > _LONGEST:
            raise ValueError("no request")
        body += piece
    head, _, rest = body.partition(b"\r\n\r\n")
    return head, rest


def _connect(host: str, port: int, network: dict[str, Any]) -> socket.socket:
    if network["upstream"]:
        return _connect_through(urlsplit(network["upstream"]), host, port)
    for family, kind, proto, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        # Check the very address that is connected to, because a second lookup could give a different one.
        where = ipaddress.ip_address(address[0])
        if (where.is_loopback or where.is_link_local or where.is_unspecified) and not _is_literal(host):
            raise ValueError(f"its name resolves to {where}, which is this machine")
        server = socket.socket(family, kind, proto)
        server.settimeout(_PATIENCE)
        try:
            server.connect(address)
            return server
        except OSError:
            server.close()
    raise OSError("it does not answer")


def _is_literal(host: str) -> bool:
    """Whether a host is an IP address or `localhost`, not a name that someone else could point at this machine."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _connect_through(proxy: Any, host: str, port: int) -> socket.socket:
    server = socket.create_connection((proxy.hostname, proxy.port or 80), _PATIENCE)
    lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
    if proxy.username is not None:
        who = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(who.encode()).decode()}")
    server.sendall("\r\n".join([*lines, "", ""]).encode())
    head, _ = _read_head(server)
    if head.split(b" ")[1] != b"200":
        server.close()
        raise OSError("your own proxy refuses it")
    return server


def _rewrite_head(head: bytes, method: str, target: str, version: str) -> bytes:
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # Allow only one request per connection, because a second one could name another host without being checked.
    dropped = (b"proxy-connection:", b"connection:", b"proxy-authorization:")
    lines = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(dropped)]
    return b"\r\n".join([f"{method} {path} {version}".encode("latin-1"), *lines, b"Connection: close", b"", b""])


def _refuse(client: socket.socket, status: int, why: str) -> None:
    body = f"{why}\n".encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close"
    client.sendall(head.encode() + b"\r\n\r\n" + body)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    one.settimeout(None)
    other.settimeout(None)
    open_to = {one: other, other: one}
    while open_to:
        for side in select.select(list(open_to), [], [])[0]:
            piece = side.recv(65536)
            if piece:
                open_to[side].sendall(piece)
            else:
                open_to.pop(side).shutdown(socket.SHUT_WR)
