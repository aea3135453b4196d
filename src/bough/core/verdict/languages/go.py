"""Go, with `go test`: its events as JSON name every test; without them, the lines that `-v` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote

import msgspec

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import MOST_CASES, count_cases, make_case
from bough.core.verdict.language import Language, PlainProgram, ReadText, Wanted
from bough.core.verdict.paths import parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import MOST_LINES, ClosingLine, ProjectCommand, Runner, strip_file
from bough.core.verdict.texts import Read

_OK = r"ok  \t\S+\t(?:[\d.]+s|\(cached\))((?:\t|  ?)\S.*)?"
_NONE = r"(ok|\?)  +\t\S+\t.*\[no test.*\]"
_BAD = r"FAIL\t\S+(?:\t[\d.]+s| \[(?:build|setup) failed\])"
_LINE = r" *--- (PASS|FAIL|SKIP): (\S+) \(([\d.]+)s\)"
_PACKAGE = r"(?:ok  |FAIL)\t(\S+)(?:\t.*| \[(?:build|setup) failed\])"
_OUTCOMES: dict[str, CaseOutcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class Go(Runner):
    name = "go"
    program = ("go", "test")
    report_flag = "-json"
    ends_arguments = ("-args", "--args")
    suffixes = (".go",)
    manifests = ("go.mod",)
    steps = (r" *--- (PASS|FAIL|SKIP): \S+ \([\d.]+s\)", r'\{.*"Action":"(pass|fail|skip)".*"Test":".*\}')
    bad = frozenset({"FAIL", "fail"})
    probe_path = "probe_{name}_test.go"
    probe_how = (
        "Functions `TestProbe…` in the package that they test, whose folder `folder` names; package clause first. "
        "Their names, and those of helpers, must differ from all others in the package."
    )
    probe_case = r"(?m)^func (TestProbe\w*)\("
    probe_by_name = True
    probe_folder = True
    probe_lines = r"(?m)^--- (?:(?P<passed>PASS)|FAIL|SKIP): (?P<test>TestProbe\w*) "
    probe_broken = (2,)
    no_test = r"\[no test files\]|no tests to run|\[build failed\]"

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        names = sorted({strip_file(one).split("/")[0] for one in ids})
        return self.append(command, f"-count=1 -run {quote('^(' + '|'.join(names) + ')$')}")

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """One line for each package. Without -v a package says only that its tests passed, which counts as one."""
        if events := _parse_events(lines):
            # The last event of a package is its own; without one the run was cut off.
            ended = any(event.Action in _OUTCOMES and not event.Test for event in events)
            told = count_cases("closing line", tuple(_read_events(events, "")))
            return ClosingLine(len(lines) - 1, told.passed, told.failed, told.skipped) if ended else None
        good = [at for at, line in enumerate(lines) if re.fullmatch(_OK, line) and "[no tests to run]" not in line]
        none = [at for at, line in enumerate(lines) if re.fullmatch(_NONE, line)]
        bad = [at for at, line in enumerate(lines) if re.fullmatch(_BAD, line)]
        if not (good or none or bad):
            return None
        kinds = [match[1] for line in lines if (match := re.fullmatch(_LINE, line))]
        passed = max(kinds.count("PASS"), len(good))
        return ClosingLine(max(good + none + bad), passed, max(kinds.count("FAIL"), len(bad)), kinds.count("SKIP"))

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        events = _parse_events(lines)
        return _read_events(events, root) if events else _read_text(lines, root)

    def readable(self, output: str) -> str:
        """The output as `go test -v` would have printed it."""
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

    def probe(self, path: str, command: str, case: str = "") -> str:
        folder, only = parent_folder(path), f"^{case}$" if case else "^TestProbe"
        return f"go test -count=1 -run {quote(only)} {quote(f'./{folder}' if folder else '.')}"

    def probe_together(self, paths: Sequence[str], command: str) -> str:
        folders = {parent_folder(path) for path in paths}
        return f"go test -count=1 -v -run ^TestProbe {' '.join(sorted(quote(f'./{each}') for each in folders))}"


class _GoTestEvent(msgspec.Struct):
    Action: str
    Package: str = ""
    ImportPath: str = ""
    Test: str = ""
    Output: str = ""
    Elapsed: float = 0.0


def _parse_events(lines: Sequence[str]) -> list[_GoTestEvent]:
    """The events of `go test -json` among the lines of an output; other lines are left out."""
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
            # Until it ends: a test that never did was cut off by a panic, an exit or a time limit.
            outcomes[key] = ("error", 0.0)
        elif event.Action in _OUTCOMES and (event.Test or event.Action == "fail"):
            outcomes[key] = (_OUTCOMES[event.Action], event.Elapsed)
    failing = {package for (package, test), (outcome, _) in outcomes.items() if test and outcome in ("failed", "error")}
    cases = []
    for (package, test), (outcome, seconds) in outcomes.items():
        if not test and package in failing:
            continue  # The package failed because of a test that is reported itself.
        said = [out for out in outputs.get((package, test), []) if not re.match(r" *(=== |--- |FAIL\b)", out)]
        name = f"{package}::{test}" if test else package
        kind: CaseOutcome = outcome if test else "error"
        cases.append(make_case(name, kind, None, "".join(said[-MOST_LINES:]), seconds, root))
    return cases


def _read_text(lines: Sequence[str], root: str) -> list[Case]:
    """Tests are printed before the line of their package."""
    cases: list[Case] = []
    waiting: list[tuple[str, CaseOutcome, float, list[str]]] = []
    for line in lines:
        test, package = re.fullmatch(_LINE, line), re.fullmatch(_PACKAGE, line)
        if test:
            waiting.append((test[2], _OUTCOMES[test[1].lower()], float(test[3]), []))
        elif package:
            if line.startswith("FAIL") and not any(outcome == "failed" for _, outcome, _, _ in waiting):
                cases.append(make_case(package[1], "error", line.replace("\t", " "), root=root))
            for name, outcome, seconds, trace in waiting:
                cases.append(make_case(f"{package[1]}::{name}", outcome, None, "\n".join(trace), seconds, root))
            waiting = []
        elif waiting and line.startswith("    ") and len(waiting[-1][3]) < MOST_LINES:
            waiting[-1][3].append(line)
    return cases


_KIT = """
type kitT struct{ failed, fatal bool; said string }

