"""bun and deno, of which bough reads only the closing lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bough.core.shell_syntax import Part
from bough.core.verdict.languages.javascript.packages import JavaScript, find_manager, find_test_tool
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ClosingLine, find_last_lines


class Bun(JavaScript):
    name = "bun"
    settings = r"bunfig\.toml"

    def recognise(self, part: Part, at: int) -> int | None:
        return None

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        count = r" +(\d{1,9}) (pass|fail|skip|todo)"
        found = {
            m[2]: (at, int(m[1]))
            for at, line in find_last_lines(lines)[::-1]
            if (m := re.fullmatch(count, line.rstrip()))
        }
        if not {"pass", "fail"} <= found.keys():
            return None
        skipped = sum(found[kind][1] for kind in ("skip", "todo") if kind in found)
        return ClosingLine(found["fail"][0], found["pass"][1], found["fail"][1], skipped)

    def chosen(self, look: ProjectFiles) -> bool:
        return not find_test_tool(look) and find_manager(look) == "bun"

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"bun test{path}"


class Deno(JavaScript):
    name = "deno"
    closes = (
        r"(?:ok|FAILED) \| (?P<passed>\d{1,9}) passed(?: \(.*\))? \| (?P<failed>\d{1,9}) failed(?: \(.*\))?"
        r"(?: \| .*)? \(.*\)"
    )

    def recognise(self, part: Part, at: int) -> int | None:
        return None

    def chosen(self, look: ProjectFiles) -> bool:
        return not find_test_tool(look) and bool({"deno.json", "deno.jsonc"} & look.files)

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"deno test -A{path}"
