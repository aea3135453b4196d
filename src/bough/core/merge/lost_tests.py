"""Whether a merge lost tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

NAMED = 5
"""Tests named in a sentence."""


def read_outcomes(cases: bytes | None) -> dict[str, str]:
    """Tests and their outcomes, as a verdict keeps them."""
    if not cases:
        return {}
    return {each["id"]: each["outcome"] for each in msgspec.json.decode(cases, type=list[dict[str, str | float]])}  # type: ignore[misc]


def list_passed(cases: bytes | None) -> frozenset[str]:
    return frozenset(id for id, outcome in read_outcomes(cases).items() if outcome == "passed")


def shorten_test_id(id: str) -> str:
    """A test by its own name: without its file, its class and its parameters."""
    return id.partition("[")[0].replace("::", ".").rpartition(".")[2].strip()


def find_missing(needed: Iterable[str], now: Mapping[str, str]) -> list[str]:
    """The needed tests that do not pass now. One that only moved to another file or class passes there."""
    wanted = sorted(needed)
    free = {shorten_test_id(id) for id, outcome in now.items() if outcome == "passed" and id not in wanted}
    return [id for id in wanted if now.get(id) != "passed" and not (id not in now and shorten_test_id(id) in free)]


def describe_lost_tests(lost: Mapping[str, str], now: Mapping[str, str]) -> str:
    """A sentence that names the tests and their steps."""
    gone = [id for id in lost if id not in now]
    what = "is gone" if gone and len(lost) == 1 else "are gone" if len(gone) == len(lost) else "no longer pass"
    what = "no longer passes" if not gone and len(lost) == 1 else what
    named = ", ".join(f"{id} (step {who})" for id, who in list(lost.items())[:NAMED])
    more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
    one = len(lost) == 1
    return (
        f"{len(lost)} {'test' if one else 'tests'} that passed before the merge {what}: {named}{more}. Every test that "
        "passed on either side must exist and pass."
    )
