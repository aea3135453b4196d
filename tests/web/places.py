"""A served project with real runs, whose journals are copied and then end as a test likes."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bough.app import open_journal
from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.ids import RUN as OF_RUN
from bough.core.messages import Answer
from tests.harness import FIXED, QUICK_CHECK, git, make_project
from tests.interfaces.shell import act, bough, run_args, until
from tests.web import journals
from tests.web.browsing import Page, at, expect
from tests.web.serving import Server, serve
from tests.wire import WireModel

FINISHED = e.RunFinished("not_proven", "nothing shows it")
ENDS: dict[str, list[e.AnyEvent]] = {  # How a copy of a real run ends, by the state that its page has then.
    "completed": [e.RunFinished("completed", "its check passes")],
    "accepted": [FINISHED, e.Accepted("Ada"), e.RunFinished("completed", "accepted by Ada without proof")],
    "not_proven": [FINISHED],
    "failed": [e.RunFinished("failed", "it gave up")],
    "halted": [e.RunHalted("stopped", "you stopped it")],
    "budget": [e.RunHalted("budget", "its rounds are used up")],
}
OVER = ("completed", "accepted", "not_proven", "failed")
OTHER = FIXED.replace("a + b", "b + a")
BOTH = FIXED.replace("a + b", "sum((a, b))")
MANY = "mkdir notes && for n in 1 2 3 4 5 6 7 8 9; do echo page $n > notes/$n.txt; done"
GOALS = {  # What is asked for, its check, and what the agent does.
    "unchanged": ("Nothing to do.", "true", None),
    "edges": ("Test it on every push.", "test -e .github/workflows/ci.yml", (".github/workflows/ci.yml", "on: push\n")),
    "release": (
        "Release on every tag.",
        "test -e .github/workflows/tag.yml",
        (".github/workflows/tag.yml", "on: tag\n"),
    ),
    "many": ("Keep notes in nine files.", "test -e notes/9.txt", MANY),
    "hello": ("Say hello in hello.py.", "python3 hello.py", ("hello.py", "print('hello')\n")),
    "merged": ("Bring together", QUICK_CHECK, ("calc.py", BOTH)),
    "other": ("Adding does not care about the order.", QUICK_CHECK, ("calc.py", OTHER)),
    "changed": ("Make add add.", QUICK_CHECK, ("calc.py", FIXED)),
}
GH = '#!/bin/sh\necho "$*" >> LOG\necho https://github.example/o/r/pull/7\n'


def answer(request: dict[str, Any]) -> Answer:
    said = str(request["messages"])
    deed = next((deed for goal, _, deed in GOALS.values() if goal in said), None)
    if deed is None or any(message["role"] == "tool" for message in request["messages"]):
        return act("done", summary="it is there")
    return act("bash", command=deed) if isinstance(deed, str) else act("write", path=deed[0], content=deed[1])


def read(root: Path, run: str) -> list[e.Record]:
    async def load() -> list[e.Record]:
        async with open_journal(root) as journal:
            return await journal.store.read(run)

    with ThreadPoolExecutor(1) as pool:  # The browser's loop runs in this thread.
        return pool.submit(asyncio.run, load()).result()


def told(root: Path, run: str) -> list[str]:
    return [type(record.event).__name__ for record in read(root, run)]


class Place:
    """A served project with a real run of each kind that was asked for. Copies of them end as they like."""

    def __init__(self, served: Server, runs: dict[str, str], mine: dict[str, str]) -> None:
        self.served, self.root, self._runs, self.mine = served, served.root, runs, mine
        self._numbers = count(1)

    def copy(self, source: str, state: str) -> str:
        name = f"{source}-{state.replace('_', '-')}-{next(self._numbers)}"
        ended = (e.RunFinished, e.RunHalted, e.Judged)
        kept = [(each.task, each.event) for each in read(self.root, self._runs[source])]
        kept = [(task, event) for task, event in kept if not isinstance(event, ended)]
        journals.write(self.root, name, [*kept, *((OF_RUN, event) for event in ENDS[state])])
        return name

    @property
    def tree(self) -> str:
        """The person's files as the runs found them."""
        records = read(self.root, next(iter(self._runs.values())))
        return next(each.event.base for each in records if isinstance(each.event, e.RunStarted))

    def apply(self, run: str, state: str) -> None:
        answered = self.served.post(run, "apply", {} if state in ("completed", "accepted") else {"partial": True})
        assert answered.status_code == 200, answered.text

    def undo(self, run: str) -> None:
        assert self.served.post(run, "undo", {}).status_code == 200

    def open(self, page: Page, screen: str, run: str, *more: str) -> None:
        page.goto(at(self.served, screen, self.served.project, run, *([GOAL] if screen == "task" else []), *more))

    def status(self, run: str) -> str:
        return str(self.served.get(self.served.of(run))["status"])

    def await_end(self, run: str) -> None:
        until(lambda: self.status(run) in OVER)

    def await_last(self, stream: str, kind: str) -> None:
        until(lambda: told(self.root, stream)[-1] == kind)

    def await_event(self, run: str, kind: str) -> None:
        until(lambda: kind in told(self.root, run))


def make_origin(top: Path) -> tuple[Path, dict[str, str]]:
    """A project that has an origin, and the variables of a person with a `gh` that writes down how it is called."""
    root = make_project(top / "project")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    git(top, "init", "-q", "--bare", "origin.git")
    git(root, "remote", "add", "origin", str(top / "origin.git"))
    program = top / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(GH.replace("LOG", str(top / "gh.log")))
    program.chmod(0o755)
    return root, {"XDG_STATE_HOME": str(top / "mine"), "PATH": f"{program.parent}:{os.environ['PATH']}"}


@contextmanager
def make_place(top: Path, *sources: str) -> Iterator[Place]:
    root, mine = make_origin(top)
    with WireModel(answer) as wire:
        for source in sources:
            goal, check, _ = GOALS[source]
            bough(root, *run_args(wire.base_url, "--json", check=check, goal=goal), **mine)
        mine |= {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(root, **mine) as served:
            runs = served.get("/api/runs")["projects"][0]["runs"]
            found = {name: each["run"] for each in runs for name in sources if each["goal"].startswith(GOALS[name][0])}
            assert {*found} == {*sources}, runs
            yield Place(served, found, mine)


def press(page: Page, action: str, inside: str = "") -> None:
    page.locator(f'{inside} [data-action="{action}"]:visible'.strip()).first.click()


def see_follow_up(page: Page) -> None:
    press(page, "follow-up")
    expect(page.get_by_role("heading", name="Follow up")).to_be_visible()
    page.go_back()
