"""Delivers a run's work: as changes to the person's files, as commits, or on a branch."""

import asyncio
import textwrap
from collections.abc import Sequence

from msgspec.structs import replace

from bough.adapters.workspaces import deliver
from bough.adapters.workspaces.apply import ApplyConflict
from bough.adapters.workspaces.deliver import find_branch as find_branch
from bough.app.project import Project
from bough.core import events as e
from bough.core.acceptance.requirements import Requirement
from bough.core.acceptance.verdict import Check
from bough.core.conversation.context import list_passed_probes, shorten_text
from bough.core.errors import UsageError
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run, list_settled_steps
from bough.core.merge.active_files import ActiveFile
from bough.core.textual.cleaning import clean_message
from bough.core.tree.task import Task
from bough.core.tree.task_result import get_summary
from bough.ports import FileChange
from bough.services.hooks import ask_before
from bough.services.run_messages import find_person
from bough.views.formatting import cut, first_sentence, one_line

EDGES_SHOWN = 8
WIDTH = 72
"""The most characters of a line in a commit message."""
BODY = 2_000
"""The most characters of an agent's text in a commit message."""


class Delivery(Project, frozen=True):
    async def diff(self, name: str, stat: bool = False) -> str:
        """Return the diff of everything that the run has changed so far, finished or not."""
        if not await self.store.read(name, GOAL):
            return ""
        task = await self.work(name)
        return await self.workspaces.diff(task.base, task.tree, stat)

    async def edges(self, name: str) -> list[ActiveFile]:
        """List the run's changed files that take effect without anyone running them, such as hooks and CI files."""
        task = await self.work(name)
        return await self.workspaces.edges(task.base, task.tree)

    async def apply(
        self,
        name: str,
        edges: bool = False,
        commit: bool = False,
        *,
        steps: bool = False,
        with_probes: bool = False,
        hooks: bool = False,
    ) -> list[FileChange]:
        """Apply a run's changes to the person's files, merged with their own changes since; if that fails, write
        nothing. `edges`: the person accepts files that take effect on their own (hooks, CI). `steps`: one commit per
        step. `with_probes`: add the probes (extra tests) that the work has passed. `hooks`: the repository's hooks,
        filters and signing apply to the commit."""
        task = await self.work(name)
        if not edges and (found := await self.edges(name)):
            listed = "; ".join(f"{edge.path} {edge.why}" for edge in found[:EDGES_SHOWN])
            more = f"; and {len(found) - EDGES_SHOWN} more" if len(found) > EDGES_SHOWN else ""
            raise UsageError(
                f"Nothing is applied yet, because some changes take effect on their own: {listed}{more}. Review them "
                f"with `bough diff {name}`, then apply them with `bough apply {name} --edges`."
            )
        async with self.hold(name) as (claim, run):
            if run.applied == task.tree:
                raise UsageError(f"{name} is already applied: `bough undo {name}` reverts it.")
            await ask_before(self, "before_apply", name, f"{name} is about to change your files.")
            tree = await self._build_tree(name, task, with_probes)
            if commit and steps:
                await self._require_base(name, task)
            before = await self.workspaces.take()
            changes = await self._merge_into_files(task.base, tree, before)
            made = await self._commit(name, task, changes, steps, hooks) if commit and changes else ""
            files = tuple(change.path for change in changes)
            applied = e.Applied(tree, files, before, await self.workspaces.take(), made, find_person())
            await self.store.append(claim, [applied], run.version)
        return changes

    async def _commit(self, name: str, task: Task, changes: list[FileChange], steps: bool, hooks: bool) -> str:
        if steps:
            return await asyncio.to_thread(deliver.commit_each, self.root, await self._build_commits(name, task, steps))
        paths = [change.path for change in changes]
        message = render_run_message(await self.run(name), task)
        return await asyncio.to_thread(deliver.commit, self.root, paths, message, hooks)

    async def _merge_into_files(self, base: str, tree: str, now: str) -> list[FileChange]:
        try:
            return await self.workspaces.apply(base, tree)
        except ApplyConflict:
            merged = await self.workspaces.merge(base, now, tree)
            if merged.conflicts:
                raise
            return await self.workspaces.apply(now, merged.tree)

    async def undo(self, name: str) -> list[FileChange]:
        """Revert what was applied to the person's files."""
        async with self.hold(name) as (claim, run):
            applied = run.application
            if applied is None or not applied.before:
                raise UsageError(f"{name} is not applied: nothing to undo.")
            try:
                changes = await self._merge_into_files(applied.after, applied.before, await self.workspaces.take())
            except ApplyConflict as error:
                raise UsageError(
                    f"Nothing was undone, because you changed the same lines since {name} was applied: "
                    f"{', '.join(error.paths)}. Set these changes aside (git stash, or copies elsewhere) and run "
                    f"`bough undo {name}` again, or take the run's changes out by hand: `bough diff {name}` shows them."
                ) from error
            undone = e.Undone(tuple(change.path for change in changes), find_person())
            await self.store.append(claim, [undone], run.version)
        return changes

    async def branch(
        self, name: str, branch: str, *, steps: bool = False, with_probes: bool = False, at: str = "HEAD"
    ) -> str:
        """Create a branch in the person's repository with the run's changes, in one commit or (`steps`) one per step,
        and return its last commit. Their files stay as they are. `with_probes`: add the probes (extra tests) that the
        work has passed. `at`: the commit that the branch starts from."""
        task = await self.work(name)
        task = replace(task, tree=await self._build_tree(name, task, with_probes))
        if not await self.workspaces.changes(task.base, task.tree):
            raise UsageError(f"{name} changed nothing: nothing to put on a branch.")
        await self._require_base(name, task, at)
        commits = await self._build_commits(name, task, steps)
        return await asyncio.to_thread(deliver.create_branch, self.root, branch, commits, at)

    async def _require_base(self, name: str, task: Task, at: str = "HEAD") -> None:
        """Raise an error if files that the run changed differ between the commit `at` and the run's start, because then
        the run's commits would contain other changes as well."""
        paths = [change.path for change in await self.workspaces.changes(task.base, task.tree)]
        base = await self.workspaces.files(task.base, paths)
        head = await asyncio.to_thread(deliver.read_texts_at, self.root, paths, at)
        differ = [path for path in paths if head[path] != (base[path][1] if path in base else None)]
        if differ:
            raise UsageError(
                f"The last commit does not have {differ[0]} as the run found it: commit your changes first, or use "
                f"`bough apply {name}`."
            )

    async def _build_commits(
        self, name: str, task: Task, steps: bool
    ) -> list[tuple[dict[str, tuple[str, bytes] | None], str]]:
        """Return the commits for a run's changes: the files of each, and its message."""
        titles = {step.name: step.title or step.instructions.strip() for step in task.plan.steps}
        covers = {step.name: [one for one in task.asked if one.number in step.covers] for step in task.plan.steps}
        points = [
            (one.tree, render_step_message(name, one, titles.get(one.child, ""), covers.get(one.child, [])))
            for one in list_settled_steps(await self.store.read(name, GOAL))
        ]
        made, before = [], task.base
        for tree, message in [*(points if steps else []), (task.tree, render_run_message(await self.run(name), task))]:
            paths = [change.path for change in await self.workspaces.changes(before, tree)]
            files = await self.workspaces.files(tree, paths) if paths else {}
            if paths:
                made.append(({path: files.get(path) for path in paths}, message))
            before = tree
        return made

    async def _build_tree(self, name: str, task: Task, with_probes: bool) -> str:
        """Return the tree of a task; `with_probes`: with the probes (extra tests) that it passed."""
        if not with_probes:
            return task.tree
        from bough.adapters.verifiers.prober import write_files, write_kept

        kept, verdict = f"{GOAL}@probes", task.acceptance.verdict
        check = Check(verdict.command if verdict is not None else "", "")
        workspace = await self.workspaces.open(name, kept, task.tree, "")
        try:
            passed = list_passed_probes(task)
            # A file that also holds a dropped probe is left out, because it would fail.
            others = {probe.path for probe in task.examination.probes if probe not in passed}
            texts = {probe.path: write_kept(probe, check) for probe in passed if probe.path not in others}
            await asyncio.to_thread(write_files, workspace.root, texts)
            return await workspace.snapshot()
        finally:
            await self.workspaces.discard(name, kept)


