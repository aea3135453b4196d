"""A real browser, pages of the dashboard in it, and what they show."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bough.core.messages import Answer
from tests.harness import FIXED, make_project
from tests.interfaces import shell
from tests.interfaces.shell import act
from tests.web import journals
from tests.web.clicks import watch
from tests.web.serving import Server, serve

CHROMIUM = shutil.which("chromium")
try:
    playwright: Any = import_module("playwright.sync_api")
except ModuleNotFoundError:
    playwright = None
expect: Any = playwright and playwright.expect
Page = Any

TOP = Path(__file__).parents[2]
AXE = TOP / "web" / "node_modules" / "axe-core" / "axe.min.js"
IMAGES = TOP / "docs" / "images"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 240_000
WORK = (act("write", "I mend it.", path="calc.py", content=FIXED), act("done", summary="add adds"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None or playwright is None or not AXE.exists():
        missing = "no browser: apt-get install chromium, pip install playwright, npm ci in web/"
        assert "TESTS_BROWSER" not in os.environ, missing
        pytest.skip(missing)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


@contextmanager
def page_of(
    browser: Any, served: Server, *, width: int = 1280, height: int = 800, scheme: str = "light"
) -> Iterator[Page]:
    """A page that has been let in, and on which no script fails."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    watch(context)
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


def at(served: Server, *parts: str) -> str:
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
        assert self._let.acquire(timeout=240), "nobody let the model answer"
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def kinds(folder: Path) -> list[str]:
    """In another thread, since the browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(shell.kinds, folder).result()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Server]:
    """Runs of every kind: under way, waiting, given up, finished."""
    from tests.web.story import write_story, write_waiting

    root = make_project(tmp_path / "shop")
    with ExitStack() as stack:
        for name in (write_story(root), *write_waiting(root)):
            stack.enter_context(journals.carried_out(root, name))
        yield stack.enter_context(serve(root, HOME=str(tmp_path)))


def find_axe_violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:160]} {each['nodes'][0]['failureSummary'][:200]}"
        for each in found["violations"]
    ]


def picture(page: Page, name: str, tmp_path: Path, check: Callable[[Page], None]) -> None:
    """A picture of a screen that shows what it should."""
    check(page)
    folder = IMAGES if os.environ.get("BOUGH_SCREENSHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000
