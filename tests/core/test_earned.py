"""`completed` is earned: what shows that the work made the difference, from a task's state alone."""

import json

import pytest
from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance import examination as examining
from bough.core.acceptance.examination import conclude_work, decide_examination
from bough.core.acceptance.judge_ruling import Ruling
from bough.core.acceptance.probes import Probe, ProbeResult, read_probes
from bough.core.acceptance.requirements import Kind, Requirement
from bough.core.acceptance.verdict import Difference, Verdict
from bough.core.budget.limits import Limits
from bough.core.conversation.code_outline import compare_texts
from bough.core.conversation.structured_answer import Problems
from bough.core.messages import Answer, Call
from bough.core.planning.plan import Step
from bough.core.rules import AcceptanceRules, Rules
from bough.core.tree.task import Task
from bough.core.tree.task_groups import TaskAcceptance, TaskBudget, TaskExamination, TaskPlan
from bough.core.tree.task_result import list_live_probes
from bough.core.tree.task_state import State
from bough.core.verdict.case_programs import find_form

PASSED = Verdict("passed", "the check passed", "pytest", exit_status=0, tree="t")


def requirement(number: int, kind: Kind = "behaviour") -> Requirement:
    return Requirement(number, f"Requirement {number} holds.", kind=kind)


def task(*asked: Requirement, verdict: Verdict = PASSED, rules: AcceptanceRules = AcceptanceRules()) -> Task:  # noqa: B008
    """A goal whose check has just passed."""
    return Task(
        "goal",
        state=State.TESTING,
        step=Step("goal", "Do it."),
        base="b",
        tree="t",
        rules=Rules(acceptance=rules),
        budget=TaskBudget(limits=Limits(40)),
        plan=TaskPlan(requirements=asked),
        acceptance=TaskAcceptance(verdict=verdict, judged=True),
    )


def seen(task: Task, **found: object) -> Task:
    event = e.DifferenceSeen("t", Difference(**found))  # type: ignore[arg-type]
    return replace(task, examination=replace(task.examination, seen=event))


def probed(task: Task, *cases: tuple[int, str, str]) -> Task:
    """Examined by cases: the requirement, the outcome now, the outcome before the work."""
    probes = tuple(Probe(f"goal/probe-{n}", "p", "", "x", requirements=(about,)) for n, (about, *_) in enumerate(cases))
    results = {probe.name: ProbeResult(probe.name, case[1]) for probe, case in zip(probes, cases, strict=True)}  # type: ignore[arg-type]
    before = {probe.name: case[2] for probe, case in zip(probes, cases, strict=True)}
    known = replace(task.examination, examined=e.Examined("examiner", probes), probes=probes, probed="t", times=1)
    return replace(task, examination=replace(known, results=results, before=before))


def missing(task: Task) -> list[int]:
    return [one.number for one in examining.list_missing(task)]


ONE, TWO = requirement(1), requirement(2)


def test_a_passing_check_alone_shows_nothing() -> None:
    at = seen(task(ONE))
    assert missing(at) == [1]
    assert isinstance(decide_examination(at), c.Examine), "however small the change is"
    ended = conclude_work(replace(at, examination=replace(at.examination, examined=e.ExaminationSkipped("why"))), "ok")
    assert ended.to is State.BLOCKED and ended.why.endswith(
        "for requirement 1 (Requirement 1 holds.) (not examined: why)"
    )


def test_the_persons_own_test_completes_and_says_that_nobody_examined_it() -> None:
    """An examiner without a live case is asked once more; then the test that the person had decides."""
    for at in (seen(task(ONE), check=True), seen(task(ONE, verdict=replace(PASSED, fixed=("test_a",))))):
        assert decide_examination(at) == c.Examine()
        lazy = probed(at)
        assert decide_examination(lazy) == c.Examine((1,)), "asked once more"
        told = replace(lazy, examination=replace(lazy.examination, times=2))
        assert decide_examination(told) is None
        assert conclude_work(told, "ok") == c.Conclude(State.COMPLETED, f"ok; {examining.OWN_TEST}")
        live = probed(at, (1, "passed", "failed"))
        assert decide_examination(live) is None and conclude_work(live, "ok") == c.Conclude(State.COMPLETED, "ok")
        never = replace(at, rules=Rules(acceptance=AcceptanceRules(examine="never")))
        assert conclude_work(never, "ok").why == 'ok; not examined: `examine = "never"`'
    several = seen(task(ONE, TWO), check=True)
    assert missing(several) == [1, 2], "which of them is it about?"
    assert missing(probed(several, (1, "passed", "failed"))) == [2], "each needs a case of its own"
    unexamined = replace(several, rules=Rules(acceptance=AcceptanceRules(examine="never")))
    assert missing(unexamined) == [], "nobody is to look"
    own = seen(task(ONE, verdict=replace(PASSED, changed=("test_new.py",))), check=True)
    assert missing(own) == [1], "the agent may have written what the check runs"


