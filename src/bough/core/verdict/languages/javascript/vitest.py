"""vitest: writes JUnit XML in addition to its usual output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from shlex import quote

from bough.core.verdict.languages.javascript.jest import make_name_pattern
from bough.core.verdict.languages.javascript.packages import (
    PROBE_CASE,
    PROBE_HOW,
    JavaScript,
    make_run_command,
    says_no_tests,
)
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ClosingLine, choose_worst, find_last_lines, sum_numbers

_TESTS = r" +Tests  ((?:\d{1,9} [a-z ]+(?: \| )?)+\(\d{1,9}\)|no tests)"
_FILES = r" +Test Files  ((?:\d{1,9} [a-z ]+(?: \| )?)+\(\d{1,9}\)|no tests)"
_ERRORS = r" +Errors  (\d{1,9}) errors?"


class Vitest(JavaScript):
    name = "vitest"
    settings = r"vite(st)?\.(config|workspace|setup)\..*"
    sections = (("package.json", "vitest"),)
    by_arguments = True
    refusal = r"CACError: Unknown option `--(outputFile|reporter)"
    steps = (r" +(✓|×|↓) .*",)
    bad = frozenset({"×"})
    probe_path = "{at}probe_{name}{suffix}"
    probe_case = PROBE_CASE
    probe_how = f"Import `test` and `expect` from vitest. {PROBE_HOW}"
    no_test = r"No tests found|Cannot use import statement"

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        if "--outputFile" in command:
            return command, dict(env)
        # Naming a reporter switches off the default one, which people and models read.
        options = f"--reporter=default --reporter=junit --outputFile.junit={quote(report)}"
        return self.append(command, options) or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, make_name_pattern(ids))

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        end = find_last_lines(lines)
        found = []
        for at, line in end:
            if match := re.fullmatch(_TESTS, line.rstrip()):
                files = next((m[1] for _, other in end if (m := re.fullmatch(_FILES, other.rstrip()))), "")
                errors = sum(int(m[1]) for _, other in end if (m := re.fullmatch(_ERRORS, other.rstrip())))
                failed = max(sum_numbers(match[1], "failed"), sum_numbers(files, "failed"), errors)
                found.append(
                    ClosingLine(at, sum_numbers(match[1], "passed"), failed, sum_numbers(match[1], "skipped", "todo"))
                )
            elif says_no_tests(line):
                found.append(ClosingLine(at, 0, 0))
        return choose_worst(found)

    def probe(self, path: str, command: str, case: str = "") -> str:
        return f"npx vitest run {quote(path)}"

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"{make_run_command(look)}vitest run{path}"
