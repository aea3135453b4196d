"""bough as a person runs it: a process in a project, with a provider on loopback."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core.errors import NotFound
from bough.core.messages import Answer, Call, Usage
from bough.interfaces.cli.entry import run_command_line
from tests import zygote
from tests.harness import QUICK_CHECK
from tests.wire import Reply, Slow

BOUGH = [sys.executable, "-m", "bough"]
USAGE = Usage(input=1200, output=80)


GIVEN = ("BOUGH_ACCEPTANCE_", "BOUGH_MODELS_PROTOCOL", "BOUGH_SANDBOX_ENV")
"""What tests set for every run."""


def environment(**more: str) -> dict[str, str]:
    """Ours, without settings and keys that a person may have."""
    env = {name: value for name, value in os.environ.items() if not re.search(r"^BOUGH_|_API_KEY$|^NO_COLOR$", name)}
    known = {name: value for name, value in os.environ.items() if name.startswith(GIVEN)}
    return {**env, **known, "TERM": "xterm-256color", "BOUGH_PLANNING_FLAT": "true", **more}


@dataclass(frozen=True)
class CommandOutput:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def bough(folder: Path, *args: str, stdin: str = "", **env: str) -> CommandOutput:
    status, out, err = zygote.run("bough", *args, cwd=folder, env=environment(**env), stdin=stdin)
    assert "Traceback" not in err, err
    return CommandOutput(status, out, err)


def here(folder: Path, capsys: pytest.CaptureFixture[str], *args: str) -> CommandOutput:
    """The same within this process, which is quicker: for what ends before anything is started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in set(os.environ) - set(environment()):
            patch.delenv(name)
        status = run_command_line(args)
    out, err = capsys.readouterr()
    return CommandOutput(status, out, err)


@contextmanager
def live(folder: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is under way; gone, with its pipes, at the end of the block."""
    process = zygote.open_process(
        *args,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def ended(process: subprocess.Popen[str]) -> CommandOutput:
    out, err = process.communicate(timeout=240)
    assert "Traceback" not in err, err
    return CommandOutput(process.returncode, out, err)


def until(condition: Callable[[], Any], seconds: float = 240.0) -> Any:
    """Wait for something that is on its way."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


def run_args(base_url: str, *more: str, check: str | None = QUICK_CHECK, goal: str = "Make add add.") -> list[str]:
    checked = ["--check", check] if check else []
    return ["run", goal, *checked, "--model", "openai:test", "--base-url", base_url, *more]


def kinds(folder: Path) -> list[str]:
    """What has happened so far in the project's runs, read from the journal while others write it."""

    async def look() -> list[str]:
        async with app.open_journal(folder) as opened:
            runs = await opened.store.runs()
            return [type(r.event).__name__ for run in runs for r in await opened.store.read(run)]

    try:
        return asyncio.run(look())
    except NotFound:
        return []


# ── what the model does ─────────────────────────────────────────────────────────────────────────────────────────────


def act(tool: str, says: str = "", /, **arguments: Any) -> Answer:
    """The model says something and calls a tool."""
    return Answer(says, (Call(f"call_{time.monotonic_ns()}", tool, json.dumps(arguments)),), "calls", USAGE)


def repair() -> list[Reply]:
    """Finds the bug of the harness's project and removes it."""
    return [
        act("read", "I look at the code first.", path="calc.py"),
        act("edit", path="calc.py", old="a - b", new="a + b"),
        act("note", kind="decision", text="plus it is"),
        act("done", summary="add adds now"),
    ]


def botch(times: int = 4) -> list[Reply]:
    """Writes something beside the point and claims to be done, again and again."""
    wrong: Sequence[Reply] = (act("write", path="notes.txt", content="hello\n"), act("done", summary="surely done"))
    return [*wrong] * times


def busy(request: dict[str, Any]) -> Reply:
    """Never done: each round runs a short command."""
    return Slow(act("bash", "Again. ", command="sleep 0.2; echo tick"), 0.01)