def test_a_case_that_fails_without_the_work_shows_its_requirement() -> None:
    at = probed(seen(task(ONE, TWO)), (1, "passed", "failed"), (2, "passed", "passed"))
    assert missing(at) == [2]
    assert decide_examination(at) == c.Examine((2,)), "once more, for what nothing shows"
    again = replace(at, examination=replace(at.examination, times=2))
    assert decide_examination(again) is None
    assert "requirement 2 (Requirement 2 holds.)" in conclude_work(again, "ok").why
    assert missing(probed(seen(task(ONE)), (1, "passed", "broken"))) == [], "it cannot even be loaded there"


def test_a_dropped_case_shows_nothing() -> None:
    at = probed(seen(task(ONE)), (1, "failed", "failed"), (1, "passed", "failed"))
    dropped = {"goal/probe-1": Ruling(False)}
    assert missing(replace(at, examination=replace(at.examination, rulings=dropped))) == [1]


def test_what_only_the_authors_own_test_shows_is_not_proven() -> None:
    """A wrong repair with its author's wrong test is red, then green, too."""
    wrote = replace(PASSED, added=("test_new",))
    at = probed(seen(task(ONE, verdict=wrote)), (1, "passed", "passed"))
    assert missing(at) == [1] and decide_examination(at) == c.Examine((1,))
    at = replace(at, examination=replace(at.examination, times=2))
    assert decide_examination(at) is None and conclude_work(at, "ok").to is State.BLOCKED
    never = AcceptanceRules(examine="never")
    off = seen(task(ONE, verdict=wrote, rules=never))
    assert decide_examination(off) is None and conclude_work(off, "ok").to is State.BLOCKED, "and nobody examines it"


@pytest.mark.parametrize(
    ("kind", "found", "shown"),
    [
        ("document", {"code": False, "documents": True}, True),
        ("document", {"code": True, "documents": True}, False),
        ("document", {"code": False, "documents": False}, False),
        ("restructure", {"code": True, "interface": True}, True),
        ("restructure", {"code": False, "documents": True}, False),
        ("unchanged", {"code": True}, False),
        ("upgrade", {"version": True}, True),
        ("upgrade", {"code": True}, False),
    ],
)
def test_what_has_nothing_to_run_is_seen_in_the_change(kind: Kind, found: dict[str, bool], shown: bool) -> None:
    at = probed(seen(task(requirement(1, kind)), **found))
    assert (missing(at) == []) is shown
    assert (conclude_work(at, "ok") == c.Conclude(State.COMPLETED, examining.NOTHING_TO_RUN)) is shown


def test_beside_behaviour_that_is_shown_documents_and_what_stays_need_no_run() -> None:
    asked = (ONE, requirement(2, "document"), requirement(3, "unchanged"), requirement(4, "background"))
    at = probed(seen(task(*asked), code=True, documents=True), (1, "passed", "failed"))
    assert missing(at) == []
    assert conclude_work(at, "ok") == c.Conclude(State.COMPLETED, "ok")
    assert missing(probed(seen(task(*asked), code=True), (1, "passed", "failed"))) == [2], "no document changed"


def test_tests_that_were_asked_for_are_shown_by_changed_tests_only() -> None:
    asked = requirement(1), requirement(2, "coverage")
    none = seen(probed(task(*asked), (1, "passed", "failed")), documents=True)
    assert missing(none) == [2], "a document is no test"
    wrote = replace(PASSED, changed=("test_order.py",))
    assert missing(seen(probed(task(*asked, verdict=wrote), (1, "passed", "failed")))) == []


