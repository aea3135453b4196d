"""Runs the tests in several processes, each a fork of the one that collected them.

    python -m pytest --forks 5

pytest-xdist does the same with processes that each import and collect everything anew: eight seconds of processor time
each, a twelfth of what all the tests take. Each fork begins with a part of its own, since tests of a file share what
takes long to make; one that is done takes over half of what the busiest still has.
"""

import atexit
import os
import pickle
import selectors
import signal
import socket
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from tests.zygote import leave

_AHEAD = 2
"""The tests that a fork has: the one that it runs, and the next, by which pytest knows what to keep for it."""
_SIZE, _MOST = 8, 1 << 20
_kept: list[object] = []
"""What stays open, because a module that was collected may have kept it: the streams that everything was read into."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = min(session.config.getoption("forks"), len(session.items))
    if count < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    terminal.showfspath = False  # The tests of several files run at a time.
    forks = _Forks(session, count)
    try:
        forks.run()
    finally:
        forks.end()
    return True


class _Fork:
    """A process that runs tests, as the process that collected them sees it."""

    def __init__(self, session: pytest.Session, name: str, waiting: deque[int], others: "list[_Fork]") -> None:
        self.name, self.waiting, self.given = name, waiting, deque[int]()
        self.link, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            for each in (self, *others):  # With these open, the others would not see that nobody listens any more.
                each.link.close()
            _serve(session, theirs, name)
        theirs.close()
        self._heard = b""
        self.told = False
        """Whether it knows that there is no other test for it."""

    def give(self) -> None:
        while self.waiting and len(self.given) < _AHEAD:
            self.given.append(self.waiting.popleft())
            self._tell(self.given[-1])

    def close(self) -> None:
        self.told = True
        self._tell(None)

    def hear(self) -> Iterator[tuple[str, Any] | None]:
        """What it has said; None when it has ended."""
        try:
            heard = self.link.recv(_MOST)
        except ConnectionResetError:
            heard = b""
        if not heard:
            yield None
        self._heard += heard
        while len(self._heard) >= (end := _SIZE + int.from_bytes(self._heard[:_SIZE], "big")):
            body, self._heard = self._heard[_SIZE:end], self._heard[end:]
            yield pickle.loads(body)

    def _tell(self, place: int | None) -> None:
        with suppress(BrokenPipeError):  # It ended: `hear` says so.
            self.link.sendall((0 if place is None else place + 1).to_bytes(_SIZE, "big"))

    def end(self) -> int:
        self.link.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class _Forks:
    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session, self._config = session, session.config
        self._open: list[_Fork] = []
        self._selector = selectors.DefaultSelector()
        factory = self._config._tmp_path_factory  # type: ignore[attr-defined]
        factory.getbasetemp()  # One for all: each fork has a folder in it.
        places, share = range(len(session.items)), -(-len(session.items) // count)
        for number in range(count):
            self._start(f"fork{number}", deque(places[number * share : (number + 1) * share]))

    def _start(self, name: str, waiting: deque[int]) -> None:
        fork = _Fork(self._session, name, waiting, self._open)
        self._open.append(fork)
        self._selector.register(fork.link, selectors.EVENT_READ, fork)
        self._feed(fork)

    def _feed(self, fork: _Fork) -> None:
        if fork.told:  # It ends after the test that it has.
            return
        if not fork.waiting:
            busiest = max(self._open, key=lambda each: len(each.waiting))
            for _ in range(-(-len(busiest.waiting) // 2)):
                fork.waiting.appendleft(busiest.waiting.pop())
        fork.give()
        if not fork.waiting and len(fork.given) < _AHEAD:
            fork.close()

    def run(self) -> None:
        while self._open:
            for key, _ in self._selector.select():
                for said in key.data.hear():
                    self._take(key.data, *said) if said else self._bury(key.data)

    def _take(self, fork: _Fork, kind: str, body: Any) -> None:
        hook = self._config.hook
        if kind == "start":
            hook.pytest_runtest_logstart(nodeid=body[0], location=body[1])
        elif kind == "report":
            hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=self._config, data=body))
        elif kind == "warning":
            message, when, nodeid, location = body
            hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
            )
        elif kind == "finish":
            hook.pytest_runtest_logfinish(nodeid=body[0], location=body[1])
            fork.given.popleft()
            self._feed(fork)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _bury(self, fork: _Fork) -> None:
        """Forget a fork that ended. If it was not told to, its test failed, and another goes on."""
        self._selector.unregister(fork.link)
        self._open.remove(fork)
        status = fork.end()
        if not fork.given and status == 0:
            return
        if fork.given:
            item = self._session.items[fork.given.popleft()]
            why = f"The process that ran it ended with status {status}."
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
            self._config.hook.pytest_runtest_logreport(report=report)
        self._start(f"{fork.name}+", deque([*fork.given, *fork.waiting]))

    def end(self) -> None:
        """Leave nothing behind, however it ended."""
        for fork in self._open:
            os.kill(fork.pid, signal.SIGKILL)
            fork.end()
        self._selector.close()


class _Speaker:
    """Says in the fork what pytest's hooks say of its tests."""

    def __init__(self, config: pytest.Config, link: socket.socket) -> None:
        self._config, self._link = config, link

    def _say(self, kind: str, body: object) -> None:
        said = pickle.dumps((kind, body))
        self._link.sendall(len(said).to_bytes(_SIZE, "big") + said)

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._say("start", (nodeid, location))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._say("report", self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._say("finish", (nodeid, location))

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: object
    ) -> None:
        told = (str(warning_message.message), warning_message.category, warning_message.filename)
        self._say("warning", (warnings.WarningMessage(*told, warning_message.lineno), when, nodeid, location))


def _serve(session: pytest.Session, link: socket.socket, name: str) -> NoReturn:
    """Be a fork: run the tests whose places come on the link, to their end."""
    status = 1
    try:
        _settle(session.config, name)
        session.config.pluginmanager.register(_Speaker(session.config, link), "forks")
        places = link.makefile("rb")
        here = _read_place(places)
        while here is not None:
            next_place = _read_place(places)
            item = session.items[here]
            following = None if next_place is None else session.items[next_place]
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            here = next_place
        atexit._run_exitfuncs()
        status = 0
    except BaseException:  # noqa: BLE001 (whoever reads the output has to see it, and nobody else can handle it)
        traceback.print_exc()
    finally:
        leave(status)


def _settle(config: pytest.Config, name: str) -> None:
    """Part from what the process that collected the tests has: its terminal, its captured output, its folder."""
    atexit._clear()
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    capture: Any = plugins.get_plugin("capturemanager")
    _kept.append(capture._global_capturing)
    capture._global_capturing = None
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / name
    factory._basetemp.mkdir(mode=0o700)


def _read_place(places: Any) -> int | None:
    place = int.from_bytes(places.read(_SIZE), "big")
    return place - 1 if place else None
