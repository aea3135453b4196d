"""Every sandbox of this machine, held to every promise of `sandboxes.py`."""

import asyncio
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from bough.adapters.fenced_ports import fence_port
from bough.adapters.sandboxes.approval import require_approval
from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.core.errors import UsageError
from bough.ports import Sandbox
from bough.ports.steering import Fence

from .sandboxes import CONFINING, PLANTED, PROMISES, Promise

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")


async def _allow(line: str, task: str) -> str:
    return "yes"


def _make(mode: str) -> Sandbox:
    env = make_env({**os.environ, **PLANTED})
    try:
        return make_sandbox(mode, env)  # type: ignore[arg-type]
    except UsageError as error:
        pytest.skip(str(error))


SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "none": lambda: _make("none"),
    "landlock": lambda: _make("landlock"),
    "namespaces": lambda: _make("namespaces"),
    "approved": lambda: require_approval(_make("none"), ["*"], _allow),
    "fenced": lambda: fence_port(_make("none"), Fence()),
}
CONFINED = ("landlock", "namespaces")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "secret.txt").write_text("the person's own words")
    return home


@pytest.fixture(scope="module")
def made(home: Path) -> Callable[[str], Sandbox]:
    """One of a kind: what it starts is shared by the promises, as by the commands of a run."""
    return cache(lambda kind: SANDBOXES[kind]())


@pytest.mark.parametrize(
    ("kind", "promise"),
    [(kind, promise) for kind in SANDBOXES for promise in (*PROMISES, *(CONFINING if kind in CONFINED else ()))],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_promise(
    kind: str,
    promise: Promise,
    home: Path,
    made: Callable[[str], Sandbox],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(home))
    sandbox = made(kind)

    async def hold() -> None:
        await promise(sandbox, make_plain_folder(tmp_path))

    asyncio.run(hold())
