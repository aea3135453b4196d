"""deno test."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Said, tail, worst
from bough.adapters.verifiers.runners.javascript import JavaScript, tool
from bough.core.commandline import Part

_CLOSING = r"(?:ok|FAILED) \| (\d{1,9}) passed(?: \(.*\))? \| (\d{1,9}) failed(?: \(.*\))?(?: \| .*)? \(.*\)"


class Deno(JavaScript):
    name = "deno"

    def recognise(self, part: Part, at: int) -> int | None:
        return None

    def closing(self, lines: Sequence[str]) -> Said | None:
        matches = [(at, match) for at, line in tail(lines) if (match := re.fullmatch(_CLOSING, line.strip()))]
        return worst([Said(at, int(match[1]), int(match[2])) for at, match in matches])

    def chosen(self, look: Look) -> bool:
        return not tool(look) and bool({"deno.json", "deno.jsonc"} & look.files)

    def command(self, look: Look, path: str = "") -> str:
        return f"deno test -A{path}"
