"""Runs evidence again without a model: that of a receipt, or that of a finished run."""

from __future__ import annotations

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
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance import receipt as receipts
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.receipt import Receipt, Rerun, Sides
from bough.core.acceptance.verdict import Check
from bough.core.errors import UsageError, WorkspaceError
from bough.core.ids import GOAL, INSPECTION, RUN
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Plan, Step
from bough.core.tree.task import Task
from bough.core.tree.task_result import list_live_probes
from bough.core.verdict.registry import recognise
from bough.ports import Ports
from bough.ports.verifier import Work
from bough.services.examine import find_change, take_change
from bough.trust.files import read_own
from bough.views.formatting import name_some
from bough.views.vocabulary import describe_status

LARGEST = 32 << 20
"""The most bytes that a receipt may have."""


class Measuring(Struct, eq=False):
    """Runs a check and probes (extra tests) on trees, each in a fresh checkout in the sandbox."""

    run: Run
    ports: Ports
    check: Check

    async def measure(self, tree: str, probes: Sequence[Probe] = ()) -> dict[str, str]:
        ended, tests = await self.run_tests(tree)
        return {**tests, **await self.probe(tree, probes), receipts.CHECK: ended}

    async def require(self, tree: str) -> None:
        """Raise an error if the check cannot run at all on a tree."""
        known = await self.ports.verifier.at_base(self._make_work(tree, tree), lambda line: None)
        if known.lacking:
            raise UsageError(f"`{self.check.command}` cannot run here: {known.lacking}. {known.way_out}".strip())

    async def run_tests(self, tree: str, only: Sequence[str] = (), tests: str = "") -> tuple[str, dict[str, str]]:
        """Run the check on a tree. Return how it ends, and the outcome of each test that is known by name. `tests`: the
        tree whose tests are used, if they are not its own."""
        ran = await self.ports.verifier.run_tests(self._make_work(tests or tree), tree, tests or tree, only)
        cases: dict[str, str] = {case.id: case.outcome for case in ran.report.cases}
        return "passed" if ran.exit_status == 0 else "failed", cases

    async def probe(self, tree: str, probes: Sequence[Probe]) -> dict[str, str]:
        if not probes:
            return {}
        done = await self.ports.verifier.probe(self._make_work(tree), probes, lambda line: None, once=True)
        return {one.name: one.outcome for one in done}

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
) -> AsyncIterator[tuple[Run, Task, Measuring]]:
    """Open a finished run, to run the check that judged its change again. `passed`: require that this check passed."""
    run, task = await session.run(name), await session.work(name)
    verdict = task.acceptance.verdict
    if run.end is None or verdict is None or not verdict.command or task.base == task.tree:
        why = "it is not finished" if run.end is None else "no check has judged a change in it"
        raise UsageError(f"{name} has no evidence that could be run again: {why}.")
    if passed and verdict.ruling != "passed":
        raise UsageError(f"{name} has nothing to check again: no check has passed on its change.")
    folder = run.folder if run.plan.goal.test_command else ""
    async with open_measuring(session, run.base, verdict.command, folder, choices) as measuring:
        yield run, task, measuring


# ── a receipt ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def make_receipt(session: Session, name: str, choices: Choices) -> Receipt:
    """Run the evidence of a finished run again, and make a receipt of the results and of what the run claims."""
    view, table, records = await session.view(name), await session.evidence(name), await session.store.read(name)
    async with open_finished(session, name, choices) as (run, task, measuring):
        probes = tuple(one for one in list_live_probes(task) if one.name in task.examination.results)
        before, after = await measuring.measure(run.base, probes), await measuring.measure(task.tree, probes)
    rerun = Rerun(run.base, task.tree, measuring.check.command, Sides("", ""), folder=measuring.run.folder)
    journal = b"".join(e.encode((one.task, one.version, one.at, one.event)) for one in records)
    claims = {
        "run": name,
        "status": describe_status(view.status, view.accepted, view.examines),
        "goal": run.plan.goal.instructions,
        "requirements": receipts.list_requirements(table),
        "models": run.models,
        "cost": view.spend.cost,
        "tokens": view.spend.tokens,
        "environment": run.checked.environment if run.checked is not None else "",
        "version": bough.__version__,
        "journal": f"sha256:{sha256(journal).hexdigest()}",
    }
    return receipts.make_receipt(receipts.record_outcomes(rerun, probes, before, after), claims)


