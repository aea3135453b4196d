"""bun test."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Said, tail
from bough.adapters.verifiers.runners.javascript import JavaScript, manager, tool
from bough.core.commandline import Part


class Bun(JavaScript):
    name = "bun"

    def recognise(self, part: Part, at: int) -> int | None:
        return None

    def closing(self, lines: Sequence[str]) -> Said | None:
        count = r" +(\d{1,9}) (pass|fail|skip|todo)"
        found = {
            m[2]: (at, int(m[1])) for at, line in reversed(tail(lines)) if (m := re.fullmatch(count, line.rstrip()))
        }
        if not {"pass", "fail"} <= found.keys():
            return None
        skipped = sum(found[kind][1] for kind in ("skip", "todo") if kind in found)
        return Said(found["fail"][0], found["pass"][1], found["fail"][1], skipped)

    def chosen(self, look: Look) -> bool:
        return not tool(look) and manager(look) == "bun"

    def command(self, look: Look, path: str = "") -> str:
        return f"bun test{path}"