func (t *kitT) note(said string)              { t.failed = true; t.said += said + " " }
func (t *kitT) Error(a ...any)                { t.note(kitfmt.Sprint(a...)) }
func (t *kitT) Errorf(f string, a ...any)     { t.note(kitfmt.Sprintf(f, a...)) }
func (t *kitT) Fatal(a ...any)                { t.Error(a...); t.FailNow() }
func (t *kitT) Fatalf(f string, a ...any)     { t.Errorf(f, a...); t.FailNow() }
func (t *kitT) Fail()                         { t.failed = true }
func (t *kitT) FailNow()                      { t.failed, t.fatal = true, true; panic(t) }
func (t *kitT) Failed() bool                  { return t.failed }
func (t *kitT) Log(a ...any)                  {}
func (t *kitT) Logf(f string, a ...any)       {}
func (t *kitT) Helper()                       {}
func (t *kitT) Parallel()                     {}
func (t *kitT) Name() string                  { return "" }
func (t *kitT) Run(name string, call func(*kitT)) bool {
	inner := &kitT{}
	kitCall(inner, call)
	if inner.failed {
		t.note(name + ": " + inner.said)
	}
	return !inner.failed
}

func kitCall(t *kitT, call func(*kitT)) {
	defer func() {
		if held := recover(); held != nil && held != any(t) {
			t.failed, t.said = false, ""
		}
	}()
	call(t)
}

func KitRun() {
	for name, call := range map[string]func(*kitT){%s} {
		t := &kitT{}
		kitCall(t, call)
		if t.failed {
			kitfmt.Printf("\\n~~ %%s: %%q\\n", name, t.said)
		}
	}
	kitfmt.Println("\\n~~ done")
}
"""


class GoLanguage(Language):
    name = "go"
    suffixes = ("go",)
    test_names = r"_test\.go$"
    context = r"tb?|\w+\.T\(\)"
    comment = "//"
    rank = 3
    runners = (Go(),)
    manifests = ("go.mod",)
    dependency_files = r"(^|/)go\.mod$"
    programs = frozenset({"go"})
    frames = r"/usr/local/go/src"
    no_package = (
        r"(?:no required module provides package|missing go\.sum entry for module providing package"
        r"|cannot find module providing package) (\S+?)[;:]?\s|(go\.mod)(?= file not found)"
        r"|does not contain (main module)|cannot find (main module)"
    )
    too_old = r"\b(?:requires|invalid) ([Gg]o)\b(?: version)?[ '>=]*(\d+(?:\.\d+)*)"
    setups = ((r"go\.mod", "go mod download"),)
    installs = "go mod download"

    def make_program(self, path: str, text: str, wanted: Wanted, command: str, read: Read) -> PlainProgram | None:
        """The tests as functions of the package, and a program that calls them."""
        module, package = (
            re.search(r"(?m)^module\s+(\S+)", read("go.mod") or ""),
            re.search(r"(?m)^package (\w+)$", text),
        )
        names = [
            name
            for name in re.findall(r"(?m)^func (Test\w*)\(\w+ \*testing\.T\)", text)
            if wanted is None or name in wanted
        ]
        imported = re.search(r'(?m)^import "testing"$|^\t"testing"\n', text)
        if not (module and package and names and imported) or package[1] == "main" or "TestMain" in text:
            return None
        folder = parent_folder(path)
        own, outside = f"{module[1]}/{folder}".rstrip("/"), package[1].endswith("_test")
        made = text.replace(imported[0], 'import kitfmt "fmt"\n' if "import" in imported[0] else '\tkitfmt "fmt"\n', 1)
        made = made.replace("testing.T", "kitT")
        made = re.sub(r"\bTest(?=[A-Z_]\w*\()", "Part", made)
        calls = ", ".join(f'"{name}": Part{name[4:]}' for name in names)
        made += _KIT % calls
        if outside:
            program = re.sub(r"(?m)^package \w+$", "package main", made, count=1) + "\nfunc main() { KitRun() }\n"
            return PlainProgram("go run ./parts", {"parts/main.go": program})
        start = f'package main\n\nimport parts "{own}"\n\nfunc main() {{ parts.KitRun() }}\n'
        return PlainProgram("go run ./parts", {"parts/main.go": start, f"{folder}/parts.go".lstrip("/"): made})

    def list_project_names(self, read: ReadText) -> Iterable[str]:
        if module := re.search(r"^module\s+(\S+)", read("go.mod"), re.MULTILINE):
            yield module[1]
