"""Builds the content of each page, as JSON, from the same views and words as in the terminal."""

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from bough.app.config import load_config
from bough.core.errors import NotFound, UsageError
from bough.core.ids import GOAL, parent_path
from bough.core.ids import depth as levels
from bough.core.planning.plan import Step
from bough.core.textual.cleaning import escape_text
from bough.core.tree.task_state import SETTLED, State
from bough.core.workflow.writing import write_workflow
from bough.interfaces.web import shapes
from bough.interfaces.web.live_run import LiveRun, LiveRuns
from bough.services.delivery import find_branch
from bough.services.permission_store import list_open_wishes, make_consent
from bough.views.charts import WORK, thin_out
from bough.views.formatting import first_sentence, one_line, shorten_home
from bough.views.next_steps import list_next_steps
from bough.views.night import GoalLine, NightPage, describe_findings, describe_goal, describe_night, describe_spent
from bough.views.task_rows import TaskRow, describe_task, describe_trouble
from bough.views.task_rows import describe_standing as state_words
from bough.views.task_view import make_title
from bough.views.vocabulary import describe_status
from bough.views.waiting import Waiting

EVENTS = 400
"""The most events or lines in one response."""
LANES = 200
T = TypeVar("T")
ANSWERS = 5


class Raw(str):
    """An identifier that pages send back, so `clean` leaves it unchanged, unlike all other text."""


def clean(value: Any) -> Any:
    """Clean all texts in a value as for the terminal: remove escape sequences, and spell out control characters."""
    if isinstance(value, str):
        return str(value) if isinstance(value, Raw) else escape_text(value)
    if isinstance(value, dict):
        return {escape_text(str(key)): clean(inner) for key, inner in value.items()}
    if isinstance(value, msgspec.Struct):  # Include defaults: a page need not know them.
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {sent: clean(getattr(value, name)) for sent, name in names}
    return [clean(inner) for inner in value] if isinstance(value, list | tuple) else value


def fill(shape: type[T], *sources: object, **own: Any) -> T:
    """Make an answer of this shape. What is not given is taken from the first source that has it, or left out."""
    for name in shape.__annotations__:
        if name not in own and (found := next((one for one in sources if hasattr(one, name)), None)) is not None:
            own[name] = getattr(found, name)
    return cast("T", own)


async def build_project(project: str, root: Path) -> shapes.ProjectShape:
    """Build a project's page without its runs, with what its settings ask for and the person has not answered."""
    try:
        wishes = (await asyncio.to_thread(list_open_wishes, root))[1]
    except UsageError:  # Settings that cannot be read prevent a run, but not the page.
        wishes = {}
    return {
        "project": project,
        "root": shorten_home(str(root)),
        "branch": await asyncio.to_thread(find_branch, root),
        "total": 0,
        "runs": [],
        "wishes": wishes,
        "nights": [],
    }


async def add_runs(page: shapes.ProjectShape, lives: LiveRuns, start: int, limit: int) -> None:
    """Add the newest runs to a project's page, and older ones that are unfinished or resolve conflicts of goals."""
    names, nights = await lives.names(), await lives.nights()
    torn = {goal.run for night in nights for goal in night.goals if goal.conflicts}
    shown = names[start : start + limit]
    older = await lives.find_wanted([name for name in names if name not in shown], torn)
    page["total"], page["runs"] = len(names), [build_summary(run) for run in await lives.load([*shown, *older])]
    page["nights"] = [build_night(night) for night in nights]


def build_night(page: NightPage) -> shapes.NightShape:
    """Build a backlog's page, with the same words as in the terminal."""
    return {
        "list": Raw(page.name),
        "title": describe_night(page),
        "began": page.started_at > 0,
        "open": page.started_at > 0 and not page.ended_at,
        "working": bool(page.of("running")),
        "spent": describe_spent(page),
        "branch": page.branch,
        "left_out": sum(goal.together not in ("", "on it") for goal in page.goals),
        "trouble": page.trouble,
        "proposed": {name: one_line(title) for name, title in page.proposed.items()},
        "groups": [
            {"heading": heading, "goals": [_make_goal(goal) for goal in goals]} for heading, goals in page.groups
        ],
    }


