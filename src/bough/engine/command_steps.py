"""Work without an agent: commands, the work of a finished run, and the summary of a task's steps."""

import re
import shutil
from functools import partial

from bough.core import commands as c
from bough.core import events as e
from bough.core.conversation.context import list_passed_probes
from bough.core.conversation.text_fitting import keep_ends
from bough.core.errors import SnapshotRefused
from bough.core.ids import GOAL
from bough.core.journal.task_fold import fold_task
from bough.core.planning.plan import describe_command
from bough.core.tree import task_result
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.consult import try_consult
from bough.engine.task_workspace import TaskRuntime, restore_workspace
from bough.ports import Batches

SUMMARY = 4_000
"""The most characters of a summary."""
_ESCAPES = r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]"


async def run_command(command: c.RunCommand, task: Task, runtime: TaskRuntime) -> Batches:
    """Run the command of a step, after recording that it starts. Placeholders in its environment are already filled."""
    ports, rules = runtime.ports, task.rules
    workspace = await runtime.open(task)
    yield [e.CommandStarted(describe_command(task.step))]
    finished = await ports.sandbox.run(
        [shutil.which("bash") or "sh", "-c", task.step.run],
        workspace=workspace,
        env=task.step.env,
        timeout=rules.check_timeout,
        limit=rules.kept,
        progress=partial(ports.progress, task.id),
    )
    text = re.sub(_ESCAPES, "", finished.output.decode("utf-8", "replace"))
    try:
        tree = await workspace.snapshot()
    except SnapshotRefused as error:
        await restore_workspace(workspace, task)
        yield [e.CommandFinished(False, str(error), finished.exit_status, tree=task.tree, seconds=finished.seconds)]
        return
    shown = keep_ends(text, rules.shown)
    yield [
        e.CommandFinished(
            ok=finished.exit_status == 0,
            output=shown,
            exit_status=finished.exit_status,
            blob=await ports.store.put_blob(finished.output) if len(shown) < len(text.strip()) else "",
            tree=tree,
            seconds=finished.seconds,
            killed=finished.killed,
        )
    ]


async def take_work(command: c.TakeWork, task: Task, runtime: TaskRuntime) -> Batches:
    """Take over the changes of a finished run, its verdict, and the probes (extra tests) that it passed."""
    run = task.step.work
    done = fold_task(GOAL, await runtime.ports.store.read(run, GOAL))
    said = task_result.get_summary(done)
    probes = list_passed_probes(done)
    begun = e.StateChanged(State.TESTING, f"the work of {run}")
    yield [begun, e.WorkTaken(run, done.base, done.tree, said, done.acceptance.verdict, probes, done.may_change)]


async def recover_command(command: c.RecoverCommand, task: Task, runtime: TaskRuntime) -> Batches:
    """Record that a command was interrupted. The workspace is restored already; its effects elsewhere are unknown."""
    yield [
        e.WorkspaceRestored(task.tree, "a command was interrupted"),
        e.CommandFinished(False, "", interrupted=True),
    ]


async def summarize_steps(command: c.Summarise, task: Task, runtime: TaskRuntime) -> Batches:
    """Let the fast model summarise the steps. If it is unavailable or the budget is spent, shorten their results."""
    whole = task_result.join_step_results(task)
    plain = e.Summarized(keep_ends(whole, SUMMARY), "rule")
    if not whole or task.left.rounds < 1:
        yield [plain]
        return
    values = {"instructions": task.step.instructions or task.step.name, "results": whole}
    asked = await try_consult(task, runtime, "summary", "fast", values)
    text = asked.answer.text.strip() if asked.answer is not None else ""
    yield [*asked.events, e.Summarized(keep_ends(text, SUMMARY), "model") if text else plain]
