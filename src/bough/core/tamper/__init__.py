"""The tamper gate: were tests, their configuration or the check weakened since the base? Pure, and never raises.

`watched` says which files it wants to see, `inspect` compares them. What counts is what a test run can still find out:
an assertion that was made at the base has to be made now, by a test that the check collects, runs and believes."""

from __future__ import annotations

from collections.abc import Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper.files import watched

__all__ = ["inspect", "watched"]


def inspect(before: Mapping[str, str], after: Mapping[str, str], command: str) -> list[Tampering]:
    """What was weakened, place by place, in the order of paths and lines. Empty: nothing.

    `before` and `after` are the texts of all watched files at the base and now, by path; `command` is the check's."""
    if before == after:
        return []
    # Its many patterns take a tenth of a second to load, which a run that changes nothing need not wait for.
    from bough.core.tamper.gate import compare

    return compare(before, after, command)
