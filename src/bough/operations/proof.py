"""The operations on a run's evidence: judge it again, accept it, recheck it, write it down for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import asdict

from bough.core.errors import UsageError
from bough.operations.runs import RunResult
from bough.operations.table import operation
from bough.views.vocabulary import describe_recheck, describe_verdict, list_shortcomings

if TYPE_CHECKING:
    from bough.app.session import Session

NOT_PROVEN = 5
"""The exit status of unproven work."""


class JudgedRun(RunResult, frozen=True, kw_only=True):
    verdict: Any = None
    accepted: str = ""
    """The person who accepted it as it is, and why; empty: nobody."""


class RecheckedRun(RunResult, frozen=True, kw_only=True):
    onto: str
    commit: str
    standing: str
    """`proven`, `conflicts` or `broken`."""
    culprit: str
    why: str


class RunReceipt(RunResult, frozen=True, kw_only=True):
    receipt: Any


@operation(
    "bough verify",
    "bough verify amber-heron --check 'pytest -q tests/test_report.py'",
    json="As a JSON object: the run and the verdict.",
    person=True,
)
async def verify(
    opened: Session,
    run: str,
    *,
    check: Annotated[str, "The command that proves it, instead of the run's own."] = "",
    accept_failing: Annotated[bool, "Tests that failed before the work may still fail; no others may."] = False,
    accept: Annotated[bool, "Take work that is finished and not proven as it is, in your name."] = False,
    reason: Annotated[str, "With --accept: why; it is recorded."] = "",
) -> JudgedRun:
    """Check a run's work again, or accept it.

    The check (the run's own, or the one you give) runs on the run's result in a fresh checkout, as strictly as before.
    The new verdict becomes the result of a finished run; no model is called, and nothing is changed. Work that was not
    proven is completed if the check also fails without the work.

    With --accept nothing runs: the work counts as completed because you say so, and the journal, the report and
    `bough pr` say that it was you.

    Exit status: 0 if it passes, else 5.
    """
    from bough.app.choices import Choices, RunObserver

    if accept and (check or accept_failing):
        raise UsageError("--accept runs no check: it cannot be combined with --check or --accept-failing.")
    if reason and not accept:
        raise UsageError("--reason needs --accept: see `bough verify --help`.")
    if accept:
        accepted = await opened.accept(run, reason.strip())
        return JudgedRun(run=run, accepted=accepted, said=f"{run} is {accepted}.")
    choices = Choices(check=check, accept_failing=accept_failing)
    verdict = (await opened.verify(run, choices, RunObserver())).verdict
    end = (await opened.run(run)).end
    proven = verdict.ruling == "passed" if end is None else end.end == "completed"
    lines = [describe_verdict(verdict), f"  {verdict.reason}", *(f"  {line}" for line in list_shortcomings(verdict, 5))]
    return JudgedRun(run=run, verdict=verdict, said="\n".join(lines), exit_status=0 if proven else NOT_PROVEN)


@operation()
async def recheck(opened: Session, run: str, *, onto: str = "", setup: str = "") -> RecheckedRun:
    """Merge a run's proven work with main as it is now, or with `onto`, and run again what carried it, without a
    model. `setup` runs in the checkout first."""
    from bough.app.choices import Choices
    from bough.services.still_proven import recheck_run

    event = await recheck_run(opened, run, onto, Choices(setup=setup or None))
    return RecheckedRun(run=run, said=describe_recheck(event), **asdict(event))


@operation(json="")
async def receipt(opened: Session, run: str) -> RunReceipt:
    """Run once more what a run shows, without and with its change, and return it as a receipt."""
    from bough.app.choices import Choices
    from bough.services.recheck import make_receipt

    made = await make_receipt(opened, run, Choices())
    said = f"What {run} shows, as it was seen once more: `bough recheck` runs it again anywhere."
    return RunReceipt(run=run, receipt=made, said=said)
