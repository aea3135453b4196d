"""Who a worker is, and whether it is still there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from bough.adapters.stores.workers import in_words, is_gone, worker_id

from .test_sqlite import python


def test_a_worker_is_gone_only_when_that_is_sure() -> None:
    ours = worker_id()
    host, pid, started, machine = ours.rsplit(":", 3)
    boot, space = machine.split("-")
    assert (host, pid) == (socket.gethostname(), str(os.getpid()))
    assert not is_gone(ours)
    ended = python("from bough.adapters.stores.workers import worker_id; print(worker_id())").strip()
    assert is_gone(ended)
    assert not is_gone(ended.replace(host, "elsewhere", 1))
    for unclear in ("", "w", "a:b:c:d", f"{host}:99999999999999999999:1:{machine}", f"{host}:-1:1:{machine}"):
        assert not is_gone(unclear)
    if started == "0":
        return  # no /proc here: nothing more can be told
    assert is_gone(f"{host}:{pid}:{int(started) + 1}:{machine}")
    assert is_gone(f"{host}:{pid}:{started}:{boot[::-1]}x-{space}")
    assert not is_gone(ended.replace(f"-{space}", "-4242"))
    assert not is_gone(f"{host}:1:0:{machine}")


def test_a_worker_that_only_its_parent_has_not_noticed_is_gone() -> None:
    script = "from bough.adapters.stores.workers import worker_id; print(worker_id(), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True) as child:
        assert child.stdin and child.stdout
        worker = child.stdout.readline().strip()
        assert not is_gone(worker)
        child.kill()
        deadline = time.monotonic() + 10
        while Path("/proc/self/stat").exists() and not is_gone(worker):  # never waited for: it stays in the list
            assert time.monotonic() < deadline
    assert is_gone(worker)


def test_a_worker_in_words() -> None:
    assert in_words(worker_id()) == f"process {os.getpid()} on this machine ({socket.gethostname()})"
    assert in_words("otter.example:42:7:abc-1") == "process 42 on machine otter.example"
    assert in_words("someone") == "worker someone"
