"""The dashboard's addresses, asked without a browser: who is let in, what is answered, and how a stream resumes."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import pytest

from bough.core import events as e
from bough.core.backlog.entry import GoalEntry
from bough.core.budget.limits import Limits
from bough.core.errors import UsageError
from bough.core.ids import CONTROL, GOAL
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.verdict.texts import LineCount
from bough.interfaces.cli import backlog_run
from bough.interfaces.cli.entry import run_command_line
from bough.interfaces.web import actions, event_pages, routes, shapes
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.web import journals
from tests.web.browsing import shop
from tests.web.serving import Server, serve

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["shop"]

STATIC = Path(__file__).parents[2] / "src/bough/interfaces/web/static"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A project with three runs: one of a hundred tasks, a hostile one, and one that grows while it is watched."""
    root = tmp_path_factory.mktemp("project")
    journals.write(root, "amber-heron", journals.large(60, 30))
    journals.write(root, "ruby-owl", journals.hostile())
    journals.write(root, "jade-fox", journals.large(3, 2, over=False))
    with serve(root) as made:
        yield made


def test_nothing_is_readable_without_the_token(served: Server) -> None:
    for path in ("/api/runs", served.of("amber-heron"), served.live("amber-heron"), "/api/nowhere", "/api"):
        with httpx2.Client(base_url=served.url) as nobody:
            answer = nobody.get(path)
            assert answer.status_code == 401, path
            assert "amber-heron" not in answer.text and served.project not in answer.text
            for given in (f"{path}?token={served.token}", f"{path}?x-bough={served.token}"):
                assert nobody.get(given).status_code == 401, "an address that others see is no right"
            for headers in ({"cookie": f"bough-{served.port}={served.token}"}, {"x-bough": "1"}, {"x-bough": ""}):
                assert nobody.get(path, headers=headers).status_code == 401
    for path in ("/", "/app.js"):  # They are the same for everybody.
        text = httpx2.get(f"{served.url}{path}").text
        assert "amber-heron" not in text and served.project not in text and served.token not in text


def test_the_first_page_has_the_backlog_and_nothing_of_it_is_markup(tmp_path: Path) -> None:
    journals.write(tmp_path, "amber-heron", journals.large(3, 2, over=False))
    assert run_command_line(["backlog", "add", "Fix \x1b[31m<b>it</b>", "--name", "fix", "--dir", str(tmp_path)]) == 0
    assert run_command_line(["backlog", "add", "Then that", "--needs", "fix", "--dir", str(tmp_path)]) == 0
    with serve(tmp_path, XDG_STATE_HOME=os.environ["XDG_STATE_HOME"]) as made:
        (project,) = made.get("/api/runs")["projects"]
        assert [run["run"] for run in project["runs"]] == ["amber-heron"], "a backlog is no run"
        ((group,),) = [night["groups"] for night in project["nights"]]
        assert group["heading"] == "Not begun" and [goal["name"] for goal in group["goals"]] == ["fix", "then-that"]
        assert "\x1b" not in group["goals"][0]["title"] and not group["goals"][0]["run"]
        assert group["goals"][1]["words"] == ["it needs fix, which is not finished yet"]


