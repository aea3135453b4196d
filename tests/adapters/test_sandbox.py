"""Commands run, end, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bough.adapters.sandboxes import crew, kernel, namespaces
from bough.adapters.sandboxes.crew import probe
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode, SandboxLevel, find_level
from bough.adapters.sandboxes.process import MARK, ProcessSandbox, make_sandbox
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.errors import UsageError, WorkspaceError
from bough.ports import Finished, Sandbox

linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    return make_plain_folder(tmp_path)


@pytest.fixture(params=["auto", "landlock", "none"], scope="module")
def sandbox(request: pytest.FixtureRequest) -> ProcessSandbox:
    mode: Mode = request.param
    return make_sandbox(mode, make_env(os.environ))


def shell(
    sandbox: Sandbox,
    checkout: PlainFolder,
    line: str,
    timeout: float = 20.0,
    limit: int = 1_000_000,
    progress: Callable[[str], None] = lambda line: None,
) -> Finished:
    argv = ["bash", "-c", line]
    return asyncio.run(sandbox.run(argv, workspace=checkout, timeout=timeout, limit=limit, progress=progress))


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


def until(holds: Callable[[], bool]) -> None:
    patience = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < patience
        time.sleep(0.01)


@pytest.fixture
def token() -> Iterator[str]:
    """An unmistakable number of seconds to sleep for. Whatever a failing test left behind is ended."""
    word = f"{86400 + time.monotonic_ns() % 1_000_000}.{os.getpid()}"
    yield word
    for pid in alive(word):
        os.kill(pid, signal.SIGKILL)


def test_output_status_and_time_come_back(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    finished = shell(sandbox, checkout, "echo out; echo err >&2; pwd; exit 7")
    assert finished.exit_status == 7
    assert finished.output.decode() == f"out\nerr\n{checkout.folder}\n"
    assert finished.killed == "" and 0 < finished.seconds < 240


def test_many_commands_one_after_the_other_and_at_once(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    async def run(n: int) -> int | None:
        argv = ["bash", "-c", f"exit {n}"]
        return (await sandbox.run(argv, workspace=checkout, timeout=20, limit=100)).exit_status

    async def all_of_them() -> None:
        assert [await run(n) for n in range(5)] == [0, 1, 2, 3, 4]
        assert await asyncio.gather(*(run(n) for n in range(20))) == list(range(20))

    asyncio.run(all_of_them())
    asyncio.run(all_of_them())  # another event loop, the same supervisors


def test_standard_input_is_empty(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    assert shell(sandbox, checkout, "cat; echo end").output == b"end\n"


def test_there_is_no_terminal_and_no_core_and_no_foreign_handle(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    reads, writes = os.pipe()
    try:
        os.set_inheritable(writes, True)
        finished = shell(sandbox, checkout, "ulimit -c; : < /dev/tty || echo none; ls /proc/self/fd | wc -l")
    finally:
        os.close(reads)
        os.close(writes)
    first, *_, last = finished.output.decode().split()
    assert first == "0" and b"none" in finished.output
    assert sys.platform != "linux" or int(last) == 4  # 0, 1, 2, and the one with which ls reads the folder


def test_death_by_signal_is_told_as_shells_do(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    assert shell(sandbox, checkout, "kill -SEGV $$").exit_status == 128 + signal.SIGSEGV


def test_signals_have_their_usual_meaning(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    finished = shell(sandbox, checkout, "{ yes; echo $? >&2; } | head -1; sh -c 'kill -INT $$'; echo $?")
    *first, last = finished.output.split()
    assert sorted(first) == [b"141", b"y"] and last == b"130"


def test_a_command_that_is_not_there(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    async def run(*argv: str) -> Finished:
        return await sandbox.run(argv, workspace=checkout, timeout=20, limit=100)

    assert asyncio.run(run("no-such-program")).exit_status == 127
    assert b"no-such-program: command not found" in asyncio.run(run("no-such-program")).output
    plain = checkout.root / "plain.txt"
    plain.write_text("not a program")
    assert asyncio.run(run(str(plain))).exit_status == 126
    plain.chmod(0o755)
    assert asyncio.run(run("./plain.txt")).exit_status == 126
    assert asyncio.run(run("bash", "-c", "x" * 5_000_000)).exit_status == 126
    assert asyncio.run(run("bash", "-c", "a\0b")).exit_status == 126
    assert asyncio.run(run("true")).exit_status == 0


def test_a_folder_that_is_gone_is_an_error_for_the_person(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    gone = PlainFolder(tmp_path, tmp_path / "gone", tmp_path / "scratch")
    with pytest.raises(WorkspaceError, match="gone"):
        shell(sandbox, gone, "true")


def test_names_and_words_in_any_script(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    base = tmp_path / "höhe 木 🌳"
    base.mkdir()
    finished = shell(sandbox, make_plain_folder(base), 'echo größe 木; basename "$(dirname "$PWD")"')
    assert finished.output.decode() == "größe 木\nhöhe 木 🌳\n"


def test_bytes_that_are_no_text(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    assert shell(sandbox, checkout, r"printf '\xff\xfe\0a'").output == b"\xff\xfe\0a"


# ── time and size ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_timeout_ends_the_command_and_keeps_its_output(
    sandbox: ProcessSandbox, checkout: PlainFolder, token: str
) -> None:
    finished = shell(sandbox, checkout, f"echo before; sleep {token}", timeout=0.3)
    assert finished.exit_status is None
    assert finished.killed == "after 0.3 s"
    assert finished.output == b"before\n"
    assert finished.seconds < 240
    assert alive(token) == []


def test_a_command_is_asked_to_end_before_it_is_made_to(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    line = "trap 'echo goodbye; exit' TERM; echo hello; while :; do sleep 0.05; done"
    output = shell(sandbox, checkout, line, timeout=0.4).output
    assert output.startswith(b"hello\n") and output.endswith(b"goodbye\n")


def test_a_command_that_refuses_to_end_is_killed(sandbox: ProcessSandbox, checkout: PlainFolder, token: str) -> None:
    finished = shell(sandbox, checkout, f"trap '' TERM INT HUP; sleep {token}; sleep {token}", timeout=0.2)
    assert finished.killed and finished.seconds < 240
    assert alive(token) == []


@pytest.mark.parametrize("line", ["yes", "cat /dev/zero", "while :; do echo x; done"])
def test_endless_output_is_cut_off(sandbox: ProcessSandbox, checkout: PlainFolder, line: str) -> None:
    finished = shell(sandbox, checkout, line, limit=2_000_000 if line != "while :; do echo x; done" else 20_000)
    assert finished.exit_status is None
    assert finished.killed in ("after 2 MB of output", "after 20,000 bytes of output")
    assert len(finished.output) in (2_000_000, 20_000)


def test_output_of_exactly_the_limit_is_fine(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    finished = shell(sandbox, checkout, "head -c 100000 /dev/zero", limit=100_000)
    assert finished.exit_status == 0 and len(finished.output) == 100_000


def test_progress_is_the_last_line_now_and_then(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    lines: list[str] = []
    shell(sandbox, checkout, "for i in $(seq 200); do echo line $i; sleep 0.001; done", progress=lines.append)
    assert 1 <= len(lines) < 100
    assert all(line.startswith("line ") for line in lines)


def test_progress_holds_nothing_that_a_terminal_would_obey(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    lines: list[str] = []
    shell(sandbox, checkout, r"printf '\033[2J\033[31mred\033[0m\007\n'; sleep 0.01", progress=lines.append)
    assert lines == ["red"]


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
}


@linux
@pytest.mark.parametrize("line", DAEMONS.values(), ids=DAEMONS.keys())
def test_whatever_a_command_started_is_gone(
    sandbox: ProcessSandbox, checkout: PlainFolder, token: str, line: str
) -> None:
    finished = shell(sandbox, checkout, line.format(token=token))
    assert finished.exit_status == 0
    assert finished.seconds < 240
    assert alive(token) == []


@linux
def test_a_daemon_written_to_stay(sandbox: ProcessSandbox, checkout: PlainFolder, token: str) -> None:
    (checkout.root / "daemon.py").write_text(
        textwrap.dedent(f"""
        import os, signal, sys, time
        for _ in range(3):
            if os.fork(): os._exit(0)
            os.setsid()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.chdir("/")
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "{token}"], {{}})
        """)
    )
    finished = shell(sandbox, checkout, f"{sys.executable} daemon.py; sleep 0.3")
    assert finished.exit_status == 0
    assert alive(token) == []


@linux
def test_a_timeout_ends_daemons_too(sandbox: ProcessSandbox, checkout: PlainFolder, token: str) -> None:
    finished = shell(sandbox, checkout, f"setsid sleep {token} & nohup sleep {token} & sleep {token}", timeout=0.3)
    assert finished.killed
    assert alive(token) == []


@linux
def test_cancelling_ends_everything(sandbox: ProcessSandbox, checkout: PlainFolder, token: str) -> None:
    async def cancel() -> None:
        argv = ["bash", "-c", f"setsid sleep {token} & echo started; sleep {token}"]
        started = asyncio.Event()
        running = asyncio.create_task(
            sandbox.run(argv, workspace=checkout, timeout=60, limit=100, progress=lambda line: started.set())
        )
        await asyncio.wait_for(started.wait(), 120)
        await asyncio.to_thread(until, lambda: len(alive(token)) == 2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert alive(token) == []

    asyncio.run(cancel())


@linux
def test_killing_bough_ends_its_commands(checkout: PlainFolder, token: str) -> None:
    script = f"""
