"""bough on a real pseudo-terminal: the live tree, its end, and keys pressed meanwhile."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import make_project
from tests.interfaces.shell import BOUGH, act, busy, environment, repair, run_args, until
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import Slow, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")


class Screen:
    """A process on a pseudo-terminal of its own, and all that it wrote."""

    def __init__(
        self, folder: Path, args: list[str], columns: int = 80, rows: int = 24, env: dict[str, str] | None = None
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(columns, rows)
        os.set_blocking(self._ours, False)
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            [*BOUGH, *args],
            cwd=folder,
            env=environment(**(env or {})),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self._theirs = theirs
        self.text = ""

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def read(self) -> str:
        try:
            while piece := os.read(self._ours, 65536):
                self.text += piece.decode("utf-8", "replace")
        except (BlockingIOError, OSError):
            pass
        return self.text

    def ended(self) -> int:
        until(lambda: (self.read(), self.process.poll() is not None)[1])
        self.read()
        assert termios.tcgetattr(self._theirs) == self.before, "the terminal is as it was"
        assert "Traceback" not in self.text, self.text
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._theirs)
        os.close(self._ours)

    @property
    def last(self) -> str:
        """What was written after the last frame was taken away."""
        return self.text.rpartition("\x1b[?25h")[2]


Show = Callable[..., Screen]


@pytest.fixture
def show() -> Iterator[Show]:
    """Starts bough on a terminal; all of them are gone after the test."""
    shown: list[Screen] = []

    def start(folder: Path, args: list[str], columns: int = 80, env: dict[str, str] | None = None) -> Screen:
        shown.append(Screen(folder, args, columns, env=env))
        return shown[-1]

    yield start
    for screen in shown:
        screen.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@in_turn
def test_the_live_tree_and_its_summary(project: Path, show: Show) -> None:
    script = [
        Slow(act("read", "I look at the code first.", path="calc.py"), 0.02),
        act("bash", command="echo a line; sleep 0.4"),
        *repair()[1:],
    ]
    with WireModel(script, piece=2) as wire:
        screen = show(project, run_args(wire.base_url))
        status = screen.ended()
    assert status == 0
    for part in ("budget", "● ", "thinking…", "characters", "bash echo a line; sleep 0.4", "2/40 rounds"):
        assert part in screen.text, part
    assert screen.text.count("\x1b[?25l") == screen.text.count("\x1b[?25h") == 1
    assert "✔ completed" in screen.last and "check passed" in screen.last and "bough apply" in screen.last
    assert "thinking" not in screen.last


@in_turn
def test_a_resize_in_the_middle(project: Path, show: Show) -> None:
    with WireModel(busy) as wire:
        screen = show(project, run_args(wire.base_url, "--rounds", "14"))
        until(lambda: "tick" in screen.read())
        for columns, rows in ((40, 10), (20, 10), (5, 3), (120, 40)):
            mark = len(screen.text)
            screen.resize(columns, rows)
            os.kill(screen.process.pid, signal.SIGWINCH)
            until(lambda mark=mark: len(screen.read()) > mark + 200)  # type: ignore[misc]
            for row in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.text[mark + 200 :]))[1:-1]:
                assert len(row) < columns + 1, (columns, row)
        assert screen.ended() == 4
    assert "budget spent" in screen.last


@in_turn
def test_ctrl_c_once_and_twice(project: Path, show: Show) -> None:
    with WireModel(busy) as wire:
        screen = show(project, run_args(wire.base_url))
        until(lambda: "tick" in screen.read())
        screen.press(b"typing\r\n\x03")
        assert screen.ended() == 6
        assert "Stopping after the current effect" in screen.text
        assert "typing" not in screen.text, "what is typed is not echoed into the drawing"
        assert "○ stopped" in screen.last and "bough resume" in screen.last

    with WireModel([act("bash", command="sleep 600")]) as wire:
        screen = show(project, run_args(wire.base_url))
        until(lambda: "bash sleep 600" in screen.read())
        screen.press(b"\x03")
        until(lambda: "Ctrl-C again: now" in screen.read())
        screen.press(b"\x03")
        assert screen.ended() == 6
        assert "Stopping now" in screen.text and "○ stopped" in screen.last


@in_turn
def test_ctrl_z_gives_the_terminal_back(project: Path, show: Show) -> None:
    with WireModel(busy) as wire:
        screen = show(project, run_args(wire.base_url, "--rounds", "6"))
        until(lambda: "tick" in screen.read())
        screen.press(b"\x1a")
        stopped = Path(f"/proc/{screen.process.pid}/stat")
        until(lambda: stopped.read_text().rpartition(")")[2].split()[0] == "T")
        assert screen.read().rstrip().endswith("\x1b[?25h")
        time.sleep(0.2)
        screen.process.send_signal(signal.SIGCONT)
        assert screen.ended() == 4


@in_turn
@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_plain_terminals(project: Path, show: Show, env: dict[str, str]) -> None:
    with WireModel(repair()) as wire:
        screen = show(project, run_args(wire.base_url), env=env)
        assert screen.ended() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", screen.text), "no colour"
    if env.get("TERM") == "dumb":
        assert "\x1b" not in screen.text
        assert "round 2: edit calc.py" in screen.text


@in_turn
def test_looking_on_a_terminal(project: Path, show: Show) -> None:
    with WireModel(repair()) as wire:
        assert show(project, run_args(wire.base_url)).ended() == 0
    for command in (["show"], ["runs"], ["status"], ["log"], ["diff"]):
        screen = show(project, command, columns=30)
        assert screen.ended() == 0
        assert "\x1b[" in screen.text, f"{command} has colour"
        if command != ["diff"]:
            bare = re.sub(r"\x1b\[[0-9;]*m", "", screen.text)
            assert max(map(len, bare.splitlines())) <= 30, command
