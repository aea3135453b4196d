"""A link to one question: what whoever has it can do, and what nobody can."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bough.app import open_journal
from bough.core import events as e
from bough.core.errors import NotFound
from bough.core.ids import CONTROL, GOAL, RUN
from bough.services.notices import list_notices
from bough.services.question_links import make_links, make_token
from tests.interfaces.journals import started
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import browser, expect
from tests.web.clicks import watch
from tests.web.serving import Server, serve

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["browser"]

ASKED = "Should an empty list be an error?\n<b>Answer</b> with a hint."


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    root = tmp_path.resolve() / "shop"
    monkeypatch.setenv("XDG_STATE_HOME", str(root / ".bough" / "state"))
    for run in ("jade-fox", "jade-owl"):
        journals.write(root, run, [(RUN, started()), (GOAL, e.QuestionAsked(ASKED))], begin=time.time() - 60)
    with serve(root) as running:
        yield running


def records(root: Path, run: str = "jade-fox") -> list[e.Record]:
    async def read() -> list[e.Record]:
        async with open_journal(root) as journal:
            return await journal.store.read(run)

    with ThreadPoolExecutor(1) as pool:  # A browser's test has a loop running in its own thread.
        return pool.submit(asyncio.run, read()).result()


def find_seq(root: Path, run: str = "jade-fox", kind: type[e.AnyEvent] = e.QuestionAsked) -> int:
    return [record.seq for record in records(root, run) if isinstance(record.event, kind)][-1]


def token_for(served: Server, run: str = "jade-fox", hours: float = 24, **more: Any) -> str:
    return make_token(served.root, run, find_seq(served.root, run, **more), time.time() + hours * 3600)


def ask(served: Server, token: str, answer: str | None = None) -> httpx2.Response:
    """As the page of the link asks: without the dashboard's token."""
    headers = {"x-bough-question": token, "origin": served.url}
    if answer is None:
        return httpx2.get(f"{served.url}/api/question", headers=headers)
    return httpx2.post(f"{served.url}/api/question", headers=headers, json={"answer": answer})


def test_a_notice_has_a_link_while_somebody_serves(served: Server) -> None:
    async def tell() -> str:
        async with open_journal(served.root) as journal:
            ((_, notice),) = await list_notices(journal, "jade-fox", 0, make_links(served.root))
            return notice.url

    address = asyncio.run(tell())
    page, _, token = address.partition("#")
    assert page == f"{served.url}/question" and ask(served, token).json()["question"] == ASKED
    served.process.kill()
    served.process.wait()
    assert asyncio.run(tell()) == ""


def test_opening_changes_nothing_as_often_as_one_likes(served: Server) -> None:
    token, before = token_for(served), records(served.root)
    for _ in range(3):
        assert ask(served, token).json()["open"] is True
    fetched = httpx2.get(f"{served.url}/question", headers={"sec-fetch-site": "cross-site", "user-agent": "a chat"})
    assert fetched.status_code == 200 and ASKED not in fetched.text
    assert records(served.root) == before


def test_the_first_answer_counts_and_the_second_is_told_whose_it_was(served: Server) -> None:
    token = token_for(served)
    with journals.carried_out(served.root, "jade-fox"):
        assert ask(served, token, "Yes, raise one.").json() == {"said": "Answered: jade-fox continues."}
        again = ask(served, token, "No.")
        assert again.status_code == 409 and "already answered" in again.json()["error"]
    said = [record.event for record in records(served.root) if isinstance(record.event, e.PersonSaid)]
    assert [each.text for each in said] == ["Yes, raise one."] and said[0].answers == find_seq(served.root)
    shown = ask(served, token).json()
    assert shown["open"] is False and "answered it: Yes, raise one." in shown["said"]


def test_an_answer_is_for_this_question_and_not_for_the_next_of_the_same_task(served: Server) -> None:
    token = token_for(served)
    journals.append(served.root, "jade-fox", CONTROL, [e.PersonSaid("So.", "ada")])
    journals.append(served.root, "jade-fox", GOAL, [e.PersonAnswered(ASKED, "So.", "ada"), e.QuestionAsked("And now?")])
    with journals.carried_out(served.root, "jade-fox"):
        assert ask(served, token, "Yes.").status_code == 409
        assert ask(served, token_for(served)).json()["question"] == "And now?"


@in_turn
@pytest.mark.parametrize("answer, allow, say", [("yes", True, ""), ("No", False, ""), ("use make", False, "use make")])
def test_a_command_is_allowed_or_refused(served: Server, answer: str, allow: bool, say: str) -> None:
    journals.append(served.root, "jade-fox", CONTROL, [e.CommandHeld("ab12", "git push", GOAL)])
    token = token_for(served, kind=e.CommandHeld)
    with journals.carried_out(served.root, "jade-fox"):
        assert ask(served, token).json()["answers"] == ["yes", "no"]
        assert ask(served, token, answer).status_code == 200
    (ruled,) = [record.event for record in records(served.root) if isinstance(record.event, e.CommandRuled)]
    assert (ruled.id, ruled.allow, ruled.say) == ("ab12", allow, say)


