"""A receipt: the evidence about a change, as one file that can be run again without a model and a journal.

It is an in-toto statement. Anybody with both trees can repeat what is under `rerun`; what is under `claimed` only a
signature protects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from bough.core.acceptance.evidence_table import Table
from bough.core.acceptance.probes import Probe
from bough.core.decoding import UNREADABLE
from bough.core.errors import UsageError

STATEMENT = "https://in-toto.io/Statement/v1"
KIND = "urn:bough:receipt:v1"
ABSENT = "absent"
"""The outcome of a test that a side does not have."""
_BAD = ("failed", "error", ABSENT, "broken")


class Sides(Struct, frozen=True, forbid_unknown_fields=True):
    """An outcome without the change, and with it."""

    before: str
    after: str


class ReceiptCase(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An examiner's case with its outcomes."""

    probe: Probe
    outcome: Sides


class Rerun(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The repeatable part of a receipt."""

    base: str
    """The tree without the change."""
    head: str
    command: str
    check: Sides
    """The command's result: `passed` or `failed`."""
    tests: dict[str, Sides] = {}
    probes: tuple[ReceiptCase, ...] = ()
    folder: str = ""
    """The folder of the project in which the command runs."""

    @property
    def digest(self) -> str:
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


class ClaimedRequirement(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    number: int
    text: str
    standing: str
    how: str = ""
    by: tuple[str, ...] = ()


class Claims(Struct, frozen=True, omit_defaults=True):
    """The signer's claims, which nobody can repeat."""

    run: str
    status: str
    goal: str
    requirements: tuple[ClaimedRequirement, ...] = ()
    models: dict[str, str] = {}
    cost: float = 0.0
    tokens: int = 0
    environment: str = ""
    version: str = ""
    journal: str = ""
    """The hash of the run's journal."""


class Predicate(Struct, frozen=True, forbid_unknown_fields=True):
    rerun: Rerun
    digest: str
    """Hash of `rerun`: it reveals an edit that changes no outcome."""
    claimed: Claims


class StatementSubject(Struct, frozen=True):
    name: str
    digest: dict[str, str]


class Receipt(Struct, frozen=True, rename={"type": "_type", "kind": "predicateType"}):
    subject: tuple[StatementSubject, ...]
    predicate: Predicate
    kind: str = KIND
    type: str = STATEMENT


class SideOutcome(Struct, frozen=True):
    """The outcomes on one tree."""

    check: str
    tests: Mapping[str, str] = field(default_factory=dict)
    probes: Mapping[str, str] = field(default_factory=dict)


def make_receipt(rerun: Rerun, claims: Claims) -> Receipt:
    return Receipt((StatementSubject("change", {"gitTree": rerun.head}),), Predicate(rerun, rerun.digest, claims))


def record_outcomes(rerun: Rerun, probes: tuple[Probe, ...], before: SideOutcome, after: SideOutcome) -> Rerun:
    tests = {
        name: Sides(before.tests.get(name, ABSENT), after.tests.get(name, ABSENT))
        for name in sorted({*before.tests, *after.tests})
    }
    cases = tuple(
        ReceiptCase(probe, Sides(before.probes.get(probe.name, ABSENT), after.probes.get(probe.name, ABSENT)))
        for probe in probes
    )
    return replace(rerun, check=Sides(before.check, after.check), tests=tests, probes=cases)


def list_requirements(table: Table) -> tuple[ClaimedRequirement, ...]:
    return tuple(
        ClaimedRequirement(
            row.requirement.number,
            row.requirement.whole,
            row.standing,
            row.shown.how if row.shown else "",
            row.shown.by if row.shown else (),
        )
        for row in table.rows
    )


def write_receipt(receipt: Receipt) -> bytes:
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"


def read_receipt(body: bytes, name: str) -> Receipt:
    """Read the receipt in a file. Only its commands are run again, and those only where they can do no harm."""
    try:
        receipt = msgspec.json.decode(body, type=Receipt)
    except UNREADABLE as error:
        raise UsageError(f"{name} is no receipt of bough's: {error}.") from None
    if receipt.type != STATEMENT or receipt.kind != KIND:
        raise UsageError(f"{name} is no receipt of bough's, but `{receipt.kind[:100]}`.")
    rerun = receipt.predicate.rerun
    for tree in (rerun.base, rerun.head):
        if len(tree) != 40 or set(tree) - {*"0123456789abcdef"}:
            raise UsageError(f"{name} is no receipt of bough's: `{tree[:60]}` is no tree.")
    for path in (rerun.folder, *(case.probe.path for case in rerun.probes)):
        if path.startswith("/") or {"..", ".git"} & {*path.split("/")} or "\0" in path:
            raise UsageError(f"{name} is not run: its path `{path[:100]}` leaves the project.")
    return receipt


# ── what differs ────────────────────────────────────────────────────────────────────────────────────────────────────


def list_edits(receipt: Receipt) -> list[str]:
    """List the signs of an edit that show without running anything."""
    found, rerun = [], receipt.predicate.rerun
    if receipt.predicate.digest != rerun.digest:
        found.append("the receipt was edited: its digest is another")
    if [one.digest.get("gitTree") for one in receipt.subject] != [rerun.head]:
        found.append("the receipt was edited: its subject is another tree than the one that ran")
    return found


def list_differences(rerun: Rerun, before: SideOutcome, after: SideOutcome) -> list[str]:
    """List in sentences what differs from the receipt."""
    now, absent = (
        record_outcomes(rerun, tuple(case.probe for case in rerun.probes), before, after),
        Sides(ABSENT, ABSENT),
    )
    found = [*_compare("the check", rerun.check, now.check)]
    for name in sorted({*rerun.tests, *now.tests}):
        found += _compare(name, rerun.tests.get(name, absent), now.tests.get(name, absent))
    for case, again in zip(rerun.probes, now.probes, strict=True):
        found += _compare(case.probe.name, case.outcome, again.outcome)
    return found


def _compare(name: str, then: Sides, now: Sides) -> Iterator[str]:
    if then == now:
        return
    if now.before == now.after == "passed" and then.before in _BAD:
        yield f"{name} passes on both sides: it no longer shows a difference"
    elif then.before in _BAD and now.before == "passed":
        yield f"{name} no longer fails without the change"
    elif then.before != now.before:
        yield f"{name} without the change: {then.before} in the receipt, {now.before} now"
    if then.after != now.after:
        yield f"{name} with the change: {then.after} in the receipt, {now.after} now"
