"""The dashboard in a real browser, on real runs: what a person sees, does, and is protected from.

`scripts/check-pages` runs them, and fails where it cannot: they need Debian's chromium and the Python package
playwright, and axe-core from npm. The test command runs them where they are installed, and says how many it did not.
With BOUGH_SCREENSHOTS set, the pictures in docs/images are taken again.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.tree.task_state import State
from tests.harness import CALC, CHECK, FIXED, git, make_project
from tests.interfaces.shell import bough, live, repair, run_args, until
from tests.shipped import AGENT_ONLY
from tests.verification.cases import PYTEST, python_on_path
from tests.verification.test_approval import NO, model, place, with_pytest
from tests.web import journals
from tests.web.browsing import (
    WORK,
    Gate,
    at,
    browser,
    expect,
    find_axe_violations,
    kinds,
    page_of,
    picture,
    row,
    shop,
)
from tests.web.serving import Served, serve, work_once
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser", "place", "python_on_path", "shop", "with_pytest"]


def test_a_live_run_from_start_to_end_with_a_message_on_the_way(browser: Any, tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    gate = Gate(*WORK)
    with WireModel(gate) as wire, live(place, *run_args(wire.base_url, "--json")) as process:
        until(lambda: gate.asked)
        with serve(place) as served, page_of(browser, served) as page:
            page.get_by_role("link", name="Make add add.").click()
            expect(row(page, "goal")).to_contain_text("thinking")
            expect(row(page, "goal")).to_contain_text("in progress")
            page.get_by_role("button", name="Send a message…").click()
            page.get_by_label("Message to all agents").fill("Mind the <b>negative</b> numbers.")
            page.get_by_role("button", name="Send", exact=True).click()
            expect(page.get_by_role("status")).to_contain_text("will see it before their next round")
            until(lambda: "PersonSaid" in kinds(place))
            gate.let()
            row(page, "goal").get_by_role("link").click()
            expect(page.get_by_role("article", name="Round 1")).to_contain_text("I mend it.")
            for _ in range(3):  # It says that it is done, and once more where it had not heard yet.
                gate.let()
            expect(page.locator(".standing .status")).to_have_text(re.compile("^(completed|Proven)$"))
            assert any("Mind the <b>negative</b> numbers." in str(each["messages"]) for each in gate.asked)
            expect(page.locator(".say.check").last).to_contain_text("passed")
            page.get_by_role("link", name="Changes").click()
            expect(page.locator(".diff")).to_contain_text("return a + b")
            page.get_by_role("link", name=re.compile("^[a-z]+-[a-z]+$")).click()
            expect(page.locator(".outcome")).to_contain_text("1 file +1 −1")
            page.get_by_role("button", name="Apply").click()
            expect(page.get_by_text("applied", exact=True)).to_be_visible()
        assert process.wait(240) == 0
    assert (place / "calc.py").read_text() == FIXED


def test_a_finished_run_is_a_review_page(browser: Any, tmp_path: Path) -> None:
    """It opens with its change; each button does what it says, in the repository and in the files."""
    place = make_project(tmp_path / "project")
    git(place, "config", "user.name", "Ada")
    git(place, "config", "user.email", "ada@example.org")
    with WireModel(repair()) as wire:
        assert bough(place, *run_args(wire.base_url, "--json", check=CHECK)).status == 0
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(place, **settings) as served, page_of(browser, served) as page:
            run = served.get("/api/runs")["projects"][0]["runs"][0]["run"]
            page.goto(at(served, "run", served.project, run))
            outcome = page.locator(".outcome")
            expect(outcome).to_contain_text("1 file +1 −1")
            expect(outcome).to_contain_text("of 1 requirement")
            expect(page.locator(".diff")).to_contain_text("return a + b")
            evidence = page.get_by_role("complementary", name="Evidence")
            expect(evidence).to_contain_text("python3 -m unittest -q test_calc")
            assert not (found := find_axe_violations(page)), found
            page.set_viewport_size({"width": 390, "height": 844})
            expect(page.locator(".files .line").last).to_have_css("height", "44px")
            for control in (page.locator("button.file"), page.get_by_role("button", name="Comment on line 1")):
                line = control.locator("xpath=ancestor::*[@class='line']")
                assert control.first.bounding_box()["height"] == line.first.bounding_box()["height"], "it fills its row"
            assert page.locator(".diff").bounding_box()["y"] < evidence.bounding_box()["y"], "the change comes first"
            page.set_viewport_size({"width": 1280, "height": 800})

            page.get_by_label("Viewed").check()
            expect(page.locator(".file.viewed")).to_contain_text("calc.py")
            page.reload()
            expect(page.get_by_label("Viewed")).to_be_checked()
            stale = {"calc.py": "+1 −1 other"}
            page.evaluate(
                "(stale) => localStorage.setItem(Object.keys(localStorage).find((key) =>"
                " key.startsWith('bough/viewed')), JSON.stringify(stale))",
                stale,
            )
            page.reload()
            expect(page.locator(".diff")).to_contain_text("return a + b")
            expect(page.get_by_label("Viewed")).not_to_be_checked()

            page.get_by_role("button", name="Branch", exact=True).click()
            expect(page.get_by_role("status")).to_contain_text(f"is on the branch bough/{run}")
            assert "a + b" in git(place, "show", f"bough/{run}:calc.py")
            git(place, "branch", "-D", f"bough/{run}")
            page.get_by_role("button", name="Pull request").click()
            expect(page.get_by_role("status")).to_contain_text("gh pr create")
            assert (place / ".bough" / f"pr-{run}.md").exists() and git(place, "branch", "--list", f"bough/{run}")
            page.get_by_role("button", name="Pull request").click()
            expect(page.get_by_role("alert")).to_contain_text(f"bough/{run}")

            page.get_by_role("button", name="Apply", exact=True).click()
            page.get_by_role("button", name="Undo apply").click()
            expect(page.get_by_role("status")).to_contain_text("Undid")
            assert (place / "calc.py").read_text() == CALC
            page.get_by_role("button", name="Apply", exact=True).click()
            expect(page.get_by_role("button", name="Undo apply")).to_be_visible()
            assert (place / "calc.py").read_text() == FIXED

            for line, said in ((1, "Name them."), (2, "Say why.")):
                page.get_by_role("button", name=f"Comment on line {line}", exact=True).click()
                page.get_by_label("What should be different").fill(said)
                page.get_by_role("button", name="Add comment").click()
            drafts = page.get_by_role("region", name="Your comments")
            expect(drafts.get_by_role("listitem")).to_have_count(2)
            page.reload()
            drafts.get_by_role("button", name="Remove the comment on line 1").click()
            drafts.get_by_role("button", name="Follow up with 1 comment").click()
            goal = page.get_by_role("textbox", name="Goal")
            expect(goal).to_have_value("calc.py, line 2 (`return a + b`): Say why.")
            page.get_by_role("button", name="Start the follow-up").click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("Say why.")
    assert kinds(place).count("RunStarted") == 2


def test_a_page_resumes_after_the_server_was_killed(browser: Any, tmp_path: Path) -> None:
    """The new server has a new token: the page says so, and continues once its browser has that."""
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))
    with serve(tmp_path) as first, page_of(browser, first) as page:
        page.goto(at(first, "run", first.project, "jade-fox"))
        expect(row(page, "module-0-2")).to_contain_text("in progress")
        first.process.kill()
        expect(page.get_by_text("connection lost")).to_be_visible()
        journals.append(tmp_path, "jade-fox", "group-0/module-0-2", [e.StateChanged(State.BLOCKED, "it is stuck")])
        with serve(tmp_path) as again:
            assert again.port == first.port and again.token != first.token
            expect(page.get_by_text("with a new token: open the address that bough serve printed")).to_be_visible()
            page.context.new_page().goto(again.address)
            expect(row(page, "module-0-2")).to_contain_text("blocked")
            expect(page.get_by_text("connection lost")).to_have_count(0)
            expect(page.get_by_text("with a new token")).to_have_count(0)


def test_all_windows_share_one_stream_and_what_is_over_has_none(browser: Any, tmp_path: Path) -> None:
    """A browser allows six connections per server: thirty windows with one each would block every request."""
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))
    journals.write(tmp_path, "ruby-owl", journals.large(3, 2, over=False))
    journals.write(tmp_path, "moss-heron", journals.large(3, 2))
    with serve(tmp_path) as served, page_of(browser, served) as first:
        streams: list[str] = []
        context = first.context
        context.on("request", lambda asked: streams.append(asked.url) if "/api/live" in asked.url else None)
        ended: list[str] = []
        for name in ("requestfailed", "requestfinished"):
            context.on(name, lambda asked: ended.append(asked.url) if "/api/live" in asked.url else None)
        runs = ["moss-heron"] * 2 + ["jade-fox", "ruby-owl"] * 14
        opened = []
        for run in runs:
            page = context.new_page()
            page.goto(at(served, "run", served.project, run))
            expect(row(page, "module-0-2")).to_be_visible()
            opened.append(page)
            if run == "moss-heron":
                assert not streams, "a finished run is not followed"
        assert len(streams) - len(ended) == 1 and len(streams) < len(opened), streams
        told = [e.StateChanged(State.BLOCKED, "it is stuck")]
        for run in ("jade-fox", "ruby-owl"):
            journals.append(tmp_path, run, "group-0/module-0-2", told)
        for page in opened[2:]:
            expect(row(page, "module-0-2")).to_contain_text("blocked")
        before = len(streams) - len(ended)
        opened[2].close()  # The one that led; its stream ends with it, which the browser does not tell.
        journals.append(tmp_path, "ruby-owl", "group-0/module-0-1", told)
        for page in opened[3::2]:
            expect(row(page, "module-0-1")).to_contain_text("blocked")
        assert len(streams) - len(ended) == before + 1 == 2, streams[-3:]


def test_what_the_repository_wishes_is_allowed_at_home(browser: Any, tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(2, 1))
    (tmp_path / "bough.toml").write_text("[check]\naccept_failing = true\n")
    with serve(tmp_path) as served, page_of(browser, served) as page:
        asked = page.get_by_role("region", name="Settings of")
        expect(asked).to_contain_text("check.accept_failing = true")
        asked.get_by_role("button", name="Allow", exact=True).click()
        expect(page.get_by_text("Allowed: check.accept_failing.")).to_be_visible()
        expect(asked).to_have_count(0)
        assert served.get("/api/runs")["projects"][0]["wishes"] == {}


def test_an_approval_from_home_in_two_clicks(browser: Any, with_pytest: Path) -> None:
    place = with_pytest
    with WireModel(model(NO)) as wire:
        mine = {"XDG_STATE_HOME": str(place.parent / "mine")}  # The same person runs it and allows it.
        goal = run_args(wire.base_url, "--json", check=PYTEST, goal="Round half up, as merchants do.")
        assert bough(place, *goal, **mine).status == 8
        with serve(place, **mine) as served, page_of(browser, served) as page:
            asked = page.get_by_role("region", name="Waiting for your approval")
            expect(asked).to_contain_text("test_half.py::test_half")
            expect(asked).to_contain_text("assert half(2.5) == 2")
            expect(asked).to_contain_text("assert half(2.5) == 3")
            expect(page).to_have_title("(1) bough")
            asked.get_by_role("button", name="Allow", exact=True).click()
            expect(page.get_by_role("list", name="Answered")).to_contain_text("Test changes of goal: allowed")
            page.get_by_role("link", name="Round half up").first.click()
            expect(page.locator(".standing .status")).to_have_text(re.compile("^(completed|Proven)$"))
            expect(page.get_by_role("list", name="Answered")).to_contain_text("answered by")
    assert "ChangesRuled" in kinds(place)


def test_what_waits_is_seen_and_counts_down(browser: Any, shop: Served) -> None:
    with page_of(browser, shop) as page:
        expect(page.get_by_role("heading", name="Needs you 4")).to_be_visible()
        expect(page).to_have_title("(4) bough")
        assert "%3Ctext" in page.locator('link[rel="icon"]').get_attribute("href"), "the icon has the count"
        command = page.get_by_role("region", name="A command is waiting for your approval")
        expect(command).to_contain_text("git push origin main")
        left = command.get_by_role("timer")
        before = left.inner_text()
        expect(left).not_to_have_text(before)
        expect(command).to_contain_text("task goal")
        command.get_by_role("button", name="Do not run it").click()
        expect(page.get_by_role("list", name="Answered")).to_contain_text("do not run it")
        expect(command).to_have_count(0)
        page.get_by_role("button", name="Run this plan?").click()
        plan = page.get_by_role("region", name="The run asks about its plan")
        expect(plan.get_by_role("listitem").first).to_contain_text("Store discount codes")
        plan.get_by_role("button", name="Run it", exact=True).click()
        expect(page.get_by_role("list", name="Answered").first).to_be_visible()
        expect(plan).to_have_count(0)
        page.goto(at(shop, "run", shop.project, "teal-robin"))
        expect(page.get_by_role("region", name="The run has a question")).to_contain_text("Which one holds")
        expect(page.get_by_role("button", name="Resume")).to_have_count(0)
        page.goto(at(shop, "task", shop.project, "teal-robin", "goal"))
        expect(page.locator(".now .badge").first).to_have_text("waiting for you")


def test_the_inbox_is_answered_with_keys(browser: Any, shop: Served) -> None:
    with page_of(browser, shop) as page:
        lines = page.locator(".ask")
        expect(lines).to_have_count(4)
        assert not (found := find_axe_violations(page)), found
        page.keyboard.press("?")
        expect(page.get_by_role("region", name="Keys")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Keys")).to_have_count(0)
        expect(page.get_by_role("region", name="A command is waiting")).to_be_visible()
        page.keyboard.press("n")
        expect(page.get_by_role("list", name="Answered")).to_contain_text("do not run it")
        expect(lines).to_have_count(3)
        asks = [each.inner_text() for each in lines.all()]
        place = next(n for n, text in enumerate(asks) if "Run this plan?" in text)
        for _ in range(3):
            page.keyboard.press("j")
        for _ in range(2 - place):
            page.keyboard.press("k")
        plan = page.get_by_role("region", name="The run asks about its plan")
        expect(plan).to_be_visible()
        page.keyboard.press("y")
        expect(plan).to_have_count(0)
        expect(lines).to_have_count(2)
        lines.filter(has_text="A question for you").click()
        page.locator("h1").click()
        page.keyboard.press("Enter")
        expect(page.get_by_label("Your answer")).to_be_focused()
        page.keyboard.type("j")
        expect(page.get_by_label("Your answer")).to_have_value("j")
        page.locator("h1").click()
        page.keyboard.press("/")
        expect(page.get_by_label("Find")).to_be_focused()
        page.locator("h1").click()
        page.keyboard.press("c")
        expect(page.get_by_role("heading", name="New run")).to_be_visible()
    told = {run["run"]: run["answered"] for run in shop.get("/api/runs")["projects"][0]["runs"] if run["answered"]}
    assert sorted(each[0]["kind"] for each in told.values()) == ["command", "plan"], told


@pytest.mark.parametrize("where", ["home", "run"])
def test_of_two_answers_the_second_keeps_its_text_and_is_told(browser: Any, shop: Served, where: str) -> None:
    with page_of(browser, shop) as first, page_of(browser, shop, width=390, height=844) as second:
        for page in (first, second):
            if where == "run":
                page.goto(at(shop, "run", shop.project, "ivory-crane"))
            else:
                page.locator(".ask").filter(has_text="Run this plan?").click()
            expect(page.get_by_label("Or say what should be different")).to_be_visible()
        second.get_by_label("Or say what should be different").fill("Begin with the checkout.")
        first.get_by_role("button", name="Run it", exact=True).click()
        expect(first.get_by_role("region", name="The run asks about its plan")).to_have_count(0)
        asked = second.get_by_role("region", name="The run asks about its plan")
        expect(asked).to_contain_text("answered elsewhere meanwhile")
        second.get_by_role("button", name="Ask for another plan").click()
        expect(asked.get_by_role("alert")).to_contain_text("already answered")
        expect(second.get_by_label("Or say what should be different")).to_have_value("Begin with the checkout.")
        asked.get_by_role("button", name="Put it away").click()
        expect(asked).to_have_count(0)
    (plan,) = [each for each in shop.get(shop.of("ivory-crane"))["answered"] if each["kind"] == "plan"]
    assert "different" not in plan["says"] and "checkout" not in plan["says"], "the first one counts"


def test_the_clock_runs_and_a_failed_run_says_why(browser: Any, shop: Served) -> None:
    with page_of(browser, shop) as page:
        card = page.locator(".card")
        expect(card).to_contain_text("Work out discounts: thinking")
        clock = card.locator(".tick").first
        before = clock.inner_text()
        expect(clock).not_to_have_text(before)
        page.locator(".entry").filter(has_text="opal-wren").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Move the invoices to the new tax rules.")
        why = page.get_by_role("region", name="What happened")
        expect(why).to_contain_text("two of seven do not add up")
        expect(why).to_contain_text("there is no work to take")
        expect(page.get_by_role("button", name="Take the partial work…")).to_have_count(0)
        why.get_by_role("link", name="Follow up").click()
        expect(page.get_by_role("heading", name="Follow up")).to_be_visible()


def test_a_removed_run_says_so(browser: Any, tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(3, 2))
    with serve(tmp_path) as served, page_of(browser, served) as page:
        page.goto(at(served, "run", served.project, "jade-fox"))
        expect(row(page, "goal")).to_be_visible()
        assert bough(tmp_path, "rm", "jade-fox", "--yes").status == 0
        expect(page.get_by_text("This run was removed")).to_be_visible()
        expect(page.get_by_role("button", name="Apply")).to_have_count(0)


def test_a_run_is_started_in_three_clicks(browser: Any, tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    with WireModel(repair()) as wire:
        settings = {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        with serve(place, **settings) as served, page_of(browser, served) as page:
            expect(page.locator(".prompt + .empty")).to_contain_text("No runs yet")
            page.get_by_role("link", name="New run").click()
            page.get_by_role("textbox", name="Goal").fill("Make add add.")
            page.get_by_role("button", name="Find and run it").click()
            expect(page.get_by_text("fails now")).to_be_visible()
            page.get_by_role("button", name="Start the run").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Make add add.")
            expect(page.locator(".standing .status")).to_have_text(re.compile("^(completed|Proven)$"))


@pytest.fixture
def morning(tmp_path: Path) -> Iterator[Served]:
    from tests.web.story import write_night

    root = make_project(tmp_path / "shop")
    write_night(root)
    # The same person listed the goals.
    assert bough(root, "trust", "--yes", XDG_STATE_HOME=str(root / ".bough" / "state")).status == 0
    with serve(tmp_path / "shop", HOME=str(tmp_path)) as served:
        yield served


def test_the_morning_is_the_first_thing_on_the_page(browser: Any, morning: Served, tmp_path: Path) -> None:
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


def test_a_list_is_changed_with_the_keyboard(browser: Any, morning: Served) -> None:
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
            expect(page.get_by_text("The night stops after the current effects.")).to_be_visible()
            expect(page.get_by_role("button", name="Continue the night…")).to_be_visible()
            hurry.set()
            page.get_by_role("button", name="Continue the night…").click()
            form.get_by_role("button", name="Continue it").click()
            expect(page.get_by_role("heading", name="1 of 1 goal done and proven")).to_be_visible()
            expect(page.get_by_role("button", name="Continue the night…")).to_have_count(0)


HIDE = """() => {
    Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'});
    document.dispatchEvent(new Event('visibilitychange'));
}"""
BELL = """
    window.told = [];
    window.Notification = class { constructor(title, given) { window.told.push([title, given.body]); } };
    window.Notification.permission = 'granted';
"""


def test_a_page_that_is_not_in_front_says_that_something_waits(browser: Any, tmp_path: Path) -> None:
    from tests.web.story import write_waiting

    root = make_project(tmp_path / "shop")
    journals.write(root, "jade-fox", journals.large(3, 2))
    with serve(root) as served, page_of(browser, served) as page:
        context = page.context
        context.add_init_script(BELL)
        context.clock.install()
        opened = [context.new_page() for _ in range(2)]
        for each, parts in zip(opened, ((), ("run", served.project, "jade-fox")), strict=True):
            each.goto(at(served, *parts))
            expect(each.get_by_text("jade-fox").first).to_be_visible()
            each.evaluate(HIDE)
        titles = [each.title() for each in opened]
        with ExitStack() as stack:
            for name in write_waiting(root):
                stack.enter_context(journals.carried_out(root, name))
            context.clock.fast_forward(16_000)
            for each, title in zip(opened, titles, strict=True):
                expect(each).to_have_title(f"(4) {title}")
                assert each.evaluate("window.told[0][0]") == "bough needs you: 4 questions"
