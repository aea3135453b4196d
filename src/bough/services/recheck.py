"""Runs evidence again without a model: that of a receipt on its own trees, or that of a finished run merged with main
as it is now. Both happen in private checkouts, and the person's files stay unchanged."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

import bough
from bough.adapters import ssh_signatures
from bough.adapters.models.absent import NOBODY
from bough.adapters.stores.liveness import worker_id
from bough.adapters.workspaces.given_change import PersonCommits
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance import receipt as receipts
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.receipt import CHECK, Receipt, Rerun, Sides
from bough.core.acceptance.verdict import Check
from bough.core.backlog.decide import list_proven
from bough.core.backlog.state import Backlog
from bough.core.errors import BoughError, UsageError, WorkspaceError
from bough.core.ids import GOAL, INSPECTION, RUN
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Plan, Step
from bough.core.tree.task import Task
from bough.core.tree.task_result import list_live_probes
from bough.core.verdict.registry import recognise
from bough.ports import Merged, Ports
from bough.ports.verifier import Work
from bough.services.backlog import list_backlogs, load_backlog
from bough.services.examine import bring_commit, find_change, take_change
from bough.trust.files import read_own
from bough.views.formatting import name_some
from bough.views.run_view import RunView
from bough.views.vocabulary import describe_status

LARGEST = 32 << 20
"""The most bytes that a receipt may have."""
BAD = ("failed", "error")
MAINS = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD", "HEAD")
FAR = 1_000
"""How many commits of main are searched at most for the one that broke the work."""


class Measuring(Struct, eq=False):
    """Runs a check and probes (extra tests) on trees, each in a fresh checkout in the sandbox."""

    run: Run
    ports: Ports
    check: Check

    async def measure(
        self, tree: str, probes: Sequence[Probe] = (), *, check: bool = True, only: Sequence[str] = (), tests: str = ""
    ) -> dict[str, str]:
        """Return the outcome of each probe, of each test that is known by name, and of the check as a whole (`CHECK`).
        `tests`: the tree whose tests are used, if they are not its own. `only`: the tests to run, if not all."""
        verifier, found = self.ports.verifier, dict[str, str]()
        if probes:
            done = await verifier.probe(self._make_work(tree), probes, lambda line: None, once=True)
            found = {one.name: one.outcome for one in done}
        if check:
            ran = await verifier.run_tests(self._make_work(tests or tree), tree, tests or tree, only)
            found |= {case.id: case.outcome for case in ran.report.cases}
            found[CHECK] = "passed" if ran.exit_status == 0 else "failed"
        return found

    async def measure_sides(self, rerun: Rerun, probes: Sequence[Probe]) -> Rerun:
        """Run everything on both trees of a receipt, and return it with the outcomes."""
        before, after = await self.measure(rerun.base, probes), await self.measure(rerun.head, probes)
        return receipts.record_outcomes(rerun, probes, before, after)

    async def require(self, tree: str) -> None:
        """Raise an error if the check cannot run at all on a tree."""
        known = await self.ports.verifier.at_base(self._make_work(tree, tree), lambda line: None)
        if known.lacking:
            raise UsageError(f"`{self.check.command}` cannot run here: {known.lacking}. {known.way_out}".strip())

    def _make_work(self, tree: str, base: str = "") -> Work:
        goal = self.run.plan.goal
        task = Task(GOAL, step=goal, base=base or self.run.base, tree=tree, rules=self.run.rules)
        return Work(self.run, task, self.check)


@asynccontextmanager
async def open_measuring(
    session: Session, base: str, command: str, folder: str, choices: Choices
) -> AsyncIterator[Measuring]:
    """Open what is needed to run a check on trees. `folder`: where it runs, relative to the top of the project."""
    from bough.app.run_ports import open_ports

    # A command from the person runs in their folder; one that bough found runs in the project's top folder.
    step = Step(GOAL, "Run it again.", test_command=command if folder else None)
    rules = choices.rules(session.config.limits)
    name = f"{INSPECTION}{os.urandom(6).hex()}"
    run = Run(name, plan=Plan(step), base=base, folder=folder, rules=rules)
    async with (
        open_ports(session, {"main": NOBODY}, choices, RunObserver(), folder=folder) as ports,
        session.store.claim(name, RUN, worker_id(), rules.lease),
    ):
        try:
            yield Measuring(run, ports, Check(command, "it ran before", recognise(command)))
        finally:
            await session.workspaces.forget(name)


@asynccontextmanager
async def open_finished(
    session: Session, name: str, choices: Choices, *, passed: bool = False
) -> AsyncIterator[tuple[Run, Task, tuple[Probe, ...], Measuring]]:
    """Open a finished run, to run the check that judged its change, and its probes, again. `passed`: require that this
    check passed, and leave out the probes that did not."""
    run, task = await session.run(name), await session.work(name)
    verdict, results = task.acceptance.verdict, task.examination.results
    if run.end is None or verdict is None or not verdict.command or task.base == task.tree:
        why = "it is not finished" if run.end is None else "no check has judged a change in it"
        raise UsageError(f"{name} has no evidence that could be run again: {why}.")
    if passed and verdict.ruling != "passed":
        raise UsageError(f"{name} has nothing to check again: no check has passed on its change.")
    ran = (one for one in list_live_probes(task) if one.name in results)
    probes = tuple(one for one in ran if not passed or results[one.name].outcome == "passed")
    folder = run.folder if run.plan.goal.test_command else ""
    async with open_measuring(session, run.base, verdict.command, folder, choices) as measuring:
        yield run, task, probes, measuring


# ── a receipt ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def make_receipt(session: Session, name: str, choices: Choices) -> Receipt:
    """Run the evidence of a finished run again, and make a receipt of the results and of what the run claims."""
    view, records = await session.view(name), await session.store.read(name)
    async with open_finished(session, name, choices) as (run, task, probes, measuring):
        blank = Rerun(run.base, task.tree, measuring.check.command, Sides(), folder=measuring.run.folder)
        rerun = await measuring.measure_sides(blank, probes)
    journal = b"".join(e.encode((one.task, one.version, one.at, one.event)) for one in records)
    claims = {
        "run": name,
        "status": describe_status(view.status, view.accepted, view.examines),
        "goal": run.plan.goal.instructions,
        "models": run.models,
        "cost": view.spend.cost,
        "tokens": view.spend.tokens,
        "environment": run.checked.environment if run.checked is not None else "",
        "version": bough.__version__,
        "journal": f"sha256:{sha256(journal).hexdigest()}",
    }
    return receipts.make_receipt(rerun, await session.evidence(name), claims)


def sign_receipt(session: Session, body: bytes, key: Path) -> tuple[str, bytes]:
    """Return the suffix of the signature's file, and the signature."""
    return ssh_signatures.ENDING, ssh_signatures.sign(body, key, session.root)


