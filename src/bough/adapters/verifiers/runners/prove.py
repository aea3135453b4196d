"""prove, Perl's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from shlex import quote

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Runner, Said, Side, tail

_CLOSING = r"Files=\d+, Tests=(\d{1,9}), +[\d.]+ wallclock secs .*"
_FAILED = r"\S.* \(Wstat: .* Tests: \d+ Failed: (\d{1,9})\)"


class Prove(Runner):
    name = "prove"
    test_side = Side(r".*\.t", r"\.proverc")
    suffixes = (".t",)

    def closing(self, lines: Sequence[str]) -> Said | None:
        end = tail(lines, 400)
        for (at, result), (_, line) in pairwise(end):
            match = re.fullmatch(_CLOSING, line.strip())
            if match and re.fullmatch(r"Result: (PASS|FAIL|NOTESTS)", result.strip()):
                failed = sum(int(m[1]) for _, other in end if (m := re.fullmatch(_FAILED, other.strip())))
                failed = max(failed, int("FAIL" in result))
                return Said(at, max(int(match[1]) - failed, 0), failed)
        return None

    def file(self, path: str, look: Look, test: str) -> str:
        return f"prove -l {quote(path)}"
