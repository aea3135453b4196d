"""The place of a task's effects: its workspace, the ports and its agents' brief; and the end of a task, however it
comes."""

from __future__ import annotations

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
from bough.core.acceptance import earned
from bough.core.acceptance.examination import is_agents_work
from bough.core.acceptance.verdict import Check, Remark, Verdict
from bough.core.conversation import context
from bough.core.conversation.compaction import estimate_usage
from bough.core.conversation.pruning import EssentialFacts, list_edited, list_errors
from bough.core.errors import Exhausted, SnapshotRefused, TransientError, Unavailable
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
"""Instruction files of a folder; the first that exists counts."""
INSTRUCTIONS_LIMIT = 32_000
DIFF_LIMIT = 24_000
FILES = 12
"""The most changed files, besides the current agent's, in a pruned context."""
PATIENCE = 600.0
"""The longest `Retry-After` in seconds that bough waits for."""


class TaskRuntime(Struct, eq=False):
    """The place of a task's effects: its workspace, once it has one, and the ports."""

    run: Run
    ports: Ports
    record: Callable[[Sequence[AnyEvent]], Awaitable[None]] | None = None
    """Makes events durable in the middle of an effect, if they must be visible before it finishes."""
    talk: Talk | None = None
    """The conversation with the current outside agent."""
    talking: int = 0
    """The number of this conversation's attempt."""
    told: int = 0
    """How many of the attempt's messages the agent has received."""
    pictures: dict[str, bytes] = {}
    """The images of the conversation, so that each is read once."""
    untold: Check | None = None
    """The check whose result at the base the current agent has not received, because it was still running."""
    serving: dict[Tier, str] = {}
    """The keys of the models that answer, if they changed since the task was entered."""
    _workspace: Workspace | None = None
    _moved: bool = False

    @classmethod
    async def enter(cls, run: Run, task: Task, ports: Ports) -> TaskRuntime:
        """Enter a task, perhaps after a crash: end what an earlier process left running, and restore the workspace to
        the journal's state. An interrupted call's changes are gone, and nothing that finished is lost."""
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
        """Return the key of the model that answers for the tier, or for a helper with its own model: an examiner of
        another kind than the author sees other faults. A chain that a person shortened begins again."""
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
            # During the first rounds: the agent comes first and has its files already.
            self.ports.verifier.begin(self.run, task)
        if self._moved:
            await self._workspace.restore(task.tree)
            self._moved = False
        return self._workspace

    async def make_room(self) -> None:
        """Clear temporary files, which may be what fills the disk."""
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
        """Note that the task's tree changed elsewhere: the workspace follows before its next use."""
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
    """Write the whole goal into a file for the agent: outside the checkout, so that it is not part of the work. The
    folder is the agent's: links in it are not followed."""
    workspace.scratch.mkdir(parents=True, exist_ok=True)
    with suppress(IsADirectoryError):  # The agent has put a folder there: then it has no goal file.
        Place(workspace.scratch, context.GOAL_FILE).write(f"{goal.rstrip()}\n".encode(), 0o444)


async def render_system_prompt(task: Task, runtime: TaskRuntime, template: str = "agent") -> str:
    project = _read_instructions(await runtime.open(task))
    return context.render(runtime.ports.prompt(template), {"project": context.render_instructions(project)})


async def find_check_command(task: Task, runtime: TaskRuntime) -> str:
    check = await runtime.ports.verifier.find(task)
    return check.command if check else ""


async def render_diff(task: Task, runtime: TaskRuntime) -> str:
    """Render the task's changes so far."""
    diff = await runtime.ports.workspaces.diff(task.base, task.tree) if task.tree != task.base else ""
    if len(diff) > DIFF_LIMIT:
        stat = await runtime.ports.workspaces.diff(task.base, task.tree, stat=True)
        diff = f"{diff[:DIFF_LIMIT]}\n… truncated: the whole change is\n{stat}"
    return diff


async def collect_facts(task: Task, runtime: TaskRuntime) -> EssentialFacts:
    """Collect what the task's agent must still know when the rest of its conversation is dropped."""
    workspaces = runtime.ports.workspaces
    changed = [change.path for change in await workspaces.changes(task.base, task.tree) if change.kind != "D"]
    messages = task.attempt.messages if task.attempt else ()
    editors = list_editors(runtime.ports.tools.specs)
    edited = list_edited(messages, editors)
    # The files that this agent edited last come last: those are shown whole if there is little room.
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
    """Read the repository's own instructions for agents: from the top, then from the folder where the work starts."""
    top, below = Place(workspace.root), workspace.folder.relative_to(workspace.root).as_posix()
    texts = []
    for folder in (top, top / below) if below != "." else (top,):
        found = [place for name in INSTRUCTIONS if (place := folder / name).is_regular()]
        texts += [place.text(INSTRUCTIONS_LIMIT).strip() for place in found[:1]]
    return "\n\n".join(texts)


