"""What rewinding a run to an earlier moment means for each of its tasks.

A run is rewound as a whole: every task is as it was when the record of that moment was written, as if the process had
died right then. A task that had not begun by then has not begun; one that was at work resumes from there; a parent that
had merged a child's result by then keeps it, and otherwise takes the new one. Only what was spent stays spent, and
parents are charged for all that their children used, even for those that will never begin again.
"""

from __future__ import annotations

from functools import reduce

from bough.core import events as e
from bough.core.budget.limits import Spend
from bough.core.conversation.context import is_merge_segment
from bough.core.ids import CONTROL, RUN, parent_path
from bough.core.journal.task_fold import fold_task
from bough.core.tree.task import Task

Streams = dict[str, list[e.Record]]


def plan_rewind(records: list[e.Record], reopened: e.Record) -> list[tuple[str, e.TaskRewound]]:
    """What to append to which task. Called again after a crash halfway through, it returns the rest."""
    assert isinstance(reopened.event, e.RunReopened)
    moment = reopened.event.moment
    streams: Streams = {}
    for record in records:
        if record.task not in (RUN, CONTROL):
            streams.setdefault(record.task, []).append(record)
    spend = _sum_children_spend({path: fold_task(path, stream) for path, stream in streams.items()})
    done: list[tuple[str, e.TaskRewound]] = []
    for path, stream in sorted(streams.items()):
        kept = [record for record in stream if record.seq <= moment]
        if len(kept) == len(stream) or stream[-1].seq > reopened.seq:
            continue  # Nothing has happened to it since, or it is already rewound.
        then, now = fold_task(path, kept), fold_task(path, stream)
        mine = {name: total for name, total in spend.get(path, {}).items() if not is_merge_segment(now, name)}
        children = {name: total for name, total in mine.items() if total != now.children.charged.get(name)}
        done.append((path, e.TaskRewound(len(kept), then.tree, children)))
    return done


def _sum_children_spend(tasks: dict[str, Task]) -> dict[str, dict[str, Spend]]:
    """What the children of each task have spent, with all below them and with merging their work; by segment."""
    below: dict[str, dict[str, Spend]] = {}
    for path in sorted(tasks, key=lambda path: -path.count("/")):
        above, segment = parent_path(path), path.rpartition("/")[2]
        if above is None:
            continue
        charged, mine = tasks[path].children.charged, below.get(path, {})
        # Merging its work is charged to its parent, not to the task itself.
        open_ = [
            total if is_merge_segment(tasks[path], name) else total.minus(charged.get(name, Spend()))
            for name, total in mine.items()
        ]
        below.setdefault(above, {})[segment] = reduce(Spend.plus, open_, tasks[path].budget.spend)
    return below
