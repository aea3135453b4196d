"""CTest."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bough.adapters.verifiers.runners.base import Runner, Said, Side, tail, worst

_CLOSING = r"\d{1,3}% tests passed, (\d{1,9}) tests? failed out of (\d{1,9})"


class CTest(Runner):
    name = "ctest"
    test_side = Side(config=r"CTest(Custom|Config)\.cmake")

    def closing(self, lines: Sequence[str]) -> Said | None:
        found = []
        for at, line in tail(lines, 400):  # The list of those that failed follows.
            if match := re.fullmatch(_CLOSING, line.strip()):
                found.append(Said(at, max(int(match[2]) - int(match[1]), 0), int(match[1])))
            elif line.strip() == "No tests were found!!!":
                found.append(Said(at, 0, 0))
        return worst(found)
