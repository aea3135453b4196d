"""A receipt: the evidence about a change, as one file that can be run again without a model and a journal.

It is an in-toto statement. Anybody with both trees can repeat what is under `rerun`; what is under `claimed` only a
signature protects.
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


class Predicate(Struct, frozen=True, forbid_unknown_fields=True):
    rerun: Rerun
    digest: str
    """Hash of `rerun`: it reveals an edit that changes no outcome."""
    claimed: dict[str, Any]
    """What the signer says, and nobody can see again."""


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
    """Write down what ran without the change and with it: tests and probes by name, and the check."""
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
    if [one.get("digest") for one in receipt.subject] != [{"gitTree": rerun.head}]:
        found.append("the receipt was edited: its subject is another tree than the one that ran")
    return found


def list_differences(rerun: Rerun, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """List in sentences what differs from the receipt."""
    then = _list_sides(rerun)
    now = _list_sides(record_outcomes(rerun, (case.probe for case in rerun.probes), before, after))
    absent, keys = Sides(ABSENT, ABSENT), sorted({*then, *now})
    return [line for key in keys for line in _compare(key[1], then.get(key, absent), now.get(key, absent))]


def _list_sides(rerun: Rerun) -> dict[tuple[int, str], Sides]:
    """List what ran by kind and name, since a receipt may give the same name to several things."""
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
