"""vitest: writes JUnit XML beside its usual output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Said, number, tail, worst
from bough.adapters.verifiers.runners.javascript import JavaScript, no_tests, runs
from bough.adapters.verifiers.runners.jest import by_name

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

    def instrument(self, command: str, report: Path, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        if "--outputFile" in command:
            return command, dict(env)
        options = f"--reporter=default --reporter=junit --outputFile.junit={quote(str(report))}"
        return self.append(command, options) or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, by_name(ids))

    def closing(self, lines: Sequence[str]) -> Said | None:
        end = tail(lines)
        found = []
        for at, line in end:
            if match := re.fullmatch(_TESTS, line.rstrip()):
                files = next((m[1] for _, other in end if (m := re.fullmatch(_FILES, other.rstrip()))), "")
                errors = sum(int(m[1]) for _, other in end if (m := re.fullmatch(_ERRORS, other.rstrip())))
                failed = max(number(match[1], "failed"), number(files, "failed"), errors)
                found.append(Said(at, number(match[1], "passed"), failed, number(match[1], "skipped", "todo")))
            elif no_tests(line):
                found.append(Said(at, 0, 0))
        return worst(found)

    def command(self, look: Look, path: str = "") -> str:
        return f"{runs(look)}vitest run{path}"
