"""A run as a fold over its own stream of events, and its rewinding. Its tasks have streams of their own.

A run is rewound as a whole: every task returns to its state when the record of that moment was written, as if the
process had died right then. Only spend stays, and parents are charged for all that their children used."""

from collections.abc import Iterable
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Limits, Spend
from bough.core.conversation.context import is_merge_segment
from bough.core.ids import CONTROL, RUN, parent_path
from bough.core.journal.task_fold import drop_rewound, fold_task
from bough.core.messages import ModelProtocol
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.tree.task import Task
from bough.core.tree.task_state import Inheritance, State


class Run(Struct, frozen=True):
    name: str
    version: int = 0
    plan: Plan = Plan(Step("", ""))
    base: str = ""
    folder: str = ""
    models: dict[str, str] = {}
    limits: Limits = Limits()
    rules: Rules = Rules()
    jobs: int = 1
    grows: bool = False
    fresh: bool = False
    ask_later: bool = False
    network: str = ""
    setup: str = ""
    agents: dict[str, str] = {}
    agent_env: tuple[str, ...] = ()
    agent_network: str = ""
    settings: dict[str, str] = {}
    origin: str = ""
    inherited: Inheritance = Inheritance()
    started_at: float = 0.0
    ended_at: float = 0.0
    """When the run finished or halted; 0 while it runs."""
    end: e.RunFinished | None = None
    halt: e.RunHalted | None = None
    accepted: str = ""
    """The person who accepted the run's work without proof."""
    applied: str = ""
    """The tree that was applied to the person's files."""
    application: e.Applied | None = None
    """How the run's work was applied, until that is undone."""
    endpoints: dict[str, str] = {}
    protocols: dict[str, ModelProtocol] = {}
    """The protocols of the run's models at the start."""
    by: str = ""
    listed: str = ""
    examines: str = ""
    checked: e.BaseChecked | None = None
    """The check's result before any work."""
    scouted: Spend = Spend()
    """What scouts have spent."""


_STARTED_WITH = tuple({*e.RunStarted.__struct_fields__} & {*Run.__struct_fields__} - {"version"})
"""Fields that a run takes from its first event; not `version`, which is the version of bough there."""
_RESUMED_WITH = ("endpoints", "network", "setup", "agents", "agent_env", "agent_network")
"""Fields that a person may set again when a run is resumed."""


def evolve_run(run: Run, record: e.Record) -> Run:
    match record.event:
        case e.RunStarted() as event:
            run = replace(run, **{name: getattr(event, name) for name in _STARTED_WITH}, started_at=record.at)
        case e.RunResumed() as event:
            run = replace(run, limits=event.limits, models=event.models, halt=None, ended_at=0.0)
            run = replace(run, **{name: getattr(event, name) or getattr(run, name) for name in _RESUMED_WITH})
            if event.check:
                run = replace(run, plan=replace(run.plan, goal=replace(run.plan.goal, test_command=event.check)))
            if event.accept_failing is not None:
                run = replace(run, rules=replace(run.rules, accept_failing=event.accept_failing))
        case e.BaseChecked() as event:
            run = replace(run, checked=event)
        case e.CheckScouted() as event:
            run = replace(run, scouted=run.scouted.plus(event.spend))
        case e.RunHalted() as event:
            run = replace(run, halt=event, ended_at=record.at)
        case e.RunFinished() as event:
            run = replace(run, end=event, halt=None, ended_at=record.at)
        case e.RunReopened() as event:
            run = replace(run, end=None, halt=None, ended_at=record.at, accepted="")
        case e.Accepted() as event:
            run = replace(run, accepted=event.by or "you")
        case e.Judged():
            run = replace(run, accepted="")
        case e.Applied() as event:
            run = replace(run, applied=event.tree, application=event)
        case e.Undone():
            run = replace(run, applied="", application=None)
        case _:
            pass
    return replace(run, version=record.version)


def fold_run(name: str, records: Iterable[e.Record]) -> Run:
    run = Run(name)
    for record in records:
        run = evolve_run(run, record)
    return run


_ENDS: dict[State, e.End] = {State.COMPLETED: "completed", State.BLOCKED: "not_proven", State.FAILED: "failed"}


def find_ending(goal: Task) -> e.RunFinished | e.RunHalted | None:
    """Return how a run ends or halts, by its goal; None: the goal is still at work."""
    if goal.halt is not None:
        halted = e.RunHalted(goal.halt.reason, goal.halt.message)
        return replace(halted, until=goal.halt.until) if goal.halt.until else halted
    return e.RunFinished(_ENDS[goal.state], goal.why) if goal.state in _ENDS else None


def list_settled_steps(records: Iterable[e.Record]) -> list[e.ChildSettled]:
    """List the settled steps in the records of the task's stream, without rewound ones."""
    ended = [record.event for record in drop_rewound(records) if isinstance(record.event, e.ChildSettled)]
    return [step for step in ended if step.state is State.COMPLETED and step.files]


def plan_rewind(records: list[e.Record], reopened: e.Record) -> list[tuple[str, e.TaskRewound]]:
    """Return the events that rewind each task. After a crash halfway, the next call returns the rest."""
    assert isinstance(reopened.event, e.RunReopened)
    moment = reopened.event.moment
    streams: dict[str, list[e.Record]] = {}
    for record in records:
        if record.task not in (RUN, CONTROL):
            streams.setdefault(record.task, []).append(record)
    spend = _sum_children_spend({path: fold_task(path, stream) for path, stream in streams.items()})
    done: list[tuple[str, e.TaskRewound]] = []
    for path, stream in sorted(streams.items()):
        kept = [record for record in stream if record.seq <= moment]
        if len(kept) == len(stream) or stream[-1].seq > reopened.seq:
            continue  # Nothing happened to the task since, or it is already rewound.
        then, now = fold_task(path, kept), fold_task(path, stream)
        mine = {name: total for name, total in spend.get(path, {}).items() if not is_merge_segment(now, name)}
        children = {name: total for name, total in mine.items() if total != now.children.charged.get(name)}
        done.append((path, e.TaskRewound(len(kept), then.tree, children)))
    return done


def _sum_children_spend(tasks: dict[str, Task]) -> dict[str, dict[str, Spend]]:
    """Sum the spend of each task's children, with all below them and with the merges of their work; by segment."""
    below: dict[str, dict[str, Spend]] = {}
    for path in sorted(tasks, key=lambda path: -path.count("/")):
        above, segment = parent_path(path), path.rpartition("/")[2]
        if above is None:
            continue
        charged, mine = tasks[path].children.charged, below.get(path, {})
        # The merge of a task's work is charged to the task's parent, not to the task itself.
        open_ = [
            total if is_merge_segment(tasks[path], name) else total.minus(charged.get(name, Spend()))
            for name, total in mine.items()
        ]
        below.setdefault(above, {})[segment] = reduce(Spend.plus, open_, tasks[path].budget.spend)
    return below
