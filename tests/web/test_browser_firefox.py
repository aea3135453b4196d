"""The dashboard in Firefox: answer, approve, comment, apply and undo, and a stream over two windows."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bough.core import events as e
from bough.core.tree.task_state import State
from tests.harness import CALC, CHECK, FIXED, make_project
from tests.interfaces.shell import bough, repair, run_args, until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import AXE, PATIENCE, Page, at, expect, find_axe_violations, playwright, row, shop
from tests.web.serving import Server, serve
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["shop"]


@pytest.fixture
def firefox() -> Iterator[Any]:
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if program is None or playwright is None or not AXE.exists():
        missing = "no Firefox: apt-get install firefox-esr, pip install 'playwright<1.62', npm ci in web/"
        assert "TESTS_BROWSER" not in os.environ, missing
        pytest.skip(missing)
    with playwright.sync_playwright() as started:
        opened = started.firefox.launch(channel="moz-firefox", executable_path=program)
        yield opened
        opened.close()


def let_in(firefox: Any, served: Server) -> Page:
    context = firefox.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_url(f"{served.url}/")
    return page


def test_what_waits_is_answered(firefox: Any, shop: Server) -> None:
    page = let_in(firefox, shop)
    expect(page.get_by_role("heading", name="Needs you 4")).to_be_visible()
    assert not (found := find_axe_violations(page)), found
    page.get_by_role("region", name="A command is waiting").get_by_role("button", name="Run it", exact=True).click()
    expect(page.get_by_role("list", name="Answered").first).to_contain_text("run it")
    page.goto(at(shop, "run", shop.project, "ivory-crane"))
    page.get_by_role("button", name="Run it", exact=True).click()
    expect(page.locator(".question")).to_have_count(0)
    answered = {run["run"]: run["answered"] for run in shop.get("/api/runs")["projects"][0]["runs"]}
    assert [answered[run][0]["says"] for run in ("coral-lynx", "ivory-crane")] == ["run it", "run it"]


def test_work_is_commented_on_applied_and_taken_back(firefox: Any, tmp_path: Path) -> None:
    place = make_project(tmp_path / "project")
    with WireModel(repair()) as wire:
        assert bough(place, *run_args(wire.base_url, "--json", check=CHECK)).status == 0
    with serve(place) as served:
        page = let_in(firefox, served)
        run = served.get("/api/runs")["projects"][0]["runs"][0]["run"]
        page.goto(at(served, "run", served.project, run))
        expect(page.locator(".diff")).to_contain_text("return a + b")
        page.get_by_role("button", name="Comment on line 2", exact=True).click()
        page.get_by_label("What should be different").fill("Say why.")
        page.get_by_role("button", name="Add comment").click()
        expect(page.get_by_role("region", name="Your comments")).to_contain_text("Say why.")
        page.get_by_role("button", name="Apply", exact=True).click()
        until(lambda: (place / "calc.py").read_text() == FIXED)
        page.get_by_role("button", name="Undo apply").click()
        until(lambda: (place / "calc.py").read_text() == CALC)
        page.get_by_role("button", name="Follow up with 1 comment").click()
        expect(page.get_by_role("textbox", name="Goal")).to_have_value("calc.py, line 2 (`return a + b`): Say why.")


def test_two_windows_share_a_stream(firefox: Any, tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))
    with serve(tmp_path) as served:
        first = let_in(firefox, served)
        windows = [first, first.context.new_page()]
        for page in windows:
            page.goto(at(served, "run", served.project, "jade-fox"))
            expect(row(page, "module-0-2")).to_be_visible()
        journals.append(tmp_path, "jade-fox", "group-0/module-0-2", [e.StateChanged(State.BLOCKED, "it is stuck")])
        for page in windows:
            expect(row(page, "module-0-2")).to_contain_text("blocked")
