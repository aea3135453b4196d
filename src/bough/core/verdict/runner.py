"""What bough has to know about a test runner, and nothing else. A new one is a subclass in the file of its language;
the conformance suite then tests it all.

Nothing here changes which tests a command selects. What is added makes the runner write a report, name its tests, or
continue after the first failure: the failing set must be complete, or an old failure would hide every later one. The
report is written by a process that also runs the agent's code, so it is a witness and not a judge: it is compared with
the runner's closing line, and the exit status counts too.

Patterns are strings, which `re` compiles when they are first used: a run meets one or two runners, and all of them
would take longer to compile than the rest of bough to start.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from shlex import quote
from typing import ClassVar, NamedTuple, TypeVar

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
from bough.core.verdict.check_run import make_case
from bough.core.verdict.junit import LARGEST, read_junit
from bough.core.verdict.project_files import ProjectFiles

NEAR_END = 60
"""How many lines from the end a closing line may be: below it come hints, coverage tables, and make's own errors."""
MOST_LINES = 60
"""The most lines of one test's output that are kept: the last ones."""


class ClosingLine(NamedTuple):
    """What a runner's closing lines say, and where."""

    line: int
    passed: int
    failed: int
    skipped: int = 0
    doubtful: int = 0
    """How many of those that passed may not be tests at all."""


class ProjectCommand(NamedTuple):
    """A project's own test command."""

    command: str
    why: str
    alone: bool = False
    """Nothing else here could run the tests: it comes before all others."""


