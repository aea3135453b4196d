"""The dashboard in a real browser, on real runs: what a person sees, does, and is protected from.

`scripts/check-pages` runs them, and fails where it cannot: they need Debian's chromium and the Python package
playwright, and axe-core from npm. The test command runs them where they are installed, and says how many it did not.
With BOUGH_SCREENSHOTS set, the pictures in docs/images are taken again.
"""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.tree.task_state import State
from tests.harness import FIXED, make_project
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
    row,
    shop,
)
from tests.web.serving import Server, serve
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


def test_what_waits_is_seen_and_counts_down(browser: Any, shop: Server) -> None:
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


def test_the_inbox_is_answered_with_keys(browser: Any, shop: Server) -> None:
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
        for key in "jjjkkk" + "j" * place:
            page.keyboard.press(key)
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
        lines.filter(has_text="May these tests change?").click()
        lines.filter(has_text="A question for you").click()
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
def test_of_two_answers_the_second_keeps_its_text_and_is_told(browser: Any, shop: Server, where: str) -> None:
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


def test_the_clock_runs_and_a_failed_run_says_why(browser: Any, shop: Server) -> None:
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
