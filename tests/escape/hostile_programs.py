"""Attacks by programs, modules and hooks that a repository brings along."""

import asyncio
import contextlib
import os
import sys

from bough.app import Choices, RunObserver, open_session
from bough.core import events as e
from bough.core.errors import BoughError
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call
from tests.escape.place import CALC, SECRET, Place, attack, run

SHADOWS = ("bough.py", "click.py", "msgspec.py", "sitecustomize.py", "json.py")


def shadowed(place: Place) -> None:
    run(place)
    for name in SHADOWS:
        place.module(name)


@attack("critical")
def the_dashboard_of_a_run_imports_the_project(place: Place) -> list[str]:
    from bough.interfaces.cli.run import Dashboard

    shadowed(place)
    dashboard = Dashboard()
    with contextlib.suppress(BoughError):
        dashboard.start(place.project)
    dashboard.close()
    return place.ran


@attack("critical")
def a_button_of_the_dashboard_imports_the_project(place: Place) -> list[str]:
    from bough.interfaces.web import actions

    async def press() -> None:
        await (await actions.start_bough(place.project, "resume", "latest")).has_ended()

    shadowed(place)
    with contextlib.suppress(BoughError):
        asyncio.run(press())
    return place.ran


@attack("critical")
def a_tool_of_the_mcp_server_imports_the_project(place: Place) -> list[str]:
    from mcp.server.mcpserver.exceptions import ToolError

    from bough.interfaces.mcp import Commands

    shadowed(place)
    os.environ["PYTHONPATH"] = f".{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with contextlib.suppress(ToolError):
        asyncio.run(Commands(place.project).output("runs", "--json"))
    return place.ran


@attack("critical")
def a_worker_that_restarts_imports_the_project(place: Place) -> list[str]:
    from bough.interfaces.cli import connect

    shadowed(place)
    if (child := os.fork()) == 0:
        sys.argv = ["bough", "runs"]
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            connect.restart(place.project)
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    return [*place.ran, *([f"ended: {status}"] if status else [])]


@attack("critical")
def applied_work_is_imported_by_bough(place: Place) -> list[str]:
    """A model's `click.py`, applied."""
    from bough.interfaces.mcp import Commands

    text = f"open({str(place.mark)!r}, 'a').write('click')\n"
    script = [call("write", path="click.py", content=text)]

    async def go() -> None:
        chosen = Choices(model=ScriptedModel([*script, call("done", summary="x")]), flat=True)
        async with open_session(place.project, create=True, choices=chosen) as session:
            step = build_goal_step("Add click.", check="true")
            outcome = await session.start(step, chosen, RunObserver())
            await session.apply(outcome.run, edges=True)
        await Commands(place.project).output("runs", "--json")

    asyncio.run(go())
    return place.ran


def serve_by(place: Place, name: str, command: str) -> tuple[str, list[e.Record], str]:
    """A run with a tool server of the person's own."""
    place.settings(f'[mcp.{name}]\ncommand = "{command}"\nnetwork = "off"\n[mcp.{name}.env]\nTOKEN = "{SECRET}"\n')
    return run(place, "true")


def planted_server(place: Place, path: str, text: str, command: str) -> list[str]:
    """Whether the checkout's file is started in place of the person's server: it tells by a line on standard error, and
    one in a file of the checkout."""
    place.write(path, text, 0o755)
    place.write(".gitignore", ".bough\n")
    place.commit()
    told, _, _ = serve_by(place, "mine", command)
    left = list((place.project / ".bough").rglob("PLANTED"))
    return ["started: the checkout's program"] if left or "PLANTED-SERVER" in told else []


@attack("high")
def a_program_of_node_modules_replaces_a_tool_server(place: Place) -> list[str]:
    tool = place.home / "bin" / "my-server"
    place.write(tool, "#!/bin/sh\nexit 3\n", 0o755)
    os.environ["PATH"] = f"{tool.parent}:{os.environ['PATH']}"
    text = "#!/bin/sh\necho PLANTED-SERVER >&2\ntouch PLANTED\nexit 3\n"
    place.write("node_modules/.bin/my-server", text, 0o755)
    return planted_server(place, "vendor.txt", "x", "my-server")


@attack("high")
def a_module_of_the_checkout_replaces_a_tool_server(place: Place) -> list[str]:
    text = "import sys\nopen('PLANTED', 'w').close()\nsys.exit('PLANTED-SERVER')\n"
    return planted_server(place, "json_server.py", text, "python3 -m json_server")


