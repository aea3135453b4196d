"""What a night says that it has spent, against what the model's side knows that it answered.

Every answer has a number of tokens of its own, so that each is found again in the journal, or is not: it was under way
when its night was killed. A file beside the project keeps calls, kills and what was removed, so that a measure that is
continued goes on counting.
"""

import html
import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wire import Document

from bough.app.journal import Journal
from bough.core import events as e
from bough.core.budget.limits import Spend, sum_spends
from bough.services.backlog import load_backlog, load_page
from bough.views.night import describe_spent

FIRST = 2_000
"""Tokens of the first request; each has one more than the one before."""
LATE = 5.0
"""Seconds that an answer that was sent may take to be in the journal, on a busy machine."""
PRICES = '[prices]\n"openai:m" = {input = 1, output = 5}\n'


class Ledger:
    """What the model's side knows."""

    def __init__(self, file: Path) -> None:
        self._file, self._lock = file, threading.Lock()
        self._lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        self._calls = len(self._all("call"))

    def _add(self, **line: Any) -> None:
        with self._lock:
            self._lines.append(line)
            with self._file.open("a") as file:
                file.write(f"{json.dumps(line)}\n")

    def _all(self, kind: str) -> list[Document]:
        return [line for line in self._lines if line["kind"] == kind]

    def count(self, answer: Callable[[Document], Document], name: Callable[[Document], str]) -> Any:
        """The same answers, each with tokens of its own. `name`: what a request is about."""

        def counted(request: Document) -> Document:
            with self._lock:
                self._calls += 1
                number = FIRST + self._calls
            self._add(kind="call", number=number, goal=name(request), at=time.time())
            message = answer(request)
            out = 20 + number % 7
            self._add(kind="answer", number=number, out=out, at=time.time())
            return message | {"usage": {"prompt_tokens": number, "completion_tokens": out}}

        return counted

    def kill(self) -> None:
        self._add(kind="kill", at=time.time())

    async def remove(self, journal: Journal, run: str) -> None:
        """A run is perhaps removed: what was received in it is written down first."""
        self._add(kind="removed", run=run, numbers=list((await _list_received(journal, [run])).elements()))

    async def examine(self, journal: Journal, project: Path) -> bool:
        """Print what is exact and what is not."""
        runs = [run for run in await journal.store.runs() if not run.startswith("@")]
        received = await _list_received(journal, runs)
        for line in self._all("removed"):  # Perhaps; and a goal begins again under the name of its run.
            received.update(number for number in line["numbers"] if number not in received)
        answers = {line["number"]: line for line in self._all("answer")}
        kills = [line["at"] for line in self._all("kill")]
        lost, wrong = Counter[str](), list[str]()
        for call in self._all("call"):
            if call["number"] in received:
                continue
            until = answers.get(call["number"], {"at": float("inf")})["at"] + LATE
            lost[call["goal"]] += 1
            if not any(call["at"] <= kill <= until for kill in kills):
                wrong.append(f"the answer {call['number']} ({call['goal']}) is in no journal, and nothing was killed")
        wrong += [
            f"the answer {number} is {times} times in journals" for number, times in received.items() if times > 1
        ]
        unknown = [number for number in received if number not in answers]
        wrong += [f"{number} tokens were answered by nobody" for number in unknown]
        spent = await _sum_nights(journal)
        known = sum(received), sum(answers[number]["out"] for number in received if number in answers)
        if (spent.tokens_in, spent.tokens_out) != known:
            wrong.append(f"the nights say {spent.tokens_in} and {spent.tokens_out} tokens, and {known} were received")
        print(f"answers {len(answers)}, received {len(received)}: {known[0]} tokens in and {known[1]} out")
        named = ", ".join(f"{goal} {times}" for goal, times in lost.items())
        print(f"under way at a kill: {lost.total()} calls{f' ({named})' if named else ''}")
        wrong += await _compare_faces(journal, project)
        print("\n".join(f"WRONG {each}" for each in wrong) or "the same at every face, exact to the token")
        return not wrong


async def _list_received(journal: Journal, runs: list[str]) -> Counter[int]:
    found: Counter[int] = Counter()
    for run in runs:
        for record in await journal.store.read(run):
            usage = getattr(record.event, "usage", None)
            if usage is not None and usage.input:
                found[usage.input] += 1
    return found


async def _sum_nights(journal: Journal) -> Spend:
    """The sums of all nights that are over; the last one's is what its page says."""
    backlog = await load_backlog(journal)
    ended = [r.event.spend for r in await journal.store.read(backlog.stream) if isinstance(r.event, e.NightEnded)]
    page = await load_page(journal, backlog, time.time())
    return sum_spends([*ended[:-1], page.spend] if backlog.open_night is None else [*ended, page.spend])


async def _compare_faces(journal: Journal, project: Path) -> list[str]:
    """What is not the last night's sum: the report as data, text, Markdown and HTML, the page, the last event."""
    backlog = await load_backlog(journal)
    page = await load_page(journal, backlog, time.time())
    said, own = {}, describe_spent(page)
    bough = [sys.executable, "-m", "bough"]
    place = ["--dir", str(project)]

    def report(*options: str) -> str:
        argv = [*bough, "backlog", "report", *options, *place]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    files = {kind: project.parent / f"night.{kind}" for kind in ("md", "html")}
    report(*(word for kind, file in files.items() for word in (f"--{kind}", str(file))))
    told = json.loads(report("--json"))["spend"]
    if (told["tokens_in"], told["tokens_out"]) != (page.spend.tokens_in, page.spend.tokens_out):
        said["report --json"] = told
    for kind, file in files.items():
        if ", ".join(own) not in html.unescape(file.read_text()):
            said[f"report --{kind}"] = re.findall(r"[^.]*tokens[^.]*", file.read_text())[:1]
    if ", ".join(own) not in (text := " ".join(report().split())):
        said["report"] = text[:200]
    nights = _read_page([*bough, "serve", "--json", "--port", "0", *place])
    if nights[0]["spent"] != own:
        said["page"] = nights[0]["spent"]
    ended = [r.event.spend for r in await journal.store.read(backlog.stream) if isinstance(r.event, e.NightEnded)]
    if backlog.open_night is None and ended[-1].tokens != page.spend.tokens:
        said["journal"] = ended[-1]
    return [f"{face} says {what}, and not {own}" for face, what in said.items()]


def _read_page(argv: list[str]) -> Any:
    """The nights of the first page."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        asked = urllib.request.Request(
            f"{url.split('/?')[0]}/api/runs", headers={"x-bough": url.partition("token=")[2]}
        )
        with urllib.request.urlopen(asked) as got:
            nights = json.loads(got.read())["projects"][0]["nights"]
        server.terminate()
    return nights
