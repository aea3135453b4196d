"""Merges finished steps one after the other onto their task's head (its latest merged files), and proves each merge: by
the step's check on the merged tree, the checks of steps merged before, every test that passed on either side, and the
goal's whole check. Meanwhile the next ones are tried on the head that is expected after that merge; the result counts
if the head becomes that one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial

from msgspec import Struct, json
from msgspec.structs import replace

from bough.core.acceptance.verdict import Check, Verdict
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.merge import conflict_brief
from bough.core.merge.conflict_brief import build_check_step
from bough.core.merge.conflict_hunks import MARKER, OURS, THEIRS, Merge, StepCheck, find_leftover_markers
from bough.core.tree.task import Task
from bough.engine.task_workspace import judge_tree
from bough.ports import Ports, Workspace
from bough.ports.steering import cancel_tasks
from bough.ports.verifier import Work

AHEAD = 4
"""How many steps are tried ahead of their turn at most."""


class Guess(Struct, frozen=True):
    """The result of merging a step onto an expected head, ahead of its turn."""

    merge: Merge
    verdict: Verdict
    both: tuple[str, ...] = ()


class QueuedStep:
    """A finished step that waits for its turn to be merged."""

    def __init__(self, need: StepCheck | None, ahead: "QueuedStep | None") -> None:
        self.need = need
        """The step's check and tests, which must still pass after later steps; None: it has no work to merge."""
        self.ahead = ahead
        self._tree: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self.guess: Guess | None = None

    def expect_tree(self, tree: str | None) -> None:
        """Set the tree that the head is expected to have after this step; None: unknown. Only the first call counts."""
        if not self._tree.done():
            self._tree.set_result(tree)

    async def tree(self) -> str | None:
        return await asyncio.shield(self._tree)

    @property
    def needed(self) -> tuple[StepCheck, ...]:
        """List the checks and tests of the steps ahead in the queue, which must pass as well."""
        found, queued = [], self.ahead
        while queued is not None:
            found += [queued.need] if queued.need is not None else []
            queued = queued.ahead
        return tuple(reversed(found))


