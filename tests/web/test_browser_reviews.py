"""Comments on a change, files that were looked at, and its layouts: on a run's page and a task's, live and over."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from bough.core import events as e
from tests.harness import QUICK_CHECK
from tests.shipped import AGENT_ONLY
from tests.web.browsing import Page, browser, expect, find_axe_violations, page_of
from tests.web.places import Place, make_place, press, read

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]

DRAFTS = "Object.entries(localStorage).filter(([key]) => key.includes('NAME')).map(([, value]) => value)[0]"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with make_place(tmp_path_factory.mktemp("reviews"), "many", "changed") as made:
        yield made


def stored(page: Page, name: str) -> Any:
    """What the browser keeps for the person."""
    return json.loads(page.evaluate(DRAFTS.replace("NAME", name)) or "null")


def comment(page: Page, line: str, said: str) -> None:
    page.get_by_role("button", name=f"Comment on line {line}", exact=True).click()
    page.get_by_label("What should be different").fill(said)
    press(page, "add-comment")


@pytest.mark.parametrize("state", ["completed", "halted"])
@pytest.mark.parametrize("screen", ["run", "task"])
def test_a_change_is_read_and_commented_on(browser: Any, place: Place, screen: str, state: str) -> None:
    run = place.copy("many", state)
    with page_of(browser, place.served) as page:
        place.open(page, screen, run, "changes")
        lines = page.get_by_role("region", name="Changes of notes/")
        expect(lines).to_contain_text("page")
        press(page, "beside")
        expect(page.locator('[data-action="beside"]')).to_have_attribute("aria-pressed", "true")
        press(page, "unified")
        expect(page.locator('[data-action="unified"]')).to_have_attribute("aria-pressed", "true")
        page.locator('[data-action="find-file"]').fill("9.txt")
        expect(page.locator('[data-action="file"]')).to_have_count(1)
        press(page, "file")
        expect(page.get_by_role("region", name="Changes of notes/9.txt")).to_contain_text("page 9")
        page.get_by_label("Viewed").check()
        expect(page.locator(".file.viewed")).to_contain_text("9.txt")
        assert [*stored(page, "viewed")] == ["notes/9.txt"]

        press(page, "comment")
        press(page, "cancel-comment")
        expect(page.get_by_label("What should be different")).to_have_count(0)
        comment(page, "1", "Say why.")
        comment(page, "1", "Name it.")
        assert [each["said"] for each in stored(page, "drafts")] == ["Say why.", "Name it."]
        press(page, "remove-comment")
        assert [each["said"] for each in stored(page, "drafts")] == ["Name it."]
        text = "notes/9.txt, line 1 (`page 9`): Name it."
        press(page, "send-comments")
        if state == "completed":
            expect(page.get_by_role("textbox", name="Goal")).to_have_value(text)
        else:
            place.await_event(run, "PersonSaid")
            assert [each.event.text for each in read(place.root, run) if isinstance(each.event, e.PersonSaid)] == [text]
            expect(page.get_by_role("region", name="Your comments")).to_have_count(0)


@pytest.fixture
def review(browser: Any, place: Place) -> Iterator[tuple[Page, str]]:
    """A finished run, open."""
    run = place.copy("changed", "completed")
    with page_of(browser, place.served) as page:
        place.open(page, "run", run)
        expect(page.locator(".diff")).to_contain_text("return a + b")
        yield page, run


def test_a_finished_run_opens_with_its_change_and_its_evidence(review: tuple[Page, str]) -> None:
    page, _ = review
    outcome = page.locator(".outcome")
    expect(outcome).to_contain_text("1 file +1 −1")
    expect(outcome).to_contain_text("of 1 requirement")
    evidence = page.get_by_role("complementary", name="Evidence")
    expect(evidence).to_contain_text(QUICK_CHECK)
    press(page, "proof-file")
    expect(page.get_by_role("region", name="Changes of calc.py")).to_be_visible()
    assert not (found := find_axe_violations(page)), found
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".files .line").last).to_have_css("height", "44px")
    for control in (page.locator("button.file"), page.get_by_role("button", name="Comment on line 1")):
        line = control.locator("xpath=ancestor::*[@class='line']")
        assert control.first.bounding_box()["height"] == line.first.bounding_box()["height"], "it fills its row"
    assert page.locator(".diff").bounding_box()["y"] < evidence.bounding_box()["y"], "the change comes first"


def test_a_file_that_was_viewed_is_not_once_its_lines_are_others(review: tuple[Page, str]) -> None:
    page, _ = review
    page.get_by_label("Viewed").check()
    expect(page.locator(".file.viewed")).to_contain_text("calc.py")
    page.reload()
    expect(page.get_by_label("Viewed")).to_be_checked()
    page.evaluate(
        "(stale) => localStorage.setItem(Object.keys(localStorage).find((key) =>"
        " key.startsWith('bough/viewed')), JSON.stringify(stale))",
        {"calc.py": "+1 −1 other"},
    )
    page.reload()
    expect(page.locator(".diff")).to_contain_text("return a + b")
    expect(page.get_by_label("Viewed")).not_to_be_checked()


def test_a_branch_that_is_there_is_not_written_over(review: tuple[Page, str], place: Place) -> None:
    page, run = review
    press(page, "branch")
    expect(page.get_by_role("status")).to_contain_text(f"is on the branch bough/{run}")
    press(page, "request")
    expect(page.get_by_role("alert")).to_contain_text(f"bough/{run}")
    assert not (place.root / ".bough" / f"pr-{run}.md").exists()


def test_comments_become_a_follow_up(review: tuple[Page, str], place: Place) -> None:
    page, _ = review
    comment(page, "1", "Name them.")
    comment(page, "2", "Say why.")
    drafts = page.get_by_role("region", name="Your comments")
    expect(drafts.get_by_role("listitem")).to_have_count(2)
    page.reload()
    drafts.get_by_role("button", name="Remove the comment on line 1").click()
    drafts.get_by_role("button", name="Follow up with 1 comment").click()
    expect(page.get_by_role("textbox", name="Goal")).to_have_value("calc.py, line 2 (`return a + b`): Say why.")
    runs = len(place.served.get("/api/runs")["projects"][0]["runs"])
    press(page, "start-run")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Say why.")
    assert len(place.served.get("/api/runs")["projects"][0]["runs"]) == runs + 1
