"""C#, F# and Visual Basic, with `dotnet test`."""

from bough.core.verdict.language import Language
from bough.core.verdict.runner import Runner


class Dotnet(Runner):
    name = "dotnet"
    settings = r".*\.runsettings"
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
