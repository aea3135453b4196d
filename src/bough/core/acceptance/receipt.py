"""A receipt: a file with the evidence about a change. It can be run again without a model and without a journal.

It is an in-toto statement. Anybody who has the files without and with the change can repeat what is under `rerun`; what
is under `claimed` is only protected by a signature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bough.core.acceptance.evidence_table import Table
from bough.core.acceptance.probes import Probe
from bough.core.decoding import UNREADABLE
from bough.core.errors import UsageError

STATEMENT = "https://in-toto.io/Statement/v1"
KIND = "urn:bough:receipt:v1"
CHECK = "the check"
ABSENT = "absent"
"""The outcome of a test that does not exist without the change, or with it."""
_BAD = ("failed", "error", ABSENT, "broken")


class Sides(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcomes of a test without the change (before) and with it (after)."""

    before: str
    after: str


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


def make_receipt(rerun: Rerun, claims: dict[str, Any]) -> Receipt:
    subject = {"name": "change", "digest": {"gitTree": rerun.head}}
    return Receipt((subject,), Predicate(rerun, rerun.digest, claims))


def record_outcomes(
    rerun: Rerun, probes: Iterable[Probe], before: Mapping[str, str], after: Mapping[str, str]
) -> Rerun:
    """Record the outcomes of the check, the tests and the probes, by name, without the change and with it."""
    sides = {name: Sides(before.get(name, ABSENT), after.get(name, ABSENT)) for name in sorted({*before, *after})}
    cases = tuple(ReceiptCase(probe, sides.pop(probe.name, Sides(ABSENT, ABSENT))) for probe in probes)
    return replace(rerun, check=sides.pop(CHECK), tests=sides, probes=cases)


def list_requirements(table: Table) -> tuple[dict[str, Any], ...]:
    found = []
    for row in table.rows:
        shown = {"how": row.shown.how, "by": row.shown.by} if row.shown is not None else {}
        found.append(
            {"number": row.requirement.number, "text": row.requirement.whole, "standing": row.standing, **shown}
        )
    return tuple(found)


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


# ── what differs ────────────────────────────────────────────────────────────────────────────────────────────────────


def list_edits(receipt: Receipt) -> list[str]:
    """List the signs that the receipt was edited, as far as they show without running anything."""
    found, rerun = [], receipt.predicate.rerun
    if receipt.predicate.digest != rerun.digest:
        found.append("the receipt was edited: its digest does not match its content")
    if [one.get("digest") for one in receipt.subject] != [{"gitTree": rerun.head}]:
        found.append("the receipt was edited: its subject is not the tree that ran")
    return found


def list_differences(rerun: Rerun, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """List in clauses how outcomes differ from those in the receipt."""
    then = _list_sides(rerun)
    now = _list_sides(record_outcomes(rerun, (case.probe for case in rerun.probes), before, after))
    absent, keys = Sides(ABSENT, ABSENT), sorted({*then, *now})
    return [line for key in keys for line in _compare(key[1], then.get(key, absent), now.get(key, absent))]


def _list_sides(rerun: Rerun) -> dict[tuple[int, str], Sides]:
    """Map everything that ran to its outcomes, by kind and name, since a test and a probe may have the same name."""
    cases = {(number, case.probe.name): case.outcome for number, case in enumerate(rerun.probes, 2)}
    return {(0, CHECK): rerun.check, **{(1, name): sides for name, sides in rerun.tests.items()}, **cases}


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
