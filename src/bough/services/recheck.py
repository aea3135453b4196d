"""Runs evidence again without a model: that of a receipt on its own trees, or that of a finished run merged with main
as it is now. Both happen in private checkouts, and the person's files stay unchanged."""

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

import bough
from bough.adapters.models.absent import NOBODY
from bough.adapters.workspaces.person_repository import PersonCommits
from bough.app.choices import Choices, RunObserver
from bough.app.session import Session
from bough.core import events as e
from bough.core.acceptance import receipt as receipts
from bough.core.acceptance.probes import Probe
from bough.core.acceptance.receipt import ABSENT, CHECK, Receipt, ReceiptCase, Rerun, Sides
from bough.core.acceptance.verdict import Check
from bough.core.backlog.decide import list_proven
from bough.core.backlog.state import Backlog
from bough.core.errors import BoughError, Unavailable, UsageError, WorkspaceError
from bough.core.ids import GOAL
from bough.core.journal.run_fold import Run
from bough.core.planning.plan import Step
from bough.core.tree.task import Task
from bough.core.tree.task_result import list_live_probes
from bough.core.verdict.registry import recognise
from bough.ports import MergeResult, Ports
from bough.ports.verifier import Work
from bough.services.backlog import list_backlogs, load_backlog
from bough.services.examine import bring_commit, find_change, take_change
from bough.trust.files import Place, read_own
from bough.trust.programs import make_environment, run_program
from bough.views.formatting import name_some
from bough.views.vocabulary import describe_status

LARGEST = 32 << 20
"""The most bytes of a receipt that are read."""
BAD = ("failed", "error", "broken")
MAINS = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD", "HEAD")
FAR = 1_000
"""How many commits of main are searched at most for the one that broke the work."""
PURPOSE = "bough-receipt"
"""The purpose that a signature states: a signature for another purpose does not count."""
SIGNATURE = ".sig"
"""The end of the name of a receipt's signature, which `ssh-keygen -Y` makes with an SSH key of the person's."""


class Measuring(Struct, eq=False):
    """Runs a check and probes (extra tests) on trees, each in a fresh checkout in the sandbox."""

    run: Run
    ports: Ports
    check: Check
    rerun: Rerun

    async def measure(
        self, tree: str, probes: Sequence[Probe] = (), *, check: bool = True, only: Sequence[str] = (), tests: str = ""
    ) -> dict[str, str]:
        """Return the outcome of each probe, of each test that is known by name, and of the check as a whole (`CHECK`).
        `tests`: the tree whose tests are used, if they are not its own. `only`: the tests to run, if not all. Without
        the `check`, failing probes run twice."""
        verifier, probed, found = self.ports.verifier, dict[str, str](), dict[str, str]()
        if probes:
            done = await verifier.probe(self.make_work(tree), probes, lambda line: None, once=check)
            probed = {one.name: one.outcome for one in done}
        if check:
            ran = await verifier.run_tests(self.make_work(tests or tree), tree, tests or tree, only)
            found = {case.id: case.outcome for case in ran.report.cases}
            found[CHECK] = "passed" if ran.exit_status == 0 else "failed"
        # Probes count in the end, so that no test can replace the result of a probe by having its name.
        return probed | found | probed

    async def measure_sides(self, probes: Sequence[Probe]) -> Rerun:
        """Run everything on both trees of a receipt, and return it with the outcomes."""
        before, after = [await self.measure(tree, probes) for tree in (self.rerun.base, self.rerun.head)]
        sides = {name: Sides(before.get(name, ABSENT), after.get(name, ABSENT)) for name in sorted({*before, *after})}
        cases = tuple(ReceiptCase(probe, sides.pop(probe.name, Sides())) for probe in probes)
        return replace(self.rerun, check=sides.pop(CHECK), tests=sides, probes=cases)

    def make_work(self, tree: str, base: str = "") -> Work:
        run = self.run
        task = Task(GOAL, step=run.plan.goal, base=base or run.base, tree=tree, rules=run.rules)
        return Work(run, task, self.check)