async def open_receipt(session: Session, file: str, signers: Path | None, of: str) -> tuple[Receipt, str]:
    """Read a receipt, and copy its trees from the person's repository. Return also the name of its signer, which is
    empty if it is not signed. `of`: the change that it must be about; empty: any."""
    try:
        body = read_own(Path(file), LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    if len(body) > LARGEST:
        raise UsageError(f"{file} is not a receipt of bough: it is larger than {LARGEST >> 20} MB.")
    try:
        signature = read_own(Path(f"{file}{ssh_signatures.ENDING}"), LARGEST)
    except FileNotFoundError:
        signature = b""
        if signers is not None:
            raise UsageError(f"{file} is not signed: {file}{ssh_signatures.ENDING} is missing.") from None
    who = ssh_signatures.check(file, body, signature, signers, session.root) if signature else ""
    receipt = receipts.read_receipt(body, file)
    for tree in (receipt.predicate.rerun.base, receipt.predicate.rerun.head):
        try:
            await session.workspaces.bring(tree)
        except WorkspaceError as error:
            raise UsageError(
                f"The tree {tree[:10]} of the receipt is not in this repository: it is about another one, or its "
                f"commits are not here yet (`git fetch`). {error}"
            ) from None
    if of:
        await _require_change(session, receipt.predicate.rerun, file, of)
    return receipt, who


async def recheck_receipt(session: Session, receipt: Receipt, choices: Choices) -> list[str]:
    """Run a receipt's evidence again, and list what differs. A difference that does not occur twice is left out."""
    rerun, found = receipt.predicate.rerun, list[str]()
    if session.config.sandbox.mode == "none":
        raise UsageError(
            "A receipt's command runs only in the sandbox, and your settings turn that off: see `bough config`."
        )
    probes = tuple(case.probe for case in rerun.probes)
    for again in (False, True):
        async with open_measuring(session, rerun.base, rerun.command, rerun.folder, choices) as measuring:
            now = await measuring.measure_sides(rerun, probes)
            if rerun.tests and all(sides.after == receipts.ABSENT for sides in now.tests.values()):
                await measuring.require(rerun.head)
        found = [one for one in receipts.list_differences(rerun, now) if not again or one in found]
        if not found:
            break
    return [*receipts.list_edits(receipt), *found]


async def _require_change(session: Session, rerun: Rerun, file: str, what: str) -> None:
    """Raise an error unless a receipt is about that change, in which its own file and its signature do not count."""
    change = await find_change(session, what)
    base, head = await take_change(session, change)
    own = os.path.relpath(os.path.realpath(file), session.root)
    for side, here, there in (("without", base, rerun.base), ("with", head, rerun.head)):
        differing = {one.path for one in await session.workspaces.changes(here, there)}
        if differing := differing - {own, own + ssh_signatures.ENDING}:
            raise receipts.WrongReceipt(
                f"The receipt is about other code than {change.says}, so nothing of it was run: {side} the change, "
                f"{name_some(sorted(differing))} differs."
            )


# ── a run, on main as it is now ───────────────────────────────────────────────────────────────────────────────────────


async def list_proven_runs(session: Session, what: str) -> list[str]:
    """List the runs to check again: the proven runs of the backlog called `what`, or else the run called `what`, or all
    proven runs of the project if it is empty."""
    if what and what in await list_backlogs(session):
        found = [item.run for item in list_proven(await load_backlog(session, what)) if item.removed is None]
    elif what:
        return [await session.find(what)]
    else:
        views = [await session.view(name) for name in await session.store.runs()]
        found = [view.name for view in views if view.status == "completed" and _has_changes(view)]
    if not found:
        raise UsageError(f"No work of {what or 'this project'} is proven: nothing to check again. See `bough runs`.")
    return found


def _has_changes(view: RunView) -> bool:
    goal = view.tasks.get(GOAL)
    return goal is not None and goal.verdict is not None and bool(goal.verdict.command) and goal.tree != goal.base


async def recheck_night(session: Session, backlog: Backlog, choices: Choices) -> list[str]:
    """Check the proven work of a night (one pass through a backlog) again, if main has new commits since its start.
    Return a sentence about each goal that could not be checked."""
    commits, night = PersonCommits(session.root), backlog.open_night
    if night is None or not (began := night.started.commit):
        return []
    tip = await asyncio.to_thread(_find_tip, commits, "")
    if await asyncio.to_thread(commits.ask, "merge-base", tip, began) == tip:
        return []
    failed = []
    for item in list_proven(backlog):
        if item.removed is None and item.night == night.number:
            try:
                await recheck_run(session, item.run, "", choices)
            except BoughError as error:
                failed.append(f"{item.name} could not be checked on the current main: {error}")
    return failed


async def recheck_run(session: Session, name: str, onto: str, choices: Choices) -> e.Rechecked:
    """Merge a run's work with main (or the commit `onto`), run its evidence, and record the result."""
    commits = PersonCommits(session.root)
    async with open_finished(session, name, choices, passed=True) as (_, task, probes, measuring):
        tip = await asyncio.to_thread(_find_tip, commits, onto)
        event = await MovedMain(session, commits, measuring, task, probes, tip).judge(onto)
    await session.record(name, event)
    return event


def _find_tip(commits: PersonCommits, onto: str) -> str:
    if onto:
        return commits.require(onto)
    if not (tip := next((found for name in MAINS if (found := commits.find(name))), "")):
        raise UsageError("There is no git repository with a commit here: commit your files, or name a branch.")
    return tip


class MovedMain(Struct, frozen=True):
    """Judges whether the evidence for a run's work still holds on main, which may have moved."""

    session: Session
    commits: PersonCommits
    measuring: Measuring
    task: Task
    probes: tuple[Probe, ...]
    tip: str

    @property
    def tests(self) -> tuple[str, ...]:
        """Return the tests that proved the work."""
        verdict = self.task.acceptance.verdict
        return (*verdict.fixed, *verdict.added) if verdict is not None else ()

    async def judge(self, onto: str) -> e.Rechecked:
        merged = await self._merge(self.tip)
        failing = [] if merged.conflicts else await self._find_failing(merged.tree)
        if not failing and not merged.conflicts:
            return e.Rechecked(onto, self.tip, "proven")
        culprit = await self._find_first(failing)
        if merged.conflicts:
            return e.Rechecked(onto, self.tip, "conflicts", culprit, merged.conflicts[0])
        return e.Rechecked(onto, self.tip, "broken", culprit, f"{name_some(failing)} fails")

    async def _merge(self, commit: str) -> Merged:
        """Merge the work with a commit. Lines that both add in the same place count as a conflict here, although
        bough's own merges keep both, because the person's git would stop there."""
        base, head = self.measuring.run.base, self.task.tree
        merged = await self.session.workspaces.merge(base, await bring_commit(self.session, commit), head)
        return Merged(merged.tree, (*merged.conflicts, *merged.both))

    async def _find_failing(self, merged: str) -> list[str]:
        """Find tests and probes that fail on the merge but not on main alone. Probes run first, because they are quick.
        Every failure must be seen twice."""
        measure = self.measuring.measure
        if probes := await self._list_failing_probes(merged, self.probes):
            return probes
        now = await measure(merged)
        lost = [name for name in self.tests if name not in now] if len(now) > 1 else []
        if lost:  # A name that the work itself no longer has either differs in every run, for example by the clock.
            own = await measure(self.task.tree)
            lost = [name for name in lost if name in own or len(own) == 1]
        if now[CHECK] == "passed" and not lost:
            return []
        alone = await measure(await bring_commit(self.session, self.tip))
        if len(now) == 1 and alone[CHECK] == "failed":
            raise UsageError(
                f"`{self.measuring.check.command}` also fails on {self.tip[:10]} without the work, so it proves "
                "nothing: repair that first, or name another commit with --onto."
            )
        failing = [name for name, outcome in now.items() if outcome in BAD and name != CHECK]
        new = [name for name in failing if alone.get(name) not in BAD]
        if new:  # Run them again, to exclude failures by chance.
            again = await measure(merged, only=new)
            new = [name for name in new if again.get(name) in BAD]
        return [*new, *lost] or ([CHECK] if not failing and now[CHECK] == "failed" else [])

    async def _list_failing_probes(self, tree: str, probes: tuple[Probe, ...]) -> list[str]:
        for _ in range(2):
            ended = await self.measuring.measure(tree, probes, check=False)
            probes = tuple(one for one in probes if ended[one.name] != "passed")
        return [one.name for one in probes]

    async def _breaks(self, commit: str, failing: list[str]) -> bool:
        """Whether the work conflicts with a commit, or makes one of these tests and probes fail on it."""
        merged = await self._merge(commit)
        if merged.conflicts or not failing:
            return bool(merged.conflicts)
        if probes := tuple(one for one in self.probes if one.name in failing):
            return bool(await self._list_failing_probes(merged.tree, probes))
        # A test that only main has may not exist in older commits, and a runner that cannot find one test runs none.
        own = [name for name in failing if name in self.tests]
        now = await self.measuring.measure(merged.tree, only=own if own == failing else ())
        if len(now) == 1 or failing == [CHECK]:
            return now[CHECK] == "failed"
        return any(now.get(name, "failed" if name in own else "") in BAD for name in failing)

    async def _find_first(self, failing: list[str]) -> str:
        """Find the first commit of main since the work began that breaks it, by bisection; empty if there are no
        commits since."""
        commits = await asyncio.to_thread(self.commits.list_since, self.measuring.run.base, self.tip, FAR)
        first, last = 0, len(commits) - 1
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if await self._breaks(commits[middle], failing) else (middle + 1, last)
        return commits[last] if commits else ""