class MergeQueue:
    """The finished steps of one task, merged one after the other. The next few are tried ahead of their turn."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._queued: list[QueuedStep] = []
        self._places = asyncio.Semaphore(1 + AHEAD)

    @asynccontextmanager
    async def turn(
        self,
        need: StepCheck | None,
        guess: Callable[[QueuedStep, str], Awaitable[Guess | None]],
        head: Callable[[], str],
    ) -> AsyncIterator[QueuedStep]:
        """Let only this step change the head in this block. Until its turn, `guess` tries it on the expected head."""
        await self._places.acquire()
        queued = QueuedStep(need, self._queued[-1] if self._queued else None)
        self._queued.append(queued)
        guessing: asyncio.Task[Guess | None] | None = None
        if need is not None and queued.ahead is not None:
            # Trying the step on the expected head during the wait saves a whole run of the check.
            guessing = asyncio.create_task(_make_guess(queued, guess))
        try:
            async with self._lock:
                if guessing is not None and queued.ahead is not None:
                    expected = await queued.ahead.tree()
                    # The step ahead may have been merged with another tree (redone by an agent), or not at all.
                    if expected is not None and expected == head():
                        queued.guess = await guessing
                queued.ahead = None
                yield queued
        finally:
            queued.expect_tree(None)
            self._queued.remove(queued)
            self._places.release()
            if guessing is not None:
                await cancel_tasks([guessing])


async def _make_guess(queued: QueuedStep, guess: Callable[[QueuedStep, str], Awaitable[Guess | None]]) -> Guess | None:
    assert queued.ahead is not None
    tree = await queued.ahead.tree()
    found = await guess(queued, tree) if tree is not None else None
    if found is None:
        queued.expect_tree(None)
    return found


PLACES = 6
"""The most leftover markers that a verdict names."""


async def find_leftover_conflicts(task: Task, ports: Ports) -> Verdict | None:
    """Return a failed verdict if conflict markers remain in the files, so that no check has to run; else None."""
    assert task.origin.merge is not None
    changed = await ports.workspaces.changes(task.origin.merge.ours, task.tree)
    texts = await ports.workspaces.texts(task.tree, [change.path for change in changed if change.kind != "D"])
    marked = {path: lines for path, text in texts.items() if (lines := find_leftover_markers(text.encode()))}
    before: dict[str, str] = {}
    for side in (task.origin.merge.ours, task.origin.merge.theirs) if marked else ():
        before |= await ports.workspaces.texts(side, list(marked))
    # Markers are counted, because a file (a text about merging) may have had some of its own before.
    own = {path: len(find_leftover_markers(text.encode())) for path, text in before.items()}
    places = [f"{path}:{line}" for path, lines in marked.items() if len(lines) > own.get(path, 0) for line in lines]
    if not places:
        return None
    named = ", ".join(places[:PLACES]) + (" …" if len(places) > PLACES else "")
    marks = f"`{'<' * MARKER} {OURS}` … `{'>' * MARKER} {THEIRS}`"
    return Verdict("failed", f"conflict markers are left ({marks}): {named}", tree=task.tree)


class MergeProof(Struct, frozen=True):
    """Proves that the tree of a task, which merges two lines of work, passes all checks of both."""

    run: Run
    ports: Ports
    task: Task
    merge: Merge
    workspace: Workspace
    whole_check: bool = True
    """Whether to run the goal's own check, too. This is not needed if the goal itself is judged next on this tree."""

    async def verdict(self) -> Verdict:
        """Return the verdict of the task's check. It also fails if the check of another step fails, or if a test that
        passed on either side no longer passes."""
        check = await self.ports.verifier.find(self.task)
        # Changes to tests are judged only if an agent resolved a conflict: it may have made some.
        verdict = await self._judge(self.task, check, merged=self.task.origin.merge is None)
        if verdict.ruling != "passed":
            return verdict
        ran = {check.command if check else "": verdict}
        gone: dict[str, str] = {}
        now: dict[str, str] = {}
        for need in self.merge.needed:
            # The step's changes to tests were judged before, so here only results count.
            owner = replace(self.task, id=need.task, step=replace(need.step, may_edit_tests=True))
            own = await self.ports.verifier.find(owner)
            if own is None:
                continue
            if own.command not in ran:
                ran[own.command] = await self._judge(owner, own, merged=True)
            its = ran[own.command]
            if its.ruling != "passed":
                return replace(its, reason=f"the check of the earlier step {need.step.name} fails: {its.reason}")
            now |= await self._read_outcomes(its.cases)
            then = await self._read_outcomes(need.cases)
            passed = frozenset(id for id, outcome in then.items() if outcome == "passed")
            for id in conflict_brief.find_missing(passed, now):
                gone.setdefault(id, need.step.name)
        if gone := await self._drop_excused(gone):
            return replace(verdict, ruling="failed", reason=conflict_brief.describe_lost_tests(gone, now))
        return await self.whole(verdict, ran) if self.whole_check else verdict

    async def whole(self, verdict: Verdict, ran: Collection[str]) -> Verdict:
        """Combine the verdict with the result of the goal's whole check, because a step's work may break more than its
        own check covers. Tests that passed on neither side are left to later steps. Nothing runs if the whole check is
        among the commands in `ran`, or if the step requires no check."""
        if not self.task.step.requires_testing:
            return verdict
        goal = replace(self.task, id=GOAL, base=self.merge.ours, step=build_check_step(self.run.plan.goal))
        check = await self.ports.verifier.find(goal)
        if check is None or check.command in ran:
            return verdict
        clock = self.ports.clock
        began, sides = clock(), (self.merge.ours, self.merge.theirs)
        before = [side for side in dict.fromkeys(sides) if side != self.task.tree]
        say = partial(self.ports.progress, self.task.id)
        found = await self.ports.verifier.regressions(Work(self.run, goal, check), before, say)
        verdict = replace(verdict, seconds=verdict.seconds + clock() - began)
        if not found:
            return verdict
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        reason = f"the whole check `{check.command}` fails but passed before the merge: {found[0].id}{more}"
        return replace(verdict, ruling="failed", reason=reason, failed=len(found), failures=found)

    async def _judge(self, task: Task, check: Check | None, *, merged: bool) -> Verdict:
        return await judge_tree(self.run, task, check, self.workspace, self.ports, merged=merged)

    async def _read_outcomes(self, name: str) -> dict[str, str]:
        """Read the tests and their outcomes from a verdict's stored cases."""
        cases = json.decode(await self.ports.store.get_blob(name), type=list[dict[str, str | float]]) if name else []
        return {str(each["id"]): str(each["outcome"]) for each in cases}

    async def _drop_excused(self, gone: dict[str, str]) -> dict[str, str]:
        """Return the missing tests without those that a step with permission to change tests has removed."""
        if not gone or not any(need.step.may_edit_tests for need in self.merge.needed):
            return gone
        workspaces, merge = self.ports.workspaces, self.merge
        removed: set[str] = set()
        for side in (merge.ours, merge.theirs):
            paths = [change.path for change in await workspaces.changes(merge.base, side)]
            before = "\n".join((await workspaces.texts(merge.base, paths)).values())
            after = "\n".join((await workspaces.texts(side, paths)).values())
            names = {id: conflict_brief.shorten_test_id(id) for id in gone}
            removed |= {id for id, name in names.items() if name in before and name not in after}
        return {id: who for id, who in gone.items() if id not in removed}