@in_turn
def test_a_stolen_link_does_nothing_else(served: Server) -> None:
    token = token_for(served)
    stolen = {"x-bough-question": token, "x-bough": token, "origin": served.url}
    top = f"{served.url}/api/{served.project}"
    for path in ("/api/runs", f"/api/{served.project}/runs/jade-fox", f"/api/{served.project}/stats"):
        assert httpx2.get(f"{served.url}{path}", headers=stolen).status_code == 401
    for path in ("/runs/jade-fox/do/answer", "/runs/jade-fox/do/stop", "/do/start", "/do/trust", "/check"):
        assert httpx2.post(f"{top}{path}", headers=stolen, json={"text": "x"}).status_code == 401
    foreign = {"x-bough-question": token, "origin": "http://evil.example"}
    assert httpx2.post(f"{served.url}/api/question", headers=foreign, json={"answer": "x"}).status_code == 403
    read = httpx2.get(f"{served.url}/api/question", headers={**foreign, "sec-fetch-site": "cross-site"})
    assert read.status_code == 403
    assert not any(isinstance(record.event, e.PersonSaid) for record in records(served.root))


@in_turn
def test_changed_old_and_foreign_links_lead_nowhere(served: Server, tmp_path: Path) -> None:
    token = token_for(served)
    project, run, seq, until, seal = token.split(".")
    changed = [
        "",
        "x",
        token[:-1],
        f"{token}.",
        ".".join((project, "jade-owl", seq, until, seal)),
        ".".join((project, run, str(int(seq) + 1), until, seal)),
        ".".join((project, run, seq, str(int(until) + 9), seal)),
        "a" * 5_000,
        make_token(tmp_path / "elsewhere", run, int(seq), float(until)),
        served.token,
    ]
    for each in changed:
        assert ask(served, each).status_code == 404, each
        assert ask(served, each, "yes").status_code == 404, each
    old = ask(served, token_for(served, hours=-1), "yes")
    assert old.status_code == 409 and "expired at" in old.json()["error"]
    for body in (b"", b"[]", b'{"answer": 3}', b"{}"):
        headers = {"x-bough-question": token, "origin": served.url}
        assert httpx2.post(f"{served.url}/api/question", headers=headers, content=body).status_code == 409
    assert "The message is empty" in ask(served, token, "  ").json()["error"]
    assert "more than 20,000" in ask(served, token, "x" * 20_001).json()["error"]


def test_a_withdrawn_question_says_so(served: Server) -> None:
    token = token_for(served)
    journals.append(served.root, "jade-fox", RUN, [e.RunFinished("failed", "given up")])
    assert "withdrawn" in ask(served, token).json()["said"]
    assert ask(served, token, "yes").status_code == 409


def test_a_key_is_this_persons_alone(served: Server) -> None:
    token_for(served)
    (key,) = (served.root / ".bough" / "state" / "bough" / "hooks").rglob("links.key")
    assert key.stat().st_mode & 0o777 == 0o600 and len(key.read_bytes()) == 32
    with pytest.raises(NotFound):
        asyncio.run(_read_with_another_key(served, key))


async def _read_with_another_key(served: Server, key: Path) -> None:
    from bough.services.question_links import read_question

    token = make_token(served.root, "jade-fox", 2, time.time() + 60)
    key.write_bytes(b"k" * 32)
    async with open_journal(served.root) as journal:
        await read_question(journal, token)


def test_serve_says_what_a_phone_reaches(tmp_path: Path) -> None:
    journals.write(tmp_path, "jade-fox", [(RUN, started())])
    for options, says in ((), "Only this machine reaches it"), (("--host", "0.0.0.0"), "A phone in your network"):
        with serve(tmp_path, *options) as served:
            assert served.process.stdout is not None
            served.process.stdout.readline()
            assert says in served.process.stdout.readline()


def test_on_a_phone(browser: Any, served: Server) -> None:
    context = browser.new_context(viewport={"width": 375, "height": 667}, has_touch=True, is_mobile=True)
    watch(context)
    page = context.new_page()
    try:
        page.goto(f"{served.url}/question#{token_for(served)}")
        expect(page.get_by_role("heading")).to_have_text("jade-fox asks you")
        expect(page.locator("#question")).to_have_text(ASKED)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        with journals.carried_out(served.root, "jade-fox"):
            page.get_by_label("Your answer").fill("Yes, raise one.")
            context.set_offline(True)
            page.get_by_role("button", name="Answer").tap()
            expect(page.get_by_role("status")).to_contain_text("fetch")
            expect(page.get_by_label("Your answer")).to_have_value("Yes, raise one.")
            expect(page.get_by_text("Or type")).to_be_visible()
            context.set_offline(False)
            page.get_by_role("button", name="Answer").tap()
            expect(page.get_by_role("status")).to_have_text("Answered: jade-fox continues.")
            expect(page.get_by_text("Or type")).to_be_hidden()
        page.reload()
        expect(page.get_by_role("status")).to_contain_text("answered it: Yes, raise one.")
        expect(page.get_by_label("Your answer")).to_be_hidden()
    finally:
        context.close()


def test_an_answer_at_hand_is_tapped(browser: Any, served: Server) -> None:
    journals.append(served.root, "jade-fox", CONTROL, [e.CommandHeld("ab12", "git push", GOAL)])
    context = browser.new_context(viewport={"width": 375, "height": 667}, has_touch=True, is_mobile=True)
    watch(context)
    page = context.new_page()
    try:
        with journals.carried_out(served.root, "jade-fox"):
            page.goto(f"{served.url}/question#{token_for(served, kind=e.CommandHeld)}")
            page.get_by_role("button", name="no", exact=True).tap()
            expect(page.get_by_role("status")).to_contain_text("jade-fox continues")
    finally:
        context.close()
    (ruled,) = [each.event for each in records(served.root) if isinstance(each.event, e.CommandRuled)]
    assert not ruled.allow
