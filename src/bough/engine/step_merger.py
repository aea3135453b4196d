"""Merges a finished step's work onto its parent's head (the latest merged files), and proves it there. If that fails,
because of a conflict or a check that fails with the other work, an agent resolves it in a separate task."""

from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bough.core import events as e
from bough.core.acceptance.probes import render_failing_probe
from bough.core.acceptance.verdict import Failure, Verdict
from bough.core.budget.limits import Spend, compute_remaining, sum_spends
from bough.core.conversation import context
from bough.core.ids import GOAL, child_path
from bough.core.journal.run_fold import Run
from bough.core.journal.task_fold import fold_task
from bough.core.merge import conflict_brief
from bough.core.merge.conflict_hunks import Merge, StepCheck
from bough.core.planning.plan import Step, Tier
from bough.core.tree import next_moves, task_result
from bough.core.tree.scope import build_inherited
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from bough.engine.merge_queue import Guess, MergeProof, QueuedStep
from bough.engine.task_loop import TaskStream
from bough.ports import Ports
from bough.ports.verifier import Work

RunStep = Callable[[Step, str, e.TaskCreated, Tier | None, Spend], Awaitable[Task]]
"""Runs a task for a step. The last argument is what the step has spent already."""


async def list_merge_tasks(run: str, ports: Ports, child: Task) -> list[Task]:
    """List the tasks that merged a step's work, even those undone by a rewind, because their cost still counts."""
    found: list[Task] = []
    while records := await ports.store.read(run, path := context.build_merge_path(child, len(found) + 1)):
        found.append(fold_task(path, records))
    return found


class MergedStep(Struct, frozen=True):
    """The result of merging a step. If the task is completed, its tree is the parent's tree with the step's work."""

    task: Task
    spend: Spend
    """What the step and all attempts to merge it have spent."""
    verdict: Verdict | None = None
    """The verdict after the merge."""
    said: str = ""
    """What the agents that resolved conflicts say about their work."""


class _MergeAttempt(Struct, frozen=True):
    merge: Merge | None = None
    why: str = ""
    """Why the merge failed; empty if it succeeded."""
    conflicts: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    verdict: Verdict | None = None