@attack("high")
def a_program_of_the_checkout_replaces_a_missing_one(place: Place) -> list[str]:
    os.environ["PATH"] = f".:{os.environ['PATH']}"
    return planted_server(place, "own-server", "#!/bin/sh\ntouch PLANTED\necho PLANTED-SERVER >&2\n", "own-server")


@attack("high")
def a_program_of_node_modules_replaces_an_agent(place: Place) -> list[str]:
    tool = place.home / "bin" / "my-agent"
    place.write(tool, "#!/bin/sh\nexit 3\n", 0o755)
    os.environ["PATH"] = f"{tool.parent}:{os.environ['PATH']}"
    place.write("node_modules/.bin/my-agent", "#!/bin/sh\ntouch PLANTED\necho PLANTED-AGENT >&2\n", 0o755)
    place.commit()
    told, _, _ = run(place, "true", agent="my-agent acp")
    left = list((place.project / ".bough").rglob("PLANTED"))
    return ["started: the checkout's program"] if left or "PLANTED-AGENT" in told else []


@attack("low")
def a_pull_request_runs_the_archives_hooks(place: Place) -> list[str]:
    place.git("config", "user.name", "a")
    place.git("config", "user.email", "a@b")
    place.git("config", "core.fsmonitor", str(place.project / "monitor"))
    place.git("config", "gpg.program", str(place.project / "signer"))
    place.git("config", "commit.gpgSign", "true")
    for name in ("monitor", "signer"):
        place.program(name)
    for name in ("reference-transaction", "post-commit", "pre-commit", "commit-msg", "post-index-change"):
        place.program(f".git/hooks/{name}")
    place.git("config", "core.fsmonitor", "false")
    place.git("config", "commit.gpgSign", "false")
    place.mark.unlink(missing_ok=True)
    place.git("config", "core.fsmonitor", str(place.project / "monitor"))

    async def go() -> None:
        edit = [call("write", path="calc.py", content=CALC + "\n"), call("done", summary="x")]
        chosen = Choices(model=ScriptedModel(edit), flat=True)
        async with open_session(place.project, create=True, choices=chosen) as session:
            outcome = await session.start(build_goal_step("x", check="true"), chosen, RunObserver())
            place.mark.unlink(missing_ok=True)
            with contextlib.suppress(BoughError):
                await session.branch(outcome.run, "mine")
            with contextlib.suppress(BoughError):
                await session.apply(outcome.run, edges=True, commit=True)

    asyncio.run(go())
    return place.ran


@attack("low")
def attributes_of_an_archive_start_filters(place: Place) -> list[str]:
    place.program("filter")
    place.git("config", "filter.x.clean", str(place.project / "filter"))
    place.git("config", "filter.x.smudge", str(place.project / "filter"))
    place.git("config", "filter.x.process", str(place.project / "filter"))
    place.git("config", "user.name", "a")
    place.git("config", "user.email", "a@b")
    place.write(".gitattributes", "*.py filter=x\n")
    place.mark.unlink(missing_ok=True)

    async def go() -> None:
        edit = [call("write", path="calc.py", content=CALC + "\n"), call("done", summary="x")]
        chosen = Choices(model=ScriptedModel(edit), flat=True)
        async with open_session(place.project, create=True, choices=chosen) as session:
            outcome = await session.start(build_goal_step("x", check="true"), chosen, RunObserver())
            with contextlib.suppress(BoughError):
                await session.apply(outcome.run, edges=True, commit=True)

    asyncio.run(go())
    return place.ran


@attack("low")
def a_program_on_a_relative_path_replaces_git(place: Place) -> list[str]:
    place.program("git")
    place.program("node_modules/.bin/git")
    os.environ["PATH"] = f".:node_modules/.bin::{place.project}:{os.environ['PATH']}"
    run(place)
    return place.ran


@attack("critical")
def the_doctor_and_the_timer_start_programs_of_the_project(place: Place) -> list[str]:
    from bough.services import schedule
    from bough.services.diagnosis import diagnose

    for name in ("git", "sleep", "systemctl", "crontab"):
        place.program(name)
    # The person's own come next on their PATH: the machine's are left alone.
    for name in ("systemctl", "crontab"):
        place.write(place.home / "bin" / name, "#!/bin/sh\necho 'no crontab for you' >&2\nexit 1\n", 0o755)
    os.environ["PATH"] = os.pathsep.join((str(place.project), str(place.home / "bin"), os.environ["PATH"]))
    asyncio.run(diagnose(place.project, Choices()))
    run(place, jobs=2)
    with contextlib.suppress(BoughError):
        schedule.install(schedule.make_schedule(place.project, "backlog", "22:30"))
    return place.ran
