"""Go, with `go test`. Its JSON events name every test; without them, the lines that `-v` prints do."""

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import ClassVar

import msgspec

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import MOST_CASES, count_cases, make_case
from bough.core.verdict.language import Language, Missing
from bough.core.verdict.paths import parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import MOST_LINES, ClosingLine, ProjectCommand, Runner, strip_file

_OUTCOMES: dict[str, CaseOutcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class Go(Runner):
    name = "go"
    program = ("go", "test")
    report_flag = "-json"
    verbose = {"GOFLAGS": "-v"}  # noqa: RUF012
    ends_arguments = ("-args", "--args")
    named = r"(?:--- )?(?P<outcome>PASS|FAIL|SKIP)(?:: |\t)(?P<test>\S+)(?: \([\d.]+s\)| \[(?:build|setup) failed\])"
    outcomes: ClassVar = {"PASS": "passed", "SKIP": "skipped"}
    repeated = r"=== .*|PASS|FAIL|(?:ok  |FAIL)\t.*"
    # One line for each package. Without -v a package reports only "ok", which counts as one test.
    closes = (
        r"(?P<passed>ok)  \t\S+\t(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])(?:(?:\t|  ?)\S.*)?"
        r"|(?:ok|\?)  +\t\S+\t.*\[no test.*\]|(?P<failed>FAIL)\t\S+(?:\t[\d.]+s| \[(?:build|setup) failed\])"
    )
    in_parts = True
    suffixes = (".go",)
    manifests = ("go.mod",)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        names = sorted({strip_file(one).split("/")[0] for one in ids})
        return self.append(command, f"-count=1 -run {quote('^(' + '|'.join(names) + ')$')}")

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        if events := _parse_events(lines):
            # The last event of a package names no test; without such an event the run was cut off.
            ended = any(event.Action in _OUTCOMES and not event.Test for event in events)
            told = count_cases("closing line", tuple(_read_events(events, "")))
            return ClosingLine(len(lines) - 1, told.passed, told.failed, told.skipped) if ended else None
        return super().closing(lines)

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        events = _parse_events(lines)
        return _read_events(events, root) if events else list(super().cases(lines, root))

    def readable(self, output: str) -> str:
        """Return the output as `go test -v` would have printed it."""
        shown = []
        for line in output.splitlines(keepends=True):
            events = _parse_events([line.rstrip("\n")])
            shown.append(events[0].Output if events else line)
        return "".join(shown)

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if "go.mod" in look.files and any(path.endswith("_test.go") for path in look):
            yield ProjectCommand("go test ./...", "there is a go.mod")

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        folder = parent_folder(path)
        return f"go test {quote(f'./{folder}' if folder else '.')}"


class _GoTestEvent(msgspec.Struct):
    Action: str
    Package: str = ""
    ImportPath: str = ""
    Test: str = ""
    Output: str = ""
    Elapsed: float = 0.0


def _parse_events(lines: Sequence[str]) -> list[_GoTestEvent]:
    """Read the events of `go test -json` among the lines of an output; skip other lines."""
    decoder = msgspec.json.Decoder(_GoTestEvent)
    events = []
    for line in lines:
        if line.startswith("{") and '"Action"' in line:
            try:
                events.append(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
    return events


def _read_events(events: Sequence[_GoTestEvent], root: str) -> list[Case]:
    outcomes: dict[tuple[str, str], tuple[CaseOutcome, float]] = {}
    outputs: dict[tuple[str, str], list[str]] = {}
    for event in events[: MOST_CASES * 10]:
        key = (event.Package or event.ImportPath.split(" ")[0], event.Test)
        if event.Action in ("output", "build-output"):
            outputs.setdefault(key, []).append(event.Output)
        elif event.Action == "run":
            # This outcome stays if the test's last event is missing: a panic, an exit or a time limit cut it off.
            outcomes[key] = ("error", 0.0)
        elif event.Action in _OUTCOMES and (event.Test or event.Action == "fail"):
            outcomes[key] = (_OUTCOMES[event.Action], event.Elapsed)
    failing = {package for (package, test), (outcome, _) in outcomes.items() if test and outcome in ("failed", "error")}
    cases = []
    for (package, test), (outcome, seconds) in outcomes.items():
        if not test and package in failing:
            continue  # The package failed because of a test, which has an entry of its own.
        said = [out for out in outputs.get((package, test), []) if not re.match(r" *(=== |--- |FAIL\b)", out)]
        name = f"{package}::{test}" if test else package
        kind: CaseOutcome = outcome if test else "error"
        cases.append(make_case(name, kind, None, "".join(said[-MOST_LINES:]), seconds, root))
    return cases


class GoLanguage(Language):
    name = "go"
    suffixes = ("go",)
    case_path = "cases/{name}/main.go"
    case_command = "go run ./{folder}"
    case_how = (
        "A `package main` that imports the product's packages by the module path and ends with `os.Exit(1)` "
        "where something is not as asked."
    )
    body = r"^func (?:\([^()\n]*\) )?(?!init\()(\w+)(?:(?!^func\b)[^{]){0,999}\{[ \t]*$"
    switch = ' if 1 == {on} { panic("broken on purpose") }'
    loads = r"^(?:var\b|\t\w+ += ).*"
    comment = "//"
    rank = 3
    runners = (Go(),)
    manifests = ("go.mod",)
    dependency_files = r"(^|/)go\.mod$"
    programs = frozenset({"go"})
    frames = r"/usr/local/go/src"
    no_package = (
        r"(?:no required module provides package|missing go\.sum entry for module providing package"
        r"|cannot find module providing package|cannot find package(?= \S+ in any of)) \"?([^\s\"]+?)\"?[;:]?\s"
        r"|(go\.mod)(?= file not found)"
        r"|does not contain (main module)|cannot find (main module)|expects (import \"[^\s\"]+)"
    )
    setups = ((r"go\.mod", "go mod download"),)
    installs = "go mod download"

    def mark_end(self, text: str, mark: str) -> str:
        return re.sub(r"func main\(\) *\{", f'\\g<0>\n\tdefer print("{mark}")', text, count=1)

    def find_missing(self, texts: Iterable[str], manifests: Mapping[str, str], own: set[str]) -> Missing | None:
        found = super().find_missing(texts, manifests, own)
        if found is None or not re.match(r"main module$|go\.mod$|import ", found.name):
            return found
        return Missing("script", "go.mod", language=self.name, module=found.name.partition('"')[2])

    def explain_install(self, missing: Missing, environment: str, prefix: str) -> str:
        if missing.kind == "script":
            name = missing.module or "NAME"
            return f"Make this folder a module: `go mod init {name} && go mod tidy`, where there is network access."
        return super().explain_install(missing, environment, prefix)