class Runner:
    """One test runner. Every method is optional: then bough knows less, and says so."""

    name: ClassVar[str]
    settings: ClassVar[str] = ""
    """Files that only configure its test runs, as a pattern of their names."""
    sections: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Tables that only configure its test runs, in files with other content: pairs of a file and a table, which stands
    for everything below it too."""
    scripts: ClassVar[str] = ""
    """Files that say what it runs, as a pattern of their names: test side where the check runs it."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the test files that it can run one by one."""
    manifests: ClassVar[tuple[str, ...]] = ()
    """Files of the folder from which it runs."""
    runs_tests_of: ClassVar[tuple[str, ...]] = ()
    """Other runners whose tests it runs too."""
    wraps: ClassVar[bool] = False
    """It prepares an environment and runs another runner in it."""
    reporting: ClassVar[str] = ""
    """Arguments that change what it reports or how fast, and not which tests it runs, as a pattern."""
    starts: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """What shows that a project uses it, and the command that then runs all its tests: the path of a file and a text
    in it, as patterns, and the command. The first that fits counts."""
    always_reports: ClassVar[bool] = False
    """It always writes a report: without one it did not finish, even where its output is discarded."""
    nameable: ClassVar[str] = "::"
    """Ids of tests that can be requested by name, not of files that did not load, or packages that did not build, as a
    pattern."""
    unique_ids: ClassVar[str] = ""
    """Ids of which a repeated one is the same test, as a pattern; elsewhere two tests may well share a name."""
    interpreters: ClassVar[tuple[str, ...]] = ()
    """Programs that run it by the path of its program."""
    program: ClassVar[tuple[str, ...]] = ()
    """How it is called: its program, and the subcommands of it that run tests, if it has others."""
    report_flag: ClassVar[str] = ""
    """A flag right after its name that makes it name its tests, or continue after the first failure."""
    report_arguments: ClassVar[str] = ""
    """Arguments at the end of its command that make it report; `{report}` is where to."""
    ends_arguments: ClassVar[tuple[str, ...]] = ()
    """Words after which what follows is not for it."""
    reports_already: ClassVar[str] = ""
    """What shows that a command asks for a report of its own, as a pattern: the project's tools may expect that one."""
    one_file: ClassVar[str] = ""
    """The command that runs one test file, which is `{file}` in it."""
    by_arguments: ClassVar[bool] = False
    """It reports by arguments at the end of its command, even through one script of package.json."""
    by_environment: ClassVar[bool] = False
    """It reports by variables, even through any number of scripts."""
    placeholder: ClassVar[str] = ""
    """What it reports in place of a test that does not exist, as a pattern of the id and the message, `: ` between."""
    closes: ClassVar[str] = ""
    """Its closing lines, exactly as it prints them, without indentation and empty lines, as a pattern with the counts
    as groups: `passed`, `failed`, `skipped` and `total`, also with a digit appended; in a group `counts`, each stands
    before a word; a group `least` says how many failed at least: one where it is no number."""
    in_parts: ClassVar[bool] = False
    """It prints such lines for each part: together they are the run."""
    near_end: ClassVar[int] = NEAR_END
    """How many lines from the end they may be, where there are no parts."""
    named: ClassVar[str] = ""
    """Lines that report one test each by its name, as a pattern with the groups `test` and `outcome`; where
    a group `skipped` is not empty, it did not run; a group `said` is the beginning of its message."""
    outcomes: ClassVar[Mapping[str, CaseOutcome]] = {}
    """What the outcomes in `named` mean; any other is a failure."""
    unnamed: ClassVar[str] = ""
    """Parts of its output that look like `named` and report no test that ran, as a pattern."""
    repeated: ClassVar[str] = ""
    """Lines between those that only count what is known already, as a pattern."""
    said_before: ClassVar[bool] = False
    """What a test printed stands before such a line; otherwise after it."""
    probe_path: ClassVar[str] = ""
    """Where a case goes that only a runner can express: `{at}` is the folder of most tests, `{name}` the case's name;
    empty: it runs none."""
    probe_command: ClassVar[str] = ""
    """The command that runs one such case, which is `{file}` in it."""
    probe_how: ClassVar[str] = ""
    """What it has to look like."""
    probe_broken: ClassVar[tuple[int, ...]] = ()
    """Exit statuses that mean that nothing was tested."""
    verbose: ClassVar[Mapping[str, str]] = {}
    """Variables that make it name its tests behind a command that does not show it (`make test`)."""
    no_test: ClassVar[str] = ""
    """Output that shows that a file has no test or cannot be run as one, as a pattern."""

    # Command lines

    def recognise(self, part: Part, at: int) -> int | None:
        """The last word of its name, when the word at `at` starts it."""
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
        """Its last position in a command line: the simple command, and the last word of its name there."""
        for part in reversed(split_commands(command)):
            for at in find_programs(part):
                if (head := self.recognise(part, at)) is not None:
                    return part, head
        return None

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """The command and its environment, so that it reports to `report` where it can. Pure."""
        if self.report_flag:
            command = self.put_in(command, self.report_flag)
        if self.report_arguments and not re.search(self.reports_already or r"(?!)", command):
            command = self.append(command, self.report_arguments.replace("{report}", quote(report))) or command
        return command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        """The command that runs only these tests, or a few more of the same name; None when that is not possible."""
        return None

    def append(self, command: str, arguments: str) -> str | None:
        """The command with more arguments for this runner, even through a script of package.json."""
        if found := self.place(command):
            own = list(takewhile(lambda word: word.text not in self.ends_arguments, found[0]))
            return insert_arguments(command, own[-1].end, arguments)
        behind = find_scripts(command)
        if len(behind) != 1 or not self.by_arguments:
            return None
        [script] = behind
        return insert_arguments(command, script.part[-1].end, f"{script.separator}{arguments}")

    def put_in(self, command: str, flag: str) -> str:
        """The command with a flag right after the runner's name, unless it already has it."""
        found = self.place(command)
        if found is None or any(word.text == flag for word in found[0]):
            return command
        part, head = found
        return insert_arguments(command, part[head].end, flag)

    # What a run reported. Everything was written by programs that run the agent's code, so no reader raises.

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        """The tests in the report that `instrument` asked for; None when it is not one."""
        return read_junit(report, root)

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """What its closing lines say; None when there are none. A word like OK found anywhere does not count."""
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
        """Single tests that its output names."""
        found: list[tuple[re.Match[str], list[str]]] = []
        said: list[str] = []
        if self.unnamed:
            lines = re.sub(self.unnamed, "", "\n".join(lines)).split("\n")
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

    def readable(self, output: str) -> str:
        """What people and models see of its output."""
        return output

    # Projects

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        """The commands that may run all tests of the project in this folder, the likeliest first; none when it does not
        use this runner."""
        for path, text, command in self.starts:
            named = next((near for near in look.near if re.fullmatch(path, near)), "")
            if named and (not text or re.search(text, look.text(named))):
                yield ProjectCommand(command.replace("{file}", quote(named)), f"there is a {named}")

    def strip_reporting(self, command: str) -> str | None:
        """The arguments of a command that select tests; None where they cannot be told apart."""
        found = self.place(command)
        if found is None:
            return None
        part, head = found
        rest = command[part[head].end : part[-1].end]
        return " ".join(re.sub(self.reporting, " ", f" {rest} ").split()) if self.reporting else rest.strip()

    def file(self, path: str, look: ProjectFiles, test: str) -> str | None:
        """The command that runs one test file (or one test of it), which need not exist yet."""
        return self.one_file.replace("{file}", quote(path)) or None

    def home(self, path: str, look: ProjectFiles) -> str:
        """The folder from which a test file runs."""
        return look.home(path, *self.manifests)

    def find_targets(self, look: ProjectFiles) -> tuple[str, frozenset[str]]:
        """The file that defines what it can be told to run here, and the names of that; empty when there is none."""
        return "", frozenset()

    def probe(self, path: str, command: str) -> str:
        """The command that runs a case that only a runner can express. `command`: the check's."""
        return self.probe_command.replace("{file}", quote(path))


