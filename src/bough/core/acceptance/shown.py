"""What shows that a requirement is met."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

How = Literal[
    "check", "tests", "probe", "author", "speed", "upgrade", "document", "coverage", "restructure", "unchanged"
]
"""The person's check, or tests that were there, fail without the work; a probe does; only a test of the author's does;
the check is faster; or there is nothing to run: a version, documents, tests or the code's form changed, nothing else
did."""


class Shown(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The evidence that the work made the difference for a requirement."""

    number: int
    how: How
    by: tuple[str, ...] = ()
    """Names of the tests or probes; the first ones."""


class Difference(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What bough has seen of a change, apart from running the check on it."""

    check: bool = False
    """The person's own check fails without the work."""
    code: bool = True
    """It changes what runs; not only documents, comments, formatting or names."""
    documents: bool = False
    """It changes documents or comments."""
    interface: bool = False
    """The names that are defined, their arguments or the files that they are in differ."""
    tests: tuple[str, ...] | None = None
    """New tests of the agent's that fail without the work; None: not tried."""
    version: bool = False
    """A version in a file that is no code differs."""
    faster: bool = False
    """The check takes clearly less time than before the work."""
