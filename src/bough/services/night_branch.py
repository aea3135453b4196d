"""Puts the work of runs on branches: one run's, with a description for its pull request, and the proven goals of a
night (one pass through a backlog) together, as steps of a run. Also tells a night whether a goal can begin: its
conflicts, the disk space, and the goals that it needs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bough.adapters.workspaces import deliver
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session
from bough.core import events as e
from bough.core.backlog.decide import list_proven
from bough.core.backlog.entry import GoalReport
from bough.core.backlog.state import TOGETHER, Backlog, BacklogItem, Night
from bough.core.conversation.text_fitting import fence_text
from bough.core.errors import BoughError, Unavailable, UsageError, WorkspaceError
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Plan, Step
from bough.core.textual.cleaning import clean_markdown, escape_text
from bough.core.tree.file_overlap import Touched
from bough.core.tree.task_state import State
from bough.services.backlog import find_issue, is_of, make_listing
from bough.services.earlier_runs import StartingPoint
from bough.services.hooks import ask_before
from bough.trust.files import Place
from bough.trust.remotes import push_branch, run_theirs
from bough.views.formatting import first_sentence
from bough.views.markdown import fold, render_table
from bough.views.run_view import Outcome
from bough.views.vocabulary import describe_evidence, render_totals


async def make_branch_once(
    session: Session, run: str, branch: str, at: str, *, steps: bool = False, before: str = ""
) -> tuple[str, str]:
    """Create a branch with a run's work, starting from the commit `at`, or find the one that a killed process made;
    return its name and last commit. An existing branch is reused if its last commit is of this run, and replaced if it
    is the commit `before`; otherwise it belongs to somebody else, and another name is chosen."""
    root = session.root
    # The commit `at` may be gone after a rebase.
    at = at if await asyncio.to_thread(deliver.find_commit, root, at) else "HEAD"
    for number in count(1):
        name = branch if number == 1 else f"{branch}-{number}"
        tip = await asyncio.to_thread(deliver.find_commit, root, f"refs/heads/{name}")
        if tip and await asyncio.to_thread(deliver.find_run, root, tip) == run:
            return name, tip
        if tip and tip == before:
            await asyncio.to_thread(deliver.remove_branch, root, name, tip)
        if not tip or tip == before:
            return name, await session.branch(run, name, steps=steps, at=at)
    raise AssertionError("some name is free")


async def find_conflicts(
    session: Session, backlog: Backlog, item: BacklogItem, report: GoalReport
) -> dict[str, tuple[str, ...]]:
    """Find finished goals of this night whose work conflicts with this goal's work, and the files in conflict. Only
    goals that changed the same files are tried."""
    found: dict[str, tuple[str, ...]] = {}
    task = await session.task(item.run)
    for other in backlog.items.values():
        shared = other.report is not None and other.report.branch and set(report.files) & set(other.report.files)
        if other.name == item.name or not shared or other.night != item.night or other.removed is not None:
            continue
        done = await session.task(other.run)
        merged = await session.workspaces.merge(task.base, done.tree, task.tree) if done.base == task.base else None
        if merged is not None and merged.conflicts:
            found[other.name] = merged.conflicts
    return found


class NightBranch(Struct, frozen=True):
    """Merges one goal after the other, and proves each merge by the whole check and by the tests and probes that proved
    the goals merged before."""

    session: Session
    backlog: Backlog
    night: Night
    choices: Choices
    jobs: int
    post: Callable[[e.AnyEvent], Awaitable[None]]

    async def join(self, watch: RunObserver) -> None:
        proven = list_proven(self.backlog)
        done = [item for item in proven if item.removed is None]
        lost = {item.name: "its run was removed" for item in proven if item.removed is not None}
        if not done:
            await self.post(e.NightJoined(left_out=lost, why="no goal is done and proven"))
            return
        name = self.night.together or await self.session.find_free_name()
        if not self.night.together:
            await self.post(e.NightJoining(name))
        try:
            joined = await self._describe(await self._run(name, done, watch))
        except (BoughError, OSError) as error:
            if watch.stop.requested:
                raise
            joined = e.NightJoined(left_out=dict.fromkeys((item.name for item in done), str(error)), why=str(error))
        await self.post(replace(joined, left_out=joined.left_out | lost))

    async def _run(self, name: str, done: list[BacklogItem], watch: RunObserver) -> Outcome:
        session, listing = self.session, make_listing(self.backlog, TOGETHER)
        choices = replace(self.choices, jobs=self.jobs, cost=None, continues="")
        if is_of(await session.run(name), listing):
            return await session.resume(name, choices, watch)
        rules = choices.rules(session.config.limits)
        proof = replace(rules.acceptance, proof="check", examine="never")  # Each goal was examined before.
        point = StartingPoint(name, self.night.started.base, "", listing, replace(rules, acceptance=proof))
        steps = tuple([await self._make_step(item) for item in done])
        goal = Step(GOAL, f"The work of {len(done)} goals, together.", steps=steps, parallel=True, join="settled")
        return await session.start(Plan(goal), choices, watch, point)

    async def _make_step(self, item: BacklogItem) -> Step:
        verdict = (await self.session.task(item.run)).acceptance.verdict
        command = verdict.command if verdict is not None else ""
        step = Step(item.name, item.entry.goal, item.entry.title[:200], work=item.run)
        return replace(step, test_command=command or None, requires_testing=bool(command))

    async def _describe(self, outcome: Outcome) -> e.NightJoined:
        ends = (await self.session.task(outcome.run)).children.settled
        landed = tuple(name for name, end in ends.items() if end.state is State.COMPLETED)
        left_out = {name: end.why for name, end in ends.items() if end.state is not State.COMPLETED}
        if not outcome.completed or not landed:
            return e.NightJoined(landed=landed, left_out=left_out, why=outcome.summary or "nothing could be merged")
        wanted, session, before = self.night.started.together, self.session, self.night.joined
        if not self.night.started.commit:
            why = "there is no git repository with a commit here"
            return e.NightJoined(landed=landed, left_out=left_out, why=why)
        try:
            branch, commit = await make_branch_once(
                session,
                outcome.run,
                wanted,
                self.night.started.commit,
                steps=True,
                before=before.commit if before is not None else "",
            )
        except BoughError as error:
            return e.NightJoined(landed=landed, left_out=left_out, why=str(error))
        why = f"{wanted} is not a branch of this list" if branch != wanted else ""
        return e.NightJoined(branch, commit, landed, left_out, why)


async def find_touched(session: Session, backlog: Backlog, live: Iterable[str]) -> dict[str, Touched]:
    """Find the files that running goals have changed so far; empty if at most one goal is left to choose."""
    if sum(not item.taken and not item.dropped for item in backlog.items.values()) < 2:
        return {}

    async def look(name: str) -> Touched:
        try:
            task = await session.task(backlog.items[name].run)
            changes = await session.workspaces.changes(task.base, task.tree)
        except (UsageError, WorkspaceError):  # The run has not begun, or its files are just being stored.
            return {}
        return {change.path: False for change in changes}

    names = list(live)
    return dict(zip(names, await asyncio.gather(*map(look, names)), strict=True))


async def find_full_disk(session: Session, most: int, busy: bool) -> str:
    """Explain why the limit of disk space lets no goal begin; empty if there is room, or no limit."""
    if not most:
        return ""
    used = await asyncio.to_thread(session.size)
    if used >= most and not busy and await session.tidy():
        used = await asyncio.to_thread(session.size)
    if used < most:
        return ""
    return f"bough keeps {used / 1e9:.3g} GB here, the limit is {most / 1e9:g} GB"


async def require_delivered(session: Session, need: BacklogItem, night: Night) -> None:
    """Raise an error if the run of a needed goal was removed and its work is not in the person's files."""
    made = need.report.commit if need.report is not None else ""
    there = await asyncio.to_thread(deliver.contains, session.root, night.started.commit, made)
    if not there and not (need.removed is not None and need.removed.applied):
        raise UsageError(
            f"it needs {need.name}, whose run was removed and whose work is not in your files: merge its branch, or do "
            f"it again with `bough backlog edit {need.name}`"
        )