def _make_goal(goal: GoalLine) -> shapes.Goal:
    words = [one_line(text) for text in (describe_goal(goal), *describe_findings(goal)) if text]
    own = {"name": Raw(goal.name), "run": Raw(goal.run), "title": first_sentence(goal.title), "words": words}
    return fill(shapes.Goal, goal, **own)


def build_choices(root: Path, runs: Sequence[LiveRun]) -> shapes.ChoicesShape:
    """Build the choices of the form for a new run: the person's models, and those of earlier runs here."""
    env = dict(os.environ)
    config = load_config(root, env, make_consent(root, env))
    used = [run.view.models["main"] for run in runs if run.view.models.get("main")]
    own = [config.models.main] if config.models.main else []
    checks = (goal.verdict.command for run in runs if (goal := run.view.tasks.get(GOAL)) is not None and goal.verdict)
    return {
        "model": (own or used or [""])[0],
        "models": list(dict.fromkeys([*own, *config.models.presets, *used])),
        "check": next((command for command in checks if command), ""),
        "limits": config.budget,
        "backlog": config.backlog,
    }


def build_summary(run: LiveRun) -> shapes.RunShape:
    view = run.view
    goal = view.tasks.get(GOAL)
    changed = goal is not None and goal.tree != goal.base
    leaves = [row for row in run.rows if row.leaf]
    done = sum(row.task.state in (State.COMPLETED, State.SKIPPED) for row in leaves)
    over = sum(row.task.state in SETTLED for row in leaves)
    now = time.time()
    waiting = [_make_waiting(each, run) for each in run.waiting.open(run.holder is not None)]
    words = describe_status(run.status, view.accepted, view.examines)
    return fill(
        shapes.RunShape,
        run,
        view,
        run=view.name,
        summary="; ".join(filter(None, (view.summary, view.rechecked))),
        title=first_sentence(view.goal),
        applied=bool(view.applied),
        words="waiting for you" if waiting and run.holder else words,
        seconds=round(view.elapsed(now if run.holder else None), 1),
        now=now,
        doing=_describe_doing(run) if run.holder else None,
        tasks=len(run.rows),
        leaves=len(leaves),
        done=done,
        given_up=over - done,
        progress=round(run.progress, 4),
        report=goal.report if goal is not None and run.status in ("failed", "not_proven") else "",
        changed=changed,
        waiting=waiting,
        answered=run.waiting.answered[:ANSWERS],
        next=[{"command": command, "why": why} for command, why in list_next_steps(view, run.status, changed)],
    )


def _describe_doing(run: LiveRun) -> shapes.Doing | None:
    """Describe the latest activity of a run, and how many other tasks are active; None: no task is active."""
    busy = {path: (now.what, now.since) for path, now in run.activity.items() if now.what}
    busy |= {task.path: (task.doing, task.last_at) for task in run.view.tasks.values() if task.doing}
    if not busy:
        return None
    path = max(busy, key=lambda path: busy[path][1])
    return {
        "task": Raw(path),
        "title": first_sentence(run.view.tasks[path].title) if path != GOAL and path in run.view.tasks else "",
        "doing": one_line(busy[path][0]),
        "line": one_line(run.activity[path].line if path in run.activity else ""),
        "at": busy[path][1],
        "others": len(busy) - 1,
    }


def _make_waiting(waiting: Waiting, run: LiveRun) -> shapes.WaitingShape:
    """Return a question for the page: which task asks, what about, and since when it has been waiting."""
    task, plan = run.view.tasks.get(waiting.task), waiting.plan
    title = first_sentence(task.title) if task is not None and waiting.task != GOAL else ""
    made: shapes.WaitingShape = fill(shapes.WaitingShape, waiting, task=Raw(waiting.task), title=title, plan="")
    if plan is not None:
        try:
            made["plan"] = write_workflow(plan)
        except UsageError as error:  # A file cannot express everything that a plan can.
            made["plan"] = f"# {error}\n"
        made["steps"] = [_step_to_dict(step) for step in plan.goal.steps]
    return made


