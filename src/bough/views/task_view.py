"""A task as one line of the tree that people see, updated event by event at little cost."""

from collections import defaultdict
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, field

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.conversation.pruning import parse_arguments
from bough.core.ladder.escalation import Trouble
from bough.core.messages import Call, Usage
from bough.core.planning.plan import Step, describe_command
from bough.core.tree.task_state import State
from bough.views.vocabulary import RUNGS_UNDER_WAY


class TaskView(Struct):
    """One line of the tree."""

    path: str
    title: str = ""
    state: State = State.PENDING
    why: str = ""
    doing: str = ""
    """The current action (a model call, a tool, a check) in a few words; empty between actions."""
    acted_at: float = 0.0
    """When the task's last tool call or check ended."""
    attempt: int = 0
    role: str = ""
    limits: Limits = field(default_factory=Limits)
    verdict: Verdict | None = None
    files: tuple[str, ...] = ()
    commit: str = ""
    tree: str = ""
    base: str = ""
    repairs: int = 0
    halted: str = ""
    rung: str = ""
    """bough's last reaction to stuck work: a rung of the escalation ladder."""
    trouble: Trouble | None = None
    report: str = ""
    """What was tried and learned, if the task was given up."""
    question: str = ""
    passes: int = 1
    """The number of the current pass of a repeated task."""
    repeat: int = 1
    """How many passes the task may have at most."""
    source: str = ""
    """The earlier run and task whose work this task reuses; empty: none."""
    fallbacks: tuple[str, ...] = ()
    """The models that answered in place of the first ones."""
    tokens_by_role: dict[str, int] = field(default_factory=dict)
    worker: str = ""
    """The worker that runs it, or ran it last, where tasks are dispatched to workers."""
    needs: tuple[str, ...] = ()
    """The names of sibling steps that must come first."""
    started_at: float = 0.0
    last_at: float = 0.0
    reopened: bool = False
    """Whether the task was resumed or rewound."""
    _asking: bool = False
    _climbing: bool = False
    """Whether the last rung is about to start a new agent itself."""
    _acted: tuple[Call | Verdict, bool] | None = None
    """The last call or verdict, and whether it succeeded."""
    _calls: tuple[Call, ...] = ()
    _running: list[Call] = field(default_factory=list)
    _past: list[tuple[int, State, str, int, str, int, Verdict | None]] = field(default_factory=list)
    """The values (state, why, attempt, role, repairs, verdict) from each version of the task on, for rewinding."""
    _spent: dict[str, Any] = field(default_factory=partial(defaultdict, int))
    """The fields of the spend, added up in place: a new `Spend` for each of a hundred thousand events would be slower
    than everything else here."""

    @property
    def spend(self) -> Spend:
        return Spend(**self._spent)

    @property
    def acted(self) -> str:
        """Describe the task's last action: `wrote shop/prices.py +12`."""
        if self._acted is None:
            return ""
        done, well = self._acted
        if isinstance(done, Verdict):
            return f"its check {done.ruling.replace('_', ' ')}: {done.reason}"
        return describe_act(done) + ("" if well else ": failed")


def make_title(step: Step) -> str:
    """Return the first line of a step's description."""
    text = (
        step.title
        or step.instructions
        or (f"runs {describe_command(step)}" if step.run else step.do or step.test_command or "")
    )
    return text.strip().partition("\n")[0]