def is_outdated(run: Run, item: BacklogItem) -> bool:
    """Return whether the person edited the goal so that its run no longer fits, or after the run finished."""
    goal = run.plan.goal
    other = goal.instructions != item.entry.goal.strip() or (goal.test_command or "") != item.entry.check
    return item.edited and (other or run.end is not None)


LISTED = 12
"""The most lines of the goal, and of the list of changed files, before the rest is folded."""


async def write_description(opened: Session, name: str) -> tuple[Path, str]:
    """Write a pull request's description, from evidence and not from a model's words. Return its file and the goal."""
    state, task = await opened.run(name), await opened.task(name)
    stat = await opened.diff(name, stat=True)
    goal = escape_text(state.plan.goal.instructions.strip())
    verdict = task.acceptance.verdict
    said = describe_evidence(verdict) if verdict is not None else "not verified: no check ran"
    reason = ["", clean_markdown(verdict.reason)] if verdict is not None else []
    asked = clean_markdown(goal).splitlines()
    rest = fold(f"{len(asked) - LISTED} more lines", asked[LISTED:]) if len(asked) > LISTED else []
    parts = ["\n".join([*asked[:LISTED], *rest]), "## Evidence", "\n".join([f"- {said}", *reason])]
    table, view = await opened.evidence(name), await opened.view(name)
    if table.accepted:
        parts.append(f"**Not proven**: accepted by {table.accepted}.")
    parts.append("\n".join([f"{render_totals(table)}.\n" if table.rows else "", *render_table(table, view.rechecked)]))
    changes = fence_text(escape_text(stat.strip()))
    if stat.count("\n") > LISTED:
        changes = "\n".join(fold(stat.strip().splitlines()[-1].strip(), [changes])).strip()
    parts += ["## Changes", changes, f"{'Examined' if view.examines else 'Made'} by bough (run `{name}`)."]
    if issue := await find_issue(opened, state):
        parts.append(f"Closes #{issue}")
    path = opened.home / f"pr-{name}.md"
    Place(opened.home, path.name).write(("\n\n".join(parts) + "\n").encode())
    return path, goal


async def open_pull_request(opened: Session, run: str, branch: str) -> tuple[str, str]:
    """Push the branch and open a draft with the person's own `git` and `gh`; return its address, and a remark."""
    description, goal = await write_description(opened, run)
    create = ["gh", "pr", "create", "--draft", "--head", branch, "--title", first_sentence(goal)]
    remarks: list[str] = []
    await ask_before(opened, "before_push", run, f"{branch} is about to be pushed.", branch)
    try:
        remarks = await asyncio.to_thread(push_branch, opened.root, branch, 300.0)
        said = await asyncio.to_thread(run_theirs, [*create, "--body-file", str(description)], opened.root)
    except Unavailable as error:
        if "already exists" not in str(error):
            raise Unavailable(f"no pull request was opened: {error}") from None
        # A process that was then killed may have opened the pull request.
        view = ["gh", "pr", "view", branch, "--json", "url", "--jq", ".url"]
        said = await asyncio.to_thread(run_theirs, view, opened.root)
    return said.splitlines()[-1] if said else "", "; ".join(remarks)