# Reading closing lines


def find_last_lines(lines: Sequence[str], near: int = NEAR_END) -> list[tuple[int, str]]:
    """The last non-empty lines, with their numbers, the last first."""
    found = ((at, lines[at]) for at in range(len(lines) - 1, -1, -1) if lines[at].strip())
    return list(islice(found, near))


KINDS = {
    "passed": r"x?pass(?:ed|es|ing)?|ok|success(?:es|ful)?|succeeded",
    "failed": r"(?:exec |subtests )?fail(?:ed|ures?|s|ing)?|err(?:ors?|ored)?(?:\(s\))?|timed out",
    "skipped": r"(?:subtests )?skip(?:ped|s)?|pending|ignored|todo|disabled|xfailed",
    "total": r"tests?|specs?|(?:test )?cases?|examples?|checks?|assertions?|total",
}
"""How numbers of tests are called."""


def _read_closing(line: int, match: re.Match[str]) -> ClosingLine:
    counts: Counter[str] = Counter()
    least = 0
    for group, said in match.groupdict(default="").items():
        kind = group.rstrip("0123456789")
        if kind == "counts":
            told = {kind: re.findall(rf"(\d{{1,9}}) (?:{words})(?!\w)", said) for kind, words in KINDS.items()}
            counts.update({kind: sum(map(int, numbers)) for kind, numbers in told.items() if numbers})
        elif kind == "least":
            least = max(least, int(said) if said.isdecimal() else bool(said))
        elif said:
            counts[kind] += int(said)
    return make_closing(line, {**counts, "failed": max(counts["failed"], least)} if least else counts)


def make_closing(line: int, told: Mapping[str, int]) -> ClosingLine:
    """`told`: numbers of tests by their kind; what is not told follows from the others."""
    skipped, total = told.get("skipped", 0), told.get("total", 0)
    passed = told.get("passed", max(total - told.get("failed", 0) - skipped, 0))
    return ClosingLine(line, passed, told.get("failed", max(total - passed - skipped, 0)), skipped)


def choose_worst(found: Sequence[ClosingLine]) -> ClosingLine | None:
    """Several closing lines near the end cannot all be the runner's report on the same tests: the worst count
    counts."""
    if not found:
        return None
    line, passed, failed, skipped, _ = zip(*found, strict=True)
    return ClosingLine(max(line), min(passed), max(failed), max(skipped))


def join_options(before: str | None, added: str) -> str:
    return f"{before} {added}" if before and before.strip() else added


def strip_file(id: str) -> str:
    """A test's id without its file."""
    return id.split("::", 1)[1]


Shape = TypeVar("Shape")


def decode_report(report: bytes, shape: type[Shape]) -> Shape | None:
    """A report that is JSON of this shape; None when it is not."""
    if len(report) > LARGEST:
        return None
    try:
        return msgspec.json.decode(report, type=shape)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
