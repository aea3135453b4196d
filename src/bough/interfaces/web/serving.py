"""Starting the dashboard's server: where it listens, and under which key."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from contextlib import suppress
from pathlib import Path

import click
import msgspec
import uvicorn

from bough.app.places import known_projects, project_root
from bough.core.errors import NotFound, UsageError
from bough.interfaces.cli.options import print_json_line
from bough.interfaces.web.server import make_app

KEPT = "serve.json"


class Address(msgspec.Struct):
    """What a server keeps, so that pages that are open find it again when it is started anew."""

    port: int = 0
    token: str = ""


def serve(
    folder: Path, *, everything: bool, host: str, port: int | None, new_token: bool, browse: bool, as_json: bool
) -> int:
    root = project_root(folder)
    roots = list(dict.fromkeys([*([root] if (root / ".bough").is_dir() else []), *known_projects()]))
    if not everything:
        roots = [root]
    if not roots or not any((each / ".bough" / "journal.db").exists() for each in roots):
        raise NotFound(f"There are no runs in {root} yet: start one with `bough run GOAL`.")
    keep = (root if (root / ".bough").is_dir() else roots[0]) / ".bough" / KEPT
    kept = _kept(keep)
    listening = _listen(host, kept.port if port is None else port, fixed=port is not None and port > 0)
    chosen: int = listening.getsockname()[1]
    token = secrets.token_urlsafe(24) if new_token or not kept.token else kept.token
    _keep(keep, Address(chosen, token))
    shown = f"[{host}]" if ":" in host else {"0.0.0.0": socket.gethostname()}.get(host, host)
    url = f"http://{shown}:{chosen}/?token={token}"
    if as_json:
        print_json_line({"url": url, "port": chosen})
        sys.stdout.flush()
    else:
        click.echo(f"bough shows {_what(roots, everything)} at\n\n  {url}\n\nCtrl-C ends it; runs go on.")
    if browse:
        click.launch(url)
    app = make_app(roots, token, chosen, hosts=(host, socket.gethostname()))
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1, ws="none"
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(settings).run(sockets=[listening])
    return 0


def _what(roots: list[Path], everything: bool) -> str:
    return f"the runs of {len(roots)} projects" if everything and len(roots) > 1 else f"the runs of {roots[0]}"


def _listen(host: str, port: int, *, fixed: bool) -> socket.socket:
    """On that port; where it is taken and nobody asked for it by number, on any."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except OSError:
        raise UsageError(f"There is no address `{host}` on this machine: give --host one that it has.") from None
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if port and not fixed:
            return _listen(host, 0, fixed=True)
        raise UsageError(
            f"Port {port} of {host} cannot be used ({error.strerror}): give another one with --port."
        ) from None
    listening.listen(128)
    return listening


def _kept(file: Path) -> Address:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Address)
    except (OSError, msgspec.MsgspecError):
        return Address()


def _keep(file: Path, address: Address) -> None:
    """For nobody else's eyes."""
    new = file.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(msgspec.json.encode(address))
    new.replace(file)
