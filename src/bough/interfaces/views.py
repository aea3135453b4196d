"""What people see of a run: a light fold over its events, cheap enough for a run of a thousand tasks.

It reads only the kinds in `KINDS`, because most of a journal is conversation, which a view of the tree does not need.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from bough.core import events as e
from bough.core.acceptance import Verdict
from bough.core.budget import Limits, Spend
from bough.core.ids import CONTROL, RUN
from bough.core.run import EXIT_STATUS
from bough.core.states import State

KINDS = (
    "RunStarted",
    "RunResumed",
    "RunHalted",
    "RunFinished",
    "RunReopened",
    "Applied",
    "TaskCreated",
    "StateChanged",
    "AttemptStarted",
    "RoundStarted",
    "ModelFailed",
    "ModelAnswered",
    "CheckStarted",
    "CheckFinished",
    "CheckpointMade",
    "TaskHalted",
    "TaskResumed",
    "TaskRewound",
)
LIVE_KINDS = (*KINDS, "ToolStarted", "ToolFinished", "NoteKept", "WorkspaceRestored", "MessageAdded", "DoneClaimed")
"""What a view needs besides, to say what a task is doing at this moment and how long its tools took."""


class TaskView(Struct):
    """One line of the tree."""

    path: str
    title: str = ""
    state: State = State.PENDING
    why: str = ""
    doing: str = ""
    """The effect under way, in a few words; empty between effects."""
    attempt: int = 0
    role: str = ""
    limits: Limits = field(default_factory=Limits)
    spend: Spend = field(default_factory=Spend)
    verdict: Verdict | None = None
    files: tuple[str, ...] = ()
    commit: str = ""
    tree: str = ""
    base: str = ""
    repairs: int = 0
    halted: str = ""
    started_at: float = 0.0
    last_at: float = 0.0
    _asking: bool = False
    _failures: int = 0
    _calls: dict[str, str] = field(default_factory=dict)
    _past: list[tuple[int, State, str]] = field(default_factory=list)


class RunView(Struct):
    """A run and its tree, in order of creation."""

    name: str
    goal: str = ""
    folder: str = ""
    base: str = ""
    models: dict[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    status: str = "running"
    """`running`, or how it ended or halted. Whether a process really is at work is the claim's to say."""
    summary: str = ""
    started_at: float = 0.0
    last_at: float = 0.0
    applied: str = ""
    tasks: dict[str, TaskView] = field(default_factory=dict)

    @property
    def exit_status(self) -> int | None:
        """None while the run is under way."""
        return EXIT_STATUS.get(self.status)

    @property
    def spend(self) -> Spend:
        total = Spend()
        for task in self.tasks.values():
            total = total.plus(task.spend)
        return total

    def see(self, record: e.Record) -> None:
        """Take one more event in."""
        if record.task == CONTROL:
            return
        self.last_at = record.at
        if record.task == RUN:
            _see_run(self, record)
            return
        task = self.tasks.get(record.task)
        if task is None:
            task = self.tasks[record.task] = TaskView(record.task)
        task.last_at = record.at
        _see_task(task, record)


def view(name: str, records: Iterable[e.Record]) -> RunView:
    run = RunView(name)
    for record in records:
        run.see(record)
    return run


def _see_run(run: RunView, record: e.Record) -> None:
    match record.event:
        case e.RunStarted() as event:
            run.goal = event.plan.goal.instructions
            run.folder, run.base, run.models, run.limits = event.folder, event.base, event.models, event.limits
            run.started_at = record.at
        case e.RunResumed() as event:
            run.status, run.summary, run.limits, run.models = "running", "", event.limits, event.models
        case e.RunReopened():
            run.status, run.summary = "stopped", "rewound; `bough resume` goes on from there"
        case e.RunHalted() as event:
            run.status, run.summary = event.reason, event.message
        case e.RunFinished() as event:
            run.status, run.summary = event.end, event.summary
        case e.Applied() as event:
            run.applied = event.tree
        case _:
            pass


def _see_task(task: TaskView, record: e.Record) -> None:
    match record.event:
        # The two kinds that make up most of a journal come first.
        case e.ModelAnswered() as event:
            task.spend = task.spend.called(event.usage, event.cost, event.seconds)
            task._asking, task._failures, task.doing = False, 0, ""
            task._calls = {call.id: call.name for call in event.calls}
        case e.RoundStarted():
            if not task._asking and not task._failures:
                task.spend = task.spend.plus(Spend(rounds=1))
            task._asking, task.doing = True, "thinking"
        case e.ToolStarted() as event:
            task.doing = task._calls.get(event.call, "a tool")
        case e.ToolFinished() as event:
            task.spend = task.spend.plus(Spend(seconds=event.seconds))
            task.doing, task.tree = "", event.tree or task.tree
        case e.StateChanged() as event:
            task.state, task.why, task.doing = event.to, event.why, ""
            task._past.append((record.version, event.to, event.why))
        case e.TaskCreated() as event:
            task.title = event.step.instructions.strip().splitlines()[0]
            task.limits, task.base, task.tree, task.started_at = event.limits, event.base, event.base, record.at
        case e.AttemptStarted() as event:
            task.attempt += 1
            task.role = event.role
            task.repairs += event.role == "bug_hunter"
            task._failures = 0
        case e.ModelFailed() as event:
            task._asking, task._failures = False, task._failures + 1
            task.spend = task.spend.plus(Spend(seconds=event.seconds))
            task.doing = f"waiting {event.wait:.0f} s: {event.message}" if event.wait else ""
        case e.CheckStarted() as event:
            task.doing = f"checking: {event.command}" if event.command else "checking"
        case e.CheckFinished() as event:
            seconds = event.verdict.seconds
            task.verdict, task.doing = event.verdict, ""
            task.spend = task.spend.plus(Spend(seconds=seconds, check_seconds=seconds))
        case e.WorkspaceRestored() as event:
            task.tree = event.tree
        case e.CheckpointMade() as event:
            task.commit, task.tree, task.files = event.commit, event.tree, event.files
        case e.TaskHalted() as event:
            task.halted, task.doing = event.reason, ""
        case e.TaskResumed() as event:
            task.halted, task.limits, task._failures = "", event.limits, 0
        case e.TaskRewound() as event:
            _rewind(task, event)
        case _:
            pass


def _rewind(task: TaskView, event: e.TaskRewound) -> None:
    task._past = [entry for entry in task._past if entry[0] <= event.version]
    _, task.state, task.why = task._past[-1] if task._past else (0, State.PENDING, "")
    task.halted, task.doing, task.tree, task.verdict, task._asking = "", "", event.tree, None, False


class Outcome(Struct, frozen=True):
    """How a run ended, for programs. `tree` has every task with its state and verdict."""

    run: str
    status: str
    """`completed`, `not_verified`, `failed`, `budget`, `stopped` or `unavailable`."""
    summary: str
    exit_status: int
    tree: tuple[TaskView, ...]
    spend: Spend

    @property
    def completed(self) -> bool:
        """True only when a check that bough ran has passed (or the goal says it needs none)."""
        return self.status == "completed"


def outcome(run: RunView) -> Outcome:
    return Outcome(
        run=run.name,
        status=run.status,
        summary=run.summary,
        exit_status=run.exit_status if run.exit_status is not None else 1,
        tree=tuple(run.tasks.values()),
        spend=run.spend,
    )