@in_turn
def test_every_list_is_shown_and_changed_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with serve(tmp_path) as made:
        first = {"fields": {"goal": "Fix it.", "check": "true", "cost": 2}}
        assert "Added fix-it" in made.tell("add_goal", first).json()["said"]
        made.tell("add_goal", {"fields": {"goal": "Then that.", "needs": ["fix-it"]}})
        made.tell("add_goal", {"fields": {"goal": "Fix it."}, "list": "other"})
        made.tell("add_goal", {"fields": {"goal": "Before all."}})
        assert made.tell("move_goal", {"list": "backlog", "goal": "before-all", "before": "fix-it"}).is_success
        (project,) = made.get("/api/runs")["projects"]
        names = {n["list"]: [goal["name"] for goal in n["groups"][0]["goals"]] for n in project["nights"]}
        assert names == {"backlog": ["before-all", "fix-it", "then-that"], "other": ["fix-it"]} and not project["runs"]
        named = {"list": "backlog", "goal": "fix-it"}
        changed = made.tell("edit_goal", {**named, "fields": {"priority": 2, "check": "make test", "cost": None}})
        assert changed.json()["said"] == "Changed fix-it.", changed.text
        entry = made.get(f"/api/{made.project}/backlogs/backlog/fix-it")
        kept = {key: entry[key] for key in ("goal", "check", "priority", "cost", "needs")}
        assert kept == {"goal": "Fix it.", "check": "make test", "priority": 2, "cost": None, "needs": []}
        for action, body, says in (
            ("add_goal", {"fields": {"goal": " "}}, "The goal is empty"),
            ("add_goal", {"fields": {"goal": "x"}, "list": "../x"}, "not a valid name of a backlog"),
            ("add_goal", {"fields": {"goal": "x", "surprise": 1}}, "is invalid"),
            ("edit_goal", {**named, "fields": {"needs": ["then-that"]}}, "Goals need each other"),
            ("edit_goal", {**named, "fields": {"cost": 0}}, "give a number above 0"),
            ("edit_goal", {**named, "fields": {"priority": "high"}}, "is invalid"),
            ("start_night", {"jobs": 1000}, "is invalid"),
            ("start_night", {"until": "7 pm"}, "is not a time of day"),
            ("start_night", {"list": "nothing"}, "is empty: add a goal"),
            ("move_goal", {"list": "backlog", "goal": "fix-it", "before": "fix-it"}, "cannot come before itself"),
            ("drop_goal", {"list": "backlog", "goal": "nobody"}, "no goal `nobody`"),
        ):
            refused = made.tell(action, body)
            assert refused.status_code in (404, 409) and says in refused.json()["error"], refused.text
        assert "then-that cannot begin" in made.tell("drop_goal", {"list": "backlog", "goal": "fix-it"}).text


def test_what_the_form_of_a_night_says_is_what_the_command_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()

    async def refuse(root: Path, command: str, *words: str) -> None:
        said.extend(words)
        raise UsageError("not now")

    monkeypatch.setattr(actions, "start_bough", refuse)
    journals.write(tmp_path, "amber-heron", journals.large(3, 2, over=True))
    chosen = {"cost": 20, "per_goal": 2.5, "disk": 4, "give_up": True, "partial": True, "draft": True}
    with pytest.raises(UsageError, match="not now"):
        asyncio.run(actions.act(tmp_path, "", "start_night", json.dumps(chosen).encode()))
    wanted = {"cost": 20.0, "per_goal": 2.5, "max_disk": 4.0, "give_up": True, "partial": True, "pr": "draft"}
    with backlog_run.run.make_context("run", said) as context:
        assert {name: context.params.get(name) for name in wanted} == wanted


def test_a_live_run_says_what_runs_and_its_last_line(tmp_path: Path) -> None:
    journals.write(tmp_path, "amber-heron", journals.large(3, 2, over=False))
    now = {"goal": {"what": "merging into goal", "since": 2e9, "line": "\x1b[31m7 of 9 passed"}}
    (tmp_path / ".bough" / "now-amber-heron.json").write_text(json.dumps(now))
    with serve(tmp_path) as made:
        assert made.get(made.of("amber-heron"))["activity"] == {}, "nobody runs it: what is left there is from before"
        with journals.carried_out(tmp_path, "amber-heron"):
            run = made.get(made.of("amber-heron"))
            assert run["doing"]["line"] == "7 of 9 passed" and run["activity"]["goal"]["what"] == "merging into goal"
            (tmp_path / ".bough" / "now-amber-heron.json").write_text("{")
            assert made.get(made.of("amber-heron"))["activity"] == {}


def test_no_right_travels_by_itself(served: Server) -> None:
    """A browser sends cookies to every port of a host: a server there would have ours."""
    with httpx2.Client(base_url=served.url) as somebody:
        assert "set-cookie" not in somebody.get(f"/?token={served.token}").headers
        assert somebody.get("/api/runs").status_code == 401
        assert somebody.get("/api/runs", headers={"x-bough": served.token}).status_code == 200


