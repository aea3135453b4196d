"""A dashboard that is really served, on loopback, in a process of its own."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from bough.core import events as e
from tests import zygote
from tests.interfaces.shell import BOUGH, act, busy, environment
from tests.web import journals
from tests.wire import Reply


@dataclass
class Server:
    root: Path
    process: subprocess.Popen[str]
    address: str
    client: httpx2.Client

    @property
    def url(self) -> str:
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).query)["token"][0]

    @property
    def project(self) -> str:
        projects: list[dict[str, str]] = self.get("/api/runs")["projects"]
        return projects[0]["project"]

    def of(self, run: str, end: str = "") -> str:
        return f"/api/{self.project}/runs/{run}{end}"

    def live(self, run: str, since: int = 0) -> str:
        return f"/api/live?follow={self.project}/{run}/{since}"

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text}"
        return answer.json()

    def post(self, run: str, action: str, body: object) -> httpx2.Response:
        headers = {"origin": self.url}
        return self.client.post(self.of(run, f"/do/{action}"), content=json.dumps(body), headers=headers)

    def tell(self, action: str, body: object) -> httpx2.Response:
        """Do something to the project."""
        headers = {"origin": self.url}
        return self.client.post(f"/api/{self.project}/do/{action}", content=json.dumps(body), headers=headers)

    def heard(self, run: str, most: int, last: int | None = None) -> list[tuple[int, Any]]:
        """The first messages of a stream: their numbers and what they say."""
        since = self.get(self.of(run))["seq"] if last is None else last
        heard: list[tuple[int, Any]] = []
        with self.client.stream("GET", self.live(run, since)) as stream:
            number = 0
            for line in stream.iter_lines():
                if line.startswith("id: "):
                    number = int(line[4:])
                elif line.startswith("data: "):
                    heard.append((number, json.loads(line[6:])))
                if len(heard) == most:
                    break
        return heard

    def append(self, run: str, task: str, events: Sequence[e.AnyEvent]) -> None:
        journals.append(self.root, run, task, events)


def work_once(hurry: threading.Event) -> Callable[[dict[str, Any]], Reply]:
    """A model that is busy without an end, until it is told to hurry."""

    def answer(request: dict[str, Any]) -> Reply:
        if not hurry.is_set():
            return busy(request)
        done = any("a + b" in str(message) for message in request["messages"])
        return act("done", summary="it adds") if done else act("edit", path="calc.py", old="a - b", new="a + b")

    return answer


@contextmanager
def serve(root: Path, *options: str, **env: str) -> Iterator[Server]:
    mine = environment(**{"XDG_STATE_HOME": str(root / ".bough" / "state"), **env})
    words = ("serve", "--dir", str(root), *options)
    if "--until" in options:  # It ends with its parent, which has to be this process.
        process = subprocess.Popen([*BOUGH, *words], env=mine, stdout=subprocess.PIPE, text=True)
    else:
        process = zygote.open_process(*words, cwd=Path.cwd(), env=mine, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        address = next((line.strip() for line in process.stdout if "http://" in line), "")
        assert address, "bough serve printed no address"
        base = address.partition("/?")[0]
        token = parse_qs(urlsplit(address).query)["token"][0]
        with httpx2.Client(base_url=base, timeout=240, headers={"x-bough": token}) as client:
            assert client.get(address).status_code == 200
            yield Server(root, process, address, client)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
