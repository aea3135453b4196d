"""What a step without an agent needs next: a command, a check, a critic.

No agent repairs such a step; when it fails, `on_error` decides what follows."""

from __future__ import annotations

from bough.core import commands as c
from bough.core.acceptance import examination
from bough.core.budget.limits import describe_spent, find_reached_limit
from bough.core.events import ExaminationSkipped
from bough.core.planning.plan import Step
from bough.core.spelling import shorten_line
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.core.workflow.keys import classify_step


def is_agentless(step: Step) -> bool:
    return classify_step(step) in ("run", "check", "do") or (step.role == "critic" and not step.steps)


def decide_agentless(task: Task) -> c.Command:
    """Decide what a step in progress needs."""
    if task.step.work:
        return c.TakeWork()
    if classify_step(task.step) == "run":
        return _decide_command(task)
    if task.step.role == "critic":
        return _decide_critic(task)
    return c.ChangeState(State.TESTING, "the step is only a check")


def _decide_command(task: Task) -> c.Command:
    ran = task.outcome.ran
    if ran is None:
        return c.RunCommand()
    if ran.ok:
        return c.ChangeState(State.TESTING, "its command ended with exit status 0")
    if not ran.interrupted:
        return c.Conclude(State.FAILED, describe_command_end(task))
    if task.step.on_error in ("retry", "skip"):
        return c.Conclude(State.FAILED, "its command was interrupted")
    said = f"`{shorten_line(task.step.run, 160)}` was interrupted, and its effects outside the workspace are unknown"
    return c.Rest("stopped", f"{said}: `bough resume` runs it again")


def describe_command_end(task: Task) -> str:
    """How a failed command ended, as a phrase."""
    ran = task.outcome.ran
    assert ran is not None, "no command has run"
    how = f"was killed {ran.killed}" if ran.killed else f"ended with exit status {ran.exit_status}"
    last = next((line.strip() for line in reversed(ran.output.splitlines()) if line.strip()), "")
    return f"its command {how}{f': {shorten_line(last, 160)}' if last else ''}"


def _decide_critic(task: Task) -> c.Command:
    """An examination that the plan asks for: the critic's findings are what its probes show."""
    if task.outcome.reviewed is not None:  # In old journals.
        return c.ChangeState(State.TESTING, "the critic has reviewed it")
    asks = task.examination.examined is None or bool(examination.list_open_contests(task))
    if asks and (limit := find_reached_limit(task.budget.spend, task.budget.limits)):
        return c.Rest("budget", describe_spent(task.id, limit))
    if task.examination.examined is None:
        return c.Examine()
    if isinstance(task.examination.examined, ExaminationSkipped):
        return c.Conclude(State.FAILED, f"the critic gave no review: {task.examination.examined.why}")
    if examination.live(task) and task.examination.probed != task.tree:
        return c.RunProbes()
    if examination.list_open_contests(task):
        return c.Rule()
    count, of = len(examination.list_failing_probes(task)), len(examination.live(task))
    return c.ChangeState(State.TESTING, f"{count} of the critic's {of} probes fail")
