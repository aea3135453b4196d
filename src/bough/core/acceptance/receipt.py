"""A receipt: a file with the evidence about a change. It can be run again without a model and without a journal.

It is an in-toto statement. Anybody who has the files without and with the change can repeat what is under `rerun`; what
is under `claimed` is only protected by a signature.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.evidence_table import Table
from bough.core.acceptance.probes import Probe
from bough.core.errors import UsageError
from bough.core.textual.spelling import UNREADABLE

STATEMENT = "https://in-toto.io/Statement/v1"
KIND = "urn:bough:receipt:v1"
CHECK = "the check"
ABSENT = "absent"
"""The outcome of a test that does not exist without the change, or with it."""


class WrongReceipt(UsageError):
    """Somebody else signed the receipt, its signature is of another text, or it is about another change."""

    exit_status = 3


class Sides(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcomes of a test without the change (before) and with it (after)."""

    before: str = ABSENT
    after: str = ABSENT


class ReceiptCase(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An examiner's case with its outcomes."""

    probe: Probe
    outcome: Sides


class Rerun(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The repeatable part of a receipt."""

    base: str
    """The git tree without the change; `head` is the tree with it."""
    head: str
    command: str
    check: Sides
    """The command's results: `passed` or `failed`."""
    tests: dict[str, Sides] = {}
    probes: tuple[ReceiptCase, ...] = ()
    folder: str = ""
    """The folder of the project in which the command runs."""

    @property
    def digest(self) -> str:
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()


class Predicate(Struct, frozen=True, forbid_unknown_fields=True):
    rerun: Rerun
    digest: str
    """Hash of `rerun`, which reveals an edit even if it changes no outcome."""
    claimed: dict[str, Any]
    """What the signer states and nobody can repeat."""


class Receipt(Struct, frozen=True, rename={"type": "_type", "kind": "predicateType"}):
    subject: tuple[dict[str, Any], ...]
    predicate: Predicate
    kind: str = KIND
    type: str = STATEMENT


def make_receipt(rerun: Rerun, table: Table, claims: dict[str, Any]) -> Receipt:
    rows = [
        {"number": row.requirement.number, "text": row.requirement.whole, "standing": row.standing}
        | ({"how": row.shown.how, "by": row.shown.by} if row.shown is not None else {})
        for row in table.rows
    ]
    subject = {"name": "change", "digest": {"gitTree": rerun.head}}
    return Receipt((subject,), Predicate(rerun, rerun.digest, {**claims, "requirements": rows}))


def record_outcomes(
    rerun: Rerun, probes: Iterable[Probe], before: Mapping[str, str], after: Mapping[str, str]
) -> Rerun:
    """Record the outcomes of the check, the tests and the probes, by name, without the change and with it."""
    sides = {name: Sides(before.get(name, ABSENT), after.get(name, ABSENT)) for name in sorted({*before, *after})}
    cases = tuple(ReceiptCase(probe, sides.pop(probe.name, Sides())) for probe in probes)
    return replace(rerun, check=sides.pop(CHECK), tests=sides, probes=cases)


def write_receipt(receipt: Receipt) -> bytes:
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"


def read_receipt(body: bytes, name: str) -> Receipt:
    """Read the receipt in a file and check its form; paths that leave the project are refused."""
    try:
        receipt = msgspec.json.decode(body, type=Receipt)
    except UNREADABLE as error:
        raise UsageError(f"{name} is not a receipt of bough: {error}.") from None
    if receipt.type != STATEMENT or receipt.kind != KIND:
        raise UsageError(f"{name} is not a receipt of bough, but `{receipt.kind[:100]}`.")
    rerun = receipt.predicate.rerun
    for tree in (rerun.base, rerun.head):
        if len(tree) != 40 or set(tree) - {*"0123456789abcdef"}:
            raise UsageError(f"{name} is not a receipt of bough: `{tree[:60]}` is not the id of a git tree.")
    for path in (rerun.folder, *(case.probe.path for case in rerun.probes)):
        if path.startswith("/") or {"..", ".git"} & {*path.split("/")} or "\0" in path:
            raise UsageError(f"{name} is refused: its path `{path[:100]}` leaves the project.")
    return receipt


def list_edits(receipt: Receipt) -> list[str]:
    """List the signs that the receipt was edited, as far as they show without running anything."""
    found, rerun = [], receipt.predicate.rerun
    if receipt.predicate.digest != rerun.digest:
        found.append("the receipt was edited: its digest does not match its content")
    if [one.get("digest") for one in receipt.subject] != [{"gitTree": rerun.head}]:
        found.append("the receipt was edited: its subject is not the tree that ran")
    return found


def list_differences(then: Rerun, now: Rerun) -> list[str]:
    """List in clauses how the outcomes of now differ from those in the receipt."""
    pairs = [(CHECK, then.check, now.check)]
    pairs += [
        (name, then.tests.get(name, Sides()), now.tests.get(name, Sides())) for name in {**then.tests, **now.tests}
    ]
    pairs += [(old.probe.name, old.outcome, new.outcome) for old, new in zip(then.probes, now.probes, strict=True)]
    found = []
    for name, old, new in pairs:
        if old != new and new.before == new.after == "passed":
            found.append(f"{name} passes on both sides: it no longer shows a difference")
            continue
        for side, was, is_now in (("without", old.before, new.before), ("with", old.after, new.after)):
            if was != is_now:
                found.append(f"{name} {side} the change: {was} in the receipt, {is_now} now")
    return found
