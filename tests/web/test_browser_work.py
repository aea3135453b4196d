"""Where a person acts and looks closer, in a real browser: a goal, agents, a long conversation, a timeline."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.ids import GOAL
from tests.harness import CHECK, make_project
from tests.interfaces.shell import bough, repair, until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import at, browser, expect, find_axe_violations, page_of, picture, shop
from tests.web.serving import Server, serve, work_once
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser", "shop"]


def test_a_goal_is_started_or_listed_from_home_with_a_thumb(browser: Any, tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    with WireModel(repair()) as wire:
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(place, **settings) as served, page_of(browser, served, width=390, height=844) as page:
            goal = page.get_by_label("What should be true in the end?")
            goal.fill("Sort the imports.")
            page.get_by_role("button", name="For tonight").click()
            expect(page.get_by_text("Added sort-the-imports to the backlog.")).to_be_visible()
            pages = page.get_by_role("navigation", name="Pages")
            pages.get_by_role("link", name="Backlog").click()
            expect(page.get_by_role("region", name="Goals of backlog")).to_contain_text("Sort the imports.")
            assert not (found := find_axe_violations(page)), found
            pages.get_by_role("link", name="Runs").click()
            goal.fill("Make add add.")
            for control in page.locator(".prompt button, .places a:visible").all():
                assert control.bounding_box()["height"] >= 44
            assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
            page.get_by_role("button", name="Start", exact=True).click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Make add add.")
            expect(page.locator(".standing .status")).to_have_text(re.compile("^(completed|Proven)$"))
            pages.get_by_role("link", name="Goal").click()
            expect(page.get_by_role("heading", name="New run")).to_be_visible()


def test_a_list_is_begun_on_its_own_page(browser: Any, tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    with serve(place) as served, page_of(browser, served) as page:
        expect(page.locator(".repository")).to_have_text(re.compile("project.*main"))
        page.get_by_role("link", name="Backlog").click()
        page.get_by_role("button", name="Add a goal").click()
        page.get_by_label("Goal", exact=True).fill("Rename the old endpoints.")
        page.get_by_role("button", name="Add it").click()
        expect(page.get_by_role("listitem")).to_contain_text("Rename the old endpoints.")
        nights = served.get("/api/runs")["projects"][0]["nights"]
        assert [night["list"] for night in nights] == ["backlog"]


def test_the_past_is_listed_by_day_and_state(browser: Any, shop: Server) -> None:
    with page_of(browser, shop) as page:
        past = page.get_by_role("region", name="What came of it in")
        expect(past.locator(".entry")).to_have_count(2)
        expect(past.get_by_role("heading", level=3).first).to_have_text(re.compile("Today|Yesterday|day, "))
        past.get_by_role("button", name="Failed").click()
        expect(past.locator(".entry")).to_have_count(1)
        expect(past).to_contain_text("opal-wren")


def test_an_answer_that_the_question_names_is_a_button(browser: Any, tmp_path: Path) -> None:
    """Markdown becomes elements; markup in it stays text."""
    root = make_project(tmp_path / "shop")
    asked = "Which rate **holds** for `books`? <img src=x onerror=alert(1)>\n\n- 5 %\n- 7 %"
    told = [*journals.large(2, 1, over=False), (GOAL, e.QuestionAsked(asked))]
    journals.write(root, "teal-robin", told)
    with (
        journals.carried_out(root, "teal-robin"),
        serve(root) as served,
        page_of(browser, served, width=390, height=844) as page,
    ):
        question = page.get_by_role("region", name="The run has a question")
        expect(question.locator("strong")).to_have_text("holds")
        expect(question).to_contain_text("<img src=x onerror=alert(1)>")
        assert question.locator("img").count() == 0
        answers = question.get_by_role("group", name="Answers that fit").get_by_role("button")
        expect(answers).to_have_text(["5 %", "7 %"])
        answers.last.click()
        until(lambda: "7 %" in str(served.client.get(served.of("teal-robin", "/events?limit=400")).text))
        page.goto(at(served, "run", served.project, "teal-robin"))
        agents = page.get_by_role("region", name="Agents").get_by_role("listitem")
        expect(agents.first).to_contain_text("ran pytest -q tests/test_0.py")
        expect(agents.first).to_contain_text("no event for")
        expect(agents.first).to_contain_text("1/2 rounds")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("long")
    journals.write(root, "amber-heron", journals.large(1, 300))
    with serve(root) as served:
        yield served


def test_a_long_conversation_is_searched_and_read_from_any_round(browser: Any, long: Server) -> None:
    with page_of(browser, long) as page:
        page.goto(at(long, "task", long.project, "amber-heron", "group-0/module-0-0"))
        expect(page.get_by_role("article", name="Round 300")).to_be_attached()
        expect(page.get_by_role("article", name="Round 7", exact=True)).to_have_count(0)
        page.get_by_label("Search").fill("test_6.py")
        found = page.get_by_role("region", name="Found")
        found.get_by_role("link", name="Round 7").first.click()
        expect(page.get_by_role("article", name="Round 7", exact=True)).to_be_in_viewport()
        expect(page.get_by_role("article", name="Round 300")).to_have_count(0)
        assert not (wrong := find_axe_violations(page)), wrong
        page.get_by_label("Search").fill("")
        page.get_by_role("button", name="Show 6 earlier rounds").click()
        expect(page.get_by_role("article", name="Round 1", exact=True)).to_be_attached()
        page.get_by_role("button", name="Show 25 later rounds").click()
        expect(page.get_by_role("article", name="Round 50", exact=True)).to_be_attached()
        page.get_by_label("Go to round").fill("150")
        page.keyboard.press("Enter")
        there = page.get_by_role("article", name="Round 150")
        expect(there).to_be_in_viewport()
        expect(there.locator(".output")).not_to_be_visible()
        there.locator("summary").click()
        expect(there.locator(".output")).to_contain_text("149 passed")
        page.get_by_role("button", name="Newest").click()
        expect(page.get_by_role("article", name="Round 300")).to_be_attached()


def test_a_span_of_the_timeline_opens_what_happened_in_it(browser: Any, shop: Server) -> None:
    with page_of(browser, shop) as page:
        page.goto(at(shop, "run", shop.project, "amber-heron", "timeline"))
        expect(page.locator(".moment").nth(2)).to_be_visible()
        lane = page.locator(".labels li").filter(has_text="storage")
        canvas = page.locator("canvas").bounding_box()
        charts = shop.get(shop.of("amber-heron", "/charts"))
        row = [each["name"] for each in charts["lanes"]].index("storage")
        expect(lane).to_be_visible()
        # Along the lane until a span is hit.
        detail = page.get_by_role("region", name="What happened there")
        for step in range(0, int(canvas["width"]), 3):
            page.mouse.click(canvas["x"] + step, canvas["y"] + row * 24 + 12)
            if detail.count() and "tool" in detail.inner_text():
                break
        expect(detail).to_contain_text("storage: tool write")
        expect(detail).to_contain_text("write shop/codes.py")
        assert not (found := find_axe_violations(page)), found
        detail.get_by_role("link", name="Open round").click()
        expect(page.get_by_role("article", name="Round 1", exact=True)).to_be_attached()
        expect(page.get_by_role("heading", name="Store discount codes")).to_be_visible()


@pytest.fixture
def morning(tmp_path: Path) -> Iterator[Server]:
    from tests.web.story import write_night

    root = make_project(tmp_path / "shop")
    write_night(root)
    # The same person listed the goals.
    assert bough(root, "trust", "--yes", XDG_STATE_HOME=str(root / ".bough" / "state")).status == 0
    with serve(tmp_path / "shop", HOME=str(tmp_path)) as served:
        yield served


def test_the_morning_is_the_first_thing_on_the_page(browser: Any, morning: Server, tmp_path: Path) -> None:
    for width, scheme in ((360, "light"), (1280, "dark")):
        with page_of(browser, morning, width=width, scheme=scheme) as page:
            night = page.get_by_role("region", name="The backlog backlog")
            expect(night.get_by_role("heading")).to_have_text("1 of 5 goals done and proven")
            assert night.evaluate("each => each.previousElementSibling.className") == "bar", "nothing comes before it"
            expect(night).to_contain_text("together on night-1, 1 left out")
            goals = page.get_by_role("region", name="Goals of backlog")
            expect(goals.get_by_role("listitem").first).to_contain_text("1 file +40 −2")
            expect(page.get_by_role("region", name="The backlog cleanup")).to_contain_text("--list cleanup")
            expect(page.get_by_role("link", name="Prices are shown")).to_have_count(1)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
            assert not (found := find_axe_violations(page)), found
    with page_of(browser, morning, height=760) as page:
        shown = page.get_by_role("region", name="The backlog backlog")
        picture(page, "dashboard-night", tmp_path, lambda p: expect(shown).to_be_visible())


def test_a_list_is_changed_with_the_keyboard(browser: Any, morning: Server) -> None:
    def listed() -> list[str]:
        groups = morning.get("/api/runs")["projects"][0]["nights"][0]["groups"]
        return [goal["name"] for goal in groups[-1]["goals"]]

    with page_of(browser, morning) as page:
        up = page.get_by_role("button", name="Move totals up")
        up.focus()
        page.keyboard.press("Enter")
        until(lambda: listed() == ["report", "totals", "manual"])
        expect(page.get_by_text("Moved totals before manual.")).to_be_visible()
        goals = page.get_by_role("region", name="Goals of backlog").get_by_role("listitem")
        expect(goals.nth(3)).to_contain_text("Totals of an empty cart")
        expect(up).to_be_focused()
        page.keyboard.press("Enter")
        until(lambda: listed() == ["totals", "report", "manual"])
        expect(page.get_by_role("button", name="Move totals down")).to_be_focused()
        page.get_by_role("button", name="Drop report").press("Enter")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Dropped report. manual cannot begin any more")).to_be_visible()
        cleanup = page.get_by_role("region", name="Goals of cleanup")
        cleanup.get_by_role("button", name="Add a goal").press("Enter")
        expect(page.get_by_label("Goal", exact=True)).to_be_focused()
        page.keyboard.type("Rename the old endpoints.")
        page.get_by_role("group", name="Begins after").get_by_label("flags").check()
        assert not (found := find_axe_violations(page)), found
        page.get_by_role("button", name="Add it").press("Enter")
        row = cleanup.get_by_role("listitem").filter(has_text="Rename the old endpoints.")
        expect(row).to_contain_text("it needs flags, which is not finished yet")
        expect(page.get_by_label("Goal", exact=True)).to_be_focused()
        page.keyboard.type("Rename the old endpoints.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("already in the backlog, as `rename-the-old-endpoints`")
        page.get_by_role("button", name="Edit totals").press("Enter")
        form = page.get_by_role("form", name="Change the goal")
        expect(form.get_by_label("Goal", exact=True)).to_have_value("Totals of an empty cart are 0, not an error.")
        form.get_by_label("Goal", exact=True).fill("Totals of an empty cart are 0.")
        form.get_by_label("Check").fill("pytest -q tests/test_cart.py")
        form.get_by_label("Priority").fill("2")
        form.get_by_label("manual").check()
        form.get_by_text("Limits, files and labels").click()
        form.get_by_label("… on dollars").fill("1.5")
        form.get_by_label("Files it changes").fill("shop/cart.py, shop/totals.py")
        assert not (found := find_axe_violations(page)), found
        form.get_by_role("button", name="Change it").press("Enter")
        expect(page.get_by_text("Changed totals.")).to_be_visible()
        expect(form).to_have_count(0)
        expect(page.get_by_text("Totals of an empty cart are 0.", exact=True)).to_be_visible()
        entry = morning.get(f"/api/{morning.project}/backlogs/backlog/totals")
        assert entry["files"] == ["shop/cart.py", "shop/totals.py"] and entry["needs"] == ["manual"], entry
        assert (entry["check"], entry["priority"], entry["cost"]) == ("pytest -q tests/test_cart.py", 2, 1.5)
        page.get_by_role("link", name="New run").click()
        page.get_by_role("textbox", name="Goal").fill("Sort the imports.")
        page.get_by_role("button", name="Add to the backlog").click()
        expect(page.get_by_role("region", name="Goals of backlog")).to_contain_text("Sort the imports.")
        assert listed() == ["manual", "totals", "sort-the-imports"]


def test_a_night_is_started_watched_and_stopped_on_the_page(browser: Any, tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    hurry = threading.Event()
    with WireModel(work_once(hurry)) as wire:
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        mine = {"XDG_STATE_HOME": str(place.parent / "mine")}
        assert bough(place, "backlog", "add", "Make add add.", "--check", CHECK, **mine).status == 0
        with serve(place, **settings, **mine) as served, page_of(browser, served) as page:
            page.get_by_role("button", name="Start a night…").click()
            form = page.get_by_role("form", name="The night")
            form.get_by_label("Limit of the night in $").fill("3")
            assert not (found := find_axe_violations(page)), found
            form.get_by_role("button", name="Start it").click()
            expect(page.get_by_role("alert")).to_contain_text("a limit of $3 cannot be enforced")
            form.get_by_label("Limit of the night in $").fill("")
            form.get_by_label("Goals at once").fill("2")
            form.get_by_label("Until").fill("23:59")
            form.get_by_role("button", name="Start it").click()
            expect(page.get_by_text("The night has begun")).to_be_visible()
            expect(page.get_by_role("heading", name="Happening now 1")).to_be_visible()
            page.get_by_role("button", name="Stop the night").click()
            expect(page.get_by_text("Asked the night to stop after its current actions.")).to_be_visible()
            expect(page.get_by_role("button", name="Continue the night…")).to_be_visible()
            hurry.set()
            page.get_by_role("button", name="Continue the night…").click()
            form.get_by_role("button", name="Continue it").click()
            expect(page.get_by_role("heading", name="1 of 1 goal done and proven")).to_be_visible()
            expect(page.get_by_role("button", name="Continue the night…")).to_have_count(0)
