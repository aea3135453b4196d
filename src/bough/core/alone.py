"""What a step without an agent needs next: a command, a check, a critic.

Nobody repairs such a step; when it does not end well, `on_error` says what follows."""

from __future__ import annotations

from bough.core import accepting
from bough.core import commands as c
from bough.core.budget import used_up
from bough.core.events import ExaminationSkipped
from bough.core.plan import Step
from bough.core.states import State
from bough.core.task import Task
from bough.core.workflow.keys import kind


def without_agent(step: Step) -> bool:
    return kind(step) in ("run", "check", "do") or (step.role == "critic" and not step.steps)


def next_for(task: Task) -> c.Command:
    """In progress: what it needs."""
    if kind(task.step) == "run":
        return _command(task)
    if task.step.role == "critic":
        return _critic(task)
    return c.ChangeState(State.TESTING, "the check is all there is to do")


def _command(task: Task) -> c.Command:
    ran = task.ran
    if ran is None:
        return c.RunCommand()
    if ran.ok:
        return c.ChangeState(State.TESTING, "its command ended with exit status 0")
    if not ran.interrupted:
        return c.Conclude(State.FAILED, ended(task))
    if task.step.on_error in ("retry", "skip"):
        return c.Conclude(State.FAILED, "its command was interrupted")
    said = f"`{short(task.step.run)}` was interrupted, and what it did outside of its workspace is not known"
    return c.Rest("stopped", f"{said}: `bough resume` runs it again")


def ended(task: Task) -> str:
    """How a command that failed ended, in a phrase."""
    ran = task.ran
    assert ran is not None, "no command has run"
    how = f"was killed {ran.killed}" if ran.killed else f"ended with exit status {ran.exit_status}"
    last = next((line.strip() for line in reversed(ran.output.splitlines()) if line.strip()), "")
    return f"its command {how}{f': {short(last)}' if last else ''}"


def _critic(task: Task) -> c.Command:
    """An examination that a plan asks for: what the critic's probes show is what it found."""
    if task.reviewed is not None:  # In old journals.
        return c.ChangeState(State.TESTING, "the critic has given its review")
    asks = task.examined is None or bool(accepting.open_contests(task))
    if asks and (limit := used_up(task.spend, task.limits)):
        return c.Rest("budget", f"the budget of {limit} is spent")
    if task.examined is None:
        return c.Examine()
    if isinstance(task.examined, ExaminationSkipped):
        return c.Conclude(State.FAILED, f"the critic gave no review: {task.examined.why}")
    if accepting.live(task) and task.probed != task.tree:
        return c.RunProbes()
    if accepting.open_contests(task):
        return c.Rule()
    count, of = len(accepting.refuted(task)), len(accepting.live(task))
    return c.ChangeState(State.TESTING, f"{count} of {of} probes of the critic's fail")


def short(text: str, room: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= room else line[: room - 1] + "…"
