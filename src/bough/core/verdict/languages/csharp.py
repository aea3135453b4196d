"""C#, F# and Visual Basic, with `dotnet test`. Added options make it name every test on standard output, project by
project."""

import re
from collections.abc import Sequence
from shlex import quote
from typing import ClassVar

from bough.core.verdict.language import Language
from bough.core.verdict.runner import Runner


class Dotnet(Runner):
    name = "dotnet"
    settings = r".*\.runsettings"
    program = ("dotnet", "test")
    report_arguments = "--logger 'console;verbosity=normal'"
    ends_arguments = ("--",)
    nameable = ""
    reports_already = r"--logger\b.*console|\s-l\b"
    starts = (
        (r"[^/]+\.slnx?", r"\.[cfv][sb]proj\b", "dotnet test"),
        (r"(?:[^/]+/)?[^/]*[Tt]ests?\.[cfv][sb]proj", "", "dotnet test {file}"),
    )
    closes = (
        r"\w+! +- Failed: +(?P<failed>\d{1,9}), Passed: +(?P<passed>\d{1,9}), Skipped: +(?P<skipped>\d{1,9}), Total: .*"
        r"|Total tests: \d{1,9}(?:\nPassed: (?P<passed2>\d{1,9})|\nFailed: (?P<failed2>\d{1,9})"
        r"|\nSkipped: (?P<skipped2>\d{1,9}))*"
    )
    in_parts = True
    named = r"(?P<outcome>Passed|Failed|Skipped) (?P<test>[^:\s].*?)(?: \[[^\[\]]*\])?"
    outcomes: ClassVar = {"Passed": "passed", "Skipped": "skipped"}
    repeated = r"Error Message:|Stack Trace:|Total tests: .*|Test Run .*|\[xUnit\.net .*"

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        # The arguments of a parametrised test (a theory) are not part of its full name.
        names = sorted({re.sub(r"\(.*", "", one) for one in ids})
        return self.append(command, f"--filter {quote('|'.join(f'FullyQualifiedName={one}' for one in names))}")


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