@asynccontextmanager
async def open_measuring(session: Session, rerun: Rerun, choices: Choices) -> AsyncIterator[Measuring]:
    """Open what is needed to run the command of `rerun` on trees."""
    from bough.app.run_ports import open_ports

    # A command from the person runs in their folder; one that bough found runs in the project's top folder.
    step = Step(GOAL, "Run it again.", test_command=rerun.command if rerun.folder else None)
    async with (
        open_ports(session, {"main": NOBODY}, choices, RunObserver(), folder=rerun.folder) as ports,
        session.inspect(step, rerun.base, choices, rerun.folder) as run,
    ):
        yield Measuring(run, ports, Check(rerun.command, "it ran before", recognise(rerun.command)), rerun)


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
    rerun = Rerun(task.base, task.tree, verdict.command, Sides())
    rerun = replace(rerun, folder=run.folder if run.plan.goal.test_command else "")
    async with open_measuring(session, rerun, choices) as measuring:
        yield run, task, probes, measuring


async def make_receipt(session: Session, name: str, choices: Choices) -> Receipt:
    """Run the evidence of a finished run again, and make a receipt of the results and of what the run claims."""
    view, table, records = await session.view(name), await session.evidence(name), await session.store.read(name)
    async with open_finished(session, name, choices) as (run, _, probes, measuring):
        rerun = await measuring.measure_sides(probes)
    journal = b"".join(e.encode((one.task, one.version, one.at, one.event)) for one in records)
    claims = {
        "run": name,
        "status": describe_status(view.status, view.accepted, view.examines),
        "goal": run.plan.goal.instructions,
        "models": {
            tier: model.partition("@")[0] for tier, model in run.models.items()
        },  # The part after `@` is an address, which may hold a password.
        "cost": view.spend.cost,
        "tokens": view.spend.tokens,
        "environment": run.checked.environment if run.checked is not None else "",
        "version": bough.__version__,
        "journal": f"sha256:{sha256(journal).hexdigest()}",
        "requirements": [
            {"number": row.requirement.number, "text": row.requirement.whole, "standing": row.standing}
            | ({"how": row.shown.how, "by": row.shown.by} if row.shown is not None else {})
            for row in table.rows
        ],
    }
    subject = {"name": "change", "digest": {"gitTree": rerun.head}}
    return Receipt((subject,), receipts.Predicate(rerun, rerun.digest, claims))


async def recheck_receipt(
    session: Session, file: str, signers: Path | None, of: str, choices: Choices, tell: Callable[[str], None]
) -> tuple[Rerun, str, list[str]]:
    """Run a receipt's evidence again, on trees of the person's repository. Return what the receipt says, the name of
    its signer (empty if it is not signed), and what differs: a difference that does not occur twice is left out.
    `of`: the change that it must be about; empty: any."""
    try:
        body = read_own(Path(file), LARGEST)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    try:
        signature = read_own(Path(f"{file}{SIGNATURE}"))
        who = check_signature(file, body, signature, signers, session.root)
    except FileNotFoundError:
        if signers is not None:
            raise UsageError(f"{file} is not signed: {file}{SIGNATURE} is missing.") from None
        who = ""
    receipt = receipts.read_receipt(body, file)
    rerun, found = receipt.predicate.rerun, list[str]()
    for tree in (rerun.base, rerun.head):
        try:
            await session.workspaces.bring(tree)
        except WorkspaceError as error:
            why = "it is about another one, or its commits are not here yet (`git fetch`)"
            raise UsageError(f"The tree {tree[:10]} of the receipt is not in this repository: {why}. {error}") from None
    if of:  # In the change, the receipt's own file and its signature do not count.
        change, own = await find_change(session, of), os.path.relpath(os.path.realpath(file), session.root)
        base, head = await take_change(session, change)
        for side, here, there in (("without", base, rerun.base), ("with", head, rerun.head)):
            differing = {one.path for one in await session.workspaces.changes(here, there)} - {own, own + SIGNATURE}
            if differing:
                other = f"The receipt is about other code than {change.says}, so nothing of it was run"
                raise WrongReceipt(f"{other}: {side} the change, {name_some(sorted(differing))} differs.")
    tell(f"Running `{rerun.command}` without and with the change.")
    if session.config.sandbox.mode == "none":
        raise UsageError("A receipt runs only in the sandbox, and your settings turn that off: see `bough config`.")
    probes = tuple(case.probe for case in rerun.probes)
    for again in (False, True):
        async with open_measuring(session, rerun, choices) as measuring:
            now = await measuring.measure_sides(probes)
            if rerun.tests and all(sides.after == ABSENT for sides in now.tests.values()):
                work = measuring.make_work(rerun.head, rerun.head)
                known = await measuring.ports.verifier.at_base(work, lambda line: None)
                if known.lacking:
                    raise UsageError(f"`{rerun.command}` cannot run here: {known.lacking}. {known.way_out}".strip())
        seen = {*found}
        found = [one for one in receipts.list_differences(receipt, now) if not again or one in seen]
        if not found:
            break
    return rerun, who, found


