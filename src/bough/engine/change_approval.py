"""Decides whether an agent may change tests that existed before, and returns findings to the agent that did the work.
Disputes are decided by a judge: a strong model in a fresh conversation that sees only the goal and the dispute."""

from collections.abc import Sequence

from msgspec.structs import replace

from bough.core import commands as c
from bough.core import events as e
from bough.core.acceptance import changed_tests
from bough.core.acceptance.judge_ruling import RULE, Ruling, read_ruling
from bough.core.acceptance.verdict import AllowedChange, Disagreement
from bough.core.conversation import context
from bough.core.conversation.structured_answer import Problems
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.consult import Consultation, render_answer, render_repair, try_consult
from bough.engine.person_messages import ask_about_changes
from bough.engine.task_workspace import TaskRuntime
from bough.ports import Batches

JUDGE = "judge"


async def ask_judge(
    task: Task, runtime: TaskRuntime, *, request: str, dispute: str, question: str
) -> tuple[Consultation, Ruling | None]:
    """Ask the judge, and once more if the answer is unusable. A second unusable answer counts as a no. The ruling is
    None if the judge is unavailable."""
    values = {"request": request, "dispute": dispute, "question": question}
    events: tuple[e.AnyEvent, ...] = ()
    more, found = "", Problems(("no answer",))
    for _ in range(2):
        asked = await try_consult(task, runtime, JUDGE, "strong", values, RULE, more)
        asked = replace(asked, events=(*events, *asked.events))
        if asked.answer is None:
            return asked, None
        ruling = read_ruling(asked.answer, request)
        if isinstance(ruling, Ruling):
            return asked, ruling
        events, found = asked.events, ruling
        more = render_repair(runtime.ports, RULE, found, render_answer(asked.answer))
    return asked, Ruling(False, "", f"the judge gave no valid ruling: {found.said[0]}")


ONE_BY_ONE = 6
"""The judge rules on each test separately up to this many; more get one question and one ruling."""
QUESTION = (
    "Does the request demand that the test expects something different, so that work that does what the "
    "request says cannot leave the test unchanged? A request to fix, finish or improve something does not demand it; "
    "one to change or remove what the test is about, or that says the test itself is to change, does."
)
QUESTION_OWN = (
    "The test was written by an earlier step of the same work, not by the person. Does the request, or the evidence "
    "below it, show that the unchanged test expects something wrong? Quote the words that show it."
)
YES = ("y", "yes", "allow", "ok")


async def rule_on_changes(command: c.RuleOnChanges, task: Task, runtime: TaskRuntime) -> Batches:
    left = changed_tests.list_pending_changes(task)
    if command.by == "earlier":
        yield [_build_ruling(task, "earlier", ())]
    elif command.by == "judge":
        yield await _ask_judge(left, task, runtime)
    else:
        yield [e.ChangesAsked(tuple(dict.fromkeys(one.test for one in left)))]
        yield [await _ask_person(left, task, runtime)]


async def _ask_judge(left: tuple[Disagreement, ...], task: Task, runtime: TaskRuntime) -> list[e.AnyEvent]:
    """Ask the judge, who allows only those changes to tests that the goal's wording demands."""
    asked_for = changed_tests.collect_request(runtime.run.plan, task.asked)
    # One question is about one test with all its parameters. If there are many tests, one question covers all.
    by_test: dict[str, list[Disagreement]] = {}
    for one in left:
        by_test.setdefault(one.test.partition("[")[0], []).append(one)
    groups: Sequence[Sequence[Disagreement]] = [*by_test.values()] if len(by_test) <= ONE_BY_ONE else [left]
    changes: list[AllowedChange] = []
    said: list[str] = []
    events: list[e.AnyEvent] = []
    for group in groups:
        own = all(one.own for one in group)
        question, request = QUESTION_OWN if own else QUESTION, asked_for
        if own and (evidence := _render_evidence(task)):
            # This run wrote the test, so it may be contradicted by evidence, not only by the goal.
            request = f"{asked_for}\n\nEvidence:\n\n{evidence}"
        dispute = render_dispute(group, task)
        asked, ruling = await ask_judge(task, runtime, request=request, dispute=dispute, question=question)
        events += asked.events
        if ruling is None:
            said.append(f"the judge is unavailable: {asked.error}")
            break
        said.append(ruling.reason)
        if ruling.demanded:
            why = f"the request demands it: “{ruling.quote}”"
            changes += [AllowedChange(one.test, one.change, "judge", why) for one in group]
    return [*events, _build_ruling(task, "judge", tuple(changes), " ".join(filter(None, said)))]


async def _ask_person(left: tuple[Disagreement, ...], task: Task, runtime: TaskRuntime) -> e.ChangesRuled:
    tests = {"tests": render_dispute(left, task), "task": task.id}
    said = await ask_about_changes(context.render(runtime.ports.prompt("approve"), tests), task, runtime.ports)
    if isinstance(said, e.ChangesAnswered):
        return rule_by_person(task, allow=said.allow, said=said.say, person=said.by)
    text, person = (said or "").strip(), runtime.ports.person
    if not text:
        return _build_ruling(task, "person", (), "nobody answered")
    allow = text.lower() in YES
    return rule_by_person(task, allow=allow, said="" if allow else text, person=person)


def rule_by_person(task: Task, *, allow: bool, said: str = "", person: str = "") -> e.ChangesRuled:
    """Return the person's ruling on all changes to tests that wait for one."""
    left = changed_tests.list_pending_changes(task)
    if not allow:
        return e.ChangesRuled("person", task.tree, denied=tuple(one.test for one in left), why=said, person=person)
    allowed = tuple(AllowedChange(one.test, one.change, "person", "the person allows it") for one in left)
    return replace(_build_ruling(task, "person", allowed), person=person)


def _build_ruling(task: Task, by: e.ChangesBy, changes: tuple[AllowedChange, ...], why: str = "") -> e.ChangesRuled:
    return e.ChangesRuled(by, task.tree, changes, why=why, verdict=changed_tests.approve_verdict(task, changes))


def render_dispute(found: Sequence[Disagreement], task: Task) -> str:
    """Describe each test by its old and new expectation, its current result, and the agent's reason for the change."""
    claimed = context.render_section("What the agent says about its work", task.acceptance.claim or "")
    disputed = context.render_section("What the agent says against these tests", _render_evidence(task))
    return f"{context.render_disagreements(tuple(found))}\n{claimed}{disputed}".strip()


def _render_evidence(task: Task) -> str:
    return context.render_bullets(f"{test}: {said}" for test, said in task.test_changes.disputes.items())


async def return_finding(command: c.ReturnFinding, task: Task, runtime: TaskRuntime) -> Batches:
    """Return the check's finding to the same agent, which knows what it did and why."""
    verdict = task.acceptance.verdict
    assert verdict is not None, "nothing was found"
    left = changed_tests.list_pending_changes(task)
    template = "test_changes" if left else "finding"
    ruled = context.render_section("What was decided", task.test_changes.decided) if task.test_changes.decided else ""
    values = {"reason": verdict.reason, "tests": context.render_disagreements(left), "decided": ruled}
    yield [
        e.StateChanged(State.TEST_FAILED, verdict.reason),
        e.FindingReturned(context.render(runtime.ports.prompt(template), values)),
        e.StateChanged(State.IN_PROGRESS, "returned to the same agent"),
    ]
