"""Go, with `go test`, which names every test with `-v`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import make_case
from bough.core.verdict.language import Language, Missing
from bough.core.verdict.paths import parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import MOST_LINES, ProjectCommand, Runner, strip_file

_BEGIN = r"=== (?:RUN|CONT|NAME) +(\S+)"
_END = r".*?--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)"
_PACKAGE = r"(ok  |FAIL|\?   )\t(\S+)(?:\t.*| \[.*failed\])"
_OUTCOMES: dict[str, CaseOutcome] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}


class Go(Runner):
    name = "go"
    program = ("go", "test")
    report_flag = "-v"
    verbose = {"GOFLAGS": "-v"}  # noqa: RUF012
    # go prints one closing line for each package. Without -v it says only "ok", which counts as one test.
    closes = (
        r"(?P<passed>ok)  \t\S+\t(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])(?:(?:\t|  ?)\S.*)?"
        r"|(?:ok|\?)  +\t\S+\t.*\[no test.*\]|(?P<failed>FAIL)\t\S+(?:\t[\d.]+s| \[(?:build|setup) failed\])"
    )
    in_parts = True
    suffixes = (".go",)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        names = sorted({strip_file(one).split("/")[0] for one in ids})
        return self.append(command, f"-count=1 -run {quote('^(' + '|'.join(names) + ')$')}")

    def cases(self, lines: Sequence[str], root: str) -> list[Case]:
        """Read the tests. A line belongs to the test that began or continued last, a test to the next package line."""
        cases: list[Case] = []
        tests: dict[str, CaseOutcome] = {}
        said: dict[str, list[str]] = {}
        current = ""
        for line in lines:
            if begun := re.fullmatch(_BEGIN, line):
                current = begun[1]
                # The outcome stays `error` if a panic, an exit or a time limit cuts the test off.
                tests.setdefault(current, "error")
            elif ended := re.fullmatch(_END, line):
                tests[ended[2]] = _OUTCOMES[ended[1]]
            elif package := re.fullmatch(_PACKAGE, line):
                if package[1] == "FAIL" and not {"failed", "error"} & {*tests.values()}:
                    tests[""] = "error"
                # Without modules a package is named by its path, which differs in every checkout.
                place = "." if len(root) > 1 and package[2] == f"_{root.rstrip('/')}" else package[2]
                for test, outcome in tests.items():
                    name = f"{place}::{test}" if test else place
                    cases.append(make_case(name, outcome, None, "\n".join(said.get(test, ())[-MOST_LINES:]), root=root))
                tests, said, current = {}, {"": said.get("", [])}, ""
            elif not re.fullmatch(r"PASS|FAIL|=== .*|exit status \d+|coverage: .*", line):
                said.setdefault(current, []).append(line)
        return cases

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if "go.mod" in look.files and any(path.endswith("_test.go") for path in look):
            yield ProjectCommand("go test ./...", "there is a go.mod")

    def file(self, path: str, look: ProjectFiles, test: str) -> str:
        folder = parent_folder(path)
        return f"go test {quote(f'./{folder}' if folder else '.')}"


class GoLanguage(Language):
    name = "go"
    suffixes = ("go",)
    case_path = "cases/{name}/main.go"
    case_command = "go run ./{folder}"
    case_how = "A `package main` that imports the product's packages and calls `os.Exit(1)` where it is not as asked."
    body = r"^func (?:\([^()\n]*\) )?(?!init\()(\w+)(?:(?!^func\b)[^{]){0,999}\{[ \t]*$"
    switch = ' if 1 == {on} { panic("broken on purpose") }'
    comment = "//"
    rank = 3
    runners = (Go(),)
    manifests = ("go.mod",)
    dependency_files = r"(^|/)go\.mod$"
    programs = frozenset({"go"})
    frames = r"/usr/local/go/src"
    moved = r"# \S+ \["
    no_package = (
        r"(?:no required module provides package|missing go\.sum entry for module providing package"
        r"|cannot find module providing package|cannot find package(?= \S+ in any of)) \"?([^\s\"]+?)\"?[;:]?\s"
        r"|(go\.mod)(?= file not found)"
        r"|does not contain (main module)|cannot find (main module)|expects (import \"[^\s\"]+)"
    )
    setups = ((r"go\.mod", "go mod download"),)
    installs = "go mod download"
    gets = "GO111MODULE=off go get {}"

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
