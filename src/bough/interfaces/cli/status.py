"""`bough status`"""

from __future__ import annotations

from pathlib import Path

from bough import app
from bough.interfaces.cli.options import bough_command, json_option, run_argument, task_argument
from bough.interfaces.cli.printing import print_json


@bough_command("bough status", "bough status amber-heron buffer/insert-line", "bough status --json")
@run_argument
@task_argument
@json_option("As a JSON object.")
async def command(run: str | None, task: str | None, folder: Path, as_json: bool) -> None:
    """Show where a run or a task stands and what to do next.

    RUN is a run's name, its beginning, or `latest` (the default); TASK is a path as shown by `bough show` (default: the
    goal). A task path alone refers to the latest run. Shows its state and the reason, the verdict with its evidence,
    the files changed so far, notes, and the tree below it.
    """
    from bough.core.ids import GOAL
    from bough.interfaces.terminal.output import make_output
    from bough.interfaces.terminal.status_page import print_status
    from bough.views.json_output import run_to_dict, task_to_dict
    from bough.views.next_steps import list_next_steps
    from bough.views.run_view import LIVE_KINDS, view_run
    from bough.views.task_rows import describe_progress, list_rows

    async with app.open_session(folder) as opened:
        name, path = await opened.find_task(run, task)
        found = view_run(name, await opened.store.read(name, kinds=LIVE_KINDS))
        status, holder = await opened.standing(found)
        drawn = list_rows(found, path or GOAL)
        detail = await opened.detail(name, path or GOAL)
        goal = (path or GOAL) == GOAL and detail.created
        base = (await opened.work(name)).base if goal else detail.base
        changes = await opened.workspaces.changes(base, detail.tree) if detail.tree else []
        table = await opened.evidence(name) if (path or GOAL) == GOAL else None
    if as_json:
        facts = task_to_dict(drawn[0])
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
        facts["progress"] = describe_progress(drawn) or None
        steps = [{"command": command, "use": use} for command, use in list_next_steps(found, status, bool(changes))]
        print_json({**run_to_dict(found, status, holder), "task": facts, "next": steps})
        return
    print_status(make_output(), found, status, holder, drawn, detail, changes, table)
