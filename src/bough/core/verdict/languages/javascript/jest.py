"""jest: writes its own JSON to a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote

import msgspec

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.shell_syntax import Part, get_program_name, get_word
from bough.core.verdict.cases import MOST_CASES, deduplicate, make_case
from bough.core.verdict.junit import MOST_TEXT
from bough.core.verdict.languages.javascript.packages import (
    PROBE_CASE,
    PROBE_HOW,
    JavaScript,
    escape_regex,
    says_no_tests,
)
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import (
    ClosingLine,
    choose_worst,
    decode_report,
    find_last_lines,
    strip_file,
    sum_numbers,
)

_SUITES = r"Test Suites: +((?:\d{1,9} [a-z]+, )*)(?:\d+ of )?\d{1,9} total"
_TESTS = r"Tests: +((?:\d{1,9} [a-z]+, )*)\d{1,9} total"
_OUTCOMES: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


class Jest(JavaScript):
    name = "jest"
    settings = r"jest\.(config|setup)\..*"
    sections = (("package.json", "jest"),)
    by_arguments = True
    stopped = r"Test Suites: .*\b\d+ of \d+ total"
    steps = (r" +(✓|✕|○|✎) .*",)
    bad = frozenset({"✕"})
    probe_path = "{at}probe_{name}{suffix}"
    probe_case = PROBE_CASE
    probe_how = PROBE_HOW
    no_test = r"No tests found|Cannot use import statement"

    def recognise(self, part: Part, at: int) -> int | None:
        if get_program_name(part, at) == "react-scripts" and get_word(part, at + 1) == "test":
            return at + 1
        return super().recognise(part, at)

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        # The project's own report is needed where its tools expect it.
        if re.search(r"--(json|outputFile)\b", command):
            return command, dict(env)
        return self.append(command, f"--json --outputFile={quote(report)}") or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, make_name_pattern(ids))

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        if (read := decode_report(report, _Jest)) is None:
            return None
        cases: list[Case] = []
        for file in read.testResults[:MOST_CASES]:
            where = file.name.replace("\\", "/")
            if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
                # The file itself could not run: jest then lists no test of it.
                cases.append(make_case(where, "error", file.message.strip().split("\n")[0], file.message, root=root))
            for test in file.assertionResults:
                trace = "\n".join(test.failureMessages)[:MOST_TEXT]
                name = f"{where}::{' > '.join([*test.ancestorTitles, test.title])}"
                first = next((line for line in trace.split("\n") if line.strip()), "")
                seconds = (test.duration or 0) / 1000
                cases.append(make_case(name, _OUTCOMES.get(test.status, "skipped"), first, trace, seconds, root))
        return deduplicate(cases)

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        end = find_last_lines(lines)
        found = []
        for at, line in end:
            if match := re.fullmatch(_TESTS, line.strip()):
                suites = next((m[1] for _, other in end if (m := re.fullmatch(_SUITES, other.strip()))), "")
                failed = max(sum_numbers(match[1], "failed"), sum_numbers(suites, "failed"))
                skipped = sum_numbers(match[1], "skipped", "todo", "pending", "disabled")
                found.append(ClosingLine(at, sum_numbers(match[1], "passed"), failed, skipped))
            elif says_no_tests(line):
                found.append(ClosingLine(at, 0, 0))
        return choose_worst(found)

    def probe(self, path: str, command: str, case: str = "") -> str:
        return f"npx jest --runTestsByPath {quote(path)}"

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return super().command(look, f" --runTestsByPath{path}" if path else "")


def make_name_pattern(ids: Sequence[str]) -> str:
    names = sorted({escape_regex(strip_file(one)).replace(" > ", "( > | )") for one in ids})
    return f"-t {quote('(' + '|'.join(names) + ')$')}"


class _Assertion(msgspec.Struct):
    status: str = ""
    title: str = ""
    ancestorTitles: list[str] = []
    failureMessages: list[str] = []
    duration: float | None = None


class _File(msgspec.Struct):
    name: str = ""
    status: str = ""
    message: str = ""
    assertionResults: list[_Assertion] = []


class _Jest(msgspec.Struct):
    testResults: list[_File]
