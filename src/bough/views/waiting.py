"""A run's questions to a person and their answers: one fold, which all interfaces use.

A question about a plan or a command is open only while the process that asked it is alive. A question of an agent, and
one about changed tests, stay open as long as the run waits, with or without a process."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.verdict import Disagreement, Verdict
from bough.core.ids import GOAL
from bough.core.planning.plan import Plan, Step

KEPT = 20

Kind = Literal["question", "plan", "command", "tests"]
Key = tuple[Kind, str]
"""Identifies a question: its kind, and the command's id or else the task's path."""


class Waiting(Struct, frozen=True):
    """A question that is open until a person answers it."""

    kind: Kind
    task: str
    question: str
    seq: int
    """The number of the event that asked."""
    at: float
    id: str = ""
    """The id of the command to approve; empty: the question is not about a command."""
    until: float = 0.0
    """When the command is denied if nobody has answered; 0: never."""
    tests: tuple[Disagreement, ...] = ()
    plan: Plan | None = None


class GivenAnswer(Struct, frozen=True):
    kind: Kind
    task: str
    question: str
    says: str
    by: str
    at: float
    id: str = ""
    """The id of the command; empty: the question was not about a command."""


class WaitingView:
    """Collects open questions and answers from a run's events; only those of `KINDS` matter."""

    def __init__(self) -> None:
        self._open: dict[Key, Waiting] = {}
        self._answered: dict[Key, GivenAnswer] = {}
        self._steps: dict[str, Step] = {}
        self._asked: dict[str, tuple[str, ...]] = {}
        self._verdicts: dict[str, Verdict] = {}

    def open(self, live: bool) -> list[Waiting]:
        """List the open questions, oldest first. `live`: whether a process is working on the run."""
        return [each for each in self._open.values() if live or each.kind in ("question", "tests")]

    @property
    def answered(self) -> list[GivenAnswer]:
        """Return the last answers, newest first."""
        return list(self._answered.values())[::-1]

    def see(self, record: e.Record) -> None:
        match event := record.event:
            case e.TaskCreated():
                self._steps[record.task] = event.step
            case e.RequirementsRead(requirements=found):
                self._asked[record.task] = tuple(one.whole for one in found) if len(found) > 1 else ()
            case e.PlanProposed():
                step = self._steps.get(record.task, Step(record.task, record.task))
                criteria = step.criteria or self._asked.get(record.task, ())
                # A plan file has one goal at its top, so a smaller task's plan is shown as if that task were the goal.
                shown = replace(step, name=GOAL, steps=event.steps, parallel=True, criteria=criteria, plan_first=False)
                self._ask(Waiting("plan", record.task, "Run this plan?", record.seq, record.at, plan=Plan(shown)))
            case e.PlanRuled() | e.PlanAnswered():
                said = {"yes": "run it", "no": "as one piece of work", "own": "their own plan"}.get(event.says)
                posted = isinstance(event, e.PlanRuled)
                task = event.task if isinstance(event, e.PlanRuled) else record.task
                self._answer(("plan", task), said or f"another plan: {event.wish}", event.by, record.at, posted)
            case e.Planned() | e.PlanRefused():
                self._open.pop(("plan", record.task), None)
            case e.CommandHeld(task=task, line=line, id=id, until=until):
                self._ask(Waiting("command", task, line, record.seq, record.at, id=id, until=until))
            case e.CommandRuled():
                said = "run it" if event.allow else f"do not run it{f': {event.say}' if event.say else ''}"
                said = said if event.by else "nobody answered in time"
                self._answer(("command", event.id), said, event.by, record.at, posted=True)
            case e.QuestionAsked(question=question):
                self._ask(Waiting("question", record.task, question, record.seq, record.at))
            case e.PersonSaid(task=to):  # The message answers the questions of the tasks to which it is addressed.
                for kind, task in list(self._open):
                    if kind == "question" and (to in ("", task) or task.startswith(f"{to}/")):
                        self._answer((kind, task), event.text, event.by, record.at, posted=True)
            case e.PersonAnswered():
                if event.text:
                    self._answer(("question", record.task), event.text, event.by, record.at)
                self._open.pop(("question", record.task), None)
            case e.TaskRewound():
                self._keep(lambda each: each.task != record.task)
            case e.RunResumed():  # The resumed process asks again what is still needed.
                self._keep(lambda each: each.kind == "question")
            case e.RunHalted():
                self._keep(lambda each: each.kind in ("question", "tests"))
            case e.RunFinished():
                self._open.clear()
            case _:
                self._see_tests(record)

    def _see_tests(self, record: e.Record) -> None:
        """Handle the events about changes to original tests, which need a person's approval."""
        verdict = self._verdicts.get(record.task)
        match event := record.event:
            case e.CheckFinished():
                self._verdicts[record.task] = event.verdict
                self._open.pop(("tests", record.task), None)
            case e.ChangesAsked():
                self._ask_about_tests(record, event.tests)
            case e.TaskHalted(reason="needs_approval") if verdict is not None and verdict.ruling == "needs_approval":
                self._ask_about_tests(record, ())
            case e.ChangesAnswered():
                said = "allowed" if event.allow else f"not allowed{f': {event.say}' if event.say else ''}"
                self._answer(("tests", event.task), said, event.by, record.at, posted=True)
            case e.ChangesRuled() if event.by == "person" and (event.allowed or event.denied):
                said = f"not allowed{f': {event.why}' if event.why else ''}" if event.denied else "allowed"
                self._answer(("tests", record.task), said, event.person, record.at)
            case e.ChangesRuled():
                self._open.pop(("tests", record.task), None)

    def _ask_about_tests(self, record: e.Record, asked: tuple[str, ...]) -> None:
        verdict = self._verdicts.get(record.task)
        found = verdict.disagreements if verdict is not None else ()
        tests = tuple(one for one in found if not asked or one.test in asked)
        reason = verdict.reason if verdict is not None else "Original tests would change."
        self._ask(Waiting("tests", record.task, reason, record.seq, record.at, tests=tests))

    def _keep(self, still: Callable[[Waiting], bool]) -> None:
        self._open = {key: each for key, each in self._open.items() if still(each)}

    def _ask(self, waiting: Waiting) -> None:
        key: Key = (waiting.kind, waiting.id or waiting.task)
        self._open[key] = waiting
        self._answered.pop(key, None)

    def _answer(self, key: Key, says: str, by: str, at: float, posted: bool = False) -> None:
        """Record an answer. `posted`: a person gave it, but the run has not used it yet; of several such answers the
        first counts, until the run reports the one that it used."""
        waiting = self._open.pop(key, None)
        about = waiting or (None if posted else self._answered.get(key))
        if about is None:
            return
        self._answered.pop(key, None)
        self._answered[key] = GivenAnswer(about.kind, about.task, about.question, says, by, at, about.id)
        while len(self._answered) > KEPT:
            del self._answered[next(iter(self._answered))]


KINDS = e.list_named(WaitingView.see, WaitingView._see_tests)
