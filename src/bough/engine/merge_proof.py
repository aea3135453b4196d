"""Prove a merge: the step's check on the merged tree, the checks of steps that landed before, every test that passed on
either side, and the goal's whole check."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.verdict import Check, Verdict
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.merge import lost_tests
from bough.core.merge.conflict_brief import build_check_step
from bough.core.merge.conflict_hunks import MARKER, OURS, THEIRS, Merge, find_leftover_markers
from bough.core.tree.task import Task
from bough.engine.task_workspace import judge_tree
from bough.ports import Ports, Workspace

PLACES = 6
"""Leftover markers that a verdict names."""


async def find_leftover_conflicts(task: Task, ports: Ports) -> Verdict | None:
    """A verdict on remaining conflict markers: then no check has to run."""
    assert task.origin.merge is not None
    changed = await ports.workspaces.changes(task.origin.merge.ours, task.tree)
    texts = await ports.workspaces.texts(task.tree, [change.path for change in changed if change.kind != "D"])
    marked = {path: lines for path, text in texts.items() if (lines := find_leftover_markers(text.encode()))}
    before: dict[str, str] = {}
    for side in (task.origin.merge.ours, task.origin.merge.theirs) if marked else ():
        before |= await ports.workspaces.texts(side, list(marked))
    # Counted, because a file may have kept its own markers and some of ours beside them.
    # A text about merging has some of its own.
    own = {path: len(find_leftover_markers(text.encode())) for path, text in before.items()}
    places = [f"{path}:{line}" for path, lines in marked.items() if len(lines) > own.get(path, 0) for line in lines]
    if not places:
        return None
    named = ", ".join(places[:PLACES]) + (" …" if len(places) > PLACES else "")
    marks = f"`{'<' * MARKER} {OURS}` … `{'>' * MARKER} {THEIRS}`"
    return Verdict("failed", f"conflict markers are left ({marks}): {named}", tree=task.tree)


class MergeProof(Struct, frozen=True):
    """A task whose tree merges two lines of work."""

    run: Run
    ports: Ports
    task: Task
    merge: Merge
    workspace: Workspace
    whole_check: bool = True
    """Run the goal's own check too; not where the goal itself is judged next, on this very tree."""

    async def verdict(self) -> Verdict:
        """The verdict of the task's check. It also fails when another step's check fails or a needed test does not
        pass."""
        check = await self.ports.verifier.find(self.task)
        verdict = await self._judge(self.task, check)
        if verdict.ruling != "passed":
            return verdict
        ran = {check.command if check else "": verdict}
        gone: dict[str, str] = {}
        now: dict[str, str] = {}
        for need in self.merge.needed:
            # What its step did to tests was judged before; only results count here.
            owner = replace(self.task, id=need.task, step=replace(need.step, may_edit_tests=True))
            own = await self.ports.verifier.find(owner)
            command = own.command if own else ""
            if own is not None and command not in ran:
                ran[command] = await self._judge(owner, own)
            if own is None or (its := ran[command]).ruling != "passed":
                if own is not None:
                    return replace(its, reason=f"the check of the earlier step {need.step.name} fails: {its.reason}")
                continue
            now |= lost_tests.read_outcomes(await self._read_blob(its.cases))
            for id in lost_tests.find_missing(lost_tests.list_passed(await self._read_blob(need.cases)), now):
                gone.setdefault(id, need.step.name)
        if gone := await self._drop_excused(gone):
            return replace(verdict, ruling="failed", reason=lost_tests.describe_lost_tests(gone, now))
        return await self.whole(verdict, ran) if self.whole_check else verdict

    async def whole(self, verdict: Verdict, ran: Collection[str]) -> Verdict:
        """The verdict combined with the goal's whole check, unless that has already run: a step's own check may be
        narrower than what its work can break. Failures that passed on neither side are left to later steps. A step that
        asks for no check gets none here either."""
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
        found = await self.ports.verifier.regressions(self.run, goal, check, before, say)
        verdict = replace(verdict, seconds=verdict.seconds + clock() - began)
        if not found:
            return verdict
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        reason = f"the whole check `{check.command}` fails but passed before the merge: {found[0].id}{more}"
        return replace(verdict, ruling="failed", reason=reason, failed=len(found), failures=found)

    async def _judge(self, task: Task, check: Check | None) -> Verdict:
        return await judge_tree(self.run, task, check, self.workspace, self.ports)

    async def _read_blob(self, name: str) -> bytes | None:
        return await self.ports.store.get_blob(name) if name else None

    async def _drop_excused(self, gone: dict[str, str]) -> dict[str, str]:
        """Drop tests that a step which may change tests took out of the files: that was judged before."""
        if not gone or not any(need.step.may_edit_tests for need in self.merge.needed):
            return gone
        workspaces, merge = self.ports.workspaces, self.merge
        removed: set[str] = set()
        for side in (merge.ours, merge.theirs):
            paths = [change.path for change in await workspaces.changes(merge.base, side)]
            before = "\n".join((await workspaces.texts(merge.base, paths)).values())
            after = "\n".join((await workspaces.texts(side, paths)).values())
            removed |= {
                id
                for id in gone
                if lost_tests.shorten_test_id(id) in before and lost_tests.shorten_test_id(id) not in after
            }
        return {id: who for id, who in gone.items() if id not in removed}
