"""With the settings that people get, `completed` says what was shown; and a person's messages are part of what was
asked."""

import asyncio
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bough import app
from bough.adapters.sandboxes.process import ProcessSandbox
from bough.core import events as e
from bough.core.acceptance.evidence_table import build_table
from bough.core.ids import CONTROL
from bough.core.messages import Answer
from bough.core.planning.plan import Step, build_goal_step
from tests.engine.cast import DONE, Request, act, in_order
from tests.engine.telling import FinishedRun, told
from tests.engine.test_examine import Court
from tests.harness import git, make_project
from tests.interfaces.shell import bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = [
    pytest.mark.usefixtures("acceptance_as_shipped"),
    pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it"),
]

GOAL = "order() in order.py must raise ValueError for cyclic input."
ORDER = "def order(graph):\n    return sorted(graph)\n"
RAISES = ORDER.replace(
    "    return", "    if 'b' in graph.get('a', ''):\n        raise ValueError('a cycle')\n    return"
)
CHECK = "python3 -m unittest -q"
TEST = """\
import unittest
from order import order

class Orders(unittest.TestCase):
    def test_order(self):
        self.assertEqual(order({"b": "", "a": ""}), ["a", "b"])
"""
CYCLE = """
    def test_cycle(self):
        with self.assertRaises(ValueError):
            order({"a": "b", "b": "a"})
"""
COMMENT = in_order(act("write", path="order.py", content=f"# cycles are handled\n{ORDER}"), DONE)


def probe(body: str) -> dict[str, Any]:
    return {"says": "A cycle is an error.", "quote": "raise ValueError for cyclic input", "text": f"{USES}{body}\n"}


USES = "from order import order\n"
RED = 'try:\n    order({"a": "b", "b": "a"})\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError'
GREEN = 'assert order({"b": "", "a": ""}) == ["a", "b"]'


def project(tmp_path: Path) -> Path:
    place = make_project(tmp_path / "p")
    (place / "test_calc.py").unlink()
    (place / "order.py").write_text(ORDER)
    (place / "test_order.py").write_text(TEST)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "order")
    return place


def carried(tmp_path: Path, court: Court, **chosen: Any) -> FinishedRun:
    return told(project(tmp_path), court, goal=build_goal_step(GOAL, check=CHECK), **chosen)


@in_turn
def test_a_comment_is_not_completed_and_a_person_may_accept_it(tmp_path: Path) -> None:
    run = carried(tmp_path, Court(COMMENT, examiner=lambda asked: act("probe", probes=[probe(GREEN)])))
    assert (run.outcome.status, run.outcome.exit_status) == ("not_proven", 5)
    assert len(run.journal.of(e.Examined)) == 2, "what nothing shows is examined once more"
    shown = bough(run.project, "status").out
    assert "finished, not proven" in shown and "Not shown: 1 requirement (1)." in shown
    assert "1. order() in order.py must raise ValueError" in shown.partition("Not shown:")[2]
    assert "missing: a test that fails without the work and passes with it; 2 cases passed without it, too" in shown
    refused = bough(run.project, "apply")
    assert refused.status == 2 and "its work is not proven" in refused.err
    assert bough(run.project, "pr").status == 2
    accepted = bough(run.project, "verify", "--accept", "--reason", "a note is enough")
    assert accepted.status == 0 and "without proof: a note is enough" in accepted.out
    who = accepted.out.partition(" is ")[2].partition(" without proof")[0]
    assert who.startswith("accepted by ")
    for command in ("show", "status", "report", "runs", "log"):
        said = bough(run.project, command).out
        assert who in said and "✔ completed" not in said and "ended: completed" not in said, (command, said)
    for command in ("show", "report"):
        assert bough(run.project, command, "--json").json["status"] == "accepted", command
    git(run.project, "config", "user.name", "t")
    git(run.project, "config", "user.email", "t@example.org")
    assert bough(run.project, "apply", "--commit").status == 0
    message = git(run.project, "log", "-1", "--format=%B")
    assert f"Bough-Verdict: {who}\n" in message and "Bough-Verdict: passed" not in message
    assert "cycles are handled" in (run.project / "order.py").read_text()
    assert bough(run.project, "report", "--json").json["accepted_by"]
    assert bough(run.project, "verify", "--accept").status == 2, "it is completed now"


@in_turn
def test_a_case_that_fails_on_the_comment_is_never_completed(tmp_path: Path) -> None:
    run = carried(
        tmp_path,
        Court(COMMENT, prober=in_order(DONE), examiner=lambda asked: act("probe", probes=[probe(RED), probe(GREEN)])),
    )
    assert run.outcome.status == "failed"
    assert [row.standing for row in build_table(run.journal.records).rows] == ["refuted"]


