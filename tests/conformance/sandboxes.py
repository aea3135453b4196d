"""What every `Sandbox` promises, one function a promise. A new sandbox adds itself to the list in `test_sandboxes.py`.

It is made with an environment that starts from `make_env({**os.environ, **PLANTED})`.
"""

import asyncio
import os
import re
import signal
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest

from bough.adapters.sandboxes import kernel
from bough.adapters.sandboxes.process import MARK
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.errors import WorkspaceError
from bough.ports import CommandResult, Sandbox, WorkFolder

PLANTED = {"OPENAI_API_KEY": "planted-0123456789", "MY_SERVICE_TOKEN": "planted-9876543210"}
"""Variables of the person's that no command may see."""
_numbers = count(1)

Promise = Callable[[Sandbox, PlainFolder], Awaitable[None]]
PROMISES: list[Promise] = []
"""Of every sandbox."""
CONFINING: list[Promise] = []
"""Of those that confine what commands reach."""


def promise(function: Promise) -> Promise:
    PROMISES.append(function)
    return function


def promise_of_confinement(function: Promise) -> Promise:
    CONFINING.append(function)
    return function


async def shell(
    sandbox: Sandbox,
    here: WorkFolder,
    line: str,
    timeout: float = 240.0,
    limit: int = 1_000_000,
    progress: Callable[[str], None] = lambda line: None,
) -> CommandResult:
    argv = ["bash", "-c", line]
    return await sandbox.run(argv, workspace=here, timeout=timeout, limit=limit, progress=progress)


async def cut_short(sandbox: Sandbox, here: WorkFolder, line: str, first: bytes) -> CommandResult:
    """The command as its timeout ends it after it has said `first`. A busy machine is given longer to get there."""
    for timeout in (0.2, 2.0, 20.0, 120.0):
        finished = await shell(sandbox, here, line, timeout)
        assert finished.exit_status is None and finished.killed == f"after {timeout:g} s"
        if finished.output.startswith(first):
            return finished
    raise AssertionError(f"it never said {first!r}")


def make_token() -> str:
    """An unmistakable number of seconds to sleep for, longer than any test."""
    return f"{86400 + next(_numbers)}.{os.getpid()}"


def alive(token: str) -> list[int]:
    """Processes, not zombies, with this word among their arguments."""
    found = []
    for pid in kernel.list_processes():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words:
            found.append(pid)
    return found


async def until(holds: Callable[[], bool]) -> None:
    patience = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < patience
        await asyncio.sleep(0.01)


# ── what comes back ─────────────────────────────────────────────────────────────────────────────────────────────


@promise
async def output_status_and_time_come_back(sandbox: Sandbox, here: PlainFolder) -> None:
    finished = await shell(sandbox, here, "echo out; echo err >&2; pwd; exit 7")
    assert finished.exit_status == 7
    assert finished.output.decode() == f"out\nerr\n{here.folder}\n"
    assert finished.killed == "" and 0 < finished.seconds < 240


@promise
async def it_runs_in_the_folder_below_the_root(sandbox: Sandbox, here: PlainFolder) -> None:
    (here.root / "höhe 木 🌳").mkdir()
    below = PlainFolder(here.root, here.root / "höhe 木 🌳", here.scratch)
    finished = await shell(sandbox, below, 'echo größe; basename "$PWD"; echo x > new; ls ..')
    assert finished.output.decode() == "größe\nhöhe 木 🌳\nhöhe 木 🌳\n"
    assert (below.folder / "new").read_text() == "x\n"


@promise
async def a_folder_that_is_gone_is_an_error_for_the_person(sandbox: Sandbox, here: PlainFolder) -> None:
    gone = PlainFolder(here.root, here.root / "gone", here.scratch)
    with pytest.raises(WorkspaceError, match="gone"):
        await shell(sandbox, gone, "true")


@promise
async def death_by_signal_is_told_as_shells_do(sandbox: Sandbox, here: PlainFolder) -> None:
    assert (await shell(sandbox, here, "kill -SEGV $$")).exit_status == 128 + signal.SIGSEGV


@promise
async def signals_have_their_usual_meaning(sandbox: Sandbox, here: PlainFolder) -> None:
    finished = await shell(sandbox, here, "{ yes; echo $? >&2; } | head -1; sh -c 'kill -INT $$'; echo $?")
    *first, last = finished.output.split()
    assert sorted(first) == [b"141", b"y"] and last == b"130"


@promise
async def what_cannot_be_run_has_the_status_that_shells_give_it(sandbox: Sandbox, here: PlainFolder) -> None:
    async def run(*argv: str) -> CommandResult:
        return await sandbox.run(argv, workspace=here, timeout=240, limit=100)

    missing = await run("no-such-program")
    assert missing.exit_status == 127 and b"no-such-program: command not found" in missing.output
    plain = here.root / "plain.txt"
    plain.write_text("not a program")
    assert (await run(str(plain))).exit_status == 126
    plain.chmod(0o755)
    assert (await run("./plain.txt")).exit_status == 126
    assert (await run("bash", "-c", "x" * 5_000_000)).exit_status == 126
    assert (await run("bash", "-c", "a\0b")).exit_status == 126
    assert (await run("true")).exit_status == 0


