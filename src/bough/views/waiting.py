"""What a run asks a person, and what they answered: a fold that every place where a person can answer reads.

A plan and a command wait for the process that asks about them. A question, and tests that may change, wait as long as
the run does, with or without a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import Disagreement, Verdict
from bough.core.planning.plan import Plan, Step

KINDS = (
    *("TaskCreated", "RequirementsRead", "PlanProposed", "PlanRuled", "PlanAnswered", "Planned", "PlanRefused"),
    *("TaskRewound", "CommandHeld", "CommandRuled", "CheckFinished", "ChangesAsked", "ChangesAnswered"),
    *("ChangesRuled", "QuestionAsked", "PersonSaid", "PersonAnswered", "TaskHalted", "TaskResumed"),
    *("RunResumed", "RunHalted", "RunFinished"),
)
KEPT = 20
"""How many answers are remembered."""

Kind = Literal["question", "plan", "command", "tests"]
Key = tuple[Kind, str]
"""What is asked: of a command its id, of anything else its task."""


class Waiting(Struct, frozen=True):
    """Something that waits for a person."""

    kind: Kind
    task: str
    question: str
    seq: int
    """The event that asked."""
    at: float
    id: str = ""
    """Which command."""
    until: float = 0.0
    """When it is denied without an answer; 0: it waits."""
    tests: tuple[Disagreement, ...] = ()
    plan: Plan | None = None


class GivenAnswer(Struct, frozen=True):
    """What came of it."""

    kind: Kind
    task: str
    question: str
    says: str
    by: str
    at: float


class WaitingView:
    """A fold over the events of `KINDS`."""

    def __init__(self) -> None:
        self._open: dict[Key, Waiting] = {}
        self._answered: dict[Key, GivenAnswer] = {}
        self._steps: dict[str, Step] = {}
        self._asked: dict[str, tuple[str, ...]] = {}
        self._verdicts: dict[str, Verdict] = {}

    def open(self, live: bool) -> list[Waiting]:
        """What waits now, oldest first. `live`: a process runs the run."""
        return [each for each in self._open.values() if live or each.kind in ("question", "tests")]

    @property
    def answered(self) -> list[GivenAnswer]:
        """The last answers, newest first."""
        return list(self._answered.values())[::-1]

    def see(self, record: e.Record) -> None:
        see = _SEE.get(type(record.event))
        if see is not None:
            see(self, record)

    # ── plans ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _see_task_created(self, record: e.Record) -> None:
        assert isinstance(record.event, e.TaskCreated)
        self._steps[record.task] = record.event.step

    def _see_requirements(self, record: e.Record) -> None:
        assert isinstance(record.event, e.RequirementsRead)
        found = record.event.requirements
        self._asked[record.task] = tuple(one.whole for one in found) if len(found) > 1 else ()

    def _see_plan_proposed(self, record: e.Record) -> None:
        assert isinstance(record.event, e.PlanProposed)
        step = self._steps.get(record.task, Step(record.task, record.task))
        criteria = step.criteria or self._asked.get(record.task, ())
        shown = replace(step, steps=record.event.steps, parallel=True, criteria=criteria, plan_first=False)
        self._ask(Waiting("plan", record.task, "Run this plan?", record.seq, record.at, plan=Plan(shown)))

    def _see_plan_answer(self, record: e.Record) -> None:
        assert isinstance(record.event, e.PlanRuled | e.PlanAnswered)
        task = record.event.task if isinstance(record.event, e.PlanRuled) else record.task
        said = {"yes": "run it", "no": "as one piece of work", "own": "their own plan"}.get(record.event.says)
        self._answer(("plan", task), said or f"another plan: {record.event.wish}", record.event.by, record.at)

    def _drop_plan(self, record: e.Record) -> None:
        self._open.pop(("plan", record.task), None)

    # ── commands ────────────────────────────────────────────────────────────────────────────────────────────────

    def _see_command_held(self, record: e.Record) -> None:
        assert isinstance(record.event, e.CommandHeld)
        event = record.event
        self._ask(Waiting("command", event.task, event.line, record.seq, record.at, id=event.id, until=event.until))

    def _see_command_ruled(self, record: e.Record) -> None:
        assert isinstance(record.event, e.CommandRuled)
        event = record.event
        said = "run it" if event.allow else f"do not run it{f': {event.say}' if event.say else ''}"
        self._answer(("command", event.id), said if event.by else "nobody answered in time", event.by, record.at)

    # ── tests that may change ───────────────────────────────────────────────────────────────────────────────────

    def _see_check_finished(self, record: e.Record) -> None:
        assert isinstance(record.event, e.CheckFinished)
        self._verdicts[record.task] = record.event.verdict
        self._open.pop(("tests", record.task), None)

    def _see_changes_asked(self, record: e.Record) -> None:
        assert isinstance(record.event, e.ChangesAsked)
        self._ask_about_tests(record, record.event.tests)

    def _see_task_halted(self, record: e.Record) -> None:
        assert isinstance(record.event, e.TaskHalted)
        verdict = self._verdicts.get(record.task)
        if record.event.reason == "needs_approval" and verdict is not None and verdict.ruling == "needs_approval":
            self._ask_about_tests(record, ())

    def _ask_about_tests(self, record: e.Record, asked: tuple[str, ...]) -> None:
        verdict = self._verdicts.get(record.task)
        found = verdict.disagreements if verdict is not None else ()
        tests = tuple(one for one in found if not asked or one.test in asked)
        reason = verdict.reason if verdict is not None else "Original tests would change."
        self._ask(Waiting("tests", record.task, reason, record.seq, record.at, tests=tests))

    def _see_changes_answered(self, record: e.Record) -> None:
        assert isinstance(record.event, e.ChangesAnswered)
        self._answer_tests(record, record.event.task, record.event.allow, record.event.say, record.event.by)

    def _see_changes_ruled(self, record: e.Record) -> None:
        assert isinstance(record.event, e.ChangesRuled)
        event = record.event
        if event.by == "person" and (event.allowed or event.denied):
            self._answer_tests(record, record.task, not event.denied, event.why, event.person)
        else:
            self._open.pop(("tests", record.task), None)

    def _answer_tests(self, record: e.Record, task: str, allow: bool, say: str, by: str) -> None:
        said = "allowed" if allow else f"not allowed{f': {say}' if say else ''}"
        self._answer(("tests", task), said, by, record.at)

    # ── questions ───────────────────────────────────────────────────────────────────────────────────────────────

    def _see_question_asked(self, record: e.Record) -> None:
        assert isinstance(record.event, e.QuestionAsked)
        self._ask(Waiting("question", record.task, record.event.question, record.seq, record.at))

    def _see_person_said(self, record: e.Record) -> None:
        """The answer to the questions of the tasks that it is for."""
        assert isinstance(record.event, e.PersonSaid)
        to = record.event.task
        for kind, task in list(self._open):
            if kind == "question" and (to in ("", task) or task.startswith(f"{to}/")):
                self._answer((kind, task), record.event.text, record.event.by, record.at)

    def _see_person_answered(self, record: e.Record) -> None:
        assert isinstance(record.event, e.PersonAnswered)
        if record.event.text:
            self._answer(("question", record.task), record.event.text, record.event.by, record.at)
        self._open.pop(("question", record.task), None)

    # ── the run ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _see_task_rewound(self, record: e.Record) -> None:
        self._open = {key: each for key, each in self._open.items() if each.task != record.task}

    def _see_process_changed(self, record: e.Record) -> None:
        """What waited for the process that asked is asked again where it is still needed."""
        gone = ("plan", "command", "tests") if isinstance(record.event, e.RunResumed) else ("plan", "command")
        self._open = {key: each for key, each in self._open.items() if each.kind not in gone}

    def _see_run_finished(self, record: e.Record) -> None:
        self._open.clear()

    def _ask(self, waiting: Waiting) -> None:
        key: Key = (waiting.kind, waiting.id or waiting.task)
        self._open[key] = waiting
        self._answered.pop(key, None)

    def _answer(self, key: Key, says: str, by: str, at: float) -> None:
        waiting, before = self._open.pop(key, None), self._answered.pop(key, None)
        about = waiting or before
        if about is None:
            return
        # What the run took is the truth: it may be that of the terminal, given at the same moment.
        self._answered[key] = GivenAnswer(about.kind, about.task, about.question, says, by, at)
        while len(self._answered) > KEPT:
            del self._answered[next(iter(self._answered))]


_SEE: dict[type, Callable[[WaitingView, e.Record], None]] = {
    e.TaskCreated: WaitingView._see_task_created,
    e.RequirementsRead: WaitingView._see_requirements,
    e.PlanProposed: WaitingView._see_plan_proposed,
    e.PlanRuled: WaitingView._see_plan_answer,
    e.PlanAnswered: WaitingView._see_plan_answer,
    e.Planned: WaitingView._drop_plan,
    e.PlanRefused: WaitingView._drop_plan,
    e.CommandHeld: WaitingView._see_command_held,
    e.CommandRuled: WaitingView._see_command_ruled,
    e.CheckFinished: WaitingView._see_check_finished,
    e.ChangesAsked: WaitingView._see_changes_asked,
    e.TaskHalted: WaitingView._see_task_halted,
    e.ChangesAnswered: WaitingView._see_changes_answered,
    e.ChangesRuled: WaitingView._see_changes_ruled,
    e.QuestionAsked: WaitingView._see_question_asked,
    e.PersonSaid: WaitingView._see_person_said,
    e.PersonAnswered: WaitingView._see_person_answered,
    e.TaskRewound: WaitingView._see_task_rewound,
    e.RunResumed: WaitingView._see_process_changed,
    e.RunHalted: WaitingView._see_process_changed,
    e.RunFinished: WaitingView._see_run_finished,
}