def test_every_answer_forbids_what_is_from_outside(served: Server) -> None:
    for path in ("/", "/app.js", "/api/runs", "/nowhere"):
        headers = served.client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    page = (STATIC / "index.html").read_text() + (STATIC / "app.css").read_text()
    assert "http://" not in page and "https://" not in page


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:80"},
        {"host": "127.0.0.1:80@evil.example"},
        {"host": "localhost:evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_page_cannot_read(served: Server, headers: dict[str, str]) -> None:
    answer = served.client.get("/api/runs", headers=headers)
    assert answer.status_code in (403, 421) and "amber-heron" not in answer.text


def test_another_page_cannot_post(served: Server) -> None:
    path = served.of("jade-fox", "/do/stop")
    good = {"origin": served.url}
    for changed in ({"origin": "http://127.0.0.1:1"}, {"origin": "null"}, {"x-bough": ""}, {"origin": ""}):
        refused = 401 if "x-bough" in changed else 403
        assert served.client.post(path, content=b"{}", headers={**good, **changed}).status_code == refused, changed
    assert served.client.put(path, content=b"{}", headers=good).status_code == 403
    assert "nothing to stop" in served.client.post(path, content=b"{}", headers=good).json()["said"]


def test_a_run_is_read_in_parts(served: Server) -> None:
    first = served.get(served.of("amber-heron", "/tree?limit=20"))
    rest = served.get(served.of("amber-heron", f"/tree?from={first['next']}&limit=1000"))
    assert len(first["tasks"]) == 20 and rest["next"] is None and "order" not in rest
    assert [line["path"] for line in first["tasks"] + rest["tasks"]] == first["order"]
    goal = first["tasks"][0]
    assert goal["cost"][0] == 0 and goal["cost"][1] == pytest.approx(60 * 30 * 0.0021)
    assert goal["rounds"][:2] == [0, 60 * 30]

    seen: list[int] = []
    since: int | None = 0
    while since is not None:
        page = served.get(served.of("amber-heron", f"/events?task=group-0/module-0-1&since={since}&limit=50"))
        assert len(page["events"]) <= 50
        seen += [each["version"] for each in page["events"]]
        since = page["next"]
    assert seen == list(range(1, len(seen) + 1)) and len(seen) == 3 + 30 * 4 + 4

    last = served.get(served.of("amber-heron", "/rounds?task=group-0/module-0-1"))
    assert (last["from"], last["total"]) == (5, 30)
    assert sum(each["kind"] == "ModelAnswered" for each in last["events"]) == 25
    before = served.get(served.of("amber-heron", "/rounds?task=group-0/module-0-1&from=0"))
    assert before["events"][0]["kind"] == "TaskCreated" and before["events"][-1]["seq"] < last["events"][-1]["seq"]


def test_a_run_names_its_project_wherever_it_is_sent(served: Server) -> None:
    """The page's buttons post to the project's address: without it they would post to `/api/undefined/…`."""
    (listed,) = [run for run in served.get("/api/runs")["projects"][0]["runs"] if run["run"] == "jade-fox"]
    alone, streamed = served.get(served.of("jade-fox")), served.heard("jade-fox", 1)[0][1]["run"]
    assert listed["project"] == alone["project"] == streamed["project"] == served.project


def test_long_texts_are_cut_and_can_be_had_whole(served: Server, tmp_path: Path) -> None:
    served.append("jade-fox", "group-0/module-0-0", [journals.said("x" * 50_000)])
    page = served.get(served.of("jade-fox", "/events?task=group-0/module-0-0&limit=400"))
    told = page["events"][-1]
    assert told["cut"] == {"text": 50_000} and len(told["event"]["text"]) == 3000
    assert len(served.get(served.of("jade-fox", f"/event/{told['seq']}"))["event"]["text"]) == 50_000


def test_a_stream_resumes_where_it_was(served: Server) -> None:
    """Each message is numbered like the journal; who comes back hears of what came since, and of nothing else."""
    first = served.heard("jade-fox", 1)[0]
    served.append("jade-fox", "group-0/module-0-1", [journals.said("one")])
    again = served.heard("jade-fox", 1, last=first[0])[0]
    assert again[0] > first[0] and again[1]["seq"] == again[0]
    assert [line["path"] for line in again[1]["tasks"]] == ["goal", "group-0", "group-0/module-0-1"]
    assert "order" not in again[1]
    nothing = served.heard("jade-fox", 1, last=again[0])[0]
    assert nothing[0] == again[0] and nothing[1]["tasks"] == []
    everything = served.heard("jade-fox", 1, last=0)[0]
    assert [line["path"] for line in everything[1]["tasks"]] == everything[1]["order"]


def test_a_page_that_comes_while_another_leaves_is_kept_up_to_date(tmp_path: Path) -> None:
    from bough.app import open_journal
    from bough.interfaces.web.live_run import LiveRuns

    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))

    async def meet() -> None:
        async with open_journal(tmp_path) as opened:
            run = await LiveRuns(opened, "p").run("jade-fox")
            first = run.watched()
            await first.__aenter__()
            leaving = asyncio.create_task(first.__aexit__(None, None, None))
            await asyncio.sleep(0)
            async with run.watched():
                await leaving
                before = run.mark
                await opened.store.post("jade-fox", "group-0", journals.said("more"))
                await run.news(before)
                assert run.seq > before[0]

    asyncio.run(meet())


