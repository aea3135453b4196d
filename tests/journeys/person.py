"""A person with a home, a project and the real `bough` command, as it ships: no setting is turned off."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import zygote
from tests.journeys.model import Goal, Hold, Model, Request, Script, Turn, call
from tests.wire import WireModel

PATIENCE = 240
"""Seconds after which something that a journey waits for counts as not coming."""
BIN = Path(sys.executable).parent
CHECK = "python3 -m unittest -q"

STARTING_FILES = {
    "shop.py": "def total(*numbers):\n    raise NotImplementedError\n",
    "words.py": "def shout(text):\n    raise NotImplementedError\n",
    "bounds.py": "def clamp(number, low, high):\n    raise NotImplementedError\n",
    "test_names.py": (
        "import unittest\n\n\nclass TestNames(unittest.TestCase):\n    def test_there(self):\n"
        "        import bounds, shop, words\n\n        self.assertTrue(shop.total and words.shout and bounds.clamp)\n"
    ),
}

TOTAL = "Make `total` in shop.py add its arguments."
SHOUT = "Make `shout` in words.py return its text in capitals."
CLAMP = "Make `clamp` in bounds.py keep a number between low and high."
RIGHT = {
    TOTAL: ("shop.py", "def total(*numbers):\n    return sum(numbers)\n"),
    SHOUT: ("words.py", "def shout(text):\n    return text.upper()\n"),
    CLAMP: ("bounds.py", "def clamp(number, low, high):\n    return max(low, min(number, high))\n"),
}
SHOWN = {
    TOTAL: "from shop import total\nassert total(2, 3, 4) == 9",
    SHOUT: "from words import shout\nassert shout('tree') == 'TREE'",
    CLAMP: "from bounds import clamp\nassert (clamp(9, 1, 5), clamp(0, 1, 5)) == (5, 1)",
}


def goal(text: str = TOTAL, **changes: Any) -> Goal:
    """A goal of the small shop, with an honest author and an examiner that writes a live case."""
    path, content = RIGHT[text]
    fields: dict[str, Any] = {"files": {path: content}, "cases": {text: SHOWN[text]}} | changes
    return Goal(text, **fields)


TEST_OF_TOTAL = (
    "import unittest\n\nfrom shop import total\n\n\nclass TestShop(unittest.TestCase):\n"
    "    def test_adds(self):\n        self.assertEqual(total(2, 3), 5)\n"
)


def wrong_at_first(times: int, then: Script | None = None) -> Script:
    """An author whose first conversations each leave a function that is wrong in another way. `then`: the next ones."""
    begun: list[int] = []

    def author(request: Request, turn: int) -> Turn | None:
        if turn == 0:
            begun.append(len(begun))
        if turn == 0 and len(begun) <= times:
            return [call("write", path="shop.py", content=f"def total(*numbers):\n    return -{len(begun)}\n")]
        return then(request, turn) if then and len(begun) > times else None

    return author


def ran(ann: "Person", *args: str, status: int = 0) -> str:
    """A goal worked on to its end: the run's name."""
    ann.bough("run", *args, "--check", CHECK, status=status)
    name: str = ann.latest()["run"]
    return name


@dataclass
class CommandOutput:
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def all(self) -> str:
        return self.out + self.err


