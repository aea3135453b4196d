"""What the work on a task needs: its workspace, its ports, and the facts for its agents' brief. Also judges a task's
files and concludes a task."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.examination import is_agents_work, list_missing, list_shown
from bough.core.acceptance.verdict import Check, Remark, Verdict
from bough.core.conversation import context
from bough.core.conversation.compaction import estimate_usage
from bough.core.conversation.pruning import EssentialFacts, list_edited, list_errors
from bough.core.errors import QuotaExhausted, SnapshotRefused, TransientError, Unavailable
from bough.core.events import AnyEvent, TaskHalted
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.messages import Answer, ToolSpec, Usage, list_editors
from bough.core.planning.plan import Tier
from bough.core.rules import Rules
from bough.core.tree.task import Task
from bough.core.tree.task_result import render_summaries
from bough.core.tree.task_state import State
from bough.ports import Batches, Model, Ports, Workspace
from bough.ports.agents import Talk
from bough.trust import handles
from bough.trust.files import Place
from bough.trust.wishes import ABOUT_THE_VERDICT

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
"""Files with instructions for agents. In each folder, the first that exists counts."""
INSTRUCTIONS_LIMIT = 32_000
DIFF_LIMIT = 24_000
FILES = 12
"""How many changed files, besides those that the current agent edited, a pruned conversation shows at most."""
PATIENCE = 600.0
"""How many seconds bough waits at most when a server answers with `Retry-After`."""


class TaskRuntime(Struct, eq=False):
    """What this process needs while it works on a task: its ports and, once it is opened, its workspace."""

    run: Run
    ports: Ports
    record: Callable[[Sequence[AnyEvent]], Awaitable[None]] | None = None
    """Records events in the middle of a command, if they must be visible before it finishes."""
    talk: Talk | None = None
    """The conversation with the current outside agent."""
    talking: int = 0
    """The number of the attempt that this conversation belongs to."""
    told: int = 0
    """How many of the attempt's messages the agent has received."""
    pictures: dict[str, bytes] = {}
    """The images of the conversation, so that each is read once."""
    untold: Check | None = None
    """The check whose result on the original files the current agent has yet to be told, as it was still running."""
    serving: dict[Tier, str] = {}
    """The keys of the models that now answer for a tier, if they changed since this process entered the task."""
    _workspace: Workspace | None = None
    _moved: bool = False

    @classmethod
    async def enter(cls, run: Run, task: Task, ports: Ports) -> "TaskRuntime":
        """Enter a task, perhaps after a crash: end what an earlier process left running, and restore the workspace to
        the files in the journal. This undoes the changes of an interrupted call, and keeps all that finished."""
        runtime = cls(run, ports)
        if task.gathering:
            ports.verifier.begin(run, task)
            runtime.moved()
        elif task.state is not State.PENDING and not task.resting:
            workspace = await runtime.open(task)
            await ports.sandbox.sweep(workspace)
            await workspace.restore(task.tree)
        return runtime

    def find_key(self, task: Task, tier: Tier, helper: str = "") -> str:
        """Return the key of the model that answers for a helper with its own model (such as the examiner), or else for
        the tier. If a fallback no longer exists because a person shortened the list, return the first model's key."""
        if (own := "examiner" if helper == "reviewer" else helper) in self.ports.models:
            return own
        key = self.serving.get(tier) or task.models.serving.get(tier, tier)
        return key if key in self.ports.models else tier

    def find_model(self, task: Task, tier: Tier) -> Model:
        return self.ports.models[self.find_key(task, tier)]

    async def open(self, task: Task) -> Workspace:
        if self._workspace is None:
            sides = task.origin.merge.sides if task.origin.merge else None
            opened = self.ports.workspaces.open(self.run.name, task.id, task.tree, self.run.folder, sides)
            self._workspace = await opened
            # The verifier prepares during the agent's first rounds, after the agent's own files are there.
            self.ports.verifier.begin(self.run, task)
        if self._moved:
            await self._workspace.restore(task.tree)
            self._moved = False
        return self._workspace

    async def make_room(self) -> None:
        """Remove the task's temporary files, which may be what fills the disk."""
        if self._workspace is not None:
            await clear_scratch(self._workspace)

    async def hang_up(self) -> None:
        """End the current outside agent, if there is one."""
        talk, self.talk = self.talk, None
        if talk is not None:
            await talk.close()

    async def leave(self) -> None:
        """Stop working on the task for now: end whatever runs for it."""
        await self.hang_up()
        if self._workspace is not None:
            await self.ports.leave(self._workspace)

    def moved(self) -> None:
        """Note that the task's files changed in the journal, so that the workspace is updated before its next use."""
        self._moved = True