def see_task(task: TaskView, record: e.Record) -> None:
    task.last_at = record.at
    # The most frequent events come first: a large run has a hundred thousand of them.
    match event := record.event:
        case e.ModelAnswered():
            if not event.spare:
                _count_round(task, asking=False)
                _charge(task, event, task.role or "builder")
            task.doing, task._calls, task._running = "", event.calls, []
        case e.RoundStarted():
            _count_round(task, asking=True)
            task.doing = "thinking"
        case e.ToolStarted(call=id):
            task._running += [call for call in task._calls if call.id == id]
            task.doing = _describe_running(task._running)
        case e.ToolFinished(call=id):
            task._spent["seconds"] += event.seconds
            task.acted_at = record.at
            task._acted = next(((call, event.ok) for call in task._running if call.id == id), task._acted)
            task._running = [call for call in task._running if call.id != id]
            task.doing = _describe_running(task._running)
            if event.tree and event.tree != task.tree:  # The files changed: no longer stuck.
                task.tree, task.trouble = event.tree, None
        case e.StateChanged():
            task.state, task.why, task.doing, task._climbing = event.to, event.why, "", False
            _remember(task, record.version)
        case e.AttemptStarted():
            task.attempt += 1
            task.role = event.role
            # If escalation restarts a stuck bug hunter, this counts as the same repair, not as a new one.
            task.repairs += event.role == "bug_hunter" and not task._climbing
            task._asking, task._climbing, task.doing = False, False, ""
            _remember(task, record.version)
        case e.CheckStarted():
            task.doing = f"checking: {event.command}" if event.command else "checking"
        case e.CheckFinished(verdict=verdict):
            task.verdict, task.doing, task.tree = verdict, "", verdict.tree or task.tree
            task.acted_at, task._acted = record.at, (verdict, verdict.ruling == "passed")
            _charge_check(task, verdict.seconds)
        case e.CheckpointMade():
            task.commit, task.tree, task.files = event.commit, event.tree, event.files
        case e.HelperAnswered():
            task._spent["rounds"] += 1
            _charge(task, event, event.helper)
        case e.TaskCreated():
            _begin(task, event, record.at)
        case e.ModelFailed() | e.HelperFailed():
            if isinstance(event, e.ModelFailed):
                _count_round(task, asking=True)
            _charge_failed(task, event)
        case e.TaskHalted():
            task.halted, task.doing = event.reason, ""
            task._spent["seconds"] += event.seconds
        case e.TaskResumed():
            task.halted, task.limits, task.reopened, task.worker = "", event.limits, True, event.worker
        case e.TaskRewound():
            _rewind(task, event)
        case _:
            see_activity(task, record)


def _begin(task: TaskView, event: e.TaskCreated, at: float) -> None:
    step = event.step
    task.title, task.repeat, task.worker = make_title(step), step.repeat, event.worker
    task.needs = step.needs or task.needs
    if not any(task._spent.values()):  # A task that already has spend begins again after a rewind: keep what it spent.
        task._spent.update(msgspec.structs.asdict(event.spent))
    task.limits, task.base, task.tree, task.started_at = event.limits, event.base, event.base, at


def see_activity(task: TaskView, record: e.Record) -> None:
    """Process the events that mainly show a task's current action."""
    match event := record.event:
        case e.CompactionStarted():
            task.doing = "compacting the conversation"
        case e.Compacted():
            task.doing = ""
        case e.MergeStarted():
            task.doing = f"merging {event.child}"
        case e.CommandStarted():
            task.doing = f"running: {event.command}"
        case e.CommandFinished():
            task._spent["seconds"] += event.seconds
            task.doing, task.tree = "", event.tree or task.tree
        case e.ProbesStarted():
            task.doing = f"running {len(event.names)} cases of probes"
        case e.WorkspaceRestored():
            task.tree = event.tree
        case _:
            see_rarer(task, record)


def see_rarer(task: TaskView, record: e.Record) -> None:
    """Process the rarer events: plans, steps, examinations, people and stuck work."""
    match event := record.event:
        case e.ModelSwitched():
            if event.to != event.tier:
                task.fallbacks = tuple(dict.fromkeys((*task.fallbacks, event.model)))
            if event.restarts and task._asking:
                task._asking = False
                task._spent["rounds"] -= 1
        case e.Escalated(decision=decision):
            task.rung, task.trouble, task.doing = decision.rung, event.trouble, RUNGS_UNDER_WAY[decision.rung]
            task._climbing = decision.rung != "nudge"
        case e.Planned():
            task.doing, task.role, task.repairs = "", "", 0
            _remember(task, record.version)
        case e.Granted():
            task.limits = event.limits
        case e.PlanRefused():
            task.doing = "repairing the plan" if not event.final else ""
        case e.Reported():
            task.report = event.text
        case e.QuestionAsked():
            task.question = event.question
        case e.PersonAnswered():
            task.doing, task.question = "", ""
            # A new agent gets the answer; but if the question was about blocked steps, the planner gets it.
            if event.text and not (task.trouble and task.trouble.cause == "children"):
                task.role, task.repairs = "", 0
                _remember(task, record.version)
        case e.ChildrenReopened():  # The rung ends here: a later bug hunter of this task is a new repair.
            task._climbing, task.doing = False, ""
        case e.TakenUp():
            task.state, task.why, task.role, task.repairs = State.IN_PROGRESS, event.why, "", 0
            _remember(task, record.version)
        case e.ChildMerged():
            _charge_check(task, event.verdict.seconds if event.verdict else 0.0)
        case e.ChildSettled():  # Take over only the child's work: its spend is shown on its own line.
            task.tree, task.doing = event.tree, ""
        case e.PassEnded():
            task.passes = event.number + 1
        case e.ProbesFinished():
            task.doing = ""
            _charge_check(task, event.seconds)
        case e.DifferenceSeen():
            _charge_check(task, event.seconds)
        case e.ChangesRuled():
            task.verdict = event.verdict or task.verdict


