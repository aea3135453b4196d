"""All that bough has to know about a test runner. To add a runner, write a subclass of `Runner` in the file of its
language; the conformance suite then tests it.

Nothing here changes which tests a command selects. The added options make the runner write a report, name its tests, or
continue after the first failure, which would hide every later one. The agent's code runs in the process that writes the
report, so it is compared with the runner's closing lines, and the exit status counts too. Patterns are strings, which
`re` compiles at first use: a run meets one or two runners.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from shlex import quote
from typing import Any, ClassVar, NamedTuple

import msgspec

from bough.core.acceptance.verdict import Case, CaseOutcome
from bough.core.shell_syntax import (
    Part,
    find_programs,
    find_scripts,
    find_subcommand,
    get_program_name,
    insert_arguments,
    split_commands,
)
from bough.core.verdict.check_run import deduplicate, make_case
from bough.core.verdict.junit import LARGEST, read_junit
from bough.core.verdict.project_files import ProjectFiles

NEAR_END = 60
"""How many lines from the end a closing line may be: hints, coverage tables and errors of make may follow it."""
MOST_LINES = 60
"""The maximum number of lines that are kept of one test's output; the last ones are kept."""


class ClosingLine(NamedTuple):
    """The numbers in a runner's closing lines, and the index of the line."""

    line: int
    passed: int
    failed: int
    skipped: int = 0
    doubtful: int = 0
    """How many of the passed tests may not be tests at all."""


class ProjectCommand(NamedTuple):
    """A project's own test command."""

    command: str
    why: str


