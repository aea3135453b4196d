"""mocha: writes its own JSON to a file, in place of its usual output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote

import msgspec

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.cases import MOST_CASES, deduplicate, make_case
from bough.core.verdict.junit import MOST_TEXT
from bough.core.verdict.languages.javascript.packages import JavaScript, escape_regex
from bough.core.verdict.runner import ClosingLine, decode_report, strip_file

_COUNTS = r" +(\d{1,9}) (passing|failing|pending)(?: \([\d.]+ ?m?s?\))?"


class Mocha(JavaScript):
    name = "mocha"
    settings = r"\.mocharc(\..*)?|mocha\.opts"
    sections = (("package.json", "mocha"),)
    by_arguments = True

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        # Of several reporters the last one counts. Versions before 9.2 print to standard output anyway.
        options = f"--no-bail --reporter json --reporter-option {quote(f'output={report}')}"
        return self.append(command, options) or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        names = sorted({escape_regex(strip_file(one).replace(" > ", " ")) for one in ids})
        return self.append(command, f"--grep {quote('^(' + '|'.join(names) + ')$')}")

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        if (read := decode_report(report, _Mocha)) is None:
            return None
        pending = {test.key for test in read.pending}
        failed = {test.key for test in read.failures}
        cases = []
        # A failed hook is not a test, and appears only among the failures.
        for test in [*read.tests, *(each for each in read.failures if each.title.startswith('"'))][:MOST_CASES]:
            outcome: CaseOutcome = "skipped" if test.key in pending else "failed" if test.key in failed else "passed"
            group = test.fullTitle.removesuffix(test.title).strip()
            name = f"{test.file}::{f'{group} > ' if group else ''}{test.title}"
            message, trace = str(test.err.get("message", "")), str(test.err.get("stack", ""))[:MOST_TEXT]
            cases.append(make_case(name, outcome, message, trace, (test.duration or 0) / 1000, root))
        return deduplicate(cases)

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """Its failures follow the counts, so the whole output is searched for the counts; `passing` begins them."""
        starts = [
            at for at, line in enumerate(lines) if (m := re.fullmatch(_COUNTS, line.rstrip())) and m[2] == "passing"
        ]
        if not starts:
            return None
        counts = {"passing": 0, "failing": 0, "pending": 0}
        for line in lines[starts[-1] : starts[-1] + 3]:
            if match := re.fullmatch(_COUNTS, line.rstrip()):
                counts[match[2]] = int(match[1])
        return ClosingLine(starts[-1], counts["passing"], counts["failing"], counts["pending"])


class _Test(msgspec.Struct):
    title: str = ""
    fullTitle: str = ""
    file: str = ""
    duration: float | None = None
    err: dict[str, object] = {}

    @property
    def key(self) -> tuple[str, str]:
        return self.file, self.fullTitle


class _Mocha(msgspec.Struct):
    tests: list[_Test]
    pending: list[_Test] = []
    failures: list[_Test] = []