import asyncio, os
from pathlib import Path
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.workspaces.plain_folder import PlainFolder
where = Path({str(checkout.root)!r})
argv = ["bash", "-c", "setsid sleep {token} & echo up; sleep {token}"]
run = make_sandbox("auto", make_env(os.environ)).run
kill = lambda line: os.kill(os.getpid(), 9)
asyncio.run(run(argv, workspace=PlainFolder(where, where, where / "tmp"), timeout=60, limit=99, progress=kill))
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], timeout=240, check=False)
    assert ended.returncode == -signal.SIGKILL
    until(lambda: alive(token) == [])


@linux
def test_a_sweep_ends_what_an_earlier_life_left(sandbox: ProcessSandbox, checkout: PlainFolder, token: str) -> None:
    mine = {**os.environ, MARK: str(checkout.root)}
    other = {**os.environ, MARK: str(checkout.root) + "-other"}
    left = subprocess.Popen(["sleep", token], env=mine, start_new_session=True)
    spared = subprocess.Popen(["sleep", token], env=other, start_new_session=True)
    try:
        asyncio.run(sandbox.sweep(checkout))
        assert left.wait(5) == -signal.SIGKILL
        assert spared.poll() is None
    finally:
        spared.kill()
        spared.wait()


@linux
def test_when_its_supervisor_is_killed_a_command_is_ended_and_the_next_one_runs(
    sandbox: ProcessSandbox, checkout: PlainFolder, token: str
) -> None:
    def kill_supervisor(line: str) -> None:
        chain = [*alive(token)][:1]
        while (parent := kernel._find_parent(chain[-1])) not in (0, 1, os.getpid()):
            chain.append(parent)
        assert chain[-1] == kernel._find_parent(chain[-2])  # the spawner, and below it
        os.kill(chain[-2], signal.SIGKILL)

    finished = shell(sandbox, checkout, f"sleep {token} & sleep 0.2; echo ready; wait", progress=kill_supervisor)
    assert finished.exit_status is None and "watches over it" in finished.killed
    assert alive(token) == []
    assert shell(sandbox, checkout, "echo again").output == b"again\n"


