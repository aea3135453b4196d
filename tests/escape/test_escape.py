"""No attempt to get out of the sandbox does any damage, as root and as a normal user."""

import json
import os
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from bough.adapters.sandboxes.kernel import landlock_abi
from bough.adapters.sandboxes.levels import SandboxLevel
from bough.adapters.sandboxes.supervisors import probe
from tests.escape.attempts import (
    ATTEMPTS,
    NOT_STOPPED_BY_LANDLOCK,
    NOT_STOPPED_BY_NONE,
    NOT_STOPPED_BY_OLDER_LANDLOCK,
    STOPPED_BY_ANY_LANDLOCK,
    SURELY_NOT_STOPPED_BY_LANDLOCK,
)
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

TOP = Path(__file__).parents[2]
OTHER = 65533
"""A user without any rights, not even a name."""

namespaces = pytest.mark.skipif(bool(probe()), reason=f"no namespaces here: {probe()}")
landlock = pytest.mark.skipif(landlock_abi() < 6, reason="an older Landlock stops less")


def as_user(argv: list[str], user: int) -> list[str]:
    own = os.geteuid()
    return argv if user == own else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *argv]


@cache
def python_of(user: int) -> str:
    """An interpreter that this user can run, with what bough needs."""
    for python in (sys.executable, "/usr/bin/python3"):
        # It must be able to start itself again: the first start still has some of root's rights.
        again = "import bough.ports, subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
        argv = as_user([python, "-c", again], user)
        if subprocess.run(argv, env=surroundings(), cwd="/", capture_output=True).returncode == 0:
            return python
    pytest.skip(f"user {user} cannot read any Python here that has what bough needs")


def surroundings() -> dict[str, str]:
    path = os.pathsep.join([str(TOP), str(TOP / "src"), sysconfig.get_path("purelib")])
    return {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}


def damages(user: int, mode: str, *names: str) -> dict[str, list[str]]:
    argv = as_user([python_of(user), "-m", "tests.escape.arena", mode, *names], user)
    done = subprocess.run(argv, cwd="/", env=surroundings(), capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: damage for name, damage in json.loads(done.stdout).items() if damage}


def users() -> list[int]:
    return [0, OTHER] if os.geteuid() == 0 else [os.geteuid()]


def test_there_are_enough_attempts() -> None:
    assert len(ATTEMPTS) >= 80


@namespaces
@pytest.mark.parametrize("user", users())
def test_nothing_gets_out_of_the_namespaces(user: int) -> None:
    assert damages(user, "namespaces") == {}


@landlock
@pytest.mark.parametrize("user", users())
def test_landlock_alone_lets_through_what_it_is_said_to(user: int) -> None:
    through = set(damages(user, "landlock"))
    assert through <= NOT_STOPPED_BY_LANDLOCK
    assert through >= SURELY_NOT_STOPPED_BY_LANDLOCK


@landlock
@pytest.mark.parametrize("abi", [3, 5])
def test_an_older_landlock_lets_through_what_it_is_said_to(abi: int) -> None:
    tried = STOPPED_BY_ANY_LANDLOCK | NOT_STOPPED_BY_OLDER_LANDLOCK
    assert set(damages(users()[-1], f"landlock@{abi}", *sorted(tried))) == NOT_STOPPED_BY_OLDER_LANDLOCK
    assert "kill and stop your processes" in SandboxLevel("landlock", abi).gaps


@pytest.mark.parametrize("user", users()[-1:])
def test_without_a_sandbox_the_same_attempts_are_seen_to_succeed(user: int) -> None:
    found = damages(user, "none", *NOT_STOPPED_BY_NONE)
    seen = {n: any(kind in damage for damage in found.get(n, [])) for n, kind in NOT_STOPPED_BY_NONE.items()}
    assert seen == dict.fromkeys(NOT_STOPPED_BY_NONE, True)