def sign_receipt(session: Session, body: bytes, key: Path) -> tuple[str, bytes]:
    """Return the suffix of the signature's file, and the signature."""
    return ssh_signatures.ENDING, ssh_signatures.sign(body, key, session.root)


def read_receipt(session: Session, file: str, signers: Path | None) -> tuple[Receipt, str]:
    """Read a receipt, and the name of its signer; empty if it is not signed."""
    try:
        body = read_own(Path(file), LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    if len(body) > LARGEST:
        raise UsageError(f"{file} is not a receipt of bough: it is larger than {LARGEST >> 20} MB.")
    try:
        signature = read_own(Path(f"{file}{ssh_signatures.ENDING}"), LARGEST)
    except FileNotFoundError:
        if signers is not None:
            raise UsageError(f"{file} is not signed: {file}{ssh_signatures.ENDING} is missing.") from None
        return receipts.read_receipt(body, file), ""
    try:
        who = ssh_signatures.check(body, signature, signers, session.root)
    except ssh_signatures.WrongSignature as error:
        error.args = (f"The signature of {file} is wrong, so nothing of it was run: {error}.",)
        raise
    return receipts.read_receipt(body, file), who


class OtherCode(UsageError):
    """A receipt is about another change than the one that it came with."""

    exit_status = 3


async def recheck_receipt(session: Session, receipt: Receipt, choices: Choices) -> list[str]:
    """Run a receipt's evidence again, and list what differs. A difference that does not occur twice is left out."""
    rerun, edited = receipt.predicate.rerun, receipts.list_edits(receipt)
    if session.config.sandbox.mode == "none":
        raise UsageError(
            "A receipt's command runs only in the sandbox, and your settings turn that off: see `bough config`."
        )
    probes = tuple(case.probe for case in rerun.probes)
    found: list[str] | None = None
    for _ in range(2):
        async with open_measuring(session, rerun.base, rerun.command, rerun.folder, choices) as measuring:
            before, after = await measuring.measure(rerun.base, probes), await measuring.measure(rerun.head, probes)
            if rerun.tests and len(after) == 1 + len(probes):
                await measuring.require(rerun.head)
        now = receipts.list_differences(rerun, before, after)
        found = now if found is None else [one for one in found if one in now]
        if not found:
            break
    return [*edited, *(found or ())]


async def bring_trees(session: Session, receipt: Receipt) -> None:
    """Copy the trees of a receipt from the person's repository. Raises an error if they are not there."""
    for tree in (receipt.predicate.rerun.base, receipt.predicate.rerun.head):
        try:
            await session.workspaces.bring(tree)
        except WorkspaceError as error:
            raise UsageError(
                f"The tree {tree[:10]} of the receipt is not in this repository: it is about another one, or its "
                f"commits are not here yet (`git fetch`). {error}"
            ) from None


async def require_change(session: Session, receipt: Receipt, file: str, what: str) -> None:
    """Raise an error unless the receipt is about that change, in which its own file and its signature do not count."""
    trees, rerun = await take_change(session, await find_change(session, what)), receipt.predicate.rerun
    own = os.path.relpath(os.path.realpath(file), session.root)
    for side, here, there in (("without", trees.base, rerun.base), ("with", trees.head, rerun.head)):
        differing = {one.path for one in await session.workspaces.changes(here, there)}
        if differing := differing - {own, own + ssh_signatures.ENDING}:
            raise OtherCode(
                f"The receipt is about other code than {trees.says}, so nothing of it was run: {side} the change, "
                f"{name_some(sorted(differing))} differs."
            )
