"""What must hold of the budget at every event of a journal, whatever happened and in whatever order."""

from collections.abc import Iterable
from functools import reduce

import pytest
from msgspec.structs import astuple

from bough.core import events as e
from bough.core.budget.limits import Spend
from bough.core.ids import CONTROL, GOAL, RUN, child_path
from bough.core.journal.task_fold import evolve_task, fold_task
from bough.core.tree.task import Task
from bough.views.run_view import LIVE_KINDS, view_run


def assert_spend(records: Iterable[e.Record]) -> dict[str, Task]:
    """No level ever commits more than it has; nothing is charged twice or lost. Returns the tasks at the end."""
    tasks: dict[str, Task] = {}
    streams: dict[str, list[e.Record]] = {}
    everything = list(records)
    reopened = False
    for number, record in enumerate(everything):
        if isinstance(record.event, e.RunReopened | e.RunResumed):
            reopened = isinstance(record.event, e.RunReopened)
        if record.task in (RUN, CONTROL):
            continue
        stream = streams.setdefault(record.task, [])
        stream.append(record)
        if isinstance(record.event, e.TaskRewound):
            tasks[record.task] = fold_task(record.task, stream)
        else:
            tasks[record.task] = evolve_task(tasks.get(record.task, Task(record.task)), record)
        # While a run is taken back its tasks are not in step with each other, nor are grants that are changed together.
        after = everything[number + 1].event if number + 1 < len(everything) else None
        if not reopened and not (isinstance(record.event, e.ChildStarted) and isinstance(after, e.ChildStarted)):
            _assert_level(tasks[record.task], tasks, record)
    _assert_total(tasks, everything)
    return tasks


def _assert_level(task: Task, tasks: dict[str, Task], record: e.Record) -> None:
    where = f"{record.task} at {record.seq} ({type(record.event).__name__})"
    if isinstance(record.event, e.TaskResumed | e.TaskRewound):
        return  # What is reserved for running steps is fitted to what is left before they go on.
    committed = task.budget.spend.rounds + sum(grant.rounds for grant in task.reserved.values())
    assert committed <= task.budget.limits.rounds, f"{where}: {committed} of {task.budget.limits.rounds} rounds"
    for started in task.children.running.values():
        used = spent_for(child_path(task.id, started.task), tasks).rounds
        assert used <= started.grant.rounds, f"{where}: {started.task} used {used} of {started.grant.rounds}"


def spent_for(path: str, tasks: dict[str, Task]) -> Spend:
    """By a child, all below it, and the tasks that merge its work."""
    own = [
        whole(name, tasks) for name in tasks if name == path or name.startswith((f"{path}/merge#", f"{path}/merge@"))
    ]
    own += [whole(f"{path}/merge", tasks)] if f"{path}/merge" in tasks else []
    return reduce(Spend.plus, own, Spend())


def whole(path: str, tasks: dict[str, Task]) -> Spend:
    """What a task has spent with everything below it, whether it was charged for that yet or not."""
    task = tasks[path]
    uncharged = [
        spent_for(child_path(path, started.task), tasks).minus(task.children.charged.get(started.task, Spend()))
        for started in task.children.running.values()
    ]
    return reduce(Spend.plus, uncharged, task.budget.spend)


def _assert_total(tasks: dict[str, Task], records: list[e.Record]) -> None:
    """What the goal was charged is what the events say was used."""
    if GOAL not in tasks:
        return
    seen = view_run("run", (r for r in records if type(r.event).__name__ in LIVE_KINDS)).spend
    assert astuple(whole(GOAL, tasks)) == pytest.approx(astuple(seen), abs=1e-6)
    assert seen.rounds <= tasks[GOAL].budget.limits.rounds
