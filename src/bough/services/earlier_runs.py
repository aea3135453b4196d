"""What is settled about a run before it starts, such as what it takes over from the finished run that it continues."""

from msgspec import Struct
from msgspec.structs import replace

from bough.app import config as settings
from bough.app.journal import Journal
from bough.app.run_models import recall_models
from bough.core.acceptance.examination import list_failing_probes, render_failing_probes
from bough.core.acceptance.requirements import list_active
from bough.core.conversation import context
from bough.core.conversation.text_fitting import keep_ends
from bough.core.errors import UsageError
from bough.core.ids import GOAL
from bough.core.rules import Rules
from bough.core.tree import task_result
from bough.core.tree.task_state import Inheritance
from bough.services.permissions import is_begun_here

ENDS = {
    "completed": "which was completed",
    "accepted": "which a person accepted without proof",
    "not_proven": "which finished without being proven",
    "failed": "which was given up",
}


class StartingPoint(Struct, frozen=True):
    """What is settled about a run before it starts: because it continues a finished run, works on a goal of a backlog,
    or examines somebody else's change."""

    name: str = ""
    base: str = ""
    """The tree to start from; empty: the person's files, which already have the work of an earlier run."""
    origin: str = ""
    """The person's files before the earlier run, from which the changes of both runs are counted."""
    listed: str = ""
    rules: Rules | None = None
    examines: str = ""
    """A phrase for somebody else's change that the run examines; empty if there is none."""
    follows: str = ""
    """The finished run that this one continues."""
    inherited: Inheritance = Inheritance()
    models: settings.Models | None = None
    """The earlier run's models. None if the person did not begin it on this machine; then `endpoints` is empty."""
    endpoints: dict[str, str] = {}
    check: str | None = None


async def follow_run(journal: Journal, name: str, at: StartingPoint) -> StartingPoint:
    """Add to a starting point what a run takes over from the finished run that it continues."""
    run = await journal.run(name)
    if run.end is None:
        raise UsageError(
            f'{name} is not finished: `bough resume {name}` continues it, `bough say {name} "…"` messages its agents.'
        )
    task, mine = await journal.task(name, GOAL), is_begun_here(journal, run)
    applied = run.applied == task.tree
    ended = ENDS["accepted" if run.accepted else run.end.end]
    earlier = f"a follow-up on an earlier goal, {ended}: {run.plan.goal.instructions.strip()}"
    said = task_result.render_task_result(task) or task.outcome.report or run.end.summary
    files = f" (changed {', '.join(task.outcome.files)})" if task.outcome.files else ""
    failing = f"\n\n{keep_ends(cases, task_result.ROOM)}" if (cases := render_failing_probes(task)) else ""
    refuted = {number for probe in list_failing_probes(task) for number in probe.requirements}
    # The new run has to prove the refuted requirements; the others only must not break.
    kinds = [(one, one.kind if one.number in refuted else "unchanged") for one in list_active(task.asked)]
    return replace(
        at,
        follows=name,
        base="" if applied else task.tree,
        origin="" if applied or task.tree == task.base else run.origin or task.base,
        inherited=Inheritance(
            above=(*task.inherited.above, earlier),
            results=(*task.inherited.results, f"{name}: {said}{files}{failing}"),
            dead_ends=context.list_lessons(task),
            decisions=context.list_decisions(task),
            requirements=tuple(
                replace(one, kind=kind, start=0, end=0, step="", source=one.source or f"the goal of {name}")
                for one, kind in kinds
                if one.kind != "background"
            ),
        ),
        models=recall_models(run.models) if mine else None,
        endpoints=run.endpoints if mine else {},
        check=run.plan.goal.test_command,
    )