def test_what_was_replaced_need_not_be_shown() -> None:
    at = probed(seen(task(replace(ONE, superseded=2), TWO)), (2, "passed", "failed"), (1, "failed", "failed"))
    assert missing(at) == []
    assert [probe.requirements for probe in list_live_probes(at)] == [(2,)], "what it says does not count any more"


def test_a_passing_check_can_be_proof_enough() -> None:
    at = seen(task(ONE, rules=AcceptanceRules(examine="never", proof="check")))
    assert decide_examination(at) is None
    assert conclude_work(at, "ok") == c.Conclude(State.COMPLETED, "ok")


def test_steps_are_done_by_their_check() -> None:
    step = replace(task(ONE), id="a")
    examined = replace(step, examination=TaskExamination(examined=e.Examined("examiner"), probed="t", times=1))
    assert decide_examination(examined) is None
    assert conclude_work(examined, "ok") == c.Conclude(State.COMPLETED, "ok")


@pytest.mark.parametrize(
    ("path", "before", "after", "code"),
    [
        ("a.py", "def f():\n    return 1\n", '# note\ndef f():\n    """Why."""\n    return 1\n', False),
        ("a.py", "def f():\n    return 1\n", "def f():\n    return 2\n", True),
        ("a.c", "int f() { return 1; }", "/* why */ int f() { return 1; } // so", False),
        ("a.c", 'char *s = "// a";', 'char *s = "// b";', True),
        ("run.sh", "a\nb\n", "a # why\n# so\nb\n", False),
        ("README.md", "a", "b", False),
        ("requirements.txt", "a", "b", True),
        ("data.json", "1", "2", True),
        ("tests/test_a.py", "a = 1", "a = 2", False),
    ],
)
def test_a_change_of_comments_and_documents_has_no_code(path: str, before: str, after: str, code: bool) -> None:
    found = compare_texts({path: before}, {path: after}, (path,))
    assert (found.code, found.documents) == (code, not code)


def test_a_time_and_a_version_show_what_they_are_asked_for() -> None:
    fast = probed(seen(task(requirement(1, "speed")), faster=True))
    assert missing(fast) == [] and conclude_work(fast, "ok") == c.Conclude(State.COMPLETED, "ok")
    assert missing(probed(seen(task(requirement(1, "speed"))))) == [1]
    pinned = {"requirements.txt": "a==1.2"}
    assert compare_texts(pinned, {"requirements.txt": "a==1.3"}, ("requirements.txt",)).version
    assert not compare_texts(pinned, {"requirements.txt": "a==1.2 # x"}, ("requirements.txt",)).version


def test_definitions_tell_a_restructuring_from_a_comment() -> None:
    found = compare_texts({"a.py": "def _f(a): ..."}, {"a.py": "def _g(a): ..."}, ("a.py",))
    assert found.interface and found.code
    assert not compare_texts({"a.py": "def f(a): ..."}, {"a.py": "def f(a): ...  # g"}, ("a.py",)).interface


def test_a_short_requirement_can_be_quoted_whole() -> None:
    """The words are too few to say anything in a longer text, but they are all that was asked."""
    short = Requirement(2, "Fix it.")
    given = [{"says": "x", "quote": quote, "text": "def test_it(): pass"} for quote in ("Fix it", "it", "holds")]
    answer = Answer(calls=(Call("1", "probe", json.dumps({"probes": given})),))
    form = find_form([])
    found = read_probes(answer, "goal", form, [ONE, short], f"{ONE.text} {short.text}")
    assert not isinstance(found, Problems)
    assert [(probe.quote, probe.requirements) for probe in found.probes] == [("Fix it", (2,))]
    assert len(found.left_out) == 2


def test_no_examiner_calls_a_stated_demand_background() -> None:
    asked = [Requirement(1, "Keys must be sorted."), Requirement(2, "We use it daily.")]
    given = {"probes": [], "kinds": [{"requirement": n, "kind": "background"} for n in (1, 2)]}
    form = find_form([])
    found = read_probes(Answer(calls=(Call("c", "probe", json.dumps(given)),)), "goal", form, asked, "")
    assert not isinstance(found, Problems) and found.kinds == {2: "background"}


def test_a_goal_of_which_all_is_called_background_is_not_proven() -> None:
    ended = conclude_work(seen(task(requirement(1, "background"))), "the check passed")
    assert ended.to is State.BLOCKED and "asks for something that could be shown" in ended.why
