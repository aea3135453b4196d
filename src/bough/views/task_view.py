"""What people see of a task: one line of the tree, kept up to date by a light fold over its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.ledger import Limits, Spend
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
    """The current effect, in a few words; empty between effects."""
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
    """The last rung of the ladder that was taken …"""
    trouble: Trouble | None = None
    """… and why."""
    report: str = ""
    """What was tried and learned, when it was given up."""
    question: str = ""
    """Its question to the person, until it is answered."""
    passes: int = 1
    """Which pass it is in."""
    repeat: int = 1
    """How many there may be."""
    source: str = ""
    """The run and the task that it was reused from, instead of being done again."""
    tokens_by_role: dict[str, int] = field(default_factory=dict)
    """What its agents and helpers used, by role."""
    worker: str = ""
    """The worker that runs it, or ran it last, where tasks are dispatched to workers."""
    needs: tuple[str, ...] = ()
    """The steps beside it that come first."""
    started_at: float = 0.0
    last_at: float = 0.0
    reopened: bool = False
    """It was resumed or rewound."""
    _asking: bool = False
    _climbing: bool = False
    """The last rung starts an agent itself but has not done so yet."""
    _calls: tuple[Call, ...] = ()
    _running: list[Call] = field(default_factory=list)
    _past: list[tuple[int, State, str, int, str, int, Verdict | None]] = field(default_factory=list)
    """A version, and what held from there on: state, why, attempt, role, repairs, verdict. For rewinding to it."""
    # The spend, number by number: a new `Spend` for each of a hundred thousand events would take longer than the rest.
    _rounds: int = 0
    _tokens_in: int = 0
    _tokens_out: int = 0
    _tokens_cached: int = 0
    _cost: float = 0.0
    _unpriced: int = 0
    _seconds: float = 0.0
    _check_seconds: float = 0.0
    _estimated: int = 0

    @property
    def spend(self) -> Spend:
        return Spend(
            self._rounds,
            self._tokens_in,
            self._tokens_out,
            self._tokens_cached,
            self._cost,
            self._unpriced,
            self._seconds,
            self._check_seconds,
            self._estimated,
        )


def make_title(step: Step) -> str:
    """The first line of its description."""
    text = (
        step.title
        or step.instructions
        or (f"runs {describe_command(step)}" if step.run else step.do or step.test_command or "")
    )
    return text.strip().partition("\n")[0]


def see_task(task: TaskView, record: e.Record) -> None:
    """Process one more of its events."""
    task.last_at = record.at
    see = _SEE.get(type(record.event))
    if see is not None:
        see(task, record.event, record)


# ── one small function per event of a task ──────────────────────────────────────────────────────────────────────────


def _charge(task: TaskView, event: e.ModelAnswered | e.HelperAnswered, role: str) -> None:
    _count_tokens(task, event.usage)
    tokens = event.usage.input + event.usage.output
    task.tokens_by_role[role] = task.tokens_by_role.get(role, 0) + tokens
    task._seconds += event.seconds
    if event.cost is None:
        task._unpriced += 1
    else:
        task._cost += event.cost


def _count_tokens(task: TaskView, usage: Usage) -> None:
    task._tokens_in += usage.input
    task._tokens_out += usage.output
    task._tokens_cached += usage.cache_read
    task._estimated += usage.estimated


def _charge_failed(task: TaskView, event: e.ModelFailed | e.HelperFailed) -> None:
    """The part of a broken-off answer that arrived is paid for."""
    task._seconds += event.seconds
    if event.usage != Usage():
        _count_tokens(task, event.usage)
        task._unpriced += 1


def _see_model_answered(task: TaskView, event: e.ModelAnswered, record: e.Record) -> None:
    _charge(task, event, task.role or "builder")
    _count_round(task)
    task._asking, task.doing = False, ""
    task._calls, task._running = event.calls, []


def _see_round_started(task: TaskView, event: e.RoundStarted, record: e.Record) -> None:
    _count_round(task)
    task._asking, task.doing = True, "thinking"


def _count_round(task: TaskView) -> None:
    """A call that is repeated, because it failed or the process died, belongs to the same round."""
    task._rounds += not task._asking


def _see_model_failed(task: TaskView, event: e.ModelFailed, record: e.Record) -> None:
    _count_round(task)
    task._asking = True
    _charge_failed(task, event)
    task.doing = f"waiting {event.wait:.0f} s: {event.message}" if event.wait else ""


def _see_tool_started(task: TaskView, event: e.ToolStarted, record: e.Record) -> None:
    task._running += [call for call in task._calls if call.id == event.call]
    task.doing = _describe_running(task._running)


def _see_tool_finished(task: TaskView, event: e.ToolFinished, record: e.Record) -> None:
    task._seconds += event.seconds
    task._running = [call for call in task._running if call.id != event.call]
    task.doing = _describe_running(task._running)
    if event.tree and event.tree != task.tree:  # No longer stuck.
        task.tree, task.trouble = event.tree, None


def _see_state_changed(task: TaskView, event: e.StateChanged, record: e.Record) -> None:
    task.state, task.why, task.doing, task._climbing = event.to, event.why, "", False
    _remember(task, record.version)


def _see_helper_answered(task: TaskView, event: e.HelperAnswered, record: e.Record) -> None:
    task._rounds += 1
    _charge(task, event, event.helper)


def _see_helper_failed(task: TaskView, event: e.HelperFailed, record: e.Record) -> None:
    _charge_failed(task, event)
    task.doing = f"waiting {event.wait:.0f} s: {event.message}" if event.wait else ""


def _see_escalated(task: TaskView, event: e.Escalated, record: e.Record) -> None:
    task.rung, task.trouble, task.doing = event.decision.rung, event.trouble, RUNGS_UNDER_WAY[event.decision.rung]
    task._climbing = event.decision.rung in ("prune", "stronger_model")


def _see_compaction_started(task: TaskView, event: e.CompactionStarted, record: e.Record) -> None:
    task.doing = "compacting the conversation"


def _see_compacted(task: TaskView, event: e.Compacted, record: e.Record) -> None:
    task.doing = ""


def _see_planned(task: TaskView, event: e.Planned, record: e.Record) -> None:
    task.doing, task.role, task.repairs = "", "", 0
    _remember(task, record.version)


def _see_granted(task: TaskView, event: e.Granted, record: e.Record) -> None:
    task.limits = event.limits


def _see_plan_refused(task: TaskView, event: e.PlanRefused, record: e.Record) -> None:
    task.doing = "repairing the plan" if not event.final else ""


def _see_reported(task: TaskView, event: e.Reported, record: e.Record) -> None:
    task.report = event.text


def _see_question_asked(task: TaskView, event: e.QuestionAsked, record: e.Record) -> None:
    task.question = event.question


def _see_person_answered(task: TaskView, event: e.PersonAnswered, record: e.Record) -> None:
    """A fresh agent gets the answer, unless steps are blocked: then the planner does."""
    task.doing, task.question = "", ""
    if event.text and not (task.trouble and task.trouble.cause == "children"):
        task.role, task.repairs = "", 0
        _remember(task, record.version)


def _see_children_reopened(task: TaskView, event: e.ChildrenReopened, record: e.Record) -> None:
    # The rung is done: a later repair of the whole is by a new bug hunter.
    task._climbing, task.doing = False, ""


def _see_taken_up(task: TaskView, event: e.TakenUp, record: e.Record) -> None:
    task.state, task.why, task.role, task.repairs = State.IN_PROGRESS, event.why, "", 0
    _remember(task, record.version)


def _see_child_merged(task: TaskView, event: e.ChildMerged, record: e.Record) -> None:
    seconds = event.verdict.seconds if event.verdict else 0.0
    task._seconds += seconds
    task._check_seconds += seconds


def _see_child_settled(task: TaskView, event: e.ChildSettled, record: e.Record) -> None:
    """Only the work comes from the child: what it spent is counted on its own line."""
    task.tree, task.doing = event.tree, ""


def _see_pass_ended(task: TaskView, event: e.PassEnded, record: e.Record) -> None:
    task.passes = event.number + 1


def _see_command_started(task: TaskView, event: e.CommandStarted, record: e.Record) -> None:
    task.doing = f"running: {event.command}"


def _see_command_finished(task: TaskView, event: e.CommandFinished, record: e.Record) -> None:
    task._seconds += event.seconds
    task.doing, task.tree = "", event.tree or task.tree


def _see_task_created(task: TaskView, event: e.TaskCreated, record: e.Record) -> None:
    task.title, task.repeat, task.worker = make_title(event.step), event.step.repeat, event.worker
    task.needs = event.step.needs or task.needs
    task.limits, task.base, task.tree, task.started_at = event.limits, event.base, event.base, record.at


def _see_attempt_started(task: TaskView, event: e.AttemptStarted, record: e.Record) -> None:
    task.attempt += 1
    task.role = event.role
    # A rung that gives a stuck bug hunter a fresh start is part of the same repair.
    task.repairs += event.role == "bug_hunter" and not task._climbing
    task._asking, task._climbing, task.doing = False, False, ""
    _remember(task, record.version)


def _see_check_started(task: TaskView, event: e.CheckStarted, record: e.Record) -> None:
    task.doing = f"checking: {event.command}" if event.command else "checking"


def _see_probes_started(task: TaskView, event: e.ProbesStarted, record: e.Record) -> None:
    task.doing = f"running {len(event.names)} cases of probes"


def _see_probes_finished(task: TaskView, event: e.ProbesFinished, record: e.Record) -> None:
    task.doing = ""
    task._seconds += event.seconds
    task._check_seconds += event.seconds


def _see_difference_seen(task: TaskView, event: e.DifferenceSeen, record: e.Record) -> None:
    task._seconds += event.seconds
    task._check_seconds += event.seconds


def _see_merge_started(task: TaskView, event: e.MergeStarted, record: e.Record) -> None:
    task.doing = f"merging {event.child}"


def _see_check_finished(task: TaskView, event: e.CheckFinished, record: e.Record) -> None:
    task.verdict, task.doing, task.tree = event.verdict, "", event.verdict.tree or task.tree
    task._seconds += event.verdict.seconds
    task._check_seconds += event.verdict.seconds


def _see_changes_ruled(task: TaskView, event: e.ChangesRuled, record: e.Record) -> None:
    task.verdict = event.verdict or task.verdict


def _see_workspace_restored(task: TaskView, event: e.WorkspaceRestored, record: e.Record) -> None:
    task.tree = event.tree


def _see_checkpoint_made(task: TaskView, event: e.CheckpointMade, record: e.Record) -> None:
    task.commit, task.tree, task.files = event.commit, event.tree, event.files


def _see_task_halted(task: TaskView, event: e.TaskHalted, record: e.Record) -> None:
    task.halted, task.doing = event.reason, ""
    task._seconds += event.seconds


def _see_task_resumed(task: TaskView, event: e.TaskResumed, record: e.Record) -> None:
    task.halted, task.limits, task.reopened = "", event.limits, True
    task.worker = event.worker


def _see_task_rewound(task: TaskView, event: e.TaskRewound, record: e.Record) -> None:
    task._past = [entry for entry in task._past if entry[0] <= event.version]
    last = task._past[-1] if task._past else (0, State.PENDING, "", 0, "", 0, None)
    _, task.state, task.why, task.attempt, task.role, task.repairs, task.verdict = last
    task.halted, task.doing, task.tree = "", "", event.tree
    task.rung, task.trouble, task.report, task.question = "", None, "", ""
    task._asking, task._running, task.reopened = False, [], True


def _remember(task: TaskView, version: int) -> None:
    task._past.append((version, task.state, task.why, task.attempt, task.role, task.repairs, task.verdict))


_SEE: dict[type, Callable[[TaskView, Any, e.Record], None]] = {
    e.ModelAnswered: _see_model_answered,
    e.RoundStarted: _see_round_started,
    e.ModelFailed: _see_model_failed,
    e.ToolStarted: _see_tool_started,
    e.ToolFinished: _see_tool_finished,
    e.StateChanged: _see_state_changed,
    e.TaskCreated: _see_task_created,
    e.AttemptStarted: _see_attempt_started,
    e.CheckStarted: _see_check_started,
    e.CheckFinished: _see_check_finished,
    e.ProbesStarted: _see_probes_started,
    e.ProbesFinished: _see_probes_finished,
    e.DifferenceSeen: _see_difference_seen,
    e.MergeStarted: _see_merge_started,
    e.ChangesRuled: _see_changes_ruled,
    e.WorkspaceRestored: _see_workspace_restored,
    e.CheckpointMade: _see_checkpoint_made,
    e.ChildMerged: _see_child_merged,
    e.ChildSettled: _see_child_settled,
    e.PassEnded: _see_pass_ended,
    e.CommandStarted: _see_command_started,
    e.CommandFinished: _see_command_finished,
    e.HelperAnswered: _see_helper_answered,
    e.HelperFailed: _see_helper_failed,
    e.Escalated: _see_escalated,
    e.CompactionStarted: _see_compaction_started,
    e.Compacted: _see_compacted,
    e.Planned: _see_planned,
    e.PlanRefused: _see_plan_refused,
    e.Granted: _see_granted,
    e.Reported: _see_reported,
    e.QuestionAsked: _see_question_asked,
    e.PersonAnswered: _see_person_answered,
    e.ChildrenReopened: _see_children_reopened,
    e.TakenUp: _see_taken_up,
    e.TaskHalted: _see_task_halted,
    e.TaskResumed: _see_task_resumed,
    e.TaskRewound: _see_task_rewound,
}


def _describe_running(running: list[Call]) -> str:
    if not running:
        return ""
    more = f" (and {len(running) - 1} more)" if len(running) > 1 else ""
    return describe_call(running[0]) + more


TELLING = ("command", "path", "pattern", "query", "summary", "text")
"""Arguments that say most about a call, the most telling first."""


def describe_call(call: Call) -> str:
    """A call in a few words: the tool and its most telling argument. Untrusted, like everything a model says."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return call.name
    if not isinstance(arguments, dict):
        return call.name
    words = next((value for name in TELLING if isinstance(value := arguments.get(name), str) and value), "")
    return f"{call.name} {words}".rstrip()
