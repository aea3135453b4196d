"""A run as people see it: a light fold over its events, cheap enough for a thousand tasks.

It reads only `KINDS` of events, because most of a journal is conversation, which a view of the tree does not need."""

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from bough.core import events as e
from bough.core.budget.limits import Limits, Spend, sum_spends
from bough.core.ids import CONTROL, GOAL, RUN, child_path, parent_path
from bough.core.planning.plan import Step
from bough.core.tree.task_state import EXIT_STATUS, SETTLED, State
from bough.views.task_view import TaskView, make_title, see_activity, see_rarer, see_task
from bough.views.vocabulary import describe_recheck


class RunView(Struct):
    """A run and its tree, in order of creation."""

    name: str
    goal: str = ""
    folder: str = ""
    models: dict[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    status: str = "running"
    """`running`, or how the run ended or halted. Only the claim tells whether a process is really working on it."""
    summary: str = ""
    until: float = 0.0
    """When the run can be resumed, if known; else 0."""
    started_at: float = 0.0
    last_at: float = 0.0
    worked: float = 0.0
    """Seconds of work up to the start of the current stretch."""
    since: float = 0.0
    """When the current stretch of work began; 0 while it is halted."""
    applied: str = ""
    accepted: str = ""
    """The person who accepted the run's work without proof."""
    examines: str = ""
    """The change of somebody else that this run examines, as a phrase; empty: it examines none."""
    rechecked: str = ""
    """Whether the run's work is still proven on a branch that has moved on, in words; empty: not checked again."""
    scouted: Spend = field(default_factory=Spend)
    """The spend before the goal began; once the goal has begun, its own spend includes this."""
    held: dict[str, str] = field(default_factory=dict)
    """Command lines that wait for approval, by id."""
    tasks: dict[str, TaskView] = field(default_factory=dict)

    def elapsed(self, now: float | None = None) -> float:
        """Return the seconds of work until `now` (or until the last event), without pauses."""
        return self.worked + (max(0.0, (self.last_at if now is None else now) - self.since) if self.since else 0.0)

    @property
    def question(self) -> str:
        """The run's open question to the person; empty: none."""
        return next((task.question for task in self.tasks.values() if task.question), "")

    @property
    def fallbacks(self) -> list[str]:
        """List the models that answered in place of the first ones."""
        return list(dict.fromkeys(name for task in self.tasks.values() for name in task.fallbacks))

    @property
    def exit_status(self) -> int | None:
        """Return the exit status; None while the run is running."""
        return EXIT_STATUS.get(self.status)

    @property
    def spend(self) -> Spend:
        begun = GOAL in self.tasks and self.tasks[GOAL].started_at
        return sum_spends([Spend() if begun else self.scouted, *(task.spend for task in self.tasks.values())])

    def see(self, record: e.Record) -> None:
        path = record.task
        task = self.tasks.get(path) or self._see_elsewhere(record)
        self.last_at = record.at
        if task is None:
            return
        see_task(task, record)
        if path == GOAL and isinstance(record.event, e.TaskCreated | e.TaskResumed | e.Granted):
            self.limits = record.event.limits  # Planning may change the budget.
        match record.event:
            case e.TaskCreated(step=step):
                self._see_plan(path, step.steps, ())
            case e.Planned(steps=steps, dropped=dropped):
                self._see_plan(path, steps, dropped)
            case e.PlanChanged(steps=steps, said=said) if said:
                kept = {child_path(path, step.name) for step in steps}
                gone = [below for below in self.tasks if parent_path(below) == path and below not in kept]
                self._see_plan(path, steps, [below.rpartition("/")[2] for below in gone])
            case e.ChildHeld(step=step, other=other, files=files):
                # Until a step starts, show which step it waits for. From then on its own events set `why`.
                child = self.tasks.get(child_path(path, step))
                if child is not None and not child.started_at:
                    child.why = describe_wait(other, files)
            case e.ChildSettled() as event:
                self._see_never_began(child_path(path, event.child), event)

    def _see_plan(self, path: str, steps: Sequence[Step], dropped: Iterable[str]) -> None:
        for name in dropped:
            if (gone := self.tasks.get(child_path(path, name))) and not gone.started_at:
                del self.tasks[gone.path]
        for step in steps:
            if child_path(path, step.name) not in self.tasks:
                _add_planned(self, child_path(path, step.name), step)

    def _see_never_began(self, path: str, event: e.ChildSettled) -> None:
        """Update a step that was skipped or reused, and all tasks below it: they have no events of their own."""
        child = self.tasks.get(path)
        if child is None or child.started_at:
            return
        child.state, child.why, child.source, child.files = event.state, event.why, event.source, event.files
        for task in self.tasks.values():
            if task.path.startswith(f"{path}/") and not task.started_at:
                task.state, task.why = event.state, f"{path}: {event.why}"

    @property
    def unsure(self) -> list[str]:
        """List the tasks that may have a round without an answer. Only reading `EXACT_KINDS` counts such rounds."""
        sure = SETTLED - {State.CANCELLED}
        return [t.path for t in self.tasks.values() if t.started_at and (t.reopened or t.state not in sure)]

    def look_again(self, path: str, records: Iterable[e.Record]) -> None:
        """Rebuild the view of one task from its events of `EXACT_KINDS`."""
        task = self.tasks[path] = TaskView(path, self.tasks[path].title)
        for record in records:
            see_task(task, record)

    def _see_elsewhere(self, record: e.Record) -> TaskView | None:
        """Process an event of the run itself, and return None; or make and return the view of a task that is new."""
        if record.task in (RUN, CONTROL):
            _see_run(self, record)
            return None
        task = self.tasks[record.task] = TaskView(record.task)
        return task


def view_run(name: str, records: Iterable[e.Record]) -> RunView:
    run = RunView(name)
    for record in records:
        run.see(record)
    return run


def describe_wait(other: str, files: Sequence[str]) -> str:
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"waits for {other}: both change {files[0]}{more}"


def _add_planned(run: RunView, path: str, step: Step, before: str = "") -> None:
    """Add a planned task and the tasks below it, as pending. `before`: the step that must come first; empty: none."""
    run.tasks[path] = TaskView(path, make_title(step), needs=step.needs or ((before,) if before else ()))
    last = ""
    for child in step.steps:
        _add_planned(run, child_path(path, child.name), child, "" if step.parallel else last)
        last = child.name


def _see_run(run: RunView, record: e.Record) -> None:
    match record.event:
        case e.RunStarted() as event:
            run.goal, run.examines = event.plan.goal.instructions, event.examines
            run.folder, run.models, run.limits = event.folder, event.models, event.limits
            run.started_at = run.since = record.at
            _add_planned(run, GOAL, event.plan.goal)
        case e.RunResumed() as event:
            run.worked, run.since = run.elapsed(), record.at
            run.status, run.summary, run.limits, run.models = "running", "", event.limits, event.models
            run.until = 0.0
            run.held.clear()
        case e.RunReopened():
            run.worked, run.since = run.elapsed(), 0.0
            run.accepted = ""
            run.status, run.summary = "stopped", "rewound; `bough resume` continues from there"
        case e.RunHalted() as event:
            run.held.clear()
            run.worked, run.since = run.elapsed(record.at), 0.0
            run.status, run.summary, run.until = event.reason, event.message, event.until
        case e.RunFinished() as event:
            run.worked, run.since = run.elapsed(record.at), 0.0
            run.status, run.summary = "accepted" if run.accepted else event.end, event.summary
        case e.CheckScouted() as event:
            run.scouted = run.scouted.plus(event.spend)
        case e.Rechecked() as event:
            run.rechecked = describe_recheck(event)
        case e.Accepted() as event:
            run.accepted = event.by or "you"
        case e.Judged():
            run.accepted = ""
        case e.CommandHeld(id=id, line=line):
            run.held[id] = line
        case e.CommandRuled(id=id):
            run.held.pop(id, None)
        case e.Applied() as event:
            run.applied = event.tree
        case e.Undone():
            run.applied = ""


_READ = e.list_named(RunView.see, RunView._see_elsewhere, _see_run, see_task, see_rarer)
LIVE_KINDS = (*_READ, *e.list_named(see_activity), "NoteKept", "MessageAdded", "MessageReceived", "DoneClaimed")
"""The kinds of events to read for a task's current action, the time of its tools, and its last sign of life."""
EXACT_KINDS = tuple(kind for kind in _READ if kind not in ("ToolStarted", "ToolFinished"))
KINDS = tuple(kind for kind in EXACT_KINDS if kind != "RoundStarted")
"""The kinds to read for a tree. The events that begin a model call, a fifth of a journal, are left out: an answer
nearly always follows and implies them; `RunView.unsure` names the tasks where none may have followed."""


class Outcome(Struct, frozen=True):
    """The end of a run, for programs. `tree` has every task with its state and verdict."""

    run: str
    status: str
    """How the run ended (`completed`, `accepted`, `not_proven`, `failed`), or why it halted: `budget`, `stopped` …"""
    summary: str
    exit_status: int
    tree: tuple[TaskView, ...]
    spend: Spend
    until: float = 0.0
    """When a run that waits for a quota can resume, in seconds since 1970."""

    @property
    def completed(self) -> bool:
        """True only when a check that bough ran has passed (or the goal needs none), or a person accepted the work."""
        return self.status in ("completed", "accepted")