async def judge_tree(
    run: Run, task: Task, check: Check | None, workspace: Workspace, ports: Ports, *, merged: bool = False
) -> Verdict:
    """Judge the task's tree and store the whole output. A check that leaves unreadable files has failed."""
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
    # A verdict that depends on settings of the repository names them.
    bearing = {name: value for name, value in run.settings.items() if name.partition(".")[0] in ABOUT_THE_VERDICT}
    said = tuple(Remark("bough.toml", 0, f"the repository sets {name} = {value}") for name, value in bearing.items())
    return replace(
        replace(judged.verdict, advice=(*judged.verdict.advice, *said)) if said else judged.verdict,
        blob=output,
        cases=cases,
    )


async def restore_workspace(workspace: Workspace, task: Task) -> None:
    """Restore the workspace to the task's tree, without temporary files: those may be what fills the disk."""
    await clear_scratch(workspace)
    await workspace.restore(task.tree)


async def clear_scratch(workspace: Workspace) -> None:
    """Remove its temporary files, with the /tmp and home of its commands."""
    await asyncio.to_thread(_clear_folder, workspace.scratch)


def _clear_folder(scratch: Path) -> None:
    shutil.rmtree(scratch.with_name(f"{scratch.name}.private"), ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    for name, _ in Place(scratch).list():
        handles.remove_below(os.fsencode(scratch), os.fsencode(name))


def fill_usage(answer: Answer, shown: int, tools: Sequence[ToolSpec]) -> Answer:
    """Return the answer with its token usage; uncounted tokens are estimated, and marked so. `shown`: the known tokens
    of the conversation."""
    return answer if answer.usage != Usage() else replace(answer, usage=estimate_usage(shown, tools, answer))


def estimate_broken_usage(error: TransientError, shown: int, tools: Sequence[ToolSpec]) -> Usage:
    """Estimate the usage of an answer that broke off: the question, and the part that arrived."""
    if error.usage is None or error.usage.input:
        return error.usage or Usage()
    return replace(estimate_usage(shown, tools, Answer()), output=error.usage.output)


def build_halt(error: Unavailable, task: Task | None = None) -> TaskHalted:
    """Return the halt of a task whose model and all its fallbacks are unavailable."""
    times = (error.until if isinstance(error, Exhausted) else 0.0, task.models.quota_until if task else 0.0)
    if until := min(filter(None, times), default=0.0):
        return TaskHalted("quota", str(error), until=until)
    return TaskHalted("unavailable", str(error))


def compute_backoff(rules: Rules, failures: int, error: TransientError) -> float:
    """Seconds to wait after a transport error that follows `failures` others."""
    # A server's wish counts only if it is longer than ours, and only up to a bound: some answer with hours.
    doubled = rules.backoff_first * 2.0**failures
    return max(min(doubled, rules.backoff_longest), min(error.retry_after or 0.0, PATIENCE))


async def conclude(to: State, why: str, task: Task, runtime: TaskRuntime) -> Batches:
    """Save the work in a checkpoint and set the final state."""
    workspace = await runtime.open(task)
    commit = await workspace.checkpoint(task.tree, f"{task.id}: {to.value}\n\n{render_summaries(task) or why}")
    changes = await runtime.ports.workspaces.changes(task.base, task.tree)
    checkpoint = e.CheckpointMade(commit, task.tree, tuple(change.path for change in changes))
    if to is State.COMPLETED and task.attempt is not None and task.attempt.may_change:
        name = runtime.find_model(task, task.attempt.tier).name
        runtime.ports.protocols.learn(name, task.attempt.protocol, "it completed a task with it")
    judged = [e.EvidenceJudged(earned.list_shown(task), tuple(one.number for one in earned.list_missing(task)))]
    back = [
        e.ModelSwitched(tier, tier, runtime.ports.models[tier].name, "the next task begins with the first model")
        for tier in task.models.serving
    ]
    yield [checkpoint, *(judged if task.id == GOAL and is_agents_work(task) else []), *back, e.StateChanged(to, why)]
