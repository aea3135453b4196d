"""How commands are supervised, and which sandbox there is. What each promises: `tests/conformance/sandboxes.py`."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bough.adapters.sandboxes import kernel, mounts, supervisors
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.levels import Mode, SandboxLevel, find_level
from bough.adapters.sandboxes.process import ProcessSandbox, make_sandbox
from bough.adapters.sandboxes.supervisors import probe
from bough.adapters.workspaces.plain_folder import PlainFolder, make_plain_folder
from bough.core.errors import UsageError
from bough.ports import CommandResult, Sandbox
from tests.conformance.sandboxes import alive

linux = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


@pytest.fixture
def checkout(tmp_path: Path) -> PlainFolder:
    return make_plain_folder(tmp_path)


@pytest.fixture(params=["auto", "landlock", "none"], scope="module")
def sandbox(request: pytest.FixtureRequest) -> ProcessSandbox:
    return with_own_pool(request.param)


def with_own_pool(mode: Mode) -> ProcessSandbox:
    """As outside of tests, which share one."""
    made = make_sandbox(mode, make_env(os.environ))
    made._supervisors = supervisors.SupervisorPool()
    return made


def shell(
    sandbox: Sandbox,
    checkout: PlainFolder,
    line: str,
    timeout: float = 20.0,
    limit: int = 1_000_000,
    progress: Callable[[str], None] = lambda line: None,
) -> CommandResult:
    argv = ["bash", "-c", line]
    return asyncio.run(sandbox.run(argv, workspace=checkout, timeout=timeout, limit=limit, progress=progress))


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


def test_the_sandboxes_of_a_test_process_share_their_supervisors() -> None:
    """Or each of thousands of tests would start a Python for them."""
    assert make_sandbox("none", {})._supervisors is make_sandbox("auto", {})._supervisors


def test_another_event_loop_has_the_same_supervisors(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    shell(sandbox, checkout, "true")
    idle = list(sandbox._supervisors._idle)
    assert shell(sandbox, checkout, "echo again").output == b"again\n" and list(sandbox._supervisors._idle) == idle


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
    assert finished.exit_status is None and "supervisor process ended" in finished.killed
    assert alive(token) == []
    assert shell(sandbox, checkout, "echo again").output == b"again\n"


@linux
def test_the_spawner_is_started_again_when_it_dies(checkout: PlainFolder) -> None:
    before = set(kernel.list_children())
    sandbox = with_own_pool("auto")
    assert shell(sandbox, checkout, "true").exit_status == 0
    for child in set(kernel.list_children()) - before:
        os.kill(child, signal.SIGKILL)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    sandbox._supervisors._idle.pop().close()
    assert shell(sandbox, checkout, "echo again").output == b"again\n"


@linux
def test_the_sandbox_itself_leaves_nothing(checkout: PlainFolder) -> None:
    gc.collect()
    before, handles = set(kernel.list_children()), len(list(Path("/proc/self/fd").iterdir()))
    sandbox = with_own_pool("auto")
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
    assert len(sandbox._supervisors._idle) <= 8


@linux
@pytest.mark.parametrize("folder", [True, False])
def test_keepers_make_the_same_place_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    create = mounts._create

    def create_second(place: int, name: str, folder: bool) -> None:
        create(place, name, folder)  # the other one, which is quicker
        create(place, name, folder)

    monkeypatch.setattr(mounts, "_create", create_second)
    place = os.open(tmp_path, os.O_PATH)
    try:
        os.close(mounts._open_step(place, "cache", folder))
    finally:
        os.close(place)
    assert (tmp_path / "cache").is_dir() == folder


def test_a_command_is_quick(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    async def best() -> float:
        await sandbox.run(["true"], workspace=checkout, timeout=9, limit=9)
        return min([(await sandbox.run(["true"], workspace=checkout, timeout=9, limit=9)).seconds for _ in range(20)])

    assert asyncio.run(best()) < 0.1, "some 5 ms on a quiet machine"


def test_output_ends_with_the_first_command_of_a_checkout(
    sandbox: ProcessSandbox, checkout: PlainFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisors, "_DRAIN", 60.0)  # nobody else may hold the output open
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


def test_the_last_line_of_a_burst_is_told(sandbox: ProcessSandbox, checkout: PlainFolder) -> None:
    told: list[str] = []

    def hear(line: str) -> None:
        told.append(line)
        if line == "second":
            Path(checkout.root, "heard").touch()

    wait = "for i in $(seq 600); do [ -e heard ] && exit 0; sleep 0.1; done; exit 1"
    finished = shell(sandbox, checkout, f"echo first; sleep 0.03; echo second; {wait}", progress=hear)
    assert finished.exit_status == 0, told
