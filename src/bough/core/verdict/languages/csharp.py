"""C#, F# and Visual Basic, with `dotnet test`; added options make it name every test on standard output, one project
after the other."""

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
    starts = ((r"[^/]+\.slnx?", r"\.[cfv][sb]proj\b", "dotnet test"),)
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
        """Read the tests; what a test printed follows its line."""
        after = r"  (?:Passed|Failed|Skipped) |Total tests: |Test Run |\[xUnit\.net "
        cases = []
        for test in re.finditer(rf"(?m)^{_TEST}$((?:\n(?!{after}).*)*)", "\n".join(lines)):
            trace = "\n".join(test[3].split("\n")[1 : MOST_LINES + 1])
            said = re.search(r"(?ms)^  Error Message:\n(.*?)(?:^  Stack Trace:|\Z)", trace)
            cases.append(make_case(test[2], _OUTCOMES[test[1]], said[1] if said else "", trace, root=root))
        return cases


class CSharp(Language):
    name = "csharp"
    suffixes = ("cs", "fs", "vb")
    comment = "//"
    runners = (Dotnet(),)
    programs = frozenset({"dotnet"})
    no_package = r"error NU1[13]\d\d: .*?([\w.]+)|assets file '[^']*' not found\. Run a NuGet package restore"
    setups = ((r"[^/]+\.(?:slnx?|[cfv][sb]proj)", "dotnet restore"),)
    installs = "dotnet restore"
    body = (
        r"^[ \t]+(?:(?:public|private|protected|internal|static|override|virtual|async|sealed)\s+)+[\w.?]+"
        r"(?:<[^(){};=]{0,999}>)?(?:\[\])?\s+(\w+)(?:<[\w, ]+>)?\s*\([^(){};]{0,999}\)\s*\{"
    )
    switch = 'int.Parse("{on}".Replace("1", "broken on purpose"));'
