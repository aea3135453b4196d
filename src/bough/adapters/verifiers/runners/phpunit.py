"""PHPUnit: writes JUnit XML beside its usual output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Found, Runner, Said, Side, leaf, tail, worst
from bough.core.commandline import Part, program

_OK = r"OK \((\d{1,9}) tests?, \d+ assertions?\)"
_COUNTS = r"Tests: (\d{1,9}), Assertions: \d+(?:, [A-Z][A-Za-z ]+: \d{1,9})*\."


class PhpUnit(Runner):
    name = "phpunit"
    test_side = Side(r".*Test\.php", r"phpunit\.xml(\.dist)?|phpunit\.dist\.xml")
    suffixes = (".php",)
    manifests = ("composer.json",)

    def recognise(self, part: Part, at: int) -> int | None:
        if program(part, at) == "php":
            return next((index for index in range(at + 1, len(part)) if program(part, index) == "phpunit"), None)
        return at if program(part, at) in ("phpunit", "phpunit.phar") else None

    def instrument(self, command: str, report: Path, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        if "--log-junit" in command:
            return command, dict(env)
        return self.append(command, f"--log-junit {quote(str(report))}") or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        # `Acme\BufferTest > testInsert with data set "x"`, of which PHPUnit matches `Acme\BufferTest::testInsert`.
        names = sorted({re.escape(leaf(one).split(" with data set ")[0].replace(" > ", "::")) for one in ids})
        return self.append(command, f"--filter {quote('/(' + '|'.join(names) + ')( with data set .*)?$/')}")

    def closing(self, lines: Sequence[str]) -> Said | None:
        found = []
        for at, line in tail(lines):
            ok, counts = re.fullmatch(_OK, line.strip()), re.fullmatch(_COUNTS, line.strip())
            if ok:
                found.append(Said(at, int(ok[1]), 0))
            elif counts:
                failed = _labelled(line, "Failures", "Errors")
                skipped = _labelled(line, "Skipped", "Incomplete")
                found.append(Said(at, max(int(counts[1]) - failed - skipped, 0), failed, skipped))
            elif line.strip() == "No tests executed!":
                found.append(Said(at, 0, 0))
        return worst(found)

    def project(self, look: Look) -> Found | None:
        named = {"phpunit.xml", "phpunit.xml.dist"} & look.files
        return Found("vendor/bin/phpunit", "there is a phpunit.xml", "phpunit.xml") if named else None

    def file(self, path: str, look: Look, test: str) -> str:
        return f"vendor/bin/phpunit {quote(path)}"


def _labelled(text: str, *labels: str) -> int:
    """The sum of the numbers that stand behind these labels."""
    return sum(int(number) for number in re.findall(rf"\b(?:{'|'.join(labels)})[:=] ?(\d{{1,9}})", text))