async def collect_brief_values(task: Task, runtime: TaskRuntime) -> dict[str, str]:
    """Collect everything that an agent's brief may mention."""
    workspace = await runtime.open(task)
    if task.id != GOAL:
        await asyncio.to_thread(write_goal_file, workspace, runtime.run.plan.goal.instructions)
    project = _read_instructions(workspace)
    check = await runtime.ports.verifier.find(task)
    before = runtime.ports.verifier.before(task, check) if check else ""
    command, diff = check.command if check else "", await render_diff(task, runtime)
    return context.build_brief(task, command, diff, project, before or "")


def write_goal_file(workspace: Workspace, goal: str) -> None:
    """Write the whole goal into a file for the agent, outside the checkout, so that it is not part of the work. Links
    are not followed, because the agent can write to this folder."""
    workspace.scratch.mkdir(parents=True, exist_ok=True)
    with suppress(IsADirectoryError):  # If the agent put a folder in its place, there is no goal file.
        Place(workspace.scratch, context.GOAL_FILE).write(f"{goal.rstrip()}\n".encode(), 0o444)


async def render_system_prompt(task: Task, runtime: TaskRuntime, template: str = "agent") -> str:
    project = _read_instructions(await runtime.open(task))
    return context.render(runtime.ports.prompt(template), {"project": context.render_instructions(project)})


async def find_check_command(task: Task, runtime: TaskRuntime) -> str:
    check = await runtime.ports.verifier.find(task)
    return check.command if check else ""


async def render_diff(task: Task, runtime: TaskRuntime) -> str:
    diff = await runtime.ports.workspaces.diff(task.base, task.tree) if task.tree != task.base else ""
    if len(diff) > DIFF_LIMIT:
        stat = await runtime.ports.workspaces.diff(task.base, task.tree, stat=True)
        diff = f"{diff[:DIFF_LIMIT]}\n… truncated: the whole change is\n{stat}"
    return diff


async def collect_facts(task: Task, runtime: TaskRuntime) -> EssentialFacts:
    """Collect the facts that the task's agent still needs when its conversation is shortened."""
    workspaces = runtime.ports.workspaces
    changed = [change.path for change in await workspaces.changes(task.base, task.tree) if change.kind != "D"]
    messages = task.attempt.messages if task.attempt else ()
    editors = list_editors(runtime.ports.tools.specs)
    edited = list_edited(messages, editors)
    # The files that this agent edited last come last, because they are shown in full if there is little room.
    paths = [path for path in changed if path not in edited][-FILES:] + [path for path in edited if path in changed]
    failing = task.acceptance.failing
    return EssentialFacts(
        instructions=task.step.instructions,
        criteria=(*task.step.criteria, *task.said),
        check=await find_check_command(task, runtime),
        files=await workspaces.texts(task.tree, paths),
        errors=list_errors(messages, task.rules.stuck.shells),
        dead_ends=context.list_dead_ends(task),
        verdict=context.render_failure(failing) if failing else "",
        why=task.ladder.trouble.says if task.ladder.trouble else "",
        editors=editors,
    )


def _read_instructions(workspace: Workspace) -> str:
    top, below = Place(workspace.root), workspace.folder.relative_to(workspace.root).as_posix()
    texts = []
    for folder in (top, top / below) if below != "." else (top,):
        found = [place for name in INSTRUCTIONS if (place := folder / name).is_regular()]
        texts += [place.text(INSTRUCTIONS_LIMIT).strip() for place in found[:1]]
    return "\n\n".join(texts)