class WrongReceipt(UsageError):
    """Somebody else signed the receipt, its signature is of another text, or it is about another change."""

    exit_status = 3


def sign_receipt(body: bytes, key: Path, project: Path) -> bytes:
    """Sign with a private key; or with a public key, if the person's SSH agent holds its private key."""
    fails, out = _run_keygen(project, body, "sign", "-q", "-f", str(key.absolute()), "-n", PURPOSE)
    if fails:
        raise UsageError(f"The receipt is not signed: ssh-keygen does not take the key {key} ({fails}).")
    return out.encode()


def check_signature(name: str, body: bytes, signature: bytes, signers: Path | None, project: Path) -> str:
    """Return who signed the body of the file `name`, as a phrase. `signers`: a file of the people whose signatures
    count, in git's form; without it only the key is known. Raises for a wrong signature."""
    with tempfile.TemporaryDirectory(prefix="bough-signature-") as aside:
        file, how = Place(aside, "signature"), ["check-novalidate"]
        file.write(signature)
        if signers is not None:
            allowed = ("-f", str(signers.absolute()))
            _, found = _run_keygen(project, b"", "find-principals", "-s", str(file), *allowed)
            how = ["verify", *allowed, "-I", found.partition("\n")[0].strip() or "nobody"]
        fails, out = _run_keygen(project, body, *how, "-n", PURPOSE, "-s", str(file))
    if fails:
        fault = f"of nobody in {signers}" if how[-1] == "nobody" else "wrong"
        raise WrongReceipt(f"The signature of {name} is {fault}, so nothing of it was run: {fails}.")
    by = re.search(r"signature (?:for (.+) )?with (.+)", out)
    return (by[1] or by[2]) if by else "an unknown key"


def _run_keygen(project: Path, body: bytes, *words: str) -> tuple[str, str]:
    """Return why `ssh-keygen` failed, which is empty if it did not, and its output."""
    env = make_environment(SSH_AUTH_SOCK=os.environ.get("SSH_AUTH_SOCK", ""))
    try:
        done = run_program(("ssh-keygen", "-Y", *words), project=project, env=env, feed=body, timeout=60)
    except FileNotFoundError:
        raise Unavailable("`ssh-keygen` is not on your PATH: install OpenSSH.") from None
    out, said = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    why = (said or out).strip().rpartition("\n")[2].strip(" .\r") or "it gave no reason"
    return why if done.returncode else "", out


async def list_proven_runs(session: Session, what: str) -> list[str]:
    """List the runs to check again: the proven runs of the backlog called `what`, or else the run called `what`, or all
    proven runs of the project if it is empty."""
    if what and what in await list_backlogs(session):
        found = [item.run for item in list_proven(await load_backlog(session, what)) if item.removed is None]
    elif what:
        return [await session.find(what)]
    else:
        views = [await session.view(name) for name in await session.store.runs()]
        goals = [(view.name, view.tasks[GOAL]) for view in views if view.status == "completed"]
        found = [name for name, goal in goals if goal.verdict and goal.verdict.command and goal.tree != goal.base]
    if not found:
        raise UsageError(f"No work of {what or 'this project'} is proven: nothing to check again. See `bough runs`.")
    return found


async def recheck_night(session: Session, backlog: Backlog, choices: Choices) -> list[str]:
    """Check the proven work of a night (one pass through a backlog) again, if main has new commits since its start.
    Return a sentence about each goal that could not be checked."""
    night = backlog.open_night
    if night is None or not (began := night.started.commit):
        return []
    tip = await asyncio.to_thread(_find_tip, session, "")
    if await asyncio.to_thread(PersonCommits(session.root).ask, "merge-base", tip, began) == tip:
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
    async with open_finished(session, name, choices, passed=True) as (_, task, probes, measuring):
        tip, verdict = await asyncio.to_thread(_find_tip, session, onto), task.acceptance.verdict
        tests = (*verdict.fixed, *verdict.added) if verdict is not None else ()
        event = await MovedMain(session, measuring, tests, probes, tip).judge(onto)
    await session.record(name, event)
    return event


