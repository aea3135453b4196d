"""`bough worker`"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from bough import app
from bough.interfaces.cli.options import (
    bough_command,
    checks_option,
    dir_option,
    enable_gc,
    flag,
    json_option,
    option,
    run_to_end,
    sandbox_options,
)
from bough.interfaces.cli.printing import print_json_line


@bough_command(
    "bough worker --store postgresql://bough@db/bough --slots 4",
    "bough worker --store postgresql://bough@db/bough --tag gpu --tag node20",
    "bough worker --store postgresql://bough@db/bough --drain",
)
@dir_option
@option("--slots", "N", "Tasks at once.", click.IntRange(1, 256), default=1, show_default=True)
@option("--tag", "TAG", "A tag it offers, for steps with `runs_on = [TAG]`.", to="tags", multiple=True)
@option("--name", "NAME", "Its name (default: the machine and the folder).")
@option("--lease", "S", "Heartbeat timeout in seconds.", click.FloatRange(1, 3600))
@flag("--trust-config", "Let this folder's bough.toml raise limits and choose models.")
@checks_option
@sandbox_options
@json_option("What it does, one object per line.")
@flag("--drain", "Let the worker of this folder (or --name) finish its tasks, then exit.")
def command(
    folder: Path,
    slots: int,
    tags: tuple[str, ...],
    name: str | None,
    lease: float | None,
    as_json: bool,
    drain: bool,
    **chosen: Any,
) -> int:
    """Run tasks of runs that share a journal in PostgreSQL.

    Start any number on any number of machines, each in its own folder: an empty one, or a clone of the project whose
    environment (`.venv`, `node_modules`) its tasks then use. Files come through the store. Keys, sandbox and
    `[workspace] setup` belong to this machine; models, limits and checks to the run. Outside agents, variables, a
    network, a set-up and endpoints that a run asks for beyond your own settings are refused, and the run is told,
    unless [worker] in your settings allows them.

    Ctrl-C or SIGTERM drains it: it takes no more tasks and exits when it has finished the current ones; a second signal
    stops it at once, and other workers take over its tasks, as after a crash. To upgrade, drain it and start the new
    version.
    """
    from bough.core.errors import StoreError

    enable_gc()
    say = partial(_say, as_json)
    while True:
        try:
            run_to_end(_worker(folder, slots, tags, name, lease, app.Choices(**chosen), say, drain))
            return 0
        except StoreError as error:  # The database server may be restarting: wait for it.
            if drain:
                raise
            say(f"{error} Retrying.")
            time.sleep(2.0)


async def _worker(
    folder: Path,
    slots: int,
    tags: tuple[str, ...],
    name: str | None,
    lease: float | None,
    choices: app.Choices,
    say: Callable[[str], None],
    drain: bool,
) -> None:
    import asyncio

    from bough.interfaces.cli.consent_prompt import warn_ignored
    from bough.services.worker_service import Serving, drain_worker, make_worker_name
    from bough.views.formatting import pluralize

    async with app.open_session(folder, create=True, choices=choices, tell=warn_ignored) as opened:
        called = name or make_worker_name(folder)
        if drain:
            await drain_worker(opened, called)
            say(f"{called} takes no more tasks and exits when its current ones are finished")
            return
        serving = Serving(opened, called, slots, tags, say, lease)

        def stop() -> None:
            if stopped:
                serving.end()
                return
            stopped.append(True)
            say("draining: finishing the current tasks; repeat to stop at once")
            serving.drain()

        stopped: list[bool] = []
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        say(f"worker {called}: {pluralize(slots, 'slot')}{', tags ' + ' '.join(tags) if tags else ''}")
        if await serving.serve() == "lost":
            # Start a new process, because threads of this one may still be waiting for the server.
            say("the worker or the server was unresponsive for too long: restarting")
            sys.stdout.flush()
            restart(folder)


def restart(folder: Path) -> None:
    """Start the same command anew, in place of this process. Add `--dir`, because it starts in another folder."""
    from bough.trust.programs import become_own

    become_own(folder, [*sys.argv[1:], "--dir", str(folder.absolute())])


def _say(as_json: bool, text: str) -> None:
    from bough.views.formatting import one_line

    if as_json:
        print_json_line({"at": round(time.time(), 3), "says": text})
    else:
        click.echo(f"{time.strftime('%H:%M:%S')}  {one_line(text)}")
    sys.stdout.flush()
