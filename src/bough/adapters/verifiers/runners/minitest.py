"""Minitest and test-unit, which Ruby files run by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Runner, Said, Side, tail, worst
from bough.adapters.verifiers.runners.rspec import bundled

_CLOSING = (
    r"(\d{1,9}) (?:runs|tests), \d+ assertions, (\d{1,9}) failures, (\d{1,9}) errors"
    r"(?:, (\d{1,9}) (?:skips|pendings))?.*"
)


class Minitest(Runner):
    name = "minitest"
    test_side = Side(r"test_.*\.rb|.*_test\.rb")
    suffixes = (".rb",)
    manifests = ("Gemfile",)

    def closing(self, lines: Sequence[str]) -> Said | None:
        found = []
        for at, line in tail(lines):
            if match := re.fullmatch(_CLOSING, line.strip()):
                failed, skipped = int(match[2]) + int(match[3]), int(match[4] or 0)
                found.append(Said(at, max(int(match[1]) - failed - skipped, 0), failed, skipped))
        return worst(found)

    def file(self, path: str, look: Look, test: str) -> str:
        return f"{bundled(look)}ruby -Ilib -Itest {quote(path)}"
