"""The operations on the evidence for a run's work: judge it again, accept it, recheck it, export it as a receipt."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import asdict

from bough.core.errors import UsageError
from bough.operations.runs import RunResult
from bough.operations.table import OperationResult, operation
from bough.views.formatting import pluralize
from bough.views.vocabulary import describe_recheck, describe_verdict, list_shortcomings

if TYPE_CHECKING:
    from pathlib import Path

    from bough.app.choices import Choices
    from bough.app.session import Session

NOT_PROVEN, DIFFERS = 5, 3
"""The exit statuses of unproven work, and of evidence that is not the same again."""
LISTED = 50
"""The most differences from a receipt that are printed."""


class JudgedRun(RunResult, frozen=True, kw_only=True):
    verdict: Any = None
    accepted: str = ""
    """The person who accepted the work without proof, and why; empty if nobody did."""


class RecheckedRun(RunResult, frozen=True, kw_only=True):
    onto: str
    commit: str
    standing: str
    """`proven`, `conflicts` or `broken`."""
    culprit: str
    why: str


class RecheckedReceipt(OperationResult, frozen=True, kw_only=True):
    same: bool
    differences: list[str]
    signed_by: str


class RunReceipt(RunResult, frozen=True, kw_only=True):
    receipt: Any


@operation(
    "bough verify",
    "bough verify amber-heron --check 'pytest -q tests/test_report.py'",
    json="As a JSON object: the run and the verdict.",
    person=True,
)
async def verify(
    opened: "Session",
    run: str,
    *,
    check: Annotated[str, "The command that proves the work, instead of the run's own."] = "",
    accept_failing: Annotated[bool, "Tests that failed before the work may still fail; no others may."] = False,
    accept: Annotated[bool, "Accept finished but unproven work as it is, in your name."] = False,
    reason: Annotated[str, "With --accept: the reason, which is recorded."] = "",
) -> JudgedRun:
    """Check a run's work again, or accept it.

    The check (the run's own, or the one you give) runs on the run's result in a fresh checkout, as strictly as before.
    The new verdict becomes the result of a finished run; no model is called, and no file is changed. Unproven work
    counts as completed if the check passes with the work and fails without it.

    With --accept nothing runs: the work counts as completed because you say so, and the journal, the report and `bough
    pr` say that it was you.

    Exit status: 0 if it passes, else 5."""
    from bough.app.choices import Choices, RunObserver

    if accept and (check or accept_failing):
        raise UsageError("--accept runs no check: it cannot be combined with --check or --accept-failing.")
    if reason and not accept:
        raise UsageError("--reason needs --accept: see `bough verify --help`.")
    if accept:
        accepted = await opened.accept(run, reason.strip())
        return JudgedRun(run=run, accepted=accepted, said=f"{run} is {accepted}.")
    verdict = (await opened.verify(run, Choices(check=check, accept_failing=accept_failing), RunObserver())).verdict
    end = (await opened.run(run)).end
    proven = verdict.ruling == "passed" if end is None else end.end == "completed"
    lines = [describe_verdict(verdict), f"  {verdict.reason}", *(f"  {line}" for line in list_shortcomings(verdict, 5))]
    return JudgedRun(run=run, verdict=verdict, said="\n".join(lines), exit_status=0 if proven else NOT_PROVEN)


@operation()
async def recheck(opened: "Session", run: str, *, onto: str = "", setup: str = "") -> RecheckedRun:
    """Merge a run's proven work with the current main, or with `onto`, and run its check and evidence again, without a
    model. `setup`: a command to run in the checkout first."""
    from bough.app.choices import Choices
    from bough.services.recheck import recheck_run

    event = await recheck_run(opened, run, onto, Choices(setup=setup or None))
    status = 0 if event.standing == "proven" else DIFFERS
    return RecheckedRun(run=run, said=describe_recheck(event), exit_status=status, **asdict(event))


async def recheck_file(
    opened: "Session", file: str, signers: "Path | None", of: str, choices: "Choices", tell: Callable[[str], None]
) -> RecheckedReceipt:
    """Run a receipt again, without a model: see `recheck_receipt`."""
    from bough.services.recheck import recheck_receipt

    rerun, who, found = await recheck_receipt(opened, file, signers, of, choices, tell)
    counted = f"{pluralize(len(rerun.tests), 'test')} and {pluralize(len(rerun.probes), 'case')}"
    said = "Not the same as in the receipt." if found else f"The same as in the receipt: {counted} on both sides."
    signed = f"Signed by {who}." if who else "Not signed: nobody vouches for what it claims besides."
    more = [f"… and {len(found) - LISTED} more"] if len(found) > LISTED else []
    said, status = "\n".join([*found[:LISTED], *more, f"{said} {signed}"]), DIFFERS if found else 0
    return RecheckedReceipt(said=said, exit_status=status, same=not found, differences=found, signed_by=who)


@operation(json="")
async def receipt(opened: "Session", run: str) -> RunReceipt:
    """Run the tests that prove a run's work again, without and with its change, and return a receipt of the results."""
    from bough.app.choices import Choices
    from bough.services.recheck import make_receipt

    made = await make_receipt(opened, run, Choices())
    said = f"The evidence of {run} was run again: `bough recheck` runs this receipt anywhere."
    return RunReceipt(run=run, receipt=made, said=said)