@dataclass
class Person:
    home: Path
    project: Path
    model: Model
    wire: WireModel
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)
    _known: object = None
    _status: str = ""

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "OPENAI_API_KEY": "sk-planted-0123456789abcdef",
            # The plugins of our own test environment double the time that pytest takes to start, as a check does.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "BOUGH_SANDBOX_ENV": "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
        } | self.extra

    # ── commands ────────────────────────────────────────────────────────────────────────────────────────────

    def bough(
        self, *args: str, stdin: str = "", status: int | None = None, env: Mapping[str, str] | None = None
    ) -> CommandOutput:
        """The command, to its end: a process of its own that does not load bough again, which would take a third of a
        journey's time, as are those under way and at a terminal."""
        said = CommandOutput(
            *zygote.run("bough", *args, cwd=self.project, env=self.env | dict(env or {}), stdin=stdin, waiting=True)
        )
        if status is not None:
            assert said.status == status, f"bough {' '.join(args)}: exit status {said.status}\n{said.all}"
        return said

    def start(self, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """The command, under way."""
        process = zygote.open_process(
            *args,
            cwd=self.project,
            env=self.env | dict(env or {}),
            waiting=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.started.append(process)
        return process

    def terminal(self, *args: str, answers: Mapping[str, str], kind: str = "dumb") -> CommandOutput:
        """The command at a terminal, where the person types an answer once they see a question.
        It has 80 columns, to which lines are cut unless its kind is `dumb`."""
        master, slave = pty.openpty()
        process = zygote.open_process(
            *args,
            cwd=self.project,
            env={**self.env, "TERM": kind},
            waiting=True,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        self.started.append(process)
        os.close(slave)
        seen, left = b"", dict(answers)
        while select.select([master], [], [], PATIENCE)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break  # The terminal is closed when the command ends.
            for question in [each for each in left if each.encode() in seen]:
                os.write(master, left.pop(question).encode() + b"\n")
        status = process.wait(PATIENCE)
        os.close(master)
        assert not left, (left, seen.decode(errors="replace")[-3000:])
        return CommandOutput(status, seen.decode(errors="replace"), "")

    def kill(self, process: subprocess.Popen[str]) -> None:
        """`kill -9`."""
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)

    def end(self, process: subprocess.Popen[str]) -> CommandOutput:
        """How it ended by itself, and what it said."""
        out, _ = process.communicate(timeout=PATIENCE)
        return CommandOutput(process.returncode, out, "")

    def python(self, source: str) -> CommandOutput:
        """A program of the person's own that imports bough."""
        done = subprocess.run(
            [sys.executable, "-c", source],
            cwd=self.project,
            env=self.env,
            text=True,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return CommandOutput(done.returncode, done.stdout, done.stderr)

    def git(self, *args: str) -> str:
        return subprocess.run(
            ["git", *args], cwd=self.project, env=self.env, check=True, text=True, capture_output=True
        ).stdout

    def shell(self, line: str, status: int = 0) -> str:
        done = subprocess.run(line, shell=True, cwd=self.project, env=self.env, text=True, capture_output=True)
        assert done.returncode == status, (line, done.returncode, done.stdout, done.stderr)
        return done.stdout

    # ── what is there ───────────────────────────────────────────────────────────────────────────────────────

    def read(self, path: str) -> str:
        return (self.project / path).read_text()

    def write(self, path: str, content: str) -> None:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def commit(self, message: str = "More.") -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def journal(self, *run: str) -> list[dict[str, Any]]:
        """The events of a run (the latest)."""
        return [json.loads(line)["event"] for line in self.bough("log", *run, "--json", status=0).out.splitlines()]

    def kinds(self, *run: str) -> list[str]:
        return [event["event"] for event in self.journal(*run)]

    def runs(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.bough("runs", "--json", status=0).json
        return listed

    def latest(self) -> dict[str, Any]:
        return self.runs()[-1]

    def status(self) -> Any:
        """The latest run's, for whoever asks again and again: bough is asked when the journal has changed, and once a
        second, since a run that dies writes nothing."""
        files = [Path(f"{self.project}/.bough/journal.db{end}") for end in ("", "-wal")]
        stamps = [(file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.exists()]
        known = stamps, int(time.monotonic())
        if self._known != known:
            self._known, self._status = known, self.latest()["status"]
        return self._status

    def evidence(self, *run: str) -> list[tuple[str, str]]:
        """Each requirement of a run and how it stands."""
        report = self.bough("report", *run, "--json").json
        return [(each["requirement"]["text"], each["standing"]) for each in report["requirements"]]

    def wait(self, what: Callable[[], Any], why: str) -> Any:
        """Until it is so. Anything but an empty value ends it."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            if found := what():
                return found
            time.sleep(0.1)
        raise AssertionError(f"{why}: not within {PATIENCE} s")

    def reaches(self, hold: Hold) -> bool:
        """Whether an author gets as far as that, before the run ends."""
        over = ("failed", "completed", "not_proven")
        self.wait(lambda: hold.reached.is_set() or self.status() in over, "the author or the end")
        return hold.reached.is_set()

    # ── the page ────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def page(self, *args: str) -> "Iterator[Page]":
        """The dashboard, served while the block lasts."""
        server = self.start("serve", "--json", "--port", "0", *args)
        assert server.stdout
        page = Page(json.loads(server.stdout.readline())["url"])
        try:
            yield page
        finally:
            server.send_signal(signal.SIGINT)
            self.end(server)

    def over(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()


class Page:
    """What a browser does: opens the address, keeps the token in its storage, reads and posts."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.top = url.split("/?")[0]
        self.token = url.partition("token=")[2]
        self._browser = urllib.request.build_opener()
        self._browser.addheaders = [("x-bough", self.token)]
        with self._browser.open(url, timeout=PATIENCE) as answer:
            self.opened = answer.read().decode()
        self.project = self.get("/api/runs")["projects"][0]["project"]

    def get(self, address: str) -> Any:
        with self._browser.open(f"{self.top}{address}", timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def send(self, address: str, **body: object) -> tuple[int, Any]:
        """The status and the answer: refusals, too."""
        headers = {"content-type": "application/json", "x-bough": self.token, "origin": self.top}
        request = urllib.request.Request(f"{self.top}{address}", json.dumps(body).encode(), headers, method="POST")
        try:
            with self._browser.open(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            text = refused.read().decode()
            try:
                return refused.code, json.loads(text)
            except ValueError:
                return refused.code, text

    def home(self) -> dict[str, Any]:
        project: dict[str, Any] = self.get("/api/runs")["projects"][0]
        return project

    def run(self, name: str, end: str = "") -> Any:
        return self.get(f"/api/{self.project}/runs/{name}{end}")

    def do(self, name: str, action: str, **body: object) -> tuple[int, Any]:
        """A button on a run's page."""
        return self.send(f"/api/{self.project}/runs/{name}/do/{action}", **body)

    def night(self, action: str, **body: object) -> tuple[int, Any]:
        """A button at the list of goals on the first page."""
        return self.send(f"/api/{self.project}/do/{action}", **body)