@in_turn
def test_the_right_change_costs_one_question(tmp_path: Path) -> None:
    builds = in_order(act("write", path="order.py", content=RAISES), DONE)
    run = carried(tmp_path, Court(builds, examiner=lambda asked: act("probe", probes=[probe(RED), probe(GREEN)])))
    assert run.outcome.status == "completed" and run.outcome.spend.rounds == 3
    (finished,) = run.journal.of(e.ProbesFinished)
    assert [one.name for one in finished.results] == ["goal/probe-1", "goal/probe-2"]
    assert [one.outcome for one in finished.before] == ["failed", "passed"]
    report = bough(run.project, "report").out
    assert "1 requirement: 1 proven" in report and "(2 of 2 cases)" in report


@in_turn
def test_one_wrong_case_is_dropped_alone(tmp_path: Path) -> None:
    wrong = "assert order({}) is None"
    contest = in_order(act("dispute", test="goal/probe-2", evidence="nobody asked for None"), DONE)
    builds = in_order(act("write", path="order.py", content=RAISES), DONE)
    court = Court(builds, prober=contest, examiner=lambda asked: act("probe", probes=[probe(RED), probe(wrong)]))
    run = carried(tmp_path, court)
    assert run.outcome.status == "completed", run.outcome.summary
    assert len(run.journal.of(e.Examined)) == 1, "the other case still shows it"
    report = bough(run.project, "report").out
    assert "(1 of 2 cases)" in report and "goal/probe-2 was dropped: no" in report


def test_what_only_the_authors_own_test_shows_is_not_proven(tmp_path: Path) -> None:
    builds = in_order(
        act("write", path="order.py", content=RAISES), act("write", path="test_order.py", content=TEST + CYCLE), DONE
    )
    run = carried(tmp_path, Court(builds, examiner=lambda asked: act("probe", probes=[probe(GREEN)])))
    assert run.outcome.status == "not_proven" and run.outcome.exit_status == 5
    assert len(run.journal.of(e.Examined)) == 2, "asked once more, with the reason"


@in_turn
def test_documentation_is_completed_where_no_code_changed(tmp_path: Path) -> None:
    goal = build_goal_step("Explain order() in README.md.", check=CHECK)
    kinds = [{"begins": "Explain order() in README.md", "kind": "document"}]

    def cast(part: Any) -> Court:
        court = Court(part, examiner=lambda asked: act("probe", probes=[]))
        answer = Court.__call__

        class EstimatingCourt(Court):
            def __call__(self, request: dict[str, Any]) -> Answer:
                if "estimate" in Request(request).tools:
                    return act("estimate", reason="one page", steps=1, atomic=True, kinds=kinds)
                return answer(self, request)

        return EstimatingCourt(court.agent, examiner=court.examiner)

    writes = in_order(act("write", path="README.md", content="order() sorts.\n"), DONE)
    run = told(project(tmp_path / "a"), cast(writes), goal=goal, flat=False)
    assert run.outcome.status == "completed", run.outcome.summary
    assert run.outcome.summary == "nothing to show by running; the check still passes"
    both = in_order(
        act("write", path="README.md", content="order() sorts.\n"), act("write", path="order.py", content=RAISES), DONE
    )
    run = told(project(tmp_path / "b"), cast(both), goal=goal, flat=False)
    assert run.outcome.status == "not_proven", "code changed, and nothing shows why"


STEPS = Step(
    "goal",
    GOAL,
    test_command=CHECK,
    steps=(
        Step("note", "Write NOTES.md.", test_command="test -f NOTES.md", covers=(1,)),
        Step("cycle", "Raise ValueError.", test_command=CHECK, needs=("note",), covers=(1,)),
    ),
)


@in_turn
@pytest.mark.parametrize("steps", [False, True])
def test_after_the_last_done_everything_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: bool) -> None:
    """The check once, though a step, its merge and the goal need it, and at most once on a copy with broken product,
    which runs while the agent works; each probe once with the work and once without it, and one that compares a value
    once more with another value, since no test was seen to fail."""
    ran: list[str] = []
    run = ProcessSandbox.run

    async def count(self: ProcessSandbox, argv: Any, **rest: Any) -> Any:
        ran.append(" ".join(argv))
        return await run(self, argv, **rest)

    def builds(asked: Request) -> Answer:
        if not asked.results:
            return act("write", path="order.py", content=RAISES)
        ran.clear()
        return DONE

    monkeypatch.setattr(ProcessSandbox, "run", count)
    examiner = [act("probe", probes=[probe(RED), probe(GREEN)]), act("probe", probes=[])]
    court = Court(builds, examiner=lambda asked: examiner[0 if "Examine finished" in asked.brief else 1])
    court.steps = {"note": in_order(act("write", path="NOTES.md", content="x\n"), DONE), "cycle": builds}
    at = project(tmp_path)
    done = told(at, court, goal=STEPS if steps else build_goal_step(GOAL, check=CHECK), jobs=1)
    assert done.outcome.status == "completed", done.outcome.summary
    probes = [one for one in ran if "cases/" in one]
    checks = [one for one in ran if "unittest" in one and one not in probes]
    assert len(checks) in (1, 2) and len(probes) == 5 and len(ran) == len(checks) + 5, ran


# ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

PLAN = Step(
    "goal",
    "Write a.txt and b.txt.",
    test_command="test -f order.py",
    steps=(
        Step("a", "Write a.txt.", test_command="test -f a.txt", covers=(1,)),
        Step("b", "Write b.txt.", test_command="test -f b.txt", needs=("a",), covers=(1,)),
    ),
)


def say(place: Path, text: str) -> None:
    """From another process, as good as: a loop and a connection of its own."""

    async def post() -> None:
        async with app.open_session(place) as session:
            (name,) = await session.store.runs()
            if not await session.store.read(name, CONTROL, kinds=("PersonSaid",)):
                await session.store.post(name, CONTROL, e.PersonSaid(text, "anna"))

    thread = Thread(target=lambda: asyncio.run(post()))
    thread.start()
    thread.join()


@pytest.fixture
def by_check(acceptance_as_shipped: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOUGH_ACCEPTANCE_PROOF", "check")


@in_turn
@pytest.mark.usefixtures("by_check")
def test_a_demand_while_a_step_runs_is_owned_by_it_and_reported(tmp_path: Path) -> None:
    place = project(tmp_path)

    def first(asked: Request) -> Answer:
        if not asked.results:
            return act("write", path="a.txt", content="a\n")
        if "c.txt must be there" not in str(asked.texts):
            say(place, "c.txt must be there. How is it going?")
            return act("list", path=".")
        return DONE if (len(asked.results) > 2) else act("write", path="c.txt", content="c\n")

    court = Court(in_order(DONE), examiner=lambda asked: act("probe", probes=[]))
    court.steps = {"a": first, "b": in_order(act("write", path="b.txt", content="b\n"), DONE)}
    run = told(place, court, goal=PLAN, jobs=1)
    assert run.outcome.status == "completed", run.outcome.summary
    (read,) = [r.event for r in run.of("goal", e.MessageRead)]
    assert read.owner == "a" and read.requirements[0].number == 2
    assert read.requirements[0].text == "c.txt must be there." and read.requirements[0].source.startswith("anna, ")
    (heard,) = [r.event for r in run.of("a", e.MessageReceived)]
    assert [one.number for one in heard.requirements] == [one.number for one in read.requirements]
    examiners = [asked.brief for asked in court.asked if "probe" in asked.tools]
    assert any("2. c.txt must be there. [anna, " in brief for brief in examiners)
    later = court.of("b")[0].brief
    assert "c.txt" not in later or "The step `a` does this" in later, "nobody else does it again"
    assert "c.txt must be there." in bough(place, "report").out


@pytest.mark.usefixtures("by_check")
@in_turn
def test_a_demand_after_the_last_step_gets_a_small_step_of_its_own(tmp_path: Path) -> None:
    place = project(tmp_path)

    def review(asked: Request) -> Answer:
        if "Review the whole" in asked.brief:
            say(place, "c.txt must be there.")
        return act("probe", probes=[])

    court = Court(in_order(DONE), examiner=review)
    court.steps = {
        "a": in_order(act("write", path="a.txt", content="a\n"), DONE),
        "b": in_order(act("write", path="b.txt", content="b\n"), DONE),
        "message-2": in_order(act("write", path="c.txt", content="c\n"), DONE),
    }
    run = told(place, court, goal=PLAN, jobs=1)
    assert run.outcome.status == "completed", run.outcome.summary
    assert [task.path for task in run.outcome.tree] == ["goal", "a", "b", "message-2"]
    assert [r.event.owner for r in run.of("goal", e.MessageRead)] == ["message-2"]
    assert run.journal.of(e.PlanChanged)[-1].steps[-1].context == "inherited", "its engineer sees what it is part of"
    assert "c.txt" in run.tree["goal"].files


def test_a_reading_replaces_what_it_contradicts_and_a_person_undoes_that(tmp_path: Path) -> None:
    place = project(tmp_path)
    hears: list[str] = []

    class Hearing(Court):
        def __call__(self, request: dict[str, Any]) -> Answer:
            asked = Request(request)
            if "hear" in asked.tools:
                hears.append(asked.brief)
                return act("hear", requirements=["order() must return None"], replaces=[1], step="")
            return super().__call__(request)

    def builds(asked: Request) -> Answer:
        if not asked.results:
            say(place, "order() must return None for cyclic input instead.")
            return act("write", path="order.py", content=RAISES)
        return DONE

    court = Hearing(builds, examiner=lambda asked: act("probe", probes=[]))
    run = told(place, court, goal=build_goal_step(GOAL, check=CHECK), flat=False)
    assert "1. order() in order.py must raise ValueError" in hears[0] and len(hears) == 1
    rows = build_table(run.journal.records).rows
    assert [(row.requirement.number, row.standing) for row in rows] == [(1, "superseded"), (2, "not shown")]
    assert run.outcome.status == "not_proven"
    report = bough(place, "report").out
    assert "replaced by 2; `bough say RUN --restore 1` undoes it" in report.replace("\n", " ")