class Runner:
    """One test runner. Subclasses need not override every method; bough then learns less about a run, and says so."""

    name: ClassVar[str]
    settings: ClassVar[str] = ""
    """Pattern for names of files that only configure this runner."""
    sections: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Tables that only configure this runner, as pairs of a file and a table; tables below it are included."""
    scripts: ClassVar[str] = ""
    """Pattern for names of files that define what the runner runs; they belong to the tests if the check uses it."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of test files that the runner can run one by one."""
    runs_tests_of: ClassVar[tuple[str, ...]] = ()
    """Names of other runners whose tests this one runs too."""
    wraps: ClassVar[bool] = False
    """Whether the runner creates an environment and runs another runner in that."""
    reporting: ClassVar[str] = ""
    """Pattern for arguments that change the report or the speed, but not the selection of tests."""
    starts: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """A pattern for a path, one for its text, and the command for such a project. The first match counts."""
    always_reports: ClassVar[bool] = False
    """Whether the runner writes a report in every complete run, even if its output is discarded."""
    nameable: ClassVar[str] = "::"
    """Pattern for ids of tests that can be run by name, unlike files that failed to load."""
    unique_ids: ClassVar[str] = ""
    """Pattern for ids that always mean one test, however often they are reported; several tests may share other ids."""
    interpreters: ClassVar[tuple[str, ...]] = ()
    """Interpreters that can start the runner's program by its path."""
    program: ClassVar[tuple[str, ...]] = ()
    """The runner's program, followed by the subcommands that run tests (none if it has no other subcommands)."""
    report_flag: ClassVar[str] = ""
    """Flag right after the program's name that makes the runner name its tests, or continue after a failure."""
    report_arguments: ClassVar[str] = ""
    """Arguments at the end of the command that make the runner write a report to `{report}`."""
    reports_already: ClassVar[str] = ""
    """Pattern for commands that already ask for a report; they get no other, since the project may need theirs."""
    one_file: ClassVar[str] = ""
    """Command that runs one test file, with `{file}` for its path."""
    by_arguments: ClassVar[bool] = False
    """Whether arguments at the end of the command make the runner report, even through one script of package.json."""
    by_environment: ClassVar[bool] = False
    """Whether environment variables make the runner report, through any number of scripts."""
    placeholder: ClassVar[str] = ""
    """Pattern for the `id: message` that the runner reports in place of a test that does not exist."""
    closes: ClassVar[str] = ""
    """Pattern for the closing lines as printed, without indentation and empty lines. Groups hold the counts: `passed`,
    `failed`, `skipped` and `total`, also with a digit appended (1 if the group is no number); `counts`, in which each
    number stands before a word; and `least`, the minimum number of failures (likewise)."""
    in_parts: ClassVar[bool] = False
    """Whether the runner prints closing lines for each part of a run, so that their counts must be added."""
    near_end: ClassVar[int] = NEAR_END
    """Number of lines at the end within which closing lines count, unless the runner reports in parts."""
    named: ClassVar[str] = ""
    """Pattern for lines that report a `test` and its `outcome`; `skipped`: it did not run; `said`: its message."""
    outcomes: ClassVar[Mapping[str, CaseOutcome]] = {}
    """Meaning of the outcomes in `named`; any other outcome is a failure."""
    repeated: ClassVar[str] = ""
    """Pattern for lines among a test's output that only repeat known counts."""
    left_out: ClassVar[str] = ""
    """Pattern for passages that name tests which were skipped."""
    said_before: ClassVar[bool] = False
    """Whether a test's output stands before the line that reports the test (`named`), and not after it."""
    verbose: ClassVar[Mapping[str, str]] = {}
    """Variables that make the runner name its tests even if the command does not show the runner (`make test`)."""

    def recognise(self, part: Part, at: int) -> int | None:
        """Return the index of the last word of the runner's name (program, subcommand) if it starts at `at`."""
        if get_program_name(part, at) in self.interpreters:
            at += 1
            while at < len(part) and not self._is_program(part, at):
                at += 1
        if at == len(part) or not self._is_program(part, at):
            return None
        return find_subcommand(part, at, *self.program[1:]) if self.program[1:] else at

    def _is_program(self, part: Part, at: int) -> bool:
        return re.sub(r"\.(?:m?js|phar)$", "", get_program_name(part, at)) in self.program[:1]

    def place(self, command: str) -> tuple[Part, int] | None:
        """Find the runner's last use in a command line: the simple command, and the index of its name's last word."""
        for part in reversed(split_commands(command)):
            for at in find_programs(part):
                if (head := self.recognise(part, at)) is not None:
                    return part, head
        return None

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return the command and its environment, changed so that the runner writes a report to `report` if it can."""
        if self.report_flag:
            command = self.put_in(command, self.report_flag)
        if self.report_arguments and not re.search(self.reports_already or r"(?!)", command):
            command = self.append(command, self.report_arguments.replace("{report}", quote(report))) or command
        return command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        """Return the command that runs only these tests, or a few more of the same name; None if that is impossible."""
        return None

    def append(self, command: str, arguments: str) -> str | None:
        """Return the command with more arguments for this runner, if need be through a script of package.json."""
        if found := self.place(command):
            own = list(
                takewhile(lambda word: word.text not in ("-args", "--args"), found[0])
            )  # Go's: the program's own.
            return insert_arguments(command, own[-1].end, arguments)
        behind = find_scripts(command)
        if len(behind) != 1 or not self.by_arguments:
            return None
        [script] = behind
        return insert_arguments(command, script.part[-1].end, f"{script.separator}{arguments}")

    def put_in(self, command: str, flag: str) -> str:
        found = self.place(command)
        if found is None or any(word.text == flag for word in found[0]):
            return command
        part, head = found
        return insert_arguments(command, part[head].end, flag)

    # Reading reports and output. Programs that run the agent's code wrote these, so no reader raises an error.

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        """Read the tests from the report that `instrument` asked for; None if it is no such report."""
        return read_junit(report, root)

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """Read the counts in the closing lines; None if there are none. A mere word like OK does not count."""
        if not self.closes:
            return None
        kept = find_last_lines(lines, len(lines) if self.in_parts else self.near_end)[::-1]
        text = "\n".join(line.strip() for _, line in kept)
        found = list(re.finditer(rf"(?m)^(?:{self.closes})$", text))
        if not found:
            return None
        line = kept[text.count("\n", 0, found[-1].end())][0]
        said = [_read_closing(line, match) for match in found]
        if not self.in_parts:
            return choose_worst(said)
        return ClosingLine(line, sum(s.passed for s in said), sum(s.failed for s in said), sum(s.skipped for s in said))

    def cases(self, lines: Sequence[str], root: str) -> Iterable[Case]:
        found: list[tuple[re.Match[str], list[str]]] = []
        said: list[str] = []
        lines = re.sub(self.left_out, "", "\n".join(lines)).split("\n") if self.left_out else lines
        for line in lines if self.named else ():
            if match := re.fullmatch(self.named, line.strip()):
                found.append((match, said if self.said_before else []))
                said = [] if self.said_before else found[-1][1]
            elif line.strip() and not (self.repeated and re.fullmatch(self.repeated, line.strip())):
                said.append(line.rstrip())
        for match, after in found:
            told = [*filter(None, [match.groupdict().get("said")]), *after]
            known = self.outcomes.get(match["outcome"] or "", "failed")
            outcome: CaseOutcome = "skipped" if match.groupdict().get("skipped") else known
            yield make_case(match["test"], outcome, told[0] if told else "", "\n".join(told[-MOST_LINES:]), root=root)

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        """List the commands that may run all tests of the project in this folder, the likeliest first."""
        yield from find_commands(self.starts, look)

    def strip_reporting(self, command: str) -> str | None:
        """Return the arguments of a command that select tests; None if they cannot be separated from others."""
        found = self.place(command)
        if found is None:
            return None
        part, head = found
        rest = command[part[head].end : part[-1].end]
        return " ".join(re.sub(self.reporting, " ", f" {rest} ").split()) if self.reporting else rest.strip()

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        """Return the command that runs one test file (or one test in it). The file need not exist yet."""
        return self.one_file.replace("{file}", quote(path)) or None

    def home(self, path: str, look: ProjectFiles, manifests: Sequence[str]) -> str:
        """Find the folder in which the runner must be started for a test file, by the manifests of its language."""
        return look.home(path, *manifests)

    def find_targets(self, look: ProjectFiles) -> tuple[str, frozenset[str]]:
        """Return the file that defines this runner's targets in the project, and their names; both may be empty."""
        return "", frozenset()