def _step_to_dict(step: Step) -> shapes.PlanStep:
    return {
        "name": step.name,
        "title": make_title(step),
        "says": step.instructions,
        "needs": list(step.needs or ()),
        "files": list(step.files or ()),
        "check": step.test_command or "",
        "steps": [_step_to_dict(below) for below in step.steps],
    }


def build_tree(run: LiveRun, start: int, limit: int) -> shapes.TreePart:
    """Build some of the tree's lines; the first part also has the order of all lines."""
    part = run.rows[start : start + limit]
    more = start + limit if start + limit < len(run.rows) else None
    made: shapes.TreePart = {"seq": run.seq, "tasks": [build_line(row) for row in part], "next": more}
    if start == 0:
        made["order"] = [Raw(row.task.path) for row in run.rows]
    return made


def build_line(row: TaskRow) -> shapes.Line:
    task, verdict = row.task, row.task.verdict
    return fill(
        shapes.Line,
        task,
        row,
        path=Raw(task.path),
        parent=(above := parent_path(task.path)) and Raw(above),
        depth=levels(task.path),
        title=first_sentence(task.title),
        about=describe_task(task),
        words=state_words(task),
        stuck=describe_trouble(task),
        halted=describe_status(task.halted),
        role=task.role.replace("_", " "),
        rounds=(row.spend.rounds, row.subtree.rounds, task.limits.rounds),
        cost=(round(row.spend.cost, 6), round(row.subtree.cost, 6)),
        tokens=(row.spend.tokens, row.subtree.tokens),
        unpriced=row.subtree.unpriced,
        check={"ruling": verdict.ruling, "passed": verdict.passed, "failed": verdict.failed} if verdict else None,
        files=len(task.files),
    )


def build_change(run: LiveRun, since: int) -> shapes.Change:
    """Build what changed since the event `since`, for a page that has everything before it."""
    made: shapes.Change = {
        "seq": run.seq,
        "run": build_summary(run),
        "tasks": [build_line(row) for row in run.rows if run.changed.get(row.task.path, 0) > since],
    }
    if run.reshaped > since:
        made["order"] = [Raw(row.task.path) for row in run.rows]
    return made


def build_charts(run: LiveRun, start: int, pixels: int) -> shapes.Charts:
    view, made = run.view, run.charts
    now = time.time() if run.holder else view.last_at
    lanes = [row.task.path for row in run.rows if row.task.started_at or row.task.path in made.lanes]
    branches, points = made.burn()
    return {
        "seq": run.seq,
        "from": view.started_at,
        "to": now,
        "work": list(WORK),
        "lanes": [
            {"path": Raw(path), "name": path.rpartition("/")[2], "depth": levels(path), "spans": spans}
            for path, spans in made.timeline(lanes[start : start + LANES], view.started_at, now, pixels)
        ],
        "total": len(lanes),
        "branches": branches,
        "burn": points,
        "limits": view.limits,
        "tests": thin_out(made.tests),
    }


def build_task(run: LiveRun, path: str) -> shapes.TaskPage:
    found = next((row for row in run.rows if row.task.path == path), None)
    if found is None:
        raise NotFound(f"{run.view.name} has no task `{path}`: the run's page lists them.")
    verdict = found.task.verdict
    children = [build_line(row) for row in run.rows if row.task.path != path and parent_path(row.task.path) == path]
    return {
        "seq": run.seq,
        "line": build_line(found),
        "verdict": verdict,
        "report": found.task.report,
        "children": children[:EVENTS],
        "rounds": len(run.charts.rounds(path)),
    }
