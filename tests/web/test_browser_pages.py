"""Single pages of the dashboard in a real browser: large runs, keyboards, narrow screens, hostile content, pictures."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.harness import make_project
from tests.interfaces.shell import act, bough, live, run_args, until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import (
    WORK,
    Gate,
    Page,
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
from tests.web.serving import Server, serve
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser", "shop"]


MAKE = (
    "python3 -c \"import pathlib; pathlib.Path('data').mkdir();"
    "pathlib.Path('data/rows.csv').write_text(''.join(f'{n},row number {n}\\n' for n in range(200000)));"
    "[pathlib.Path(f'data/test_{n}.json').write_text('{}') for n in range(302)]\""
)


def test_a_huge_change(browser: Any, tmp_path: Path) -> None:
    """Every file is listed, product code first; the page holds only the lines in view."""
    place = make_project(tmp_path / "project")
    work = [
        act("bash", command=MAKE),
        act("edit", path="calc.py", old="a - b", new="a + b"),
        act("done", summary="it adds"),
    ]
    with WireModel(work) as wire:
        assert bough(place, *run_args(wire.base_url, "--json")).status == 0
    with serve(place) as served, page_of(browser, served) as page:
        name = served.get("/api/runs")["projects"][0]["runs"][0]["run"]
        page.goto(at(served, "run", served.project, name, "changes"))
        expect(page.locator(".changes")).to_contain_text("304 files")
        lines = page.get_by_role("region", name="Changes of calc.py")
        expect(lines).to_contain_text("return a + b")
        page.get_by_role("button", name="Unified").click()
        begun = page.evaluate("performance.now()")
        files = page.get_by_role("region", name="Changed files")
        files.evaluate("box => { box.scrollTop = box.scrollHeight; }")
        files.get_by_role("button", name="rows.csv").click()
        lines = page.get_by_role("region", name="Changes of data/rows.csv")
        expect(lines).to_contain_text("row number 5")
        assert page.evaluate("performance.now()") - begun < 10_000
        lines.evaluate("box => { box.scrollTop = box.scrollHeight; }")
        expect(lines).to_contain_text("199999,row number 199999")
        assert page.evaluate("document.querySelectorAll('*').length") < 5000
        lines.get_by_role("button", name="Comment on line 199999", exact=True).click()
        page.get_by_label("What should be different").fill("Leave this row out.")
        page.get_by_role("button", name="Add comment").click()
        page.get_by_role("button", name="Follow up with 1 comment").click()
        expect(page.get_by_role("textbox", name="Goal")).to_have_value(
            "data/rows.csv, line 199999 (`199998,row number 199998`): Leave this row out."
        )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("large")
    journals.write(root, "amber-heron", journals.large(1000, 9))
    journals.write(root, "ruby-owl", journals.hostile())
    journals.write(root, "jade-fox", journals.large(6, 4, over=False))
    with serve(root) as served:
        yield served


def test_a_thousand_tasks(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        page.goto(at(large, "run", large.project, "amber-heron"))
        expect(row(page, "goal")).to_be_visible()
        assert page.locator(".space .row").count() < 60, "only what can be seen is in the page"
        expect(page.get_by_role("treegrid")).to_have_attribute("aria-rowcount", "1052")
        row(page, "goal").focus()
        page.keyboard.press("End")
        expect(row(page, "module-49-19")).to_be_focused()
        expect(row(page, "module-49-19")).to_be_in_viewport()
        # Each frame of a scroll through all of it is drawn in time.
        slowest = page.evaluate(
            """async () => {
                const box = document.querySelector('.scroll');
                let worst = 0, last = performance.now();
                for (let y = 0; y < box.scrollHeight; y += 2000) {
                    box.scrollTop = y;
                    await new Promise((done) => requestAnimationFrame(done));
                    const now = performance.now();
                    worst = Math.max(worst, now - last);
                    last = now;
                }
                return worst;
            }"""
        )
        assert slowest < 1000, f"a frame took {slowest:.0f} ms"


def test_with_the_keyboard_alone(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        expect(page.locator(".entry").filter(has_text="jade-fox")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent").endswith("jade-fox"):
                break
        page.keyboard.press("Enter")
        expect(row(page, "goal")).to_be_visible()
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.getAttribute('role')") == "row":
                break
        expect(row(page, "goal")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(row(page, "group-0")).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect(row(page, "module-0-0")).to_have_count(0)
        page.keyboard.press("ArrowRight")
        expect(row(page, "module-0-0")).to_have_count(1)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Port module 0.0.")).to_be_visible()


def screens(served: Server, run: str, task: str) -> list[str]:
    project = served.project
    of_run = ("tree", "graph", "timeline", "progress", "requirements", "ladder")
    of_task = ("talk", "checks", "stuck", "notes")
    others = [
        ("compare", project),
        ("stats", project),
        ("new", project),
        ("new", project, run),
        ("run", project, "gone"),
    ]
    return [
        f"{served.url}/#/",
        *(at(served, "run", project, run, tab) for tab in of_run),
        *(at(served, "task", project, run, task, tab) for tab in of_task),
        *(at(served, *other) for other in others),
    ]


def settle(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".loading")).to_have_count(0)
    expect(page.locator("main")).to_be_visible()


def test_a_narrow_screen(browser: Any, large: Server) -> None:
    with page_of(browser, large, width=360, height=700) as page:
        for address in screens(large, "jade-fox", "group-0/module-0-1"):
            settle(page, address)
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            assert wide <= 360, f"{address} is {wide} wide"


REACHED = "([x, y]) => document.elementFromPoint(x, y).closest('a, button')?.textContent ?? ''"


def test_a_thumb_hits_rows_and_lanes(browser: Any, shop: Server) -> None:
    with page_of(browser, shop, width=390, height=844) as page:
        settle(page, at(shop, "run", shop.project, "amber-heron"))
        line = row(page, "storage")
        line.evaluate("each => each.scrollIntoView({block: 'center'})")  # Away from the bar at the thumb.
        box = line.bounding_box()
        for x, y in ((0.3, 3), (0.95, box["height"] - 3)):
            assert "storage" in page.evaluate(REACHED, [box["x"] + box["width"] * x, box["y"] + y]), (
                "all of it is a link"
            )
        fold = row(page, "api").locator("button.fold")
        assert min(fold.bounding_box()["width"], fold.bounding_box()["height"]) >= 44
        fold.click()
        expect(row(page, "discounts")).to_have_count(0)
        settle(page, at(shop, "run", shop.project, "amber-heron", "timeline"))
        for label in page.locator(".labels a").all():
            assert label.bounding_box()["height"] >= 44
        lanes = page.locator(".labels li").count()
        assert page.locator("canvas").bounding_box()["height"] == 44 * lanes, "a lane is as high as its name"
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390


def test_why_a_run_gave_up_is_read_as_markdown(browser: Any, shop: Server) -> None:
    with page_of(browser, shop) as page:
        settle(page, at(shop, "run", shop.project, "opal-wren"))
        why = page.get_by_role("region", name="What happened")
        expect(why.locator(".heading")).to_have_text(["What was tried", "What is left", "How to continue"])
        expect(why.locator(".markdown li").first).to_contain_text("it has the rates of last year only")
        expect(why.locator(".markdown code")).to_have_text("shop/rates.csv")
        assert "##" not in why.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(browser: Any, large: Server, shop: Server, scheme: str) -> None:
    """Axe finds nothing, of any impact, on any screen."""
    waiting = [
        at(shop, "run", shop.project, name) for name in ("coral-lynx", "ivory-crane", "slate-otter", "opal-wren")
    ]
    for served, addresses in (
        (large, screens(large, "ruby-owl", "<b>bold")),
        (shop, [*screens(shop, "amber-heron", "api/discounts"), *waiting]),
    ):
        with page_of(browser, served, scheme=scheme) as page:
            for address in addresses:
                settle(page, address)
                assert not (found := find_axe_violations(page)), f"{address}: {found}"


def test_markup_script_and_escape_sequences_are_shown_as_text(browser: Any, large: Server) -> None:
    with page_of(browser, large) as page:
        for address in screens(large, "ruby-owl", "<b>bold"):
            settle(page, address)
            assert page.title() != "owned"
            assert page.locator("#content img, #content script, #content b >> text=bold").count() == 0
            text = page.inner_text("#content")
            assert "\x1b" not in text and "\u202e" not in text
        page.goto(at(large, "task", large.project, "ruby-owl", "<b>bold"))
        expect(page.locator(".say.model").first).to_contain_text("<script>document.title='owned'</script>")


ATTACK = (Path(__file__).parent / "hostile.html").read_text()


@contextmanager
def hostile_site(text: str) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Silent."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f":{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_hostile_page_can_neither_read_nor_post(browser: Any, tmp_path: Path) -> None:
    """In the browser that has the dashboard open, from the same machine (whose cookies know no ports) and from what
    the browser takes for another site. The run is really under way: a stop would be heard."""
    project = make_project(tmp_path / "project")
    gate = Gate(*WORK)
    with WireModel(gate) as wire, live(project, *run_args(wire.base_url, "--json")):
        until(lambda: gate.asked)
        with serve(project) as served, page_of(browser, served) as page:
            run = served.get("/api/runs")["projects"][0]["runs"][0]["run"]
            text = ATTACK.replace("TARGET", served.url).replace("PATH", served.of(run, "/do/stop"))
            with hostile_site(text) as end:
                for host in ("http://127.0.0.1", "http://localhost"):
                    other = page.context.new_page()
                    other.goto(host + end)
                    other.wait_for_function("document.title.startsWith('[')")
                    got = other.title()
                    assert run not in got and "nothing to stop" not in got and "Asked" not in got, got
                    assert "script: loaded" not in got and got.count("failed") == 9, got
            assert "StopRequested" not in kinds(project)
            # What was tried in vain works from the dashboard itself.
            page.get_by_role("link", name="Make add add.").click()
            page.get_by_role("button", name="Stop", exact=True).click()
            until(lambda: "StopRequested" in kinds(project))
        gate.let()


def test_an_exported_run_is_a_page_of_its_own(browser: Any, large: Server, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    assert bough(large.root, "export", "ruby-owl", "--html", "--output", str(file)).status == 0
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.goto(file.as_uri())
    expect(row(page, "goal")).to_be_visible()
    row(page, "<b>bold").get_by_role("link").click()
    expect(page.locator(".say.model").first).to_contain_text("<script>document.title='owned'</script>")
    page.get_by_role("link", name="Checks").click()
    expect(page.locator(".verdict").first).to_contain_text("onerror")
    assert page.title() != "owned" and not wrong, wrong
    assert {url.partition("#")[0] for url in asked} == {file.as_uri()}
    context.close()


def test_pictures_of_the_main_screens(browser: Any, shop: Server, tmp_path: Path) -> None:
    project, run = shop.project, "amber-heron"
    for width, height in ((1280, 760), (390, 844), (1920, 1080)):
        end = "" if width == 1280 else f"-{width}"
        with page_of(browser, shop, width=width, height=height) as page:
            settle(page, f"{shop.url}/#/")
            picture(page, f"dashboard-home{end}", tmp_path, lambda p: expect(p.locator(".ask")).to_have_count(4))
            settle(page, at(shop, "run", project, run))
            picture(page, f"dashboard-run{end}", tmp_path, lambda p: expect(row(p, "goal")).to_be_visible())
            settle(page, at(shop, "run", project, "opal-wren"))
            picture(page, f"dashboard-failed{end}", tmp_path, lambda p: expect(p.locator(".why")).to_be_visible())
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    with page_of(browser, shop, height=760) as page:
        settle(page, at(shop, "run", project, run, "timeline"))
        picture(page, "dashboard-timeline", tmp_path, lambda p: expect(p.locator("canvas")).to_be_visible())
    with page_of(browser, shop, height=760, scheme="dark") as page:
        settle(page, at(shop, "task", project, run, "api/discounts"))
        picture(page, "dashboard-task", tmp_path, lambda p: expect(p.locator(".say.model").first).to_be_visible())
        settle(page, at(shop, "run", project, run, "graph"))
        picture(page, "dashboard-graph", tmp_path, lambda p: expect(p.locator(".node").first).to_be_visible())