def find_commands(rows: Iterable[tuple[str, str, str]], look: ProjectFiles) -> Iterable[ProjectCommand]:
    """Find the commands that fit a project: each row has a pattern for a path, one for its text, and the command."""
    for path, text, command in rows:
        fitting = filter(re.compile(path).fullmatch, look.near)
        if named := next((near for near in fitting if not text or re.search(text, look.text(near))), ""):
            yield ProjectCommand(command.replace("{file}", quote(named)), f"there is a {named}")


def find_last_lines(lines: Sequence[str], near: int = NEAR_END) -> list[tuple[int, str]]:
    """Return the last non-empty lines with their indexes, the last line first."""
    found = ((at, lines[at]) for at in range(len(lines) - 1, -1, -1) if lines[at].strip())
    return list(islice(found, near))


KINDS = {
    "passed": r"x?pass(?:ed|es|ing)?|ok|success(?:es|ful)?|succeeded",
    "failed": r"(?:exec |subtests )?fail(?:ed|ures?|s|ing)?|err(?:ors?|ored)?(?:\(s\))?|timed out",
    "skipped": r"(?:subtests )?skip(?:ped|s)?|pending|ignored|todo|disabled|xfailed",
    "total": r"tests?|specs?|(?:test )?cases?|examples?|checks?|assertions?|total",
}
"""Words for the kinds of counts."""


def _read_closing(line: int, match: re.Match[str]) -> ClosingLine:
    counts: Counter[str] = Counter()
    least = 0
    for group, said in match.groupdict(default="").items():
        kind = group.rstrip("0123456789")
        if kind == "counts":
            told = {kind: re.findall(rf"(\d{{1,9}}) (?:{words})(?!\w)", said) for kind, words in KINDS.items()}
            counts.update({kind: sum(map(int, numbers)) for kind, numbers in told.items() if numbers})
        elif kind == "least":
            least = max(least, int(said) if said.isdecimal() else int(bool(said)))
        elif said:
            counts[kind] += int(said) if said.isdecimal() else 1
    return make_closing(line, {**counts, "failed": max(counts["failed"], least)} if least else counts)


def make_closing(line: int, told: Mapping[str, int]) -> ClosingLine:
    """Make a closing line from numbers of tests by kind (`told`); missing numbers are computed from the others."""
    skipped, total = told.get("skipped", 0), told.get("total", 0)
    passed = told.get("passed", max(total - told.get("failed", 0) - skipped, 0))
    return ClosingLine(line, passed, told.get("failed", max(total - passed - skipped, 0)), skipped)


def choose_worst(found: Sequence[ClosingLine]) -> ClosingLine | None:
    """Combine several closing lines near the end into the worst case: each may report on different tests."""
    if not found:
        return None
    line, passed, failed, skipped, _ = zip(*found, strict=True)
    return ClosingLine(max(line), min(passed), max(failed), max(skipped))


def join_options(before: str | None, added: str) -> str:
    return f"{before} {added}" if before and before.strip() else added


def strip_file(id: str) -> str:
    return id.split("::", 1)[1]


def read_json(report: bytes, list_cases: Callable[[Any], Iterable[Case]]) -> tuple[Case, ...] | None:
    """Read a report in JSON; None if it is not of the form that `list_cases` takes apart."""
    if len(report) > LARGEST:
        return None
    try:
        return deduplicate(list_cases(msgspec.json.decode(report)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError, KeyError, TypeError):
        return None