@linux
def test_the_spawner_is_started_again_when_it_dies(checkout: PlainFolder) -> None:
    before = set(kernel.list_children())
    sandbox = make_sandbox("auto", make_env(os.environ))
    assert shell(sandbox, checkout, "true").exit_status == 0
    for child in set(kernel.list_children()) - before:
        os.kill(child, signal.SIGKILL)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    sandbox._crew._idle.pop().close()
    assert shell(sandbox, checkout, "echo again").output == b"again\n"


@linux
def test_the_sandbox_itself_leaves_nothing(checkout: PlainFolder) -> None:
    gc.collect()
    before, handles = set(kernel.list_children()), len(list(Path("/proc/self/fd").iterdir()))
    sandbox = make_sandbox("auto", make_env(os.environ))
    for _ in range(20):
        shell(sandbox, checkout, "true")
    shell(sandbox, checkout, "sleep 9", timeout=0.05)
    assert set(kernel.list_children()) > before
    del sandbox
    gc.collect()
    assert set(kernel.list_children()) == before
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def test_many_at_once_do_not_leave_supervisors_behind(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    async def rush() -> None:
        runs = (sandbox.run(["sleep", "0.05"], workspace=checkout, timeout=30, limit=9) for _ in range(30))
        assert {finished.exit_status for finished in await asyncio.gather(*runs)} == {0}

    asyncio.run(rush())
    assert len(sandbox._crew._idle) <= 8


@linux
@pytest.mark.parametrize("folder", [True, False])
def test_keepers_make_the_same_place_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    create = namespaces._create

    def create_second(place: int, name: str, folder: bool) -> None:
        create(place, name, folder)  # the other one, which is quicker
        create(place, name, folder)

    monkeypatch.setattr(namespaces, "_create", create_second)
    place = os.open(tmp_path, os.O_PATH)
    try:
        os.close(namespaces._open_step(place, "cache", folder))
    finally:
        os.close(place)
    assert (tmp_path / "cache").is_dir() == folder


def test_a_command_is_quick(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    async def best() -> float:
        await sandbox.run(["true"], workspace=checkout, timeout=9, limit=9)
        return min([(await sandbox.run(["true"], workspace=checkout, timeout=9, limit=9)).seconds for _ in range(20)])

    assert asyncio.run(best()) < 0.025


def test_output_ends_with_the_first_command_of_a_checkout(
    sandbox: ProcessSandbox, checkout: PlainFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "_DRAIN", 60.0)  # nobody else may hold the output open
    done = asyncio.run(sandbox.run(["echo", "hello"], workspace=checkout, timeout=50, limit=99))
    assert done.output == b"hello\n" and done.seconds < 45


# ── which sandbox ───────────────────────────────────────────────────────────────────────────────────────────────


def test_none_does_not_confine_and_says_so(tmp_path: Path) -> None:
    assert make_sandbox("none", {}).level.confines is False


def test_auto_confines_as_far_as_the_kernel_can() -> None:
    assert make_sandbox("auto", {}).level.name == ("landlock" if probe() else "namespaces")


def test_landlock_is_the_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bough.adapters.sandboxes.levels.probe", lambda: "forbidden here")
    assert find_level("auto") == SandboxLevel("landlock", kernel.landlock_abi(), "forbidden here")
    with pytest.raises(UsageError, match="cannot be confined on this system: forbidden here"):
        make_sandbox("namespaces", {})


@pytest.mark.parametrize("abi", [0, 1, 2])
def test_without_enough_of_either_nothing_runs_until_the_person_says_so(
    monkeypatch: pytest.MonkeyPatch, abi: int
) -> None:
    monkeypatch.setattr("bough.adapters.sandboxes.levels.probe", lambda: "forbidden here")
    monkeypatch.setattr("bough.adapters.sandboxes.levels.landlock_abi", lambda: abi)
    for mode in ("auto", "landlock"):
        with pytest.raises(UsageError, match=r"cannot be confined.*Landlock.*--sandbox none"):
            make_sandbox(mode, {})
    assert make_sandbox("none", {}).level.gaps
