"""Every button of a run's page and of a task's page, in every state that a run can have."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bough.app import open_journal
from bough.core import events as e
from bough.core.ids import CONTROL, GOAL
from bough.core.ids import RUN as OF_RUN
from bough.core.messages import Answer
from tests.harness import CALC, FIXED, QUICK_CHECK, git, make_project
from tests.interfaces.shell import act, bough, run_args, until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import Page, at, browser, expect, page_of
from tests.web.serving import Served, serve
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]

FINISHED = e.RunFinished("not_proven", "nothing shows it")
ENDS: dict[str, list[e.AnyEvent]] = {  # How a copy of a real run ends, by the state that its page has then.
    "completed": [e.RunFinished("completed", "its check passes")],
    "accepted": [FINISHED, e.Accepted("Ada"), FINISHED],
    "not_proven": [FINISHED],
    "failed": [e.RunFinished("failed", "it gave up")],
    "halted": [e.RunHalted("stopped", "you stopped it")],
    "budget": [e.RunHalted("budget", "its rounds are used up")],
}
OVER = ("completed", "accepted", "not_proven", "failed")


def answer(request: dict[str, Any]) -> Answer:
    said = str(request["messages"])
    if "Nothing to do" in said or any(message["role"] == "tool" for message in request["messages"]):
        return act("done", summary="it is there")
    if "on every push" in said:
        return act("write", path=".github/workflows/ci.yml", content="on: push\n")
    return act("edit", path="calc.py", old="a - b", new="a + b")


def read(root: Path, run: str) -> list[e.Record]:
    async def load() -> list[e.Record]:
        async with open_journal(root) as journal:
            return await journal.store.read(run)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, load()).result()


def told(root: Path, run: str) -> list[str]:
    return [type(record.event).__name__ for record in read(root, run)]


class Place:
    """A served project with three real runs: one that changed a file, one that changed none, and one whose change takes
    effect on its own. Copies of them end as they like."""

    def __init__(self, served: Served, runs: dict[str, str]) -> None:
        self.served, self.root, self._runs = served, served.root, runs

    def copy(self, source: str, name: str, state: str) -> str:
        ended = (e.RunFinished, e.RunHalted, e.Judged)
        kept = [(each.task, each.event) for each in read(self.root, self._runs[source])]
        kept = [(task, event) for task, event in kept if not isinstance(event, ended)]
        journals.write(self.root, name, [*kept, *((OF_RUN, event) for event in ENDS[state])])
        return name

    def open(self, page: Page, screen: str, run: str) -> None:
        page.goto(at(self.served, screen, self.served.project, run, *([GOAL] if screen == "task" else [])))

    def status(self, run: str) -> str:
        return str(self.served.get(self.served.of(run))["status"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    root = make_project(tmp_path / "project")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    with WireModel(answer) as wire:
        goals = {
            "changed": ("Make add add.", QUICK_CHECK),
            "unchanged": ("Nothing to do.", "true"),
            "edges": ("Test it on every push.", "test -e .github/workflows/ci.yml"),
        }
        runs: dict[str, str] = {}
        for goal, check in goals.values():
            bough(root, *run_args(wire.base_url, "--json", check=check, goal=goal))
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(root, **settings) as served:
            for each in served.get("/api/runs")["projects"][0]["runs"]:
                runs |= {name: each["run"] for name, (goal, _) in goals.items() if each["goal"].startswith(goal)}
            yield Place(served, runs)


def press(page: Page, action: str) -> None:
    page.locator(f'[data-action="{action}"]:visible').first.click()


def await_event(place: Place, run: str, kind: str) -> None:
    until(lambda: kind in told(place.root, run))


def await_end(place: Place, run: str) -> None:
    until(lambda: place.status(run) in OVER)


def rewind(place: Place, page: Page, run: str, *, really: bool) -> None:
    press(page, "rewind")
    page.get_by_label("Rewind to").select_option("0")
    press(page, "cancel-rewind")
    if not really:
        return
    press(page, "rewind")
    press(page, "really-rewind")
    await_event(place, run, "TaskRewound")
    assert place.status(run) == "stopped"


@pytest.mark.parametrize("state", OVER)
def test_a_finished_run_is_taken_and_taken_back(browser: Any, place: Place, state: str) -> None:
    root, done = place.root, state in ("completed", "accepted")
    with page_of(browser, place.served) as page:
        run = place.copy("changed", "amber-fox", state)
        place.open(page, "run", run)
        rewind(place, page, run, really=False)
        press(page, "follow-up")
        expect(page.get_by_role("heading", name="Follow up")).to_be_visible()
        page.go_back()
        for applied in (False, True):
            if done:
                press(page, "branch")
                expect(page.get_by_role("status")).to_contain_text(f"is on the branch bough/{run}")
                assert "a + b" in git(root, "show", f"bough/{run}:calc.py")
                git(root, "branch", "-D", f"bough/{run}")
                press(page, "request")
                expect(page.get_by_role("status")).to_contain_text("gh pr create")
                assert (root / ".bough" / f"pr-{run}.md").exists()
                git(root, "branch", "-D", f"bough/{run}")
            if not applied:
                for action in ("apply",) if done else ("partial", "apply-partial"):
                    press(page, action)
                until(lambda: (root / "calc.py").read_text() == FIXED)
                expect(page.get_by_role("button", name="Undo apply")).to_be_visible()
        rewind(place, page, run, really=False)
        press(page, "follow-up")
        expect(page.get_by_role("heading", name="Follow up")).to_be_visible()
        page.go_back()
        press(page, "undo")
        until(lambda: (root / "calc.py").read_text() == CALC)
        expect(page.locator('[data-action="undo"]')).to_have_count(0)
        assert {"Applied", "Unapplied"} & {*told(root, run)}, told(root, run)
        for action in ("apply",) if done else ("partial", "apply-partial"):
            press(page, action)
        expect(page.get_by_role("button", name="Undo apply")).to_be_visible()
        rewind(place, page, run, really=True)
        press(page, "undo")
        until(lambda: (root / "calc.py").read_text() == CALC)

        edges = place.copy("edges", "coral-fox", state)
        place.open(page, "run", edges)
        for action in ("apply",) if done else ("partial", "apply-partial"):
            press(page, action)
        expect(page.get_by_role("alert")).to_contain_text("take effect on their own")
        assert not (root / ".github").exists()
        press(page, "apply-edges")
        until(lambda: (root / ".github" / "workflows" / "ci.yml").exists())


@pytest.mark.parametrize("screen", ["run", "task"])
def test_a_run_is_rewound_in_every_state(browser: Any, place: Place, screen: str) -> None:
    with page_of(browser, place.served) as page:
        for source, states in (("changed", ENDS), ("unchanged", ("completed", "not_proven", "failed"))):
            for state in states:
                run = place.copy(source, f"{source}-{state.replace('_', '-')}", state)
                place.open(page, screen, run)
                rewind(place, page, run, really=True)
                if screen == "run" and source == "unchanged":
                    again = place.copy(source, f"again-{state.replace('_', '-')}", state)
                    place.open(page, screen, again)
                    press(page, "follow-up")
                    expect(page.get_by_role("heading", name="Follow up")).to_be_visible()


def test_a_run_that_rests_is_resumed_and_told(browser: Any, place: Place) -> None:
    with page_of(browser, place.served) as page:
        for state in ("halted", "budget"):
            run = place.copy("changed", f"{state}-owl", state)
            place.open(page, "run", run)
            press(page, "message")
            press(page, "cancel-message")
            press(page, "message")
            page.get_by_label("Message to all agents").fill("Mind the zeros.")
            press(page, "send")
            await_event(place, run, "PersonSaid")
            if state == "halted":
                press(page, "resume-changes")
            page.get_by_role("textbox", name="Rounds").fill("70")
            press(page, "resume")
            await_event(place, run, "RunResumed")
            await_end(place, run)
            (resumed,) = [each.event for each in read(place.root, run) if isinstance(each.event, e.RunResumed)]
            assert resumed.limits.rounds == 70


@pytest.mark.parametrize("screen", ["run", "task"])
def test_a_run_that_lives_or_asks_is_told_and_stopped(browser: Any, place: Place, screen: str) -> None:
    root = place.root
    journals.write(root, "jade-fox", journals.large(3, 2, over=False))
    asked = [*journals.large(3, 2, over=False), (GOAL, e.QuestionAsked("Which?"))]
    asked += [(GOAL, e.TaskHalted("waiting", "Which?")), (OF_RUN, e.RunHalted("waiting", "Which?"))]
    journals.write(root, "ruby-owl", asked)
    path, label = (
        ("", "Message to all agents") if screen == "run" else ("group-0/module-0-1", "Message to the agents at")
    )
    with page_of(browser, place.served) as page, journals.carried_out(root, "jade-fox"):
        for run in ("ruby-owl", "jade-fox"):
            page.goto(at(place.served, screen, place.served.project, run, *filter(None, [path])))
            press(page, "message")
            press(page, "cancel-message")
            press(page, "message")
            page.get_by_label(label).fill("Mind the zeros.")
            press(page, "send")
            await_event(place, run, "PersonSaid")
            (said,) = [each.event for each in read(root, run) if isinstance(each.event, e.PersonSaid)]
            assert (said.task, said.text) == (path, "Mind the zeros.")
        if screen == "run":
            for action, kind in (("pause", "PauseRequested"), ("stop", "StopRequested")):
                press(page, action)
                await_event(place, "jade-fox", kind)
            press(page, "stop-now")
            until(lambda: told(root, "jade-fox").count("StopRequested") == 2)
            assert {each.task for each in read(root, "jade-fox") if isinstance(each.event, e.StopRequested)} == {
                CONTROL
            }
