"""C#, F# and Visual Basic, with `dotnet test`, told to name every test on standard output, one project after the
other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from shlex import quote

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import make_case
from bough.core.verdict.language import Language
from bough.core.verdict.runner import MOST_LINES, Runner

_TEST = r"  (Passed|Failed|Skipped) (\S.*?)(?: \[[^\[\]]*\])?"
_OUTCOMES: dict[str, CaseOutcome] = {"Passed": "passed", "Failed": "failed", "Skipped": "skipped"}


class Dotnet(Runner):
    name = "dotnet"
    settings = r".*\.runsettings"
    program = ("dotnet", "test")
    report_arguments = "--logger 'console;verbosity=normal'"
    ends_arguments = ("--",)
    nameable = ""
    reports_already = r"--logger\b.*console|\s-l\b"
    starts = ((r"[^/]+\.slnx?", "", "dotnet test"),)
    steps = (_TEST,)
    bad = frozenset({"Failed"})
    closes = (
        r"\w+! +- Failed: +(?P<failed>\d{1,9}), Passed: +(?P<passed>\d{1,9}), Skipped: +(?P<skipped>\d{1,9}), Total: .*"
        r"|Total tests: \d{1,9}(?:\nPassed: (?P<passed2>\d{1,9})|\nFailed: (?P<failed2>\d{1,9})"
        r"|\nSkipped: (?P<skipped2>\d{1,9}))*"
    )
    in_parts = True

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        # The arguments of a theory are not part of a test's full name.
        names = sorted({re.sub(r"\(.*", "", one) for one in ids})
        return self.append(command, f"--filter {quote('|'.join(f'FullyQualifiedName={one}' for one in names))}")

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        found: list[tuple[str, CaseOutcome, list[str]]] = []
        for line in lines:
            if test := re.fullmatch(_TEST, line):
                found.append((test[2], _OUTCOMES[test[1]], []))
            elif re.match(r"Total tests: |Test Run |\[xUnit\.net ", line):
                found.append(("", "passed", []))  # What follows belongs to no test.
            elif found and len(found[-1][2]) < MOST_LINES:
                found[-1][2].append(line)
        return [
            make_case(name, outcome, _extract_message(said), "\n".join(said), root=root)
            for name, outcome, said in found
            if name
        ]


def _extract_message(said: Sequence[str]) -> str:
    """The text between `Error Message:` and `Stack Trace:`."""
    text = "\n".join(said)
    match = re.search(r"^  Error Message:\n(.*?)(?:^  Stack Trace:|\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1].strip() if match else ""


class CSharp(Language):
    name = "csharp"
    suffixes = ("cs", "fs", "vb")
    test_names = r"Tests?\.\w+$|^Test[A-Z]"
    comment = "//"
    runners = (Dotnet(),)
    programs = frozenset({"dotnet"})
    no_package = r"error NU1[13]\d\d: .*?([\w.]+)|assets file '[^']*' not found\. Run a NuGet package restore"
    setups = ((r"[^/]+\.(?:slnx?|[cfv][sb]proj)", "dotnet restore"),)
    installs = "dotnet restore"