def _charge(task: TaskView, event: e.ModelAnswered | e.HelperAnswered, role: str) -> None:
    _count_tokens(task, event.usage)
    task.tokens_by_role[role] = task.tokens_by_role.get(role, 0) + event.usage.input + event.usage.output
    task._spent["seconds"] += event.seconds
    if event.cost is None:
        task._spent["unpriced"] += 1
    else:
        task._spent["cost"] += event.cost


def _count_tokens(task: TaskView, usage: Usage) -> None:
    task._spent["tokens_in"] += usage.input
    task._spent["tokens_out"] += usage.output
    task._spent["tokens_cached"] += usage.cache_read
    task._spent["estimated"] += usage.estimated


def _charge_failed(task: TaskView, event: e.ModelFailed | e.HelperFailed) -> None:
    """Charge the part of a broken-off answer that arrived."""
    task.doing = f"waiting {event.wait:.0f} s: {event.message}" if event.wait else ""
    task._spent["seconds"] += event.seconds
    if event.usage != Usage():
        _count_tokens(task, event.usage)
        task._spent["unpriced"] += 1


def _charge_check(task: TaskView, seconds: float) -> None:
    task._spent["seconds"] += seconds
    task._spent["check_seconds"] += seconds


def _count_round(task: TaskView, *, asking: bool) -> None:
    """Count a round; a call repeated after a failure or a crash belongs to the same round."""
    task._spent["rounds"] += not task._asking
    task._asking = asking


def _rewind(task: TaskView, event: e.TaskRewound) -> None:
    task._past = [entry for entry in task._past if entry[0] <= event.version]
    last = task._past[-1] if task._past else (0, State.PENDING, "", 0, "", 0, None)
    _, task.state, task.why, task.attempt, task.role, task.repairs, task.verdict = last
    task.halted, task.doing, task.tree = "", "", event.tree
    task.rung, task.trouble, task.report, task.question = "", None, "", ""
    task._asking, task._running, task.reopened = False, [], True


def _remember(task: TaskView, version: int) -> None:
    task._past.append((version, task.state, task.why, task.attempt, task.role, task.repairs, task.verdict))


def _describe_running(running: list[Call]) -> str:
    if not running:
        return ""
    return describe_call(running[0]) + (f" (and {len(running) - 1} more)" if len(running) > 1 else "")


TELLING = ("command", "path", "pattern", "query", "summary", "text")
"""The arguments that say most about a call, the most telling one first."""


PAST = {"write": "wrote", "edit": "edited", "bash": "ran", "search": "searched", "list": "listed"}


def describe_call(call: Call) -> str:
    """Describe a call by the tool and its most telling argument. The text is untrusted, since a model wrote it."""
    words = next((value for name in TELLING if (value := _read_texts(call).get(name))), "")
    return f"{call.name} {words}".rstrip()


def describe_act(call: Call) -> str:
    """Describe a finished call like `describe_call`, with counts of its lines: `wrote shop/prices.py +12`."""
    texts, (name, space, words) = _read_texts(call), describe_call(call).partition(" ")
    added, removed = (
        len(text.splitlines()) for text in (texts.get("content") or texts.get("new", ""), texts.get("old", ""))
    )
    counts = (f" +{added}" if added else "") + (f" −{removed}" if removed else "")
    return f"{PAST.get(name, name)}{space}{words}{counts}"


def _read_texts(call: Call) -> dict[str, str]:
    return {name: value for name, value in parse_arguments(call).items() if isinstance(value, str)}
