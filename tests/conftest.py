"""What all tests have in common."""

import gc
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bough.adapters.sandboxes.process import ProcessSandbox
from bough.adapters.sandboxes.supervisors import SupervisorPool
from tests import no_waiting, sampling
from tests.zygote import GARBAGE

pytest_plugins = ("tests.forks", "tests.shipped")

# How long an example takes says more about the machine than about the code: what must be fast has a test of its own.
# A quarter of the usual number of examples with a commit: they differ from run to run, and there are many runs.
EXAMPLES = 100 if sampling.ALL else 25
settings.register_profile("bough", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bough")

# A shell starts what runs in its background with Ctrl-C ignored, and nohup what it runs with hang-ups ignored. Both
# would hold for everything that the tests start; a signal that somebody handles does not stay so across a start.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda number, frame: None)


@pytest.fixture
def acceptance_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the defaults that people get, in a module whose other tests turn them off."""
    monkeypatch.delenv("BOUGH_ACCEPTANCE_PROOF", raising=False)
    monkeypatch.delenv("BOUGH_ACCEPTANCE_EXAMINE", raising=False)


@pytest.fixture
def protocol_as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the default that people get, in a module whose other tests turn it off."""
    monkeypatch.delenv("BOUGH_MODELS_PROTOCOL", raising=False)


@pytest.fixture(autouse=True, scope="session")
def _checks_without_plugins() -> None:
    """The plugins of our own test environment double the time that pytest takes to start, and checks start it often."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["BOUGH_SANDBOX_ENV"] = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"


@pytest.fixture(autouse=True, scope="session")
def _a_person_without_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The developer's own settings and list of projects are none of the tests'."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        os.environ[name] = str(tmp_path_factory.mktemp(name.lower()))


@pytest.fixture(autouse=True, scope="session")
def _one_spawner() -> Iterator[None]:
    """All sandboxes of a test process share their supervisors, which keep nothing of a command: a spawner is a Python
    to start, and a test of the engine would start two or three. What is said of the spawner itself is tested with
    pools of their own (`tests/adapters/test_sandbox.py`), and real processes of bough have theirs."""
    pool = SupervisorPool()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bough.adapters.sandboxes.process.ProcessSandbox", partial(ProcessSandbox, _supervisors=pool))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_waiting() -> None:
    """A process that is killed loses nothing that it wrote: only a power cut would tell whether the disk was flushed,
    and a test of the engine would wait for a hundred flushes. What is flushed when is tested by who asks for it
    (`test_sqlite.py`, `test_workspaces_durable.py`)."""
    no_waiting.apply()


gc.disable()  # What collecting the tests makes stays to the end, and is looked through once, after that.


def pytest_collection_finish() -> None:
    """Half of what a test process holds are modules and collected tests, which stay to the end: nobody has to look
    through them again for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failed-to", help="write the tests that failed to this file, a line each")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which sample ran (in quiet runs there is no header that could), and which browser tests were skipped: those
    are easy to overlook, and the pages would go untested."""
    told = "every case" if sampling.ALL else f"samples of long tables: {sampling.SEED}={sampling.find_seed()}"
    terminalreporter.write_line(told)
    if path := config.getoption("failed_to"):
        failed = terminalreporter.getreports("failed") + terminalreporter.getreports("error")
        Path(path).write_text("".join(f"{report.nodeid}\n" for report in failed))
    skipped = terminalreporter.getreports("skipped")
    missed = [report for report in skipped if "no browser: " in str(report.longrepr)]
    if missed:
        terminalreporter.write_line(f"{len(missed)} browser tests did not run here: scripts/check-pages runs them.")
