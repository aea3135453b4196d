"""Every button of a run's page and of a task's page, in every state that a run can have."""

from collections.abc import Iterator
from typing import Any

import pytest

from bough.core import events as e
from bough.core.events.base import Halt
from bough.core.ids import CONTROL, GOAL
from bough.core.ids import RUN as OF_RUN
from tests.harness import CALC, FIXED, git
from tests.interfaces.shell import until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import Page, at, browser, expect, page_of
from tests.web.places import ENDS, OVER, Place, make_place, press, read, see_follow_up, told

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with make_place(tmp_path_factory.mktemp("states"), "changed", "unchanged", "edges") as made:
        yield made


def rewind(place: Place, page: Page, run: str, *, really: bool) -> None:
    press(page, "rewind")
    page.get_by_label("Rewind to").select_option("0")
    press(page, "cancel-rewind")
    if not really:
        return
    press(page, "rewind")
    press(page, "really-rewind")
    place.await_event(run, "TaskRewound")
    until(lambda: place.status(run) == "stopped")


def tell(place: Place, page: Page, run: str, label: str = "Message to all agents") -> e.PersonSaid:
    press(page, "message")
    press(page, "cancel-message")
    press(page, "message")
    page.get_by_label(label).fill("Mind the zeros.")
    press(page, "send")
    place.await_event(run, "PersonSaid")
    (said,) = [each.event for each in read(place.root, run) if isinstance(each.event, e.PersonSaid)]
    assert said.text == "Mind the zeros."
    return said


def take_as_branch(root: Any, page: Page, run: str) -> None:
    """As a branch, and as a pull request."""
    press(page, "branch")
    expect(page.get_by_role("status")).to_contain_text(f"is on the branch bough/{run}")
    assert "a + b" in git(root, "show", f"bough/{run}:calc.py")
    git(root, "branch", "-D", f"bough/{run}")
    press(page, "request")
    expect(page.get_by_role("status")).to_contain_text("gh pr create")
    assert (root / ".bough" / f"pr-{run}.md").exists()
    git(root, "branch", "-D", f"bough/{run}")


@pytest.mark.parametrize("state", OVER)
def test_a_finished_run_is_taken_and_taken_back(browser: Any, place: Place, state: str) -> None:
    root, done = place.root, state in ("completed", "accepted")
    taking = ("apply",) if done else ("partial", "apply-partial")
    with page_of(browser, place.served) as page:
        run = place.copy("changed", state)
        place.open(page, "run", run)
        for applied in (False, True):
            rewind(place, page, run, really=False)
            see_follow_up(page)
            if done:
                take_as_branch(root, page, run)
            if not applied:
                for action in taking:
                    press(page, action)
                until(lambda: (root / "calc.py").read_text() == FIXED)
                expect(page.get_by_role("button", name="Undo apply")).to_be_visible()
        press(page, "undo")
        until(lambda: (root / "calc.py").read_text() == CALC)
        expect(page.locator('[data-action="undo"]')).to_have_count(0)
        assert {"Applied", "Undone"} <= {*told(root, run)}, told(root, run)
        for action in taking:
            press(page, action)
        expect(page.get_by_role("button", name="Undo apply")).to_be_visible()
        rewind(place, page, run, really=True)
        press(page, "undo")
        until(lambda: (root / "calc.py").read_text() == CALC)

        edges = place.copy("edges", state)
        place.open(page, "run", edges)
        for action in taking:
            press(page, action)
        expect(page.get_by_role("alert")).to_contain_text("take effect on their own")
        assert not (root / ".github").exists()
        press(page, "apply-edges")
        until(lambda: (root / ".github" / "workflows" / "ci.yml").exists())
        expect(page.get_by_role("button", name="Undo apply")).to_be_visible()
        place.undo(edges)