async def judge_tree(
    run: Run, task: Task, check: Check | None, workspace: Workspace, ports: Ports, *, merged: bool = False
) -> Verdict:
    """Judge the task's files by its check, and store the check's output. A check that leaves unreadable files fails."""
    if not task.step.requires_testing:
        return Verdict("passed", "no check was required", tree=task.tree)
    try:
        say = partial(ports.progress, task.id)
        judged = await ports.verifier.judge(run, task, check, workspace, say, merged=merged)
    except (OSError, SnapshotRefused) as error:
        command = check.command if check else ""
        reason = f"the check left files behind that cannot be read ({error})"
        return Verdict("failed", reason, command=command, tree=task.tree)
    output = await ports.store.put_blob(judged.output) if judged.output is not None else ""
    cases = await ports.store.put_blob(judged.cases) if judged.cases is not None else ""
    # A verdict names the settings of the repository that may have influenced it.
    bearing = {name: value for name, value in run.settings.items() if name.partition(".")[0] in ABOUT_THE_VERDICT}
    said = tuple(Remark("bough.toml", 0, f"the repository sets {name} = {value}") for name, value in bearing.items())
    return replace(
        replace(judged.verdict, advice=(*judged.verdict.advice, *said)) if said else judged.verdict,
        blob=output,
        cases=cases,
    )


async def restore_workspace(workspace: Workspace, task: Task) -> None:
    """Restore the workspace to the task's tree, and remove temporary files first, which may be what fills the disk."""
    await clear_scratch(workspace)
    await workspace.restore(task.tree)


async def clear_scratch(workspace: Workspace) -> None:
    """Remove the temporary files of a workspace, including the private /tmp and home folder of its commands."""
    await asyncio.to_thread(_clear_folder, workspace.scratch)


def _clear_folder(scratch: Path) -> None:
    shutil.rmtree(scratch.with_name(f"{scratch.name}.private"), ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    for name, _ in Place(scratch).list():
        handles.remove_below(os.fsencode(scratch), os.fsencode(name))


def fill_usage(answer: Answer, shown: int, tools: Sequence[ToolSpec]) -> Answer:
    """Return the answer with its token usage. If the server did not count the tokens, they are estimated, and marked as
    such. `shown`: the tokens of the conversation that the model was shown."""
    return answer if answer.usage != Usage() else replace(answer, usage=estimate_usage(shown, tools, answer))


def estimate_broken_usage(error: TransientError, shown: int, tools: Sequence[ToolSpec]) -> Usage:
    """Estimate the tokens of an answer that broke off: those of the question, and of the part that arrived."""
    if error.usage is None or error.usage.input:
        return error.usage or Usage()
    return replace(estimate_usage(shown, tools, Answer()), output=error.usage.output)


def build_halt(error: Unavailable, task: Task | None = None) -> TaskHalted:
    """Return the event that halts a task whose model and all fallbacks are unavailable."""
    times = (error.until if isinstance(error, QuotaExhausted) else 0.0, task.models.quota_until if task else 0.0)
    if until := min(filter(None, times), default=0.0):
        return TaskHalted("quota", str(error), until=until)
    return TaskHalted("unavailable", str(error))


def compute_backoff(rules: Rules, failures: int, error: TransientError) -> float:
    """Return how many seconds to wait after a transport error that follows `failures` others."""
    # A server's `Retry-After` counts if it is longer than our own wait, but only up to a limit: some ask for hours.
    return max(min(rules.backoff_first * 2.0**failures, rules.backoff_longest), min(error.retry_after or 0.0, PATIENCE))


async def conclude(to: State, why: str, task: Task, runtime: TaskRuntime) -> Batches:
    """Save the task's work in a commit, and record its final state."""
    workspace = await runtime.open(task)
    commit = await workspace.checkpoint(task.tree, f"{task.id}: {to.value}\n\n{render_summaries(task) or why}")
    changes = await runtime.ports.workspaces.changes(task.base, task.tree)
    checkpoint = e.CheckpointMade(commit, task.tree, tuple(change.path for change in changes))
    if to is State.COMPLETED and task.attempt is not None and task.attempt.may_change:
        name = runtime.find_model(task, task.attempt.tier).name
        runtime.ports.protocols.learn(name, task.attempt.protocol, "the model completed a task with it")
    judged = [e.EvidenceJudged(list_shown(task), tuple(one.number for one in list_missing(task)))]
    back = [
        e.ModelSwitched(tier, tier, runtime.ports.models[tier].name, "the next task begins with the first model")
        for tier in task.models.serving
    ]
    yield [checkpoint, *(judged if task.id == GOAL and is_agents_work(task) else []), *back, e.StateChanged(to, why)]
