"""What a task needs next, as a list of priorities read from top to bottom. Pure: the journal decides, nothing else."""

from __future__ import annotations

from bough.core import commands as c
from bough.core.budget import LAST_SHARE, used_up
from bough.core.state import Task
from bough.core.states import State


def decide(task: Task, now: float) -> c.Command:
    if task.state is State.PENDING:
        return c.OpenWorkspace()
    if task.state is State.TESTING:
        return _judge(task)
    if task.state is State.TEST_FAILED:
        return _repair(task)
    if task.started:
        return c.Recover(task.started)
    if task.waiting:
        return c.RunTools(task.waiting)
    if task.step.steps and task.attempt is None and task.claim is None:
        return _gather(task)
    if task.attempt is None:
        return c.StartAttempt("builder", "main")
    if task.claim is not None:
        return c.ChangeState(State.TESTING, "the agent says it is done")
    if task.faults >= task.rules.max_faults:
        kind = task.faulty.replace("_", " ") or "wrong tool calls"
        return c.Conclude(State.FAILED, f"the model gave {task.faults} unusable answers in a row ({kind})")
    if task.transport_failures >= task.rules.max_transport_failures:
        return c.Rest("unavailable", f"the model could not be reached {task.transport_failures} times in a row")
    limit = used_up(task.spend, task.limits, LAST_SHARE)
    if limit and (task.handed_over or used_up(task.spend, task.limits)):
        return c.Rest("budget", f"the budget of {limit} is spent")
    if task.signal is not None:
        return c.Raise(task.signal, nudge=task.signal.pattern not in task.nudged)
    if task.faulty:
        return c.Say(task.faulty)
    if limit and not task.handing_over:
        return c.Say("hand_over")
    return c.AskModel(max(0.0, task.retry_at - now), last=limit is not None)


def _gather(task: Task) -> c.Command:
    """All smaller steps are settled: the task stands or falls as a whole. Nothing is completed over a failing child."""
    if short := task.stopped_short:
        return c.Conclude(State.FAILED, f"its step {short.child} is {short.state}: {short.why}")
    return c.ChangeState(State.TESTING, f"all {len(task.children)} steps are completed")


def _judge(task: Task) -> c.Command:
    """In `testing`: run the check on what is there now, then believe it."""
    verdict = task.verdict
    if verdict is None or not task.judged:
        return c.RunCheck()
    if verdict.ruling == "passed":
        return c.Conclude(State.COMPLETED, verdict.reason)
    if verdict.ruling == "not_verified" and task.asked_for_test:
        return c.Conclude(State.BLOCKED, verdict.reason)
    return c.ChangeState(State.TEST_FAILED, verdict.reason)


def _repair(task: Task) -> c.Command:
    """In `test_failed`: a fresh agent, up to the limit; a repair that made more tests fail is rolled back first."""
    verdict, best = task.verdict, task.best
    if verdict and best and verdict.failed > best.failed and best.tree != task.tree:
        return c.RollBack(best.tree, f"{verdict.failed} tests failed after the repair, {best.failed} before it")
    if verdict and verdict.ruling == "not_verified":
        return c.StartAttempt("test_writer", "main")
    if task.repairs >= task.rules.max_repairs:
        return c.Conclude(State.FAILED, f"the check still fails after {task.repairs} repairs")
    # The last bug hunter is the strongest there is: a failure that survived two of them is a hard one.
    last = task.repairs == task.rules.max_repairs - 1
    return c.StartAttempt("bug_hunter", "strong" if last else "main")