@pytest.mark.parametrize("screen", ["run", "task"])
def test_a_run_is_rewound_in_every_state(browser: Any, place: Place, screen: str) -> None:
    with page_of(browser, place.served) as page:
        for source, states in (("changed", tuple(ENDS)), ("unchanged", OVER)):
            for state in states:
                run = place.copy(source, state)
                place.open(page, screen, run)
                if screen == "run" and source == "unchanged":
                    see_follow_up(page)
                rewind(place, page, run, really=True)
        for state in OVER if screen == "task" else ():
            run = place.copy("changed", state)
            place.apply(run, state)
            place.open(page, screen, run)
            rewind(place, page, run, really=True)
            place.undo(run)


def test_a_run_that_rests_is_resumed_and_told(browser: Any, place: Place) -> None:
    with page_of(browser, place.served) as page:
        for state in ("halted", "budget"):
            run = place.copy("changed", state)
            place.open(page, "run", run)
            tell(place, page, run)
            if state == "halted":
                press(page, "resume-changes")
            page.get_by_role("textbox", name="Rounds").fill("70")
            press(page, "resume")
            place.await_event(run, "RunResumed")
            place.await_end(run)
            (resumed,) = [each.event for each in read(place.root, run) if isinstance(each.event, e.RunResumed)]
            assert resumed.limits.rounds == 70


def test_what_was_applied_is_taken_back_when_the_run_rests_again(browser: Any, place: Place) -> None:
    asks: list[tuple[str, e.AnyEvent]] = [(GOAL, e.QuestionAsked("Which?")), (GOAL, e.TaskHalted("waiting", "Which?"))]
    with page_of(browser, place.served) as page:
        for rests in ([(OF_RUN, ENDS["budget"][0])], [*asks, (OF_RUN, e.RunHalted("waiting", "Which?"))]):
            run = place.copy("changed", "completed")
            place.apply(run, "completed")
            for task, event in rests:
                place.served.append(run, task, [event])
            place.open(page, "run", run)
            press(page, "undo")
            until(lambda: (place.root / "calc.py").read_text() == CALC)


@pytest.mark.parametrize("screen", ["run", "task"])
def test_a_run_that_lives_or_asks_is_told_and_stopped(browser: Any, place: Place, screen: str) -> None:
    root = place.root
    ends: dict[str, Halt] = {"halted": "stopped", "budget": "budget", "asks": "waiting"}
    live, path = f"live-{screen}", "" if screen == "run" else "group-0/module-0-1"
    label = "Message to the agents at" if path else "Message to all agents"
    more = [path] if path else []
    journals.write(root, live, journals.large(3, 2, over=False))
    with page_of(browser, place.served) as page, journals.carried_out(root, live):
        for state, reason in ends.items():
            run, asked = f"{state}-{screen}", [(GOAL, e.QuestionAsked("Which?"))] if state == "asks" else []
            halted = [(GOAL, e.TaskHalted(reason, "Which?")), (OF_RUN, e.RunHalted(reason, "Which?"))]
            journals.write(root, run, [*journals.large(3, 2, over=False), *asked, *halted])
            page.goto(at(place.served, screen, place.served.project, run, *more))
            rewind(place, page, run, really=False)
            assert tell(place, page, run, label).task == path  # A question of the goal is answered by it.
            if state == "asks":
                journals.write(root, f"again-{screen}", [*journals.large(3, 2, over=False), *asked, *halted])
                page.goto(at(place.served, screen, place.served.project, f"again-{screen}", *more))
                rewind(place, page, f"again-{screen}", really=True)
        page.goto(at(place.served, screen, place.served.project, live, *more))
        assert tell(place, page, live, label).task == path
        if screen == "run":
            for action, kind in (("pause", "PauseRequested"), ("stop", "StopRequested")):
                press(page, action)
                place.await_event(live, kind)
            press(page, "stop-now")
            until(lambda: told(root, live).count("StopRequested") == 2)
            assert {each.task for each in read(root, live) if isinstance(each.event, e.StopRequested)} == {CONTROL}
