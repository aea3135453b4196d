"""What a person looks at without changing anything: each control of each view, and every key."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bough.core import events as e
from bough.core.ids import GOAL
from bough.core.planning.plan import Plan
from tests.harness import make_project
from tests.interfaces.shell import bough
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import Page, at, browser, expect, page_of, row
from tests.web.journals import Told
from tests.web.places import make_place, press
from tests.web.serving import Server, serve
from tests.web.story import write_story

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]

RUN, TASK = "amber-heron", "group-0/module-0-0"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A long run, a wide one, one with a story, and more than one page of short ones."""
    root = make_project(tmp_path_factory.mktemp("views") / "shop")
    journals.write(root, "coral-lynx", journals.large(300, 1))
    journals.write(root, "opal-owl", journals.large(1, 60))
    for n in range(24):
        journals.write(root, f"short-{n}", journals.large(1, 1, over=n % 2 == 0))
    journals.write(root, "jade-fox", write_long_texts())
    story = write_story(root)
    (root / "bough.toml").write_text("[check]\naccept_failing = true\n")
    with ExitStack() as stack:
        stack.enter_context(journals.carried_out(root, story))
        yield stack.enter_context(serve(root))


def write_long_texts() -> list[Told]:
    """A run whose goal and report do not fit where they are shown."""
    (task, started), *rest = journals.large(1, 1)
    assert isinstance(started, e.RunStarted)
    goal = replace(started.plan.goal, instructions="Port the library.\n\n" + "- every module of it\n" * 40)
    report = (GOAL, e.Reported("\n".join(f"- line {n}" for n in range(200))))
    return [(task, replace(started, plan=Plan(goal))), *rest[:-1], report, rest[-1]]


