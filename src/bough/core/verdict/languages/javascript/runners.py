"""The runners jest, vitest and mocha, which report to a file; npm, pnpm, yarn and bun, which run the test script of
package.json; and what all of them have in common."""

import re
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Any

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.verdict.check_run import make_case
from bough.core.verdict.junit import MOST_TEXT
from bough.core.verdict.paths import find_stem
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner, read_json, strip_file
from bough.core.verdict.texts import parse_object

SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
LOCKS = (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun"))
_NO_TESTS = r"|No tests? (?:files )?found, exiting with code [01]"


class JavaScript(Runner):
    """A JavaScript runner, chosen if it is among a package's dependencies."""

    suffixes = SUFFIXES
    interpreters = ("node", "nodejs", "tsx")

    def chosen(self, look: ProjectFiles) -> bool:
        return find_test_tool(look) == self.name

    def command(self, look: ProjectFiles, path: str = "") -> str:
        """Return the command for one test file of a package (`path`: a blank and the quoted path) or for all tests."""
        return f"{make_run_command(look)}{self.name}{path}"

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if not self.chosen(look):
            return
        own = next((path for path in look if _is_test(path)), None)
        why = f"{self.name} is in package.json" if find_test_tool(look) else f"there are JavaScript tests ({own})"
        if own:
            yield ProjectCommand(self.command(look), why)

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        return self.command(look, f" {quote(path)}") if self.chosen(look) else None

    def home(self, path: str, look: ProjectFiles, manifests: Sequence[str]) -> str:
        """Find the nearest package above the file that has a test tool, or else the nearest package."""
        nearest = home = look.home(path, "package.json")
        while home and not find_test_tool(look.inside(home)):
            home = look.home(home, "package.json")
        return home if find_test_tool(look.inside(home)) else nearest


def _is_test(path: str) -> bool:
    if not path.endswith(SUFFIXES):
        return False
    named = re.search(r"[._-]test$|[._-]spec$|^test-|^test$", find_stem(path))
    return named is not None or "test" in path.split("/")[:-1]


def read_package(look: ProjectFiles) -> dict[str, Any]:
    return parse_object(look.text("package.json")) or {}


def get_table(holder: dict[str, Any], key: str) -> dict[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, dict) else {}


def list_dependencies(look: ProjectFiles) -> dict[str, Any]:
    about = read_package(look)
    return {**get_table(about, "dependencies"), **get_table(about, "devDependencies")}


def find_manager(look: ProjectFiles) -> str:
    named = str(read_package(look).get("packageManager", "")).split("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    for lock, name in LOCKS:
        if lock in look.files:
            return name
    return "npm"


def make_run_command(look: ProjectFiles) -> str:
    return {"npm": "npx --no-install ", "pnpm": "pnpm exec ", "yarn": "yarn ", "bun": "bunx "}[find_manager(look)]


def find_test_tool(look: ProjectFiles) -> str:
    """Find the test tool among a package's dependencies, preferably one that its test script names; may be empty."""
    known, script = list_dependencies(look), str(get_table(read_package(look), "scripts").get("test", ""))
    tools = [name for name in ("vitest", "jest", "mocha") if name in known]
    return next((name for name in tools if re.search(rf"\b{name}\b", script)), tools[0] if tools else "")


def escape_regex(name: str) -> str:
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", name)


_OUTCOMES: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


class _ByTitle(JavaScript):
    """A runner that selects tests by a pattern for their titles."""

    by_arguments = True

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        names = sorted({escape_regex(strip_file(one)).replace(" > ", "( > | )") for one in ids})
        return self.append(command, f"-t {quote('(' + '|'.join(names) + ')$')}")


class Jest(_ByTitle):
    name = "jest"
    program = ("jest",)
    settings = r"jest\.(config|setup)\..*"
    sections = (("package.json", "jest"),)
    report_arguments = "--json --outputFile={report}"
    reports_already = r"--(json|outputFile)\b"
    closes = (
        r"(?:Test Suites: +(?:(?P<least>\d{1,9}) failed, )?(?:\d{1,9} [a-z]+, )*(?:\d+ of )?\d{1,9} total\n)?"
        rf"Tests: +(?P<counts>(?:\d{{1,9}} [a-z]+, )*)\d{{1,9}} total{_NO_TESTS}"
    )

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        return read_json(report, lambda found: _list_jest_cases(found["testResults"], root))

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return super().command(look, f" --runTestsByPath{path}" if path else "")


def _list_jest_cases(files: Iterable[dict[str, Any]], root: str) -> Iterator[Case]:
    for file in files:
        where, tests = file["name"].replace("\\", "/"), file.get("assertionResults", [])
        if file.get("status") == "failed" and not any(test["status"] == "failed" for test in tests):
            # The file itself could not run, so jest lists no failed test in it.
            yield make_case(where, "error", trace=file.get("message", ""), root=root)
        for test in tests:
            trace = "\n".join(test.get("failureMessages", ()))[:MOST_TEXT]
            name = f"{where}::{' > '.join([*test.get('ancestorTitles', ()), test['title']])}"
            seconds = (test.get("duration") or 0) / 1000
            yield make_case(name, _OUTCOMES.get(test["status"], "skipped"), None, trace, seconds, root)


class Vitest(_ByTitle):
    name = "vitest"
    program = ("vitest",)
    settings = r"vite(st)?\.(config|workspace|setup)\..*"
    sections = (("package.json", "vitest"),)
    # Naming a reporter switches off the default one, whose output people and models read: name that as well.
    report_arguments = "--reporter=default --reporter=junit --outputFile.junit={report}"
    reports_already = "--outputFile"
    closes = (
        r"(?:Test Files  (?:(?P<least>\d{1,9}) failed)?.*\n)?Tests  (?P<counts>(?:\d{1,9} [a-z ]+(?: \| )?)+\(\d{1,9}\)"
        rf"|no tests)(?:\nType Errors  .*)?(?:\nErrors  (?P<least2>\d{{1,9}}) errors?)?{_NO_TESTS}"
    )

    def command(self, look: ProjectFiles, path: str = "") -> str:
        return f"{make_run_command(look)}vitest run{path}"


class Mocha(JavaScript):
    name = "mocha"
    program = ("mocha",)
    settings = r"\.mocharc(\..*)?|mocha\.opts"
    sections = (("package.json", "mocha"),)
    # If a command names several reporters, the last one counts. Versions before 9.2 print to standard output anyway.
    report_arguments = "--no-bail --reporter json --reporter-option output={report}"
    by_arguments = True
    closes = (
        r"(?P<passed>\d{1,9}) passing(?: \([\d.]+ ?m?s?\))?(?:\n(?P<skipped>\d{1,9}) pending)?"
        r"(?:\n(?P<failed>\d{1,9}) failing)?"
    )
    near_end = 100_000  # The failures follow the closing line.

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        names = sorted({escape_regex(strip_file(one).replace(" > ", " ")) for one in ids})
        return self.append(command, f"--grep {quote('^(' + '|'.join(names) + ')$')}")

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        return read_json(report, lambda found: _list_mocha_cases(found, root))


def _list_mocha_cases(read: dict[str, Any], root: str) -> Iterator[Case]:
    failures = read.get("failures", [])
    pending, failed = (
        {(test["file"], test["fullTitle"]) for test in each} for each in (read.get("pending", []), failures)
    )
    # A failed hook is not a test, and appears only among the failures.
    for test in [*read["tests"], *(each for each in failures if each["title"].startswith('"'))]:
        key, error = (test["file"], test["fullTitle"]), test.get("err", {})
        outcome: CaseOutcome = "skipped" if key in pending else "failed" if key in failed else "passed"
        group = test["fullTitle"].removesuffix(test["title"]).strip()
        name = f"{test['file']}::{f'{group} > ' if group else ''}{test['title']}"
        message, trace = str(error.get("message", "")), str(error.get("stack", ""))[:MOST_TEXT]
        yield make_case(name, outcome, message, trace, (test.get("duration") or 0) / 1000, root)


_PLACEHOLDER = "no test specified"
_WAITS = r"react-scripts test|\bvitest(?!\s+(?:run|bench|list|\S*--run))|\bng test|--watch(?!All=false)"


class Npm(Runner):
    name = "npm"
    settings = r"\.npmrc|\.yarnrc.*|\.pnpmfile\.cjs|\.pnp\..*"
    sections = (("package.json", "scripts"), ("package.json", "config"), ("package.json", "imports"))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        script = get_table(read_package(look), "scripts").get("test")
        if not isinstance(script, str) or not script.strip() or _PLACEHOLDER in script:
            return
        by = find_manager(look)
        command = "bun run test" if by == "bun" else f"{by} test"
        # Without CI=true a script that watches files would not end. CI is not set for others: some would leave out
        # tests.
        prefix = "env CI=true " if re.search(_WAITS, script) else ""
        yield ProjectCommand(f"{prefix}{command}", "scripts.test in package.json")