# ── commit messages: a short subject, what was done, the evidence as trailers ────────────────────────────────────────


def render_run_message(run: Run, task: Task) -> str:
    """Render one commit message for the whole run. The first sentence of the goal is the subject."""
    verdict = task.acceptance.verdict
    steps = (
        f"- {one.child}: {shorten_text(one.summary, WIDTH)}" for one in task.children.settled.values() if one.summary
    )
    last = task.acceptance.summaries[-1].text if task.acceptance.summaries else get_summary(task)
    said = last or "\n".join(steps)
    trailers = [f"Bough-Run: {run.name}", *([f"Bough-Goal: {run.listed}"] if run.listed else [])]
    if verdict is not None and verdict.command:
        said_of_it = f"accepted by {run.accepted}" if run.accepted else f"{verdict.ruling}: {verdict.reason}"
        trailers += [f"Bough-Check: {verdict.command}", f"Bough-Verdict: {said_of_it}"]
    return _render(run.plan.goal.instructions.strip() or run.name, said, trailers)


def render_step_message(run: str, step: e.ChildSettled, title: str, covers: Sequence[Requirement]) -> str:
    """Render the commit message of a step: its title, and its agent's summary."""
    trailers = [f"Bough-Run: {run}", f"Bough-Step: {step.child}"]
    trailers += [f"Bough-Requirement: {shorten_text(str(one), WIDTH)}" for one in covers]
    trailers += [f"Bough-Verdict: {step.verdict}"] if step.verdict else []
    return _render(title or step.child, step.summary or step.result or step.why, trailers)


def _render(subject: str, said: str, trailers: Sequence[str]) -> str:
    subject = cut(first_sentence(subject).rstrip("."), WIDTH)
    body = ["", *_wrap(clean_message(shorten_text(said, BODY)))] if said.strip() else []
    return "\n".join([subject, *body, "", *map(one_line, trailers)]) + "\n"


def _wrap(text: str) -> list[str]:
    """Wrap paragraphs into lines that git shows well; lists and code stay as they are."""
    lines: list[str] = []
    for line in text.splitlines():
        plain = line[:1].isalnum() and len(line) > WIDTH
        lines += textwrap.wrap(line, WIDTH) if plain else [line.rstrip()]
    return lines
