"""The role that decides whether a task is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.probes import Form, Probe, Probed
from bough.core.acceptance.verdict import Check, Failure, Verdict
from bough.core.events import BaseChecked
from bough.core.verdict.check_run import Baseline, MixedRun

if TYPE_CHECKING:
    from bough.core.journal.run_fold import Run
    from bough.core.tree.task import Task
    from bough.ports import Workspace


class Judgement(Struct, frozen=True):
    """A verdict with its data for the blob store."""

    verdict: Verdict
    output: bytes | None = None
    """The check's whole output, when the verdict has only head and tail."""
    cases: bytes | None = None
    """Every test with its outcome, as JSON."""


class Work(Struct, eq=False):
    """The purpose of a check's run: a task of a run, and its check."""

    run: Run
    task: Task
    check: Check
    seen: Callable[[], None] = lambda: None
    """Called whenever a test of the check is seen to run."""

    def with_command(self, command: str | None, runner: str | None = None) -> Work:
        """Return the same with another command of the same check; None: with its own."""
        check, runner = self.check, self.check.runner if runner is None else runner
        return Work(self.run, self.task, replace(check, command=command or check.command, runner=runner))


class Verifier(Protocol):
    """Decides whether a task is done, by evidence."""

    async def find(self, task: Task) -> Check | None:
        """Find the check of a task in its current files, and its origin; None: none is found."""

    async def at_base(self, work: Work, progress: Callable[[str], None], *, fresh: bool = False) -> BaseChecked:
        """Return the check's result on the task's base, and what it lacks there; if it runs no test, the result of the
        best other candidate. `fresh`: now, whatever is known. Raises
        `SetupFailed` if it cannot be set up."""

    async def look_up(self, task: Task) -> tuple[BaseChecked, float] | None:
        """Return the last result of a task's check on its base, and its time; None: none is stored."""

    async def try_check(
        self, run: Run, task: Task, proposed: Check, progress: Callable[[str], None]
    ) -> BaseChecked | str:
        """Return a proposed check's result at the task's base; or why it does not count: it cannot run, or it passes on
        a product that was broken on purpose."""

    async def keep_proposal(self, run: Run, task: Task, proposed: Check | None) -> None:
        """Store a model's proposal for the project, as its last candidate; None: it found nothing, as long as the files
        that decide about it are the same."""

    async def was_asked(self, run: Run, task: Task) -> bool:
        """Whether a model found nothing for these files before."""

    def prefer(self, checked: BaseChecked) -> None:
        """Use the check that worked at the base."""

    def begin(self, run: Run, task: Task) -> None:
        """Start examining the base of a task in the background."""

    def before(self, task: Task, check: Check) -> str | None:
        """Return the check's result before the work, in a sentence or empty; None: it has not ended there."""

    async def judge(
        self,
        run: Run,
        task: Task,
        check: Check | None,
        workspace: Workspace,
        progress: Callable[[str], None],
        *,
        merged: bool = False,
    ) -> Judgement:
        """Return the verdict on the task's tree, which the workspace holds. `merged`: changes of tests and the work's
        own tests were judged before the merge: here only the check's result counts."""

    async def regressions(self, work: Work, before: Sequence[str], say: Callable[[str], None]) -> tuple[Failure, ...]:
        """Find tests that passed at one of the earlier trees and fail at the task's, in checkouts of their own, each
        failure seen twice."""

    async def run_tests(self, work: Work, product: str, tests: str, only: Sequence[str] = ()) -> MixedRun:
        """Run the product of one tree with the test side of another, in one process: `only` these tests (all, if the
        runner cannot select them)."""

    async def see_failing(self, work: Work, tests: Sequence[str]) -> tuple[str, ...]:
        """Run tests of the task's tree with other values in them, and return those that were seen to fail."""

    async def measure_base(self, work: Work) -> Baseline:
        """Return the check's result at the task's base, known or measured now."""

    async def form(self, task: Task, check: Check) -> tuple[Form, str]:
        """Return the form of a probe in this project, and the beginning of an existing test."""

    async def probe(
        self, work: Work, chosen: Sequence[Probe], say: Callable[[str], None], once: bool = False
    ) -> tuple[Probed, ...]:
        """Run these probes on the task's tree, in a checkout of their own. A failure was seen twice, unless they run
        only `once`."""

    async def close(self) -> None:
        """End examinations that still run."""
