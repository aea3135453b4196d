"""A receipt: a file with the evidence about a change. It can be run again without a model and without a journal.

It is an in-toto statement. Anybody who has the files without and with the change can repeat what is under `rerun`; what
is under `claimed` is only protected by a signature.
"""

from hashlib import sha256
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from bough.core.acceptance.probes import Probe
from bough.core.errors import UsageError
from bough.core.textual.spelling import UNREADABLE

Tree = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}\Z")]
CHECK = "the check"
ABSENT = "absent"
"""The outcome of a test that does not exist without the change, or with it."""
LONGEST_PATH = 500


class Sides(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcomes of a test without the change (before) and with it (after)."""

    before: str = ABSENT
    after: str = ABSENT


class ReceiptCase(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    probe: Probe
    outcome: Sides


class Rerun(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The repeatable part of a receipt."""

    base: Tree
    """The git tree without the change; `head` is the tree with it."""
    head: Tree
    command: Annotated[str, msgspec.Meta(max_length=20_000)]
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
    kind: Literal["urn:bough:receipt:v1"] = "urn:bough:receipt:v1"
    type: Literal["https://in-toto.io/Statement/v1"] = "https://in-toto.io/Statement/v1"


def write_receipt(receipt: Receipt) -> bytes:
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"


def read_receipt(body: bytes, name: str) -> Receipt:
    """Read the receipt in a file and check its form; paths that leave the project, and ambiguous names, are refused."""
    try:
        receipt = msgspec.json.decode(body, type=Receipt)
    except UNREADABLE as error:
        raise UsageError(f"{name} is not a bough receipt: {error}.") from None
    rerun = receipt.predicate.rerun
    for path in (rerun.folder or "top", *(case.probe.path for case in rerun.probes)):
        if {"", ".", "..", ".git"} & {*path.lower().split("/")} or "\0" in path or len(path) > LONGEST_PATH:
            raise UsageError(f"{name} is refused: its path `{path[:100]}` leaves the project, or is none.")
    names = [CHECK, *rerun.tests, *(case.probe.name for case in rerun.probes)]
    if len({*names}) < len(names):
        raise UsageError(f"{name} is refused: two of its tests and cases have the same name.")
    return receipt


def list_differences(receipt: Receipt, now: Rerun) -> list[str]:
    """List in clauses how the outcomes of now differ from those in the receipt, and the sign that it was edited."""
    then, found, subject = receipt.predicate.rerun, list[str](), [one.get("digest") for one in receipt.subject]
    if receipt.predicate.digest != then.digest or subject != [{"gitTree": then.head}]:
        found.append("the receipt was edited: its digest or its subject does not match its content")
    names = {**then.tests, **now.tests}
    pairs = [(CHECK, then.check, now.check)]
    pairs += [(name, then.tests.get(name, Sides()), now.tests.get(name, Sides())) for name in names]
    pairs += [(old.probe.name, old.outcome, new.outcome) for old, new in zip(then.probes, now.probes, strict=True)]
    for name, old, new in pairs:
        if old != new and new.before == new.after == "passed":
            found.append(f"{name} passes on both sides: it no longer shows a difference")
            continue
        for side, was, is_now in (("without", old.before, new.before), ("with", old.after, new.after)):
            if was != is_now:
                found.append(f"{name} {side} the change: {was} in the receipt, {is_now} now")
    # Anybody may choose a name: without line breaks it forges no line.
    return [" ".join(clause.split()) for clause in found]