@promise
async def bytes_that_are_no_text_come_as_they_are(sandbox: Sandbox, here: PlainFolder) -> None:
    assert (await shell(sandbox, here, r"printf '\xff\xfe\0a'")).output == b"\xff\xfe\0a"


@promise
async def many_commands_run_at_once(sandbox: Sandbox, here: PlainFolder) -> None:
    found = await asyncio.gather(*(shell(sandbox, here, f"exit {n}") for n in range(20)))
    assert [finished.exit_status for finished in found] == list(range(20))


@promise
async def it_says_what_commands_can_reach(sandbox: Sandbox, here: PlainFolder) -> None:
    assert sandbox.says.endswith(".") and re.search(r"\bwrit(e|ten)\b", sandbox.says)


# ── what a command is given ─────────────────────────────────────────────────────────────────────────────────────


@promise
async def standard_input_is_empty(sandbox: Sandbox, here: PlainFolder) -> None:
    assert (await shell(sandbox, here, "cat; echo end")).output == b"end\n"


@promise
async def there_is_no_terminal_no_core_and_no_foreign_handle(sandbox: Sandbox, here: PlainFolder) -> None:
    reads, writes = os.pipe()
    try:
        os.set_inheritable(writes, True)
        finished = await shell(sandbox, here, "ulimit -c; : < /dev/tty || echo none; ls /proc/self/fd | wc -l")
    finally:
        os.close(reads)
        os.close(writes)
    first, *_, last = finished.output.decode().split()
    assert first == "0" and b"none" in finished.output
    assert sys.platform != "linux" or int(last) == 4  # 0, 1, 2, and the one with which ls reads the folder


@promise
async def the_environment_is_scrubbed(sandbox: Sandbox, here: PlainFolder) -> None:
    here.env = {"PORT": "4711", "WHOSE": "the workspace's"}
    finished = await sandbox.run(["env"], workspace=here, timeout=240, limit=1_000_000, env={"WHOSE": "the call's"})
    seen = dict(line.split("=", 1) for line in finished.output.decode().splitlines() if "=" in line)
    assert not {*PLANTED} & {*seen} and not any(secret in finished.output.decode() for secret in PLANTED.values())
    assert seen["PORT"] == "4711" and seen["WHOSE"] == "the call's" and seen["PWD"] == str(here.folder)
    assert seen["PATH"] and seen["HOME"]


@promise
async def temporary_files_have_a_place_of_their_own(sandbox: Sandbox, here: PlainFolder) -> None:
    line = 'f=$(mktemp) && echo kept > "$f" && cat "$f" && echo "$f" && echo x > "$TMPDIR/probe"'
    finished = await shell(sandbox, here, line)
    assert finished.exit_status == 0 and finished.output.startswith(b"kept\n"), finished
    assert list(here.root.iterdir()) == [], "nothing of it is in the workspace"
    assert not Path("/tmp/probe").exists()


# ── time and size ───────────────────────────────────────────────────────────────────────────────────────────────


@promise
async def a_timeout_ends_the_whole_group_and_keeps_the_output(sandbox: Sandbox, here: PlainFolder) -> None:
    token = make_token()
    line = f"setsid sleep {token} & nohup sleep {token} 2> /dev/null & echo before; sleep {token}"
    assert (await cut_short(sandbox, here, line, b"before\n")).output == b"before\n"
    assert alive(token) == []


@promise
async def a_command_is_asked_to_end_before_it_is_made_to(sandbox: Sandbox, here: PlainFolder) -> None:
    line = "trap 'echo goodbye; exit' TERM; echo hello; while :; do sleep 0.05; done"
    assert (await cut_short(sandbox, here, line, b"hello\n")).output.endswith(b"goodbye\n")


@promise
async def a_command_that_refuses_to_end_is_killed(sandbox: Sandbox, here: PlainFolder) -> None:
    token = make_token()
    line = f"trap '' TERM INT HUP; echo deaf; sleep {token}; sleep {token}"
    await cut_short(sandbox, here, line, b"deaf\n")
    assert alive(token) == []


@promise
async def endless_output_is_cut_off(sandbox: Sandbox, here: PlainFolder) -> None:
    for line, limit, says in (
        ("yes", 2_000_000, "after 2 MB of output"),
        ("cat /dev/zero", 2_000_000, "after 2 MB of output"),
        ("while :; do echo x; done", 20_000, "after 20,000 bytes of output"),
    ):
        finished = await shell(sandbox, here, line, limit=limit)
        assert (finished.exit_status, finished.killed, len(finished.output)) == (None, says, limit)


@promise
async def output_of_exactly_the_limit_is_fine(sandbox: Sandbox, here: PlainFolder) -> None:
    finished = await shell(sandbox, here, "head -c 100000 /dev/zero", limit=100_000)
    assert finished.exit_status == 0 and len(finished.output) == 100_000


