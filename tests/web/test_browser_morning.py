"""The morning in a real browser, after a real night: two proven goals that do not fit together, and one that does."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bough.core.messages import Answer
from tests.harness import CALC, CHECK, FIXED, git
from tests.interfaces.shell import act, bough, until
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import browser, expect, find_axe_violations, kinds, page_of
from tests.web.places import make_origin
from tests.web.serving import Server, serve
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]

OTHER = FIXED.replace("a + b", "b + a")
BOTH = FIXED.replace("a + b", "sum((a, b))")
WORK = {  # A goal, and what its agent writes.
    "Bring together": ("calc.py", BOTH),
    "Adding does not care": ("calc.py", OTHER),
    "Make add add.": ("calc.py", FIXED),
    "Say hello": ("hello.py", "print('hello')\n"),
}


def answer(request: dict[str, Any]) -> Answer:
    said = str(request["messages"])
    path, text = next(work for goal, work in WORK.items() if goal in said)
    done = any(message["role"] == "tool" for message in request["messages"])
    return act("done", summary="it is there") if done else act("write", path=path, content=text)


@pytest.fixture
def morning(tmp_path: Path) -> Iterator[Server]:
    place, mine = make_origin(tmp_path)
    with WireModel(answer) as wire:
        mine |= {"BOUGH_MODELS_BASE_URL": wire.base_url, "BOUGH_MODELS_MAIN": "openai:test", "OPENAI_API_KEY": "k"}
        for name, goal, check in (
            ("sum", "Make add add.", CHECK),
            ("order", "Adding does not care about the order.", CHECK),
            ("hello", "Say hello in hello.py.", "python3 hello.py"),
        ):
            assert bough(place, "backlog", "add", goal, "--name", name, "--check", check, **mine).status == 0
        assert bough(place, "backlog", "run", "--protocol", "tools", "--json", **mine).status == 0
        with serve(place, **mine) as served:
            yield served


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_proven_goes_into_the_files_in_one_act(browser: Any, morning: Server, width: int) -> None:
    place = morning.root
    with page_of(browser, morning, width=width, height=844) as page:
        night = page.get_by_role("region", name="The backlog backlog")
        expect(night.get_by_role("heading", level=2)).to_have_text("3 of 3 goals done and proven")
        clash = page.get_by_role("region", name="Conflict of sum and order")
        expect(clash).to_contain_text("calc.py line 2")
        clash.get_by_role("button", name="See both").click()
        expect(clash.locator("pre.ins")).to_have_text(["    return a + b", "    return b + a"])
        assert not (found := find_axe_violations(page)), found
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width

        clash.get_by_role("button", name="Keep sum").click()
        clash.get_by_role("button", name="Drop order from the list").click()
        expect(clash).to_have_count(0)
        groups = morning.get("/api/runs")["projects"][0]["nights"][0]["groups"]
        assert [goal["name"] for group in groups for goal in group["goals"]] == ["sum", "hello"]
        night.get_by_role("button", name="Apply 2 to my files…").click()
        chosen = page.get_by_role("form", name="Apply to my files")
        chosen.get_by_label("Say hello").uncheck()
        chosen.get_by_role("button", name="Apply 1").click()
        expect(page.get_by_role("list", name="What came of it")).to_contain_text("sum: Applied")
        assert (place / "calc.py").read_text() == FIXED and not (place / "hello.py").exists()
        expect(night.get_by_role("button", name="Apply 1 to my files…")).to_be_visible()
        night.get_by_role("button", name="Undo").click()
        expect(night.get_by_role("button", name="Apply 2 to my files…")).to_be_visible()
        assert (place / "calc.py").read_text() == CALC

        night.get_by_role("button", name="Open pull requests…").click()
        requests = page.get_by_role("form", name="Open pull requests")
        requests.get_by_role("button", name="Open 2 drafts").wait_for()  # What was left out of the last act is not now.
        requests.get_by_label("Say hello").uncheck()
        requests.get_by_role("button", name="Open 1 draft").click()
        expect(page.get_by_role("list", name="What came of it")).to_contain_text("https://github.example/o/r/pull/7")
        log = (place.parent / "gh.log").read_text()
        assert log.startswith("pr create --draft --head bough/"), log
        pushed = git(place.parent / "origin.git", "for-each-ref", "--format=%(refname:short)").split()
        assert len(pushed) == 1 and pushed[0] in log


def test_an_agent_merges_what_conflicts(browser: Any, morning: Server) -> None:
    """Its run begins with the work of one, is told the work of the other, and is applied in place of both."""
    place = morning.root
    with page_of(browser, morning) as page:
        page.get_by_role("button", name="Let an agent merge").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Bring together sum and order.")
        expect(page.locator(".outcome")).to_be_visible()
        for number in range(21):  # More than home shows of the newest.
            journals.write(place, f"later-{number}", journals.large(1, 1), begin=time.time())
        page.get_by_role("link", name="Runs", exact=True).first.click()
        clash = page.get_by_role("region", name="Conflict of sum and order")
        expect(clash).to_contain_text("An agent has merged them")
        expect(clash.get_by_role("button", name="Let an agent merge")).to_have_count(0)
        page.get_by_role("button", name="Apply 2 to my files…").click()
        page.get_by_role("button", name="Apply 2", exact=True).click()
        expect(page.get_by_role("list", name="What came of it").get_by_role("listitem")).to_have_count(2)
        until(lambda: (place / "hello.py").exists() and (place / "calc.py").read_text() == BOTH)
        expect(page.get_by_role("button", name="Let an agent merge")).to_have_count(0)
    assert kinds(place).count("Applied") == 2
