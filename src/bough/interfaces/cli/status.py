"""`bough status`"""

from __future__ import annotations

from pathlib import Path

import click

from bough.interfaces.cli.options import (
    as_json,
    example,
    in_dir,
    print_json,
    run_argument,
    task_argument,
    wait_for,
)


@click.command(
    "status",
    short_help="Show where a run or a task stands and what to do next.",
    epilog=example("bough status", "bough status amber-heron buffer/insert-line", "bough status --json"),
)
@run_argument
@task_argument
@in_dir
@as_json("As a JSON object.")
def command(run: str | None, task: str | None, folder: Path, as_json: bool) -> None:
    """Show where a run or a task stands and what to do next.

    RUN is a run's name, its beginning, or `latest` (the default); TASK is a path as shown by `bough show` (default: the
    goal). A task path alone refers to the latest run. Shows its state and the reason, the verdict with its evidence,
    the files changed so far, notes, and the tree below it.
    """
    wait_for(_status(run, task, folder, as_json))


async def _status(run: str | None, task: str | None, folder: Path, as_json: bool) -> None:
    from bough.app import session
    from bough.core.ids import GOAL
    from bough.interfaces.cli.facts import run_facts, task_facts
    from bough.interfaces.cli.targets import find, standing
    from bough.interfaces.terminal.next import next_steps
    from bough.interfaces.terminal.paper import paper
    from bough.interfaces.terminal.status import status_page
    from bough.interfaces.terminal.tree import progress_words, rows
    from bough.interfaces.views import LIVE_KINDS, view

    async with session(folder) as opened:
        name, path = await find(opened, run, task)
        found = view(name, await opened.store.read(name, kinds=LIVE_KINDS))
        status, holder = await standing(opened, found)
        drawn = rows(found, path or GOAL)
        detail = await opened.detail(name, path or GOAL)
        goal = detail.path == GOAL and detail.created
        base = (await opened.work(name)).base if goal else detail.base
        changes = await opened.workspaces.changes(base, detail.tree) if detail.tree else []
        table = await opened.evidence(name) if (path or GOAL) == GOAL else None
    if as_json:
        facts = task_facts(drawn[0])
        facts["files"] = [change.path for change in changes]
        facts["doing"] = found.tasks[drawn[0].task.path].doing if holder else None
        facts["notes"] = [{"kind": note.kind, "text": note.text} for note in detail.notes]
        facts["claim"] = detail.claim
        rows_of = table.rows if table is not None else ()
        facts["requirements"] = [
            {"number": row.requirement.number, "text": row.requirement.text, "standing": row.standing}
            for row in rows_of
        ]
        facts["below"] = [row.task.path for row in drawn[1:]]
        facts["progress"] = progress_words(drawn) or None
        steps = [{"command": command, "use": use} for command, use in next_steps(found, status, bool(changes))]
        print_json({**run_facts(found, status, holder), "task": facts, "next": steps})
        return
    status_page(paper(), found, status, holder, drawn, detail, changes, table)