class StepMerger(Struct, eq=False):
    """Merges the steps of one task, one at a time, so that the head does not move meanwhile."""

    run: Run
    ports: Ports
    stream: TaskStream
    run_step: RunStep

    async def guess(self, child: Task, queued: QueuedStep, head: str) -> Guess | None:
        """Merge and prove the step on an expected head; None if there are conflicts, or nothing to merge."""
        # There is nothing to merge, so proving the step in advance would save no time.
        if head in (child.base, child.tree):
            return None
        merged = await self.ports.workspaces.merge(child.base, head, child.tree)
        if merged.conflicts:
            return None
        queued.expect_tree(merged.tree)
        merge = self._build_merge(child, child, head, merged.tree)
        merge = replace(merge, needed=(*merge.needed, *queued.needed))
        return Guess(merge, await self._prove(child, child, merge), merged.both)

    def need(self, child: Task) -> StepCheck:
        cases = child.acceptance.verdict.cases if child.acceptance.verdict else ""
        check = conflict_brief.build_check_step(child.step)
        return StepCheck(check, child.id, cases, context.list_passed_probes(child))

    async def merge(self, step: Step, child: Task, again: Tier | None, queued: QueuedStep) -> MergedStep:
        """Merge the step's work onto the head. `again`: retry a merge that was given up, with this tier's model."""
        # The journal shows merges that an earlier process began and did not finish.
        known = await list_merge_tasks(self.run.name, self.ports, child)
        spends = [child.budget.spend, *(task.budget.spend for task in known)]
        work, times, said = child, 1, ""
        while True:
            path = context.build_merge_path(child, times)
            begun = times <= len(known) and known[times - 1].created
            tried, instructions = _MergeAttempt(), ""
            # A merge task that an earlier process began just continues, even if the head has moved since: its result is
            # merged onto the current head afterwards.
            if not begun:
                head = self.stream.task.tree
                if head in (work.base, work.tree):
                    queued.expect_tree(work.tree)
                    tried = await self._check_unmoved_head(step, child, work)
                    if not tried.why:
                        return MergedStep(work, sum_spends(spends), work.acceptance.verdict, said)
                else:
                    tried = await self._try(step, child, work, head, queued)
                if tried.why == "" and tried.merge is not None:
                    return MergedStep(replace(work, tree=tried.merge.tree), sum_spends(spends), tried.verdict, said)
                # The step takes the work of a finished run: if that does not fit, it is left out and reported.
                if step.work:
                    return MergedStep(replace(work, state=State.BLOCKED, why=tried.why), sum_spends(spends))
                instructions = await self._render_brief(child, tried)
            before = sum_spends(spends[:times] + spends[times + 1 :])
            if not begun:  # Recorded before the task exists, so that after a kill no other step gets the same rounds.
                await self.stream.amend(partial(next_moves.enlarge_grant, step))
            limits = compute_remaining(before, self.stream.task.children.running[step.name].grant)
            focused = context.build_merge_step(step, instructions, tried.conflicts)
            task = self.stream.task
            told = replace(
                build_inherited(task, step),
                allowed=(*task.may_change, *child.test_changes.allowed),
            )
            first = e.TaskCreated(
                focused, task.tree, limits, self.run.rules, task.ladder.means, told, grows=True, merge=tried.merge
            )
            work = await self.run_step(step, path, first, again, before)
            spends[times : times + 1] = [work.budget.spend]
            if work.halt is None:
                await self.ports.workspaces.discard(self.run.name, path)
            if work.halt is not None or work.state is not State.COMPLETED:
                return MergedStep(work, sum_spends(spends))
            said = "\n\n".join(part for part in (said, work.acceptance.claim or "") if part)
            times += 1

    async def _try(self, step: Step, child: Task, work: Task, head: str, queued: QueuedStep) -> _MergeAttempt:
        """Merge the work onto the head, and prove the result. Use the guess made ahead of the turn if it still fits."""
        guess = queued.guess
        if guess is not None and work is child and guess.merge.ours == head and guess.verdict.ruling == "passed":
            made = e.ChildMerged(step.name, guess.merge.tree, (), guess.verdict, guess.both, ahead=True)
            await self.stream.write([made])
            return _MergeAttempt(guess.merge, verdict=guess.verdict)
        merged = await self.ports.workspaces.merge(work.base, head, work.tree)
        merge = self._build_merge(child, work, head, merged.tree)
        if merged.conflicts:
            made = e.ChildMerged(step.name, merged.tree, merged.conflicts, both=merged.both)
            await self.stream.write([made])
            why = f"git could not merge {', '.join(f'`{path}`' for path in merged.conflicts)}."
            return _MergeAttempt(merge, why, merged.conflicts, merged.says)
        queued.expect_tree(merged.tree)
        verdict = await self._prove(child, work, merge)
        await self.stream.write([e.ChildMerged(step.name, merged.tree, (), verdict, merged.both)])
        if verdict.ruling == "passed":
            return _MergeAttempt(merge, verdict=verdict)
        why = _explain_refusal(verdict)
        if not merged.both:
            return _MergeAttempt(merge, why)
        # Where both sides added lines, keeping both was not enough: show them to the agent as conflicts.
        return _MergeAttempt(replace(merge, tree=merged.marked), why, merged.both, ("",) * len(merged.both))

    def _build_merge(self, child: Task, work: Task, head: str, tree: str) -> Merge:
        """Describe the merge of a step's work onto a head. What must pass: the checks of the step and of those merged
        meanwhile, the tests that passed in them, and the probes (extra tests) of all finished steps."""
        task = self.stream.task
        steps = {each.name: each for each in task.plan.steps}
        needed = [self.need(child)]
        for other in conflict_brief.list_merged_meanwhile(task, child.base):
            if other.child in steps and other.task:
                check = conflict_brief.build_check_step(steps[other.child])
                needed.append(StepCheck(check, child_path(task.id, other.task), other.cases))
        return Merge(work.base, head, work.tree, tree, tuple(needed), task_result.list_asked_probes(task))

    async def _prove(self, child: Task, work: Task, merge: Merge) -> Verdict:
        """Run the step's check on the merged files, in the step's workspace. Its changes to tests were judged before,
        so here only results count."""
        task = replace(work, id=child.id, tree=merge.tree, step=replace(child.step, may_edit_tests=True))
        workspace = await self.ports.workspaces.open(self.run.name, child.id, child.tree, self.run.folder)
        await workspace.restore(merge.tree)
        proof = MergeProof(self.run, self.ports, task, merge, workspace, whole_check=not self._is_last(child))
        verdict = await proof.verdict()
        return await self._run_probes(task, merge, verdict) if verdict.ruling == "passed" else verdict

    def _is_last(self, child: Task) -> bool:
        """Return whether this is the goal's last step. If so, the goal's check runs next, on the files merged here."""
        task = self.stream.task
        others = (each.name for each in task.plan.steps if each.name != child.step.name)
        return task.id == GOAL and not child.step.work and all(name in task.children.settled for name in others)

    async def _check_unmoved_head(self, step: Step, child: Task, work: Task) -> _MergeAttempt:
        """Prove a step for which nothing has to be merged, because the head has not moved. Its own check passed on
        these files; the goal's whole check and the probes of other steps have still to run."""
        if work is not child or work.tree == work.base or child.acceptance.verdict is None:
            return _MergeAttempt()
        merge = self._build_merge(child, work, self.stream.task.tree, work.tree)
        verdict = child.acceptance.verdict
        if not self._is_last(child):
            workspace = await self.ports.workspaces.open(self.run.name, child.id, child.tree, self.run.folder)
            verdict = await MergeProof(self.run, self.ports, work, merge, workspace).whole(verdict, {verdict.command})
        if verdict.ruling == "passed":
            verdict = await self._run_probes(work, replace(merge, needed=()), verdict)
        if verdict.ruling == "passed":
            return _MergeAttempt()
        await self.stream.write([e.ChildMerged(step.name, work.tree, (), verdict)])
        return _MergeAttempt(merge, _explain_refusal(verdict))

    async def _run_probes(self, task: Task, merge: Merge, verdict: Verdict) -> Verdict:
        """Run the probes that passed before, and return a failed verdict if one fails now, else the given verdict."""
        verifier = self.ports.verifier
        check = await verifier.find(task) if merge.probes else None
        if check is None:
            return verdict
        began = self.ports.clock()
        results = await verifier.probe(Work(self.run, task, check), merge.probes, partial(self.ports.progress, task.id))
        verdict = replace(verdict, seconds=verdict.seconds + self.ports.clock() - began)
        outcomes = {result.name: result for result in results}
        failing = [probe for probe in merge.probes if outcomes[probe.name].outcome == "failed"]
        if not failing:
            return verdict
        return replace(
            verdict,
            ruling="failed",
            reason=f"a probe that passed before the merge fails: {failing[0].says}",
            failed=len(failing),
            failures=tuple(
                Failure(probe.name, "regression", render_failing_probe(probe, outcomes[probe.name]))
                for probe in failing
            ),
        )

    async def _render_brief(self, child: Task, tried: _MergeAttempt) -> str:
        merge = tried.merge
        assert merge is not None
        texts = await self.ports.workspaces.texts(merge.tree, tried.conflicts)
        beside = conflict_brief.list_merged_meanwhile(self.stream.task, child.base)
        told = conflict_brief.render_conflicts(tried.conflicts, tried.says, texts)
        values = {
            "why": tried.why,
            "theirs": conflict_brief.describe_intent(child.step, task_result.get_summary(child)),
            "ours": conflict_brief.describe_intents(self.stream.task, beside, tried.conflicts),
            "conflicts": context.render_section("The conflicts", told),
        }
        return context.render(self.ports.prompt("merge"), values)


def _explain_refusal(verdict: Verdict) -> str:
    probes = [failure.text for failure in verdict.failures if failure.text.startswith("### Probe")]
    return "\n\n".join((f"Merged, they fail: {verdict.reason}", *probes))
