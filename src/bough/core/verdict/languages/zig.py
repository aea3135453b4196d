"""Zig, with `zig test`, which names every test. Tests are in the same files as the code that they test."""

import re
from collections.abc import Sequence
from shlex import quote

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.shell_syntax import Part, get_word
from bough.core.verdict.check_run import make_case
from bough.core.verdict.language import Language
from bough.core.verdict.languages.python.interpreter import find_module_word
from bough.core.verdict.runner import MOST_LINES, Runner, strip_file
from bough.core.verdict.texts import find_closing_brace

_TEST = r"\d+/\d+ (\S*?)\.test\.(.+?)\.\.\.(.*)"
_ENDING = r"(OK|SKIP|FAIL)(?: \(.*\))?"
_OUTCOMES: dict[str, CaseOutcome] = {"OK": "passed", "SKIP": "skipped"}


class Zig(Runner):
    name = "zig"
    suffixes = (".zig",)
    manifests = ("build.zig",)
    starts = ((r"build\.zig", "", "zig build test"),)
    program = ("zig", "test")
    one_file = "zig test {file}"
    closes = (
        r"All (?P<total>\d{1,9}) tests? passed\."
        r"|(?P<passed>\d{1,9}) passed; (?P<skipped>\d{1,9}) skipped; (?P<failed>\d{1,9}) failed\."
    )

    def recognise(self, part: Part, at: int) -> int | None:
        module = find_module_word(part, at, "ziglang")
        if module is not None and get_word(part, module + 1) == "test":
            return module + 1
        return super().recognise(part, at)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, " ".join(f"--test-filter {quote(strip_file(one))}" for one in ids))

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        """Read the tests. A test's output comes between its name and its outcome, and a trace after the outcome."""
        found: list[tuple[str, CaseOutcome, list[str]]] = []
        for line in lines:
            if test := re.fullmatch(_TEST, line):
                found.append((f"{test[1].replace('.', '/')}.zig::{test[2]}", "error", []))
            said = test[3] if test else line
            if found and (ending := re.fullmatch(_ENDING, said)) and found[-1][1] == "error":
                found[-1] = (found[-1][0], _OUTCOMES.get(ending[1], "failed"), found[-1][2])
            elif found and said and len(found[-1][2]) < MOST_LINES:
                found[-1][2].append(said)
        return [make_case(name, outcome, trace="\n".join(said), root=root) for name, outcome, said in found]


class ZigLanguage(Language):
    name = "zig"
    suffixes = ("zig",)
    comment = "//"
    runners = (Zig(),)
    manifests = ("build.zig",)
    programs = frozenset({"zig"})
    frames = r"/lib/std/|/lib/compiler/"

    def find_inner_tests(self, text: str, reported: bool) -> list[tuple[int, int]]:
        heads = re.finditer(r"(?m)^test\b[^{\n]*(?=\{)", text)
        return [(head.start(), find_closing_brace(text, head.end())) for head in heads]
