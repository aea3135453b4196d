"""Starting the dashboard's server: where it listens, and with which token."""

import asyncio
import html
import os
import secrets
import socket
import sys
from contextlib import suppress
from pathlib import Path

import click
import msgspec
import uvicorn

from bough.app.journal import find_project_root
from bough.app.journal_location import list_known_projects, write_private_page
from bough.core.errors import UsageError
from bough.core.textual.spelling import UNREADABLE
from bough.interfaces.web.routes import make_app
from bough.services.question_links import announce_server
from bough.trust.files import Place
from bough.trust.home import check_home
from bough.trust.programs import open_page
from bough.views.formatting import escape_json

KEPT = "serve.json"


class Address(msgspec.Struct, frozen=True):
    """Where a server listens, for which projects, and with which token."""

    roots: list[Path]
    host: str
    port: int
    token: str
    listening: socket.socket

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else {"0.0.0.0": socket.gethostname()}.get(self.host, self.host)
        return f"http://{host}:{self.port}/?token={self.token}"

    @property
    def reached_at(self) -> str:
        """Return the host name or IP address by which other devices reach the server, as far as this machine knows."""
        own = _find_own_address() if self.host == "0.0.0.0" else self.host
        return f"[{own}]" if ":" in own else own


def _find_own_address() -> str:
    """Return this machine's IP address in its network. Connecting a UDP socket finds it and sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return socket.gethostname()


def _describe_reach(address: Address) -> str:
    if address.host in ("127.0.0.1", "::1", "localhost"):
        there = f"http://{_find_own_address()}:{address.port}"
        return f"Only this machine reaches it. With --host 0.0.0.0 a phone in your network does, at {there}."
    return f"A phone in your network reaches it at http://{address.reached_at}:{address.port}, unencrypted."


def find_address(folder: Path, *, everything: bool, host: str, port: int | None, passing: bool = False) -> Address:
    """Choose the address, and listen there. `passing`: the server ends with a run, so it takes any free port and leaves
    the project's usual port to `bough serve`."""
    root = find_project_root(folder)
    roots = list(dict.fromkeys([root, *list_known_projects()])) if everything else [root]
    has_home = Place(roots[0], ".bough").is_folder()
    if has_home:
        check_home(roots[0] / ".bough")
    file = Place(roots[0] / ".bough", KEPT)
    port = 0 if passing and port is None else port
    listening = _listen(host, _load_port(file) if port is None else port, fixed=port is not None and port > 0)
    chosen: int = listening.getsockname()[1]
    if has_home and not passing:  # Do not write into a project that has no `.bough` yet.
        file.write(msgspec.json.encode({"port": chosen}), 0o600)
    return Address(roots, host, chosen, secrets.token_urlsafe(24), listening)


def serve(address: Address, *, browse: bool, as_json: bool, until: int | None) -> int:
    """Serve until Ctrl-C, or until the process `until` ends."""
    if as_json:
        sys.stdout.write(escape_json(msgspec.json.encode({"url": address.url, "port": address.port})) + "\n")
        sys.stdout.flush()
    else:
        roots = address.roots
        served = f"the runs of {len(roots)} projects" if len(roots) > 1 else f"the runs of {roots[0]}"
        click.echo(f"Serving {served} at\n\n  {address.url}\n\n{_describe_reach(address)}")
        click.echo("Ctrl-C stops it; the runs continue.")
    if browse:
        # Open a file that only its owner can read and that redirects to the address: everyone on the machine can see
        # the command line of a browser, so the token must not be in it.
        page = write_private_page(f'<meta http-equiv="refresh" content="0; url={html.escape(address.url)}">\n')
        if page is None or not open_page(page, project=address.roots[0]):
            click.echo("bough: No browser was found: open the address yourself.", err=True)
    for root in address.roots if until is None else ():  # Links to questions must outlive a run.
        announce_server(root, f"http://{address.reached_at}:{address.port}")
    app = make_app(address.roots, address.token, (address.host, socket.gethostname()), beside=until)
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1, ws="none"
    )
    server = uvicorn.Server(settings)
    with suppress(KeyboardInterrupt):
        asyncio.run(_run(server, address.listening, until))
    return 0


async def _run(server: uvicorn.Server, listening: socket.socket, until: int | None) -> None:
    def look() -> None:
        # However the parent process ends, even by SIGKILL, this process then gets another parent.
        server.should_exit = server.should_exit or os.getppid() != until
        loop.call_later(1.0, look)

    loop = asyncio.get_running_loop()
    if until is not None:
        look()
    await server.serve(sockets=[listening])


def _listen(host: str, port: int, *, fixed: bool) -> socket.socket:
    """Listen on that port. If it is taken, and not `fixed` by the person, listen on any free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except OSError:
        raise UsageError(f"This machine has no address `{host}`: pass another with --host.") from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if port and not fixed:
            return _listen(host, 0, fixed=True)
        raise UsageError(
            f"Port {port} on {host} is unavailable ({error.strerror}): pass another with --port."
        ) from None
    listening.listen(128)
    return listening


def _load_port(file: Place) -> int:
    """Load the port of the project's last server; 0: unknown. Tokens are not stored: every server makes its own."""
    try:
        return msgspec.json.decode(file.read(), type=dict[str, int])["port"]
    except (OSError, KeyError, *UNREADABLE):
        return 0