def _find_tip(session: Session, onto: str) -> str:
    commits = PersonCommits(session.root)
    if onto:
        return commits.require(onto)
    if not (tip := next((found for name in MAINS if (found := commits.find(name))), "")):
        raise UsageError("There is no git repository with a commit here: commit your files, or name a branch.")
    return tip


class MovedMain(Struct, frozen=True):
    """Judges whether the evidence for a run's work still holds on main, which may have moved."""

    session: Session
    measuring: Measuring
    tests: tuple[str, ...]
    """The tests that proved the work."""
    probes: tuple[Probe, ...]
    tip: str

    async def judge(self, onto: str) -> e.Rechecked:
        merged = await self._merge(self.tip)
        if merged.conflicts:
            return e.Rechecked(onto, self.tip, "conflicts", await self._find_first([]), merged.conflicts[0])
        if not (failing := await self._find_failing(merged.tree)):
            return e.Rechecked(onto, self.tip, "proven")
        return e.Rechecked(onto, self.tip, "broken", await self._find_first(failing), f"{name_some(failing)} fails")

    async def _merge(self, commit: str) -> MergeResult:
        """Merge the work with a commit. Lines that both add in the same place count as a conflict here, although
        bough's own merges keep both, because the person's git would stop there."""
        theirs, rerun = await bring_commit(self.session, commit), self.measuring.rerun
        merged = await self.session.workspaces.merge(rerun.base, theirs, rerun.head)
        return MergeResult(merged.tree, (*merged.conflicts, *merged.both))

    async def _find_failing(self, merged: str) -> list[str]:
        """Find tests and probes that fail on the merge but not on main alone. Probes run first, because they are quick.
        Every failure must be seen twice."""
        measure = self.measuring.measure
        ended = await measure(merged, self.probes, check=False)
        if failing := [name for name, outcome in ended.items() if outcome in BAD]:
            return failing
        now = await measure(merged)
        lost = [name for name in self.tests if name not in now] if len(now) > 1 else []
        # A test that is missing when the work alone runs again, too, has a name that differs in every run (by the
        # clock).
        if lost:
            own = await measure(self.measuring.rerun.head)
            lost = [name for name in lost if name in own or len(own) == 1]
        if now[CHECK] == "passed" and not lost:
            return []
        alone = await measure(await bring_commit(self.session, self.tip))
        if len(now) == 1 and alone[CHECK] == "failed":
            why = (
                f"`{self.measuring.check.command}` also fails on {self.tip[:10]} without the work, so it proves nothing"
            )
            raise UsageError(f"{why}: repair that first, or name another commit with --onto.")
        failing = [name for name, outcome in now.items() if outcome in BAD and name != CHECK]
        if new := [name for name in failing if name in self.tests or alone.get(name) not in BAD]:
            again = await measure(merged, only=new)  # Run again, to exclude failures by chance.
            new = [name for name in new if again.get(name) in BAD]
        return [*new, *lost] or ([CHECK] if not failing and now[CHECK] == "failed" else [])

    async def _breaks(self, commit: str, failing: list[str]) -> bool:
        """Whether the work conflicts with a commit, or makes one of these tests and probes fail on it."""
        merged = await self._merge(commit)
        if merged.conflicts or not failing:
            return bool(merged.conflicts)
        probes = tuple(one for one in self.probes if one.name in failing)
        # A test that only main has can be missing in older commits, and a runner that cannot find one of the named
        # tests runs none: then all tests run.
        only = failing if {*failing} <= {*self.tests} else ()
        now = await self.measuring.measure(merged.tree, probes, check=not probes, only=only)
        unnamed = now.get(CHECK, "") if len(now) == 1 else ""
        return any(now.get(name, unnamed or ("failed" if name in self.tests else "")) in BAD for name in failing)

    async def _find_first(self, failing: list[str]) -> str:
        """Find the first commit of main since the work began that breaks it, by bisection; empty if there are no
        commits since."""
        list_since = PersonCommits(self.session.root).list_since
        commits = await asyncio.to_thread(list_since, self.measuring.rerun.base, self.tip, FAR)
        first, last = 0, len(commits) - 1
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if await self._breaks(commits[middle], failing) else (middle + 1, last)
        return commits[last] if commits else ""
