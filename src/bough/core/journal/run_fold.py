"""A run as a fold over its own stream, and what it needs next. The tasks themselves live in their own streams."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.messages import ModelProtocol
from bough.core.planning.plan import Plan, Step
from bough.core.rules import Rules
from bough.core.tree.inherited import Inherited
from bough.core.tree.task import Task
from bough.core.tree.task_state import State


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
    inherited: Inherited = Inherited()
    started_at: float = 0.0
    ended_at: float = 0.0
    """When it finished or halted; 0 while it runs."""
    end: e.RunFinished | None = None
    halt: e.RunHalted | None = None
    applied: str = ""
    """The tree that was applied to the person's files."""
    application: e.Applied | None = None
    """How it was applied, until it is undone."""
    endpoints: dict[str, str] = {}
    """The endpoint of each model, by its name; empty in old journals."""
    protocols: dict[str, ModelProtocol] = {}
    """What its models used when it started."""
    listed: str = ""
    """The backlog and the goal in it that it works on."""
    checked: e.BaseChecked | None = None
    """What the goal's check said before any work."""


_STARTED_WITH = tuple({*e.RunStarted.__struct_fields__} & {*Run.__struct_fields__} - {"version"})
"""What a run keeps of its first event, in which `version` is that of bough."""
_RESUMED_WITH = ("endpoints", "network", "setup", "agents", "agent_env", "agent_network")
"""What a person may say again when a run is resumed; otherwise it stays as it was."""


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
        case e.RunHalted() as event:
            run = replace(run, halt=event, ended_at=record.at)
        case e.RunFinished() as event:
            run = replace(run, end=event, halt=None, ended_at=record.at)
        case e.RunReopened() as event:
            run = replace(run, end=None, halt=None, ended_at=record.at)
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


class Start(Struct, frozen=True):
    """Create and drive the goal."""


class Finish(Struct, frozen=True):
    event: e.RunFinished | e.RunHalted


Move = Start | Finish


def next_move(run: Run, goal: Task) -> Move | None:
    """What the run needs next; None when it is finished."""
    if run.end or run.halt:
        return None
    if goal.halt is not None:
        halted = e.RunHalted(goal.halt.reason, goal.halt.message)
        return Finish(replace(halted, until=goal.halt.until) if goal.halt.until else halted)
    if goal.state is State.COMPLETED:
        return Finish(e.RunFinished("completed", goal.why))
    if goal.state is State.BLOCKED:
        return Finish(e.RunFinished("not_proven", goal.why))
    if goal.state is State.FAILED:
        return Finish(e.RunFinished("failed", goal.why))
    return Start()