def test_the_head_of_every_page(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        # A browser without a window has no notifications to ask about: it answers as one with a window does.
        page.context.add_init_script(
            "let rule = 'default';"
            "Object.defineProperty(Notification, 'permission', {get: () => rule});"
            "Notification.requestPermission = async () => (rule = 'granted');"
        )
        page.goto(at(large, "run", large.project, "gone"))
        page.reload()
        press(page, "all-runs")
        expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
        press(page, "notify")
        expect(page.locator('[data-action="notify"]')).to_have_count(0)
        for theme in ("light", "dark"):
            press(page, "colours")
            expect(page.locator("html")).to_have_attribute("data-theme", theme)
        page.locator('[data-action="skip"]').focus()
        page.keyboard.press("Enter")
        expect(page.locator("#content")).to_be_focused()


def test_home_is_searched_filtered_and_continued(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        past = page.get_by_role("region", name="What came of it in")
        shown = past.locator(".entry").count()
        press(page, "older")
        expect(past.locator(".entry").nth(shown)).to_be_visible()
        press(page, "one-state")
        few = past.locator(".entry").count()
        press(page, "all-states")
        expect(past.locator(".entry").nth(few)).to_be_visible()
        page.locator('[data-action="find-run"]').fill("coral-lynx")
        expect(past.locator(".entry")).to_have_count(1)
        press(page, "deny-settings")
        expect(page.get_by_role("region", name="Settings of")).to_have_count(0)
        assert large.get("/api/runs")["projects"][0]["wishes"] == {}
        page.goto(at(large, "compare", large.project))
        page.get_by_label("First run").select_option("opal-owl")
        expect(page.get_by_role("region", name="Numbers of both runs")).to_contain_text("opal-owl")
        assert "opal-owl" in page.url


def test_a_timeline_is_zoomed_and_its_spans_open(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        page.goto(at(large, "run", large.project, "coral-lynx", "timeline"))
        first = page.locator(".labels li").first
        expect(first).to_have_text("goal")
        press(page, "later-lanes")
        expect(page.get_by_text(re.compile("Lanes 201 to"))).to_be_visible()
        press(page, "earlier-lanes")
        expect(page.get_by_text(re.compile("Lanes 1 to"))).to_be_visible()
        press(page, "by-work")
        expect(first).to_have_text("model")
        press(page, "by-task")
        expect(first).to_have_text("goal")
        whole = page.locator(".timeline .bar .dim").inner_text()
        press(page, "zoom-in")
        expect(page.locator(".timeline .bar .dim")).not_to_have_text(whole)
        press(page, "zoom-out")
        expect(page.locator(".timeline .bar .dim")).to_have_text(whole)
        page.goto(at(large, "run", large.project, "opal-owl", "timeline"))
        detail = page.get_by_role("region", name="What happened there")
        canvas = page.locator("canvas")
        expect(page.locator(".labels li").nth(2)).to_have_text("module-0-0")
        canvas.click(position={"x": canvas.bounding_box()["width"] / 2, "y": 2 * 24 + 12})
        expect(detail).to_contain_text("module-0-0")
        press(page, "close-span")
        expect(detail).to_have_count(0)


def test_a_conversation_is_searched_and_unfolded(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        page.goto(at(large, "task", large.project, "opal-owl", TASK))
        expect(page.get_by_role("article", name="Round 60")).to_be_attached()
        press(page, "earlier")
        expect(page.get_by_role("article", name="Round 20", exact=True)).to_be_attached()
        page.locator('[data-action="search"]').fill("test_6.py")
        expect(page.get_by_role("region", name="Found")).to_contain_text("Round 7")
        page.get_by_label("Go to round").fill("2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("article", name="Round 2", exact=True)).to_be_in_viewport()
        press(page, "later")
        expect(page.get_by_role("article", name="Round 40", exact=True)).to_be_attached()
        press(page, "newest")
        expect(page.get_by_role("article", name="Round 60")).to_be_attached()
        page.goto(at(large, "run", large.project, RUN))
        press(page, "branch-of-tree")
        expect(row(page, "storage")).to_have_count(0)
        page.goto(at(large, "run", large.project, "jade-fox"))
        press(page, "whole-goal")
        expect(page.locator("pre.goal")).to_contain_text("every module of it")
        page.goto(at(large, "task", large.project, "jade-fox", GOAL))
        report = page.locator(".now .markdown li")
        expect(report.first).to_have_text("line 0")
        expect(report.filter(has_text="line 199")).to_have_count(0)
        press(page, "unfold", ".now")
        expect(report.filter(has_text="line 199")).to_have_count(1)
        page.goto(at(large, "run", large.project, "coral-lynx", "progress"))
        expect(page.locator('[data-action="unit"]').first).to_be_visible()
        for unit in page.locator('[data-action="unit"]').all():
            unit.click()
            expect(unit).to_have_attribute("aria-pressed", "true")
        tests = page.locator('[data-action="tests-of"]')
        tests.select_option(index=1)
        expect(tests).not_to_have_value(tests.locator("option").first.get_attribute("value"))


def press_keys(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_the_tree_is_walked_with_every_key(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        page.goto(at(large, "run", large.project, "coral-lynx", "tree"))
        row(page, "goal").focus()
        press_keys(page, "PageDown")
        expect(row(page, "goal")).not_to_be_focused()
        press_keys(page, "PageUp")
        expect(row(page, "goal")).to_be_focused()
        press_keys(page, "End")
        expect(row(page, "module-14-19")).to_be_focused()
        press_keys(page, "ArrowUp")
        expect(row(page, "module-14-18")).to_be_focused()
        press_keys(page, "Home")
        expect(row(page, "goal")).to_be_focused()
        press_keys(page, "ArrowDown", "ArrowLeft")
        expect(row(page, "module-0-0")).to_have_count(0)
        press_keys(page, "ArrowRight", "ArrowDown")
        expect(row(page, "module-0-0")).to_be_focused()
        press_keys(page, "Enter")
        expect(page.get_by_role("heading", name="Port module 0.0.")).to_be_visible()


def test_a_run_is_prepared_in_either_of_two_projects(browser: Any, tmp_path: Path) -> None:
    """New runs and follow-ups: the check is found and run, the plan is shown first or not."""
    other = make_project(tmp_path / "other")
    with make_place(tmp_path, "changed") as place:
        bough(other, "run", "Nothing to do.", "--check", "true", "--json", **place.mine)
        run = place.copy("changed", "completed")
        with serve(place.root, "--all", **place.mine) as served, page_of(browser, served) as page:
            projects = {Path(each["root"]).name: each["project"] for each in served.get("/api/runs")["projects"]}
            assert {*projects} == {"project", "other"}
            page.locator('[data-action="project"]').select_option(projects["other"])
            press(page, "more-choices")
            expect(page.get_by_role("heading", name="New run")).to_be_visible()
            assert page.url.endswith(projects["other"])
            for follows in ((), (run,)):
                page.goto(at(served, "new", projects["project"], *follows))
                press(page, "find-check")
                expect(page.get_by_text(re.compile("(fails|passes) now"))).to_be_visible()
                plan = page.locator('[data-action="show-plan"]')
                plan.set_checked(False)
                expect(plan).not_to_be_checked()
                page.get_by_role("textbox", name="Goal").fill("Nothing to do.")
                press(page, "start-run")
                expect(page.get_by_role("heading", level=1)).to_have_text("Nothing to do.")
