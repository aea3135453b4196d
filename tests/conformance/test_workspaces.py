"""Every kind of workspaces, held to every promise of `workspaces.py`."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from bough.adapters.fenced_ports import fence_port
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.stores.postgresql import PostgresStore
from bough.adapters.workspaces.exchange import share
from bough.adapters.workspaces.git import GitWorkspaces
from bough.adapters.workspaces.home import prepare_home
from bough.adapters.workspaces.provisioning import ProvisionedWorkspaces
from bough.ports import Workspaces
from bough.ports.steering import Fence
from tests.harness import git
from tests.postgres import new_schema
from tests.shipped import AGENT_ONLY

from .workspaces import FILES, PROMISES, Project, Promise, write

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

SANDBOX = make_sandbox("none", {"PATH": "/usr/bin:/bin"})


def plain(root: Path) -> Workspaces:
    return GitWorkspaces(root, prepare_home(root), False)


def provisioned(root: Path) -> Workspaces:
    return ProvisionedWorkspaces(plain(root), SANDBOX, "true", {}, 240)


WORKSPACES: dict[str, Callable[[Path], Workspaces]] = {
    "repository": plain,
    "folder": plain,
    "provisioned": provisioned,
    "fenced": lambda root: fence_port(plain(root), Fence()),
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the projects of the tests are copies of: a repository and a folder without one."""
    top = tmp_path_factory.mktemp("projects")
    for kind in ("repository", "folder"):
        write(top / kind, FILES)
    git(top / "repository", "init", "-q", "-b", "main")
    git(top / "repository", "add", "-A")
    git(top / "repository", "commit", "-qm", "Start")
    return top


@contextmanager
def one_machine(make: Callable[[Path], Workspaces], root: Path) -> Iterator[Project]:
    yield Project(root, make(root), lambda: make(root))


@contextmanager
def several_machines(root: Path) -> Iterator[Project]:
    """Each `later` is on a machine of its own, which has nothing but the address of the server."""
    address, stores = new_schema(), list[PostgresStore]()

    def make(root: Path) -> Workspaces:
        root.mkdir(exist_ok=True)
        workspaces = GitWorkspaces(root, prepare_home(root), False)
        stores.append(PostgresStore(address))
        share(workspaces, stores[-1].server)
        return workspaces

    yield Project(root, make(root), lambda: make(root.with_name(f"machine-{len(stores)}")))
    for store in stores:
        asyncio.run(store.close())


@pytest.mark.parametrize(
    ("promise", "kind"),
    list(product(PROMISES, [*WORKSPACES, "shared"])),
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_promise(kind: str, promise: Promise, projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    root = Path(shutil.copytree(projects / ("repository" if kind == "repository" else "folder"), tmp_path / "p"))
    with several_machines(root) if kind == "shared" else one_machine(WORKSPACES[kind], root) as project:

        async def hold() -> None:
            await promise(project)

        asyncio.run(hold())
