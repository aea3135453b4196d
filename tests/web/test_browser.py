"""The dashboard in a real browser, on real runs: what a person sees, does, and is protected from.

Needs Debian's chromium and the Python package playwright: `apt-get install chromium && pip install playwright`.
With BOUGH_SCREENSHOTS set, the pictures in docs/images are made anew.
"""

from __future__ import annotations

import http.server
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.messages import Answer
from bough.core.tree.task_state import State
from tests.harness import FIXED, make_project
from tests.interfaces import shell
from tests.interfaces.shell import act, bough, live, run_args, until
from tests.verification.cases import PYTEST, python_on_path
from tests.verification.test_approval import NO, model, place
from tests.web import journals
from tests.web.serving import Served, serve
from tests.wire import WireModel

__all__ = ["place", "python_on_path"]

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("no chromium here: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="no playwright here: pip install playwright")
expect = playwright.expect
Page = Any

TOP = Path(__file__).parents[2]
AXE = TOP / "web" / "node_modules" / "axe-core" / "axe.min.js"
IMAGES = TOP / "docs" / "images"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


@contextmanager
def page_of(
    browser: Any, served: Served, *, width: int = 1280, height: int = 800, scheme: str = "light"
) -> Iterator[Page]:
    """A page that has been let in, and on which no script fails."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto(served.address)
    page.wait_for_url(f"{served.url}/")
    try:
        yield page
        assert not wrong, wrong
    finally:
        context.close()


def at(served: Served, *parts: str) -> str:
    return f"{served.url}/#/" + "/".join(part.replace("/", "%2F") for part in parts)


def row(page: Page, name: str) -> Any:
    return page.locator(".space .row").filter(has=page.get_by_role("link", name=name, exact=True))


class Gate:
    """A model that answers when it is let, so that a test can look at every moment between."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answers = list(answers)
        self._let = threading.Semaphore(0)

    def let(self) -> None:
        self._let.release()

    def __call__(self, request: dict[str, Any]) -> Answer:
        self.asked.append(request)
        assert self._let.acquire(timeout=60), "nobody let the model answer"
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def kinds(folder: Path) -> list[str]:
    """In another thread, since the browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(shell.kinds, folder).result()


WORK = (act("write", "I mend it.", path="calc.py", content=FIXED), act("done", summary="add adds"))


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
            expect(page.locator(".head .badge").first).to_have_text("completed")
            assert any("Mind the <b>negative</b> numbers." in str(each["messages"]) for each in gate.asked)
            expect(page.locator(".say.check").last).to_contain_text("passed")
            page.get_by_role("link", name="Changes").click()
            expect(page.locator(".diff")).to_contain_text("return a + b")
            page.get_by_role("button", name="Apply").click()
            expect(page.get_by_text("applied", exact=True)).to_be_visible()
        assert process.wait(60) == 0
    assert (place / "calc.py").read_text() == FIXED


def test_a_page_resumes_after_the_server_was_killed(browser: Any, tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))
    with serve(tmp_path) as first, page_of(browser, first) as page:
        page.goto(at(first, "run", first.project, "jade-fox"))
        expect(row(page, "module-0-2")).to_contain_text("in progress")
        first.process.kill()
        expect(page.get_by_text("connection lost")).to_be_visible()
        journals.append(tmp_path, "jade-fox", "group-0/module-0-2", [e.StateChanged(State.BLOCKED, "it is stuck")])
        with serve(tmp_path) as again:
            assert again.address == first.address
            expect(row(page, "module-0-2")).to_contain_text("blocked")
            expect(page.get_by_text("connection lost")).to_have_count(0)


def test_an_approval(browser: Any, place: Path) -> None:
    with WireModel(model(NO)) as wire:
        said = bough(place, *run_args(wire.base_url, "--json", check=PYTEST, goal="Round half up, as merchants do."))
        assert said.status == 8
        with serve(place) as served, page_of(browser, served) as page:
            page.get_by_role("link", name="Round half up").click()
            asked = page.get_by_role("region", name="Waiting for your approval")
            expect(asked).to_contain_text("assert half(2.5) == 2")
            expect(asked).to_contain_text("assert half(2.5) == 3")
            asked.get_by_role("button", name="Allow", exact=True).click()
            expect(page.locator(".head .badge").first).to_have_text("completed")
    assert "ChangesRuled" in kinds(place)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("large")
    journals.write(root, "amber-heron", journals.large(1000, 9))
    journals.write(root, "ruby-owl", journals.hostile())
    journals.write(root, "jade-fox", journals.large(6, 4, over=False))
    with serve(root) as served:
        yield served


def test_a_thousand_tasks(browser: Any, large: Served) -> None:
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


def test_with_the_keyboard_alone(browser: Any, large: Served) -> None:
    with page_of(browser, large) as page:
        expect(page.get_by_role("link", name="jade-fox")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent").startswith("jade-fox"):
                break
        page.keyboard.press("Enter")
        expect(row(page, "goal")).to_be_visible()
        for _ in range(20):
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


def screens(served: Served, run: str, task: str) -> list[str]:
    project = served.project
    of_run = ("tree", "timeline", "progress", "requirements", "ladder")
    of_task = ("talk", "checks", "stuck", "notes")
    others = [("compare", project), ("stats", project)]
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


def test_a_narrow_screen(browser: Any, large: Served) -> None:
    with page_of(browser, large, width=360, height=700) as page:
        for address in screens(large, "jade-fox", "group-0/module-0-1"):
            settle(page, address)
            wide = page.evaluate("document.scrollingElement.scrollWidth")
            assert wide <= 360, f"{address} is {wide} wide"


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core here: npm install in web/")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(browser: Any, large: Served, scheme: str) -> None:
    with page_of(browser, large, scheme=scheme) as page:
        for address in screens(large, "ruby-owl", "<b>bold"):
            settle(page, address)
            page.evaluate(AXE.read_text())
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            serious = [
                f"{each['id']}: {each['nodes'][0]['html'][:160]} {each['nodes'][0]['failureSummary'][:200]}"
                for each in found["violations"]
                if each["impact"] in ("serious", "critical")
            ]
            assert not serious, f"{address}: {serious}"


def test_markup_script_and_escape_sequences_are_shown_as_text(browser: Any, large: Served) -> None:
    with page_of(browser, large) as page:
        for address in screens(large, "ruby-owl", "<b>bold"):
            settle(page, address)
            assert "owned" not in page.title()
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


def test_an_exported_run_is_a_page_of_its_own(browser: Any, large: Served, tmp_path: Path) -> None:
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
    assert "owned" not in page.title() and not wrong, wrong
    assert {url.partition("#")[0] for url in asked} == {file.as_uri()}
    context.close()


def picture(page: Page, name: str, tmp_path: Path, check: Callable[[Page], None]) -> None:
    """A picture of a screen that shows what it should."""
    check(page)
    folder = IMAGES if os.environ.get("BOUGH_SCREENSHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000


def test_pictures_of_the_main_screens(browser: Any, tmp_path: Path) -> None:
    from tests.web.story import write_story

    root = make_project(tmp_path / "shop")
    run = write_story(root)
    with (
        journals.carried_out(root, run),
        serve(root, HOME=str(tmp_path)) as served,
        page_of(browser, served, height=720) as page,
    ):
        project = served.project
        settle(page, f"{served.url}/#/")
        picture(page, "dashboard-runs", tmp_path, lambda p: expect(p.locator(".card")).to_have_count(3))
        settle(page, at(served, "run", project, run))
        picture(page, "dashboard-run", tmp_path, lambda p: expect(row(p, "goal")).to_be_visible())
        settle(page, at(served, "run", project, run, "timeline"))
        picture(page, "dashboard-timeline", tmp_path, lambda p: expect(p.locator("canvas")).to_be_visible())
        settle(page, at(served, "task", project, run, "api/discounts"))
        picture(page, "dashboard-task", tmp_path, lambda p: expect(p.locator(".say.model").first).to_be_visible())
        settle(page, at(served, "run", project, run, "ladder"))
        picture(page, "dashboard-ladder", tmp_path, lambda p: expect(p.locator(".ladder li").first).to_be_visible())
