"""All that bough has to know about a test runner. A new one is a subclass in the file of its language; the conformance
suite then tests it.

Nothing here changes which tests a command selects. The added options make the runner write a report, name its tests, or
continue after the first failure: the failing set must be complete, or an old failure would hide every later one. The
report is written by a process that also runs the agent's code, so it is only evidence: it is compared with the runner's
closing line, and the exit status counts too.

Patterns are strings, which `re` compiles when they are first used: a run meets one or two runners, and compiling all
patterns would take longer than the rest of bough's start.
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
    """The numbers in a runner's closing lines, and their place."""

    line: int
    passed: int
    failed: int
    skipped: int = 0
    doubtful: int = 0
    """Passed ones that may not be tests at all."""


class ProjectCommand(NamedTuple):
    """A project's own test command."""

    command: str
    why: str
    alone: bool = False
    """Nothing else here can run the tests, so it comes first."""


class Runner:
    """One test runner. Every method is optional: without one, bough learns less and says so."""

    name: ClassVar[str]
    settings: ClassVar[str] = ""
    """Pattern for names of files that only configure its test runs."""
    sections: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Tables that only configure its test runs, in files with other content: pairs of a file and a table, with
    everything below that table."""
    scripts: ClassVar[str] = ""
    """Pattern for names of files that define what it runs: test side if the check uses this runner."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of test files that it can run one by one."""
    manifests: ClassVar[tuple[str, ...]] = ()
    """Files that mark the folder from which it runs."""
    runs_tests_of: ClassVar[tuple[str, ...]] = ()
    """Other runners whose tests it runs too."""
    wraps: ClassVar[bool] = False
    """It creates an environment and runs another runner in it."""
    reporting: ClassVar[str] = ""
    """Pattern for arguments that change its report or speed, not the selection of tests."""
    starts: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """Signs that a project uses it, with the command that runs all its tests: patterns for a file's path and for a text
    in it, and the command. The first match counts."""
    always_reports: ClassVar[bool] = False
    """It writes a report in every complete run, even if its output is discarded."""
    nameable: ClassVar[str] = "::"
    """Pattern for ids that can be requested by name: not for files that failed to load or packages that failed to
    build."""
    unique_ids: ClassVar[str] = ""
    """Pattern for ids that name one test however often they are reported; two tests may share any other id."""
    interpreters: ClassVar[tuple[str, ...]] = ()
    """Interpreters that start it by the path of its program."""
    program: ClassVar[tuple[str, ...]] = ()
    """Its program, and the subcommands that run tests, if it has others too."""
    report_flag: ClassVar[str] = ""
    """Flag right after its name that makes it name its tests or continue after the first failure."""
    report_arguments: ClassVar[str] = ""
    """Arguments at the end of its command that make it report to `{report}`."""
    ends_arguments: ClassVar[tuple[str, ...]] = ()
    """Words that end its own arguments."""
    reports_already: ClassVar[str] = ""
    """Pattern for commands that already ask for a report: the project's tools may need that one."""
    one_file: ClassVar[str] = ""
    """Command that runs one test file, `{file}`."""
    by_arguments: ClassVar[bool] = False
    """Arguments at the end of its command make it report, even through one script of package.json."""
    by_environment: ClassVar[bool] = False
    """Environment variables make it report, through any number of scripts."""
    placeholder: ClassVar[str] = ""
    """Pattern of `id: message` that it reports in place of a test that does not exist."""
    closes: ClassVar[str] = ""
    """Pattern for its closing lines exactly as printed, without indentation and empty lines. Groups are the counts:
    `passed`, `failed`, `skipped` and `total`, also with a digit appended; in a group `counts`, each number stands
    before a word; a group `least` is the least number of failures: one if it is no number."""
    in_parts: ClassVar[bool] = False
    """It prints closing lines for each part; their sum is the run."""
    near_end: ClassVar[int] = NEAR_END
    """Lines from the end within which closing lines count, if there are no parts."""
    named: ClassVar[str] = ""
    """Pattern for lines that report one test each, with groups `test` and `outcome`; a non-empty group `skipped`: it
    did not run; a group `said`: the beginning of its message."""
    outcomes: ClassVar[Mapping[str, CaseOutcome]] = {}
    """Meaning of the outcomes in `named`; any other is a failure."""
    unnamed: ClassVar[str] = ""
    """Pattern for output that looks like `named` but reports no test that ran."""
    repeated: ClassVar[str] = ""
    """Pattern for lines in between that repeat known counts."""
    said_before: ClassVar[bool] = False
    """A test's output stands before its line in `named`; otherwise after it."""
    probe_path: ClassVar[str] = ""
    """Path of a case that only a runner can express: `{at}` is the folder of most tests, `{name}` the case's name;
    empty: this runner runs none."""
    probe_command: ClassVar[str] = ""
    """Command that runs one such case, `{file}`."""
    probe_how: ClassVar[str] = ""
    """The form of such a case, in a sentence for the examiner."""
    probe_broken: ClassVar[tuple[int, ...]] = ()
    """Exit statuses which mean that nothing was tested."""
    verbose: ClassVar[Mapping[str, str]] = {}
    """Variables that make it name its tests behind a command that does not show it (`make test`)."""
    no_test: ClassVar[str] = ""
    """Pattern for output which shows that a file has no test or cannot run as one."""

    # Command lines

    def recognise(self, part: Part, at: int) -> int | None:
        """Return the last word of the runner's name if the word at `at` starts it."""
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
        """Find its last place in a command line: the simple command, and the last word of its name there."""
        for part in reversed(split_commands(command)):
            for at in find_programs(part):
                if (head := self.recognise(part, at)) is not None:
                    return part, head
        return None

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return the command and its environment, changed so that it reports to `report` if it can. Pure."""
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
        """Insert a flag right after the runner's name, unless it is there already."""
        found = self.place(command)
        if found is None or any(word.text == flag for word in found[0]):
            return command
        part, head = found
        return insert_arguments(command, part[head].end, flag)

    # What a run reported. Everything was written by programs that run the agent's code, so no reader raises.

    def read(self, report: bytes, root: str = "") -> tuple[Case, ...] | None:
        """Read the tests from the report that `instrument` asked for; None if it is no such report."""
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
        """List the single tests that its output names."""
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
        """Return its output as people and models see it."""
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
        """Return the arguments of a command that select tests; None if they cannot be separated from others."""
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
        """Return the file that defines its targets here, and their names; empty: none."""
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
            least = max(least, int(said) if said.isdecimal() else bool(said))
        elif said:
            counts[kind] += int(said)
    return make_closing(line, {**counts, "failed": max(counts["failed"], least)} if least else counts)


def make_closing(line: int, told: Mapping[str, int]) -> ClosingLine:
    """Make a closing line; missing counts follow from the others. `told`: numbers of tests by kind."""
    skipped, total = told.get("skipped", 0), told.get("total", 0)
    passed = told.get("passed", max(total - told.get("failed", 0) - skipped, 0))
    return ClosingLine(line, passed, told.get("failed", max(total - passed - skipped, 0)), skipped)


def choose_worst(found: Sequence[ClosingLine]) -> ClosingLine | None:
    """Choose the worst of several closing lines near the end: they cannot all report on the same tests."""
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