@promise
async def progress_is_the_last_line_now_and_then(sandbox: Sandbox, here: PlainFolder) -> None:
    lines: list[str] = []
    line = r"for i in $(seq 200); do printf '\033[2J\033[31mline %s\033[0m\007\n' $i; sleep 0.001; done"
    await shell(sandbox, here, line, progress=lines.append)
    assert 1 <= len(lines) < 100
    assert all(line.startswith("line ") and line.isprintable() for line in lines), "a terminal would obey it"


# ── nothing is left ─────────────────────────────────────────────────────────────────────────────────────────────

DAEMONS = {
    "background": "sleep {token} &",
    "nohup": "nohup sleep {token} >/dev/null 2>&1 &",
    "setsid": "setsid sleep {token} &",
    "silent setsid": "setsid sleep {token} >/dev/null 2>&1 </dev/null & disown",
    "double fork": "(setsid bash -c 'sleep {token} & sleep {token} & wait' >/dev/null 2>&1 &) ; sleep 0.1",
    "without environment": "env -i setsid sleep {token} >/dev/null 2>&1 & sleep 0.1",
    "ignores signals": "bash -c \"trap '' TERM HUP INT; sleep {token}\" & sleep 0.1",
    "holds the output": "setsid bash -c 'exec sleep {token}' & sleep 0.1; echo started",
    "written to stay": "{python} daemon.py {token}; sleep 0.3",
}
_DAEMON = """\
import os, signal, sys
for _ in range(3):
    if os.fork(): os._exit(0)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.chdir("/")
os.closerange(0, 100)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
"""


@promise
async def whatever_a_command_started_is_gone(sandbox: Sandbox, here: PlainFolder) -> None:
    (here.root / "daemon.py").write_text(textwrap.dedent(_DAEMON))

    async def start(line: str) -> tuple[int | None, list[int]]:
        token = make_token()
        finished = await shell(sandbox, here, line.format(token=token, python=sys.executable))
        return finished.exit_status, alive(token)

    found = await asyncio.gather(*map(start, DAEMONS.values()))
    assert dict(zip(DAEMONS, found, strict=True)) == dict.fromkeys(DAEMONS, (0, []))


@promise
async def cancelling_ends_everything(sandbox: Sandbox, here: PlainFolder) -> None:
    token, started = make_token(), asyncio.Event()
    line = f"setsid sleep {token} & echo started; sleep {token}"
    running = asyncio.create_task(shell(sandbox, here, line, progress=lambda line: started.set()))
    await asyncio.wait_for(started.wait(), 120)
    await until(lambda: len(alive(token)) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert alive(token) == []


@promise
async def a_service_runs_beside_the_others_until_it_is_cancelled(sandbox: Sandbox, here: PlainFolder) -> None:
    token = make_token()
    service = await sandbox.serve(
        ["bash", "-c", f'touch up; echo "$NAME" > name; sleep {token}'], workspace=here, limit=100, env={"NAME": "db"}
    )
    await until(lambda: (here.root / "name").exists() and alive(token) != [])
    assert (await shell(sandbox, here, "cat name")).output == b"db\n"
    assert not service.done()
    service.cancel()
    await asyncio.gather(service, return_exceptions=True)
    assert alive(token) == []


@promise
async def a_sweep_ends_what_an_earlier_life_left(sandbox: Sandbox, here: PlainFolder) -> None:
    token = make_token()

    async def leave(mark: str) -> asyncio.subprocess.Process:
        env = {**os.environ, MARK: mark}
        return await asyncio.create_subprocess_exec("sleep", token, env=env, start_new_session=True)

    left, spared = await leave(str(here.root)), await leave(f"{here.root}-other")
    try:
        await sandbox.sweep(here)
        assert await asyncio.wait_for(left.wait(), 120) == -signal.SIGKILL
        assert spared.returncode is None and alive(token) == [spared.pid]
    finally:
        spared.kill()
        await spared.wait()


# ── confinement ─────────────────────────────────────────────────────────────────────────────────────────────────


@promise_of_confinement
async def nothing_outside_can_be_written(sandbox: Sandbox, here: PlainFolder) -> None:
    outside = make_plain_folder(here.root.parent, "outside").root
    (outside / "kept.txt").write_text("kept")
    lines = ["echo x > {0}/new", "echo x > {0}/kept.txt", "rm {0}/kept.txt", "mv {0}/kept.txt .", "ln {0}/kept.txt ."]
    lines += ["ln -s {0} link; echo x > link/new", "truncate -s 0 {0}/kept.txt", "mkdir {0}/folder"]
    for line in lines:
        assert (await shell(sandbox, here, line.format(outside))).exit_status != 0, line
        assert [path.name for path in outside.iterdir()] == ["kept.txt"], line
        assert (outside / "kept.txt").read_text() == "kept", line
    assert (await shell(sandbox, here, "echo x > inside")).exit_status == 0


@promise_of_confinement
async def the_persons_home_is_not_read(sandbox: Sandbox, here: PlainFolder) -> None:
    """The tests' home, which `test_sandboxes.py` sets."""
    secret = Path(os.environ["HOME"]) / "secret.txt"
    assert secret.read_text() == "the person's own words"
    finished = await shell(sandbox, here, f"cat {secret} ~/secret.txt; ls -a ~")
    assert b"own words" not in finished.output
