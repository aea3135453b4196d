"""Who a worker is, and whether it is still there."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from bough.adapters.stores import liveness
from bough.adapters.stores.liveness import Presence, describe_worker, is_alive, is_gone, is_stopped, worker_id

from .test_sqlite import python


def test_a_worker_is_gone_only_when_that_is_sure() -> None:
    ours = worker_id()
    host, pid, started, machine = ours.rsplit(":", 3)
    boot, space = machine.split("-")
    assert (host, pid) == (socket.gethostname(), str(os.getpid()))
    assert not is_gone(ours)
    ended = python("from bough.adapters.stores.liveness import worker_id; print(worker_id())").strip()
    assert is_gone(ended)
    assert not is_gone(ended.replace(host, "elsewhere", 1).replace(boot, "another"))
    for unclear in ("", "w", "a:b:c:d", f"{host}:99999999999999999999:1:{machine}", f"{host}:-1:1:{machine}"):
        assert not is_gone(unclear)
    if started == "0":
        return  # no /proc here: nothing more can be told
    assert is_gone(f"{host}:{pid}:{int(started) + 1}:{machine}")
    assert is_gone(f"{host}:{pid}:{started}:{boot[::-1]}x-{space}")
    assert not is_gone(ended.replace(f"-{space}", "-4242"))
    assert not is_gone(f"{host}:1:0:{machine}")
    # The machine may get another name while a process of it lives, or after it has ended.
    assert is_alive(ours.replace(host, "renamed", 1))
    assert is_gone(ended.replace(host, "renamed", 1))


def test_a_stopped_process_is_alive_whatever_container_it_is_in(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from bough.adapters.stores.liveness import Presence, worker_id\n"
        "presence = Presence(Path(sys.argv[1]), worker_id()); print(worker_id(), flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdin and child.stdout
        worker = child.stdout.readline().strip()
        child.send_signal(signal.SIGSTOP)
        elsewhere = _moved(tmp_path, worker)
        deadline = time.monotonic() + 120
        while Path("/proc/self/stat").exists() and not is_stopped(worker):
            assert time.monotonic() < deadline
        assert is_alive(worker, tmp_path) is is_alive(worker) is True
        assert is_alive(elsewhere, tmp_path) is True
        child.kill()
        child.wait()
        assert is_alive(worker, tmp_path) is is_alive(elsewhere, tmp_path) is False
    Presence(tmp_path, worker_id()).end()
    assert not list(tmp_path.iterdir()), "what the killed one left is swept"


def _moved(folder: Path, worker: str) -> str:
    """The same worker, as if its process number meant nothing here."""
    elsewhere = f"{worker}9"
    (file,) = folder.glob(f"{liveness._mark_name(worker)}-*")
    (folder / file.name.replace(liveness._mark_name(worker), liveness._mark_name(elsewhere))).hardlink_to(file)
    return elsewhere


def test_a_worker_that_only_its_parent_has_not_noticed_is_gone() -> None:
    script = "from bough.adapters.stores.liveness import worker_id; print(worker_id(), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdin and child.stdout
        worker = child.stdout.readline().strip()
        assert not is_gone(worker)
        child.kill()
        deadline = time.monotonic() + 120
        while Path("/proc/self/stat").exists() and not is_gone(worker):  # never waited for: it stays in the list
            assert time.monotonic() < deadline
    assert is_gone(worker)


def test_a_worker_in_words() -> None:
    assert describe_worker(worker_id()) == f"process {os.getpid()} on this machine ({socket.gethostname()})"
    assert describe_worker("otter.example:42:7:abc-1") == "process 42 on machine otter.example"
    assert describe_worker("someone") == "worker someone"
