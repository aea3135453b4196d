"""The interface of the verifier, which decides whether a task is done."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.probes import Form, Probe, ProbeResult
from bough.core.acceptance.verdict import Check, Failure, Verdict
from bough.core.events import BaseChecked
from bough.core.verdict.check_run import Baseline, MixedRun

if TYPE_CHECKING:
    from bough.core.journal.run_fold import Run
    from bough.core.tree.task import Task
    from bough.ports import Workspace


class Judgement(Struct, frozen=True):
    """A verdict, and the data that is stored along with it."""

    verdict: Verdict
    output: bytes | None = None
    """The check's whole output, if the verdict has only its beginning and end."""
    cases: bytes | None = None
    """Every test with its outcome, as JSON."""


class Work(Struct, eq=False):
    """A task of a run, together with the check that is run for it."""

    run: "Run"
    task: "Task"
    check: Check
    seen: Callable[[], None] = lambda: None
    """Called whenever the check's output shows that a test runs."""

    def with_command(self, command: str | None, runner: str | None = None) -> "Work":
        """Return a copy in which the check has another command or runner; None keeps its own."""
        check, runner = self.check, self.check.runner if runner is None else runner
        return Work(self.run, self.task, replace(check, command=command or check.command, runner=runner))


class Verifier(Protocol):
    """Decides by evidence whether a task is done. The base of a task is its files before the work."""

    async def find(self, task: "Task") -> Check | None:
        """Find a task's check, in its step or in the project's current files; None if there is none."""

    async def at_base(self, work: Work, progress: Callable[[str], None], *, fresh: bool = False) -> BaseChecked:
        """Return the check's result on the task's base, and what it lacks there. If it runs no test, return the result
        of the best other check found. `fresh`: run it even if the result is known. Raises `SetupFailed`."""

    async def look_up(self, task: "Task") -> tuple[BaseChecked, float] | None:
        """Return the stored result of a task's check on its base, and its time; None if none is stored."""

    async def try_check(
        self, run: "Run", task: "Task", proposed: Check, progress: Callable[[str], None]
    ) -> BaseChecked | str:
        """Return a proposed check's result on the task's base, or a text that says why it does not count: it cannot
        run, or it passes although the product was broken on purpose."""

    async def keep_proposal(self, run: "Run", task: "Task", proposed: Check | None) -> None:
        """Store the check that a model proposed, to be tried after all other candidates for the project. None: store
        that the model found none, which counts until the files that matter for a check change."""

    async def was_asked(self, run: "Run", task: "Task") -> bool:
        """Return whether a model was asked about these files before and found no check."""

    def prefer(self, checked: BaseChecked) -> None:
        """Use the check that worked on the base from now on."""

    def begin(self, run: "Run", task: "Task") -> None:
        """Start to run the check on a task's base in the background."""

    def before(self, task: "Task", check: Check) -> str | None:
        """Describe the check's result on the base; empty if there is nothing to say, None if it has not ended yet."""

    async def judge(
        self,
        run: "Run",
        task: "Task",
        check: Check | None,
        workspace: "Workspace",
        progress: Callable[[str], None],
        *,
        merged: bool = False,
    ) -> Judgement:
        """Return the verdict on the task's tree, which the workspace holds. `merged`: only the check's result counts,
        because changed and new tests were judged before the merge."""

    async def regressions(self, work: Work, before: Sequence[str], say: Callable[[str], None]) -> tuple[Failure, ...]:
        """Find tests that passed on one of the earlier trees (`before`) and fail on the task's. They run in separate
        checkouts, and a failure must be seen twice."""

    async def run_tests(self, work: Work, product: str, tests: str, only: Sequence[str] = ()) -> MixedRun:
        """Run the check on the product files of one tree with the test files of another. `only`: just these tests, if
        the runner can select them."""

    async def measure_base(self, work: Work) -> Baseline:
        """Return the check's result on the task's base; run it now if the result is not known."""

    async def form(self, task: "Task") -> Form:
        """Return how a probe (an extra test) must be written here."""

    async def probe(
        self, work: Work, chosen: Sequence[Probe], say: Callable[[str], None], once: bool = False
    ) -> tuple[ProbeResult, ...]:
        """Run probes (extra tests) on the task's tree, in a separate checkout. A failure must be seen twice, unless
        they run only `once`."""

    async def close(self) -> None:
        """End everything that still runs in the background."""