def test_what_is_untrusted_is_data(served: Server) -> None:
    """Nothing but JSON carries it, and no escape sequence or mark that reorders text is left in what is shown."""
    paths = ["", "/tree", "/charts", "/evidence", "/ladder", "/events?limit=400", "/stats"]
    for path in [*paths, "/task?task=%3Cb%3Ebold", "/rounds?task=%3Cb%3Ebold"]:
        answer = served.client.get(served.of("ruby-owl", path))
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        text = json.dumps(answer.json(), ensure_ascii=False)
        assert "\\u001b" not in text and "\\u0007" not in text and "\u202e" not in text, path


def test_a_run_becomes_one_file(served: Server, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The same answers that the server gives, and nothing in them can end the element that they are in."""
    assert run_command_line(["export", "ruby-owl", "--json", "--dir", str(served.root)]) == 0
    data = json.loads(capsysbinary.readouterr().out)
    top = "/api/export/runs/ruby-owl"
    for end in ("/evidence", "/ladder", "/charts", "/task?task=%3Cb%3Ebold"):
        answer, asked = data[top + end], served.get(served.of("ruby-owl", end))
        if end != "/ladder":
            answer, asked = {**answer, "seq": 0}, {**asked, "seq": 0}
        assert answer == asked, end
    assert data[f"{top}/tree"]["tasks"] == served.get(served.of("ruby-owl", "/tree"))["tasks"]
    assert f"{top}/files?task=goal" in data

    assert run_command_line(["export", "ruby-owl", "--html", "--output", "-", "--dir", str(served.root)]) == 0
    page = capsysbinary.readouterr().out.decode()
    inside = page.partition('id="bough-data">')[2].partition("</script>")[0]
    again = json.loads(inside)
    assert again.pop(top).keys() == data.pop(top).keys() and again == data
    assert "<" not in inside
    assert page.count("</script>") == 2 and "default-src 'none'" in page
    assert run_command_line(["export", "--dir", str(served.root)]) == 2
    assert b"pass --html or --json" in capsysbinary.readouterr().err


def test_a_plan_is_shown_changed_and_sent_back(served: Server) -> None:
    step = Step("write", "Write it.")
    goal, limits = Step(GOAL, "Do it.", plan_first=True), Limits()
    told: list[journals.Told] = [
        ("", e.RunStarted(Plan(goal), journals.TREE, "", {"main": "m"}, limits, Rules(), "0")),
        (GOAL, e.TaskCreated(goal, journals.TREE, limits, Rules())),
        (GOAL, e.PlanProposed((step,))),
    ]
    journals.write(served.root, "plum-yak", told)
    assert served.get(served.of("plum-yak"))["waiting"] == [], "nobody is there to hear the answer"
    assert "No plan of plum-yak is waiting" in served.post("plum-yak", "plan", {"says": "yes"}).json()["error"]
    with journals.carried_out(served.root, "plum-yak"):
        (asked,) = served.get(served.of("plum-yak"))["waiting"]
        assert asked["kind"] == "plan" and 'action = "Write it."' in asked["plan"]
        bad = served.post("plum-yak", "plan", {"says": "own", "text": "steps = 7"})
        assert bad.status_code == 409 and "plan.toml" in bad.json()["error"]
        own = asked["plan"].replace("Write it.", "Write it twice.")
        assert served.post("plum-yak", "plan", {"says": "own", "text": own}).status_code == 200
    ruled = served.get(served.of("plum-yak", "/events?task=@control"))["events"][-1]
    assert ruled["kind"] == "PlanRuled" and ruled["event"]["steps"][0]["instructions"] == "Write it twice."
    assert ruled["event"]["by"]


def test_a_command_that_waits_is_ruled_on(served: Server) -> None:
    goal = Step(GOAL, "Push it.")
    told: list[journals.Told] = [
        ("", e.RunStarted(Plan(goal), journals.TREE, "", {"main": "m"}, Limits(), Rules(), "0")),
        (CONTROL, e.CommandHeld("a1", "git push")),
    ]
    journals.write(served.root, "plum-elk", told)
    assert served.get(served.of("plum-elk"))["waiting"] == [], "nobody is there to hear the answer"
    with journals.carried_out(served.root, "plum-elk"):
        (asked,) = served.get(served.of("plum-elk"))["waiting"]
        assert (asked["kind"], asked["question"]) == ("command", "git push")
        wrong = served.post("plum-elk", "command", {"id": "b2", "allow": True})
        assert wrong.status_code == 409 and "No command of plum-elk is waiting" in wrong.json()["error"]
        no = served.post("plum-elk", "command", {"id": asked["id"], "allow": False, "say": "Not today."})
        assert no.status_code == 200
        assert served.get(served.of("plum-elk"))["waiting"] == []
    ruled = served.get(served.of("plum-elk", "/events?task=@control"))["events"][-1]
    assert (ruled["kind"], ruled["event"]["say"]) == ("CommandRuled", "Not today.")


def test_errors_say_what_to_do(served: Server) -> None:
    for path, status, words in (
        (served.of("no-such"), 404, "There is no run `no-such` here"),
        (served.of("jade-fox", "/task?task=nope"), 404, "has no task `nope`"),
        (served.of("jade-fox", "/tree?from=x"), 409, "`from` is not a number"),
        ("/api/ffffffff/stats", 404, "does not serve a project"),
        ("/nowhere", 404, "Nothing found at /nowhere"),
    ):
        answer = served.client.get(path)
        assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text
    bad = served.post("jade-fox", "rewind", {"to": "x"})
    assert bad.status_code == 409 and "is invalid" in bad.json()["error"]
    assert served.post("jade-fox", "explode", {}).status_code == 409


def test_every_address_answers_what_the_types_say(served: Server, shop: Server) -> None:
    """A field that is missing, has another type, or that no type names, would be a lie of the generated types."""
    assert shapes.OF_RUN.keys() - {"/live"} == routes.OF_RUN.keys()
    asked: list[tuple[Any, Any]] = []
    for made, run, task in ((served, "ruby-owl", "<b>bold"), (shop, "amber-heron", "api/discounts")):
        seq = made.get(made.of(run, f"/events?task={quote(task)}&limit=1"))["events"][0]["seq"]
        for end, type in shapes.OF_RUN.items():
            if end == "/live":
                answer = made.heard(run, 1, last=0)[0][1]
            elif end in ("/files", "/diff"):  # The journals' trees are in no repository; see below.
                continue
            else:
                answer = made.get(made.of(run, f"{end.replace('{seq:int}', str(seq))}?task={quote(task)}"))
            asked.append((type, answer))
        asked.append((shapes.ChoicesShape, made.get(f"/api/{made.project}/choices")))
        asked.append((shapes.Home, made.get("/api/runs")))
    assert [each["waiting"] for each in asked[-1][1]["projects"][0]["runs"] if each["waiting"]], "all kinds of question"
    shop.tell("add_goal", {"fields": {"goal": "Fix it."}})
    asked.append((shapes.Home, shop.get("/api/runs")))
    asked.append((GoalEntry, shop.get(f"/api/{shop.project}/backlogs/backlog/fix-it")))
    rows = event_pages.read_rows("@@ -1 +1 @@ x\n-a\n+b\n", True)
    asked.append((shapes.DiffPart, json.loads(routes.encode_json(event_pages.build_part(rows, 0)))))
    counted = event_pages.list_files([LineCount("shop/cart.py", 3, 1)])
    asked.append((list[shapes.FileShape], json.loads(routes.encode_json(counted))))
    for type, answer in asked:
        try:
            read = msgspec.convert(answer, type)
        except msgspec.ValidationError as error:
            pytest.fail(f"{type}: {error}")
        assert json.loads(routes.encode_json(read)) == answer, f"{type} does not name all of it"


def test_words_are_found_in_all_rounds_and_spans_name_theirs(served: Server, tmp_path: Path) -> None:
    """A page has 25 rounds; the words may stand in any."""
    task = quote("group-0/module-0-1")
    found = served.get(served.of("amber-heron", f"/find?task={task}&words=TEST_3.py"))
    assert {each["round"] for each in found} == {4} and all("test_3.py" in each["excerpt"] for each in found), found
    assert not any("ToolFinished" in each["excerpt"] or "ModelAnswered" in each["excerpt"] for each in found), found
    assert served.get(served.of("amber-heron", f"/find?task={task}&words=")) == []
    hostile = served.get(served.of("ruby-owl", f"/find?task={quote('<b>bold')}&words=onerror"))
    assert hostile and "\x1b" not in json.dumps(hostile, ensure_ascii=False)
    journals.write(tmp_path, "jade-fox", journals.large(3, 2, over=False))  # Others write to the shared one.
    with serve(tmp_path) as made:
        charts = made.get(made.of("jade-fox", "/charts"))
    lane = next(lane for lane in charts["lanes"] if lane["path"] == "group-0/module-0-1")
    assert [span[5] for span in lane["spans"] if charts["work"][span[2]] == "thinking"] == [1, 2]


def test_a_line_says_what_its_agent_did_last(shop: Server) -> None:
    lines = {line["path"]: line for line in shop.get(shop.of("amber-heron", "/tree"))["tasks"]}
    assert lines["api/discounts"]["acted"] == "edited shop/discounts.py +1 −1"
    assert lines["storage"]["acted"].startswith("its check passed") and not lines["checkout"]["acted"]
    assert lines["api/discounts"]["acted_at"] < lines["api/discounts"]["last_at"]
    assert shop.get("/api/runs")["projects"][0]["branch"] == "main"


def test_what_a_person_accepted_says_so_wherever_it_is_sent(tmp_path: Path) -> None:
    """It used to read `completed`, as if a check had proven it."""
    told = [*journals.large(2, 1, over=True)]
    told[-1:] = [(CONTROL, e.Accepted("ada")), told[-1]]
    journals.write(tmp_path, "jade-fox", told)
    with serve(tmp_path) as made:
        listed = made.get("/api/runs")["projects"][0]["runs"][0]
        for run in (listed, made.get(made.of("jade-fox")), made.heard("jade-fox", 1)[0][1]["run"]):
            assert (run["status"], run["words"]) == ("accepted", "accepted by ada")


def test_what_was_stuck_and_what_helped() -> None:
    from bough.core.ladder.escalation import Decision, Trouble
    from bough.core.tree.task_state import State
    from bough.interfaces.web.event_pages import build_ladder

    trouble = Trouble("signal", "It goes round.", "circular_tools", "prune")
    told: list[Any] = [
        e.Escalated(Decision("nudge", "task", "first"), trouble),
        e.Escalated(Decision("prune", "task", "second"), trouble),
        e.StateChanged(State.COMPLETED, "done"),
    ]
    records = [e.Record(n, "r", "t", n, 10.0 * n, event) for n, event in enumerate(told, 1)]
    first, second = build_ladder(records)
    assert (first["rung"], first["helped"], first["after"]) == ("nudge", False, 10.0)
    assert (second["rung"], second["helped"]) == ("prune", True)
    (alone,) = build_ladder(records[:1])
    assert alone["helped"] is None and alone["came"] == "under way"
