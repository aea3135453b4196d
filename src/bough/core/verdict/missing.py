"""Find out why a check could not run: a command, a package, a host, a service or a permission that it lacks.

This is read from the check's output before any work (at the base), when the work cannot be to blame. If the whole check
lacks something, the run halts; single tests that lack something are set aside. A module that nothing declares, and a
script that does not exist yet, do not count as missing: the task may have to write them.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct

from bough.core.acceptance.verdict import Case, Report
from bough.core.shell_syntax import split_commands
from bough.core.verdict.check_run import NOT_STARTED, count_told, find_signal
from bough.core.verdict.language import Missing, is_test_path
from bough.core.verdict.languages.build_tools import PACKAGES
from bough.core.verdict.paths import find_stem, is_made_folder, last_segment, parent_folder
from bough.core.verdict.registry import LANGUAGES, MANIFESTS, find_runner, recognise

_DEPENDENCY_FILES = "|".join((r"^\.gitmodules$", *(one.dependency_files for one in LANGUAGES if one.dependency_files)))
_ABOUT_TESTS = r"(?i)\b(?:tests?|specs?|suite|check|green|CI)\b"
ABSENCE = (
    r"(?i)(?:(?:can ?not|can't|could(?: not|n't)) |unable to )(?:find|locate|load|open|connect)\w*\b"
    r"|\bnot (?:found|installed|available|an existing)\b|\bno (?:such file|rule to make|package|module)\b|\btoo old\b"
    r"|\bundefined (?:reference|macro)|\bis required\b|\brequires\b.*\d|\bin your \$?PATH"
)
"""Pattern for what tools say about something that is not there."""
_STOPS = (
    r"\S+(?::\d+(?::\d+)?|\(\d+,\d+\)): (?:fatal )?(?:error|ERROR)\b.*|[\w.+-]+: (?:fatal )?error: (?!in [`']).*"
    r"|\S*configure: line \d+: `.*|(?:error(?:\[\w+\])?:|\[?ERROR[:\]]|CMake Error\b|make(?:\[\d+\])?: \*\*\* [^\[]).*"
)
"""Pattern for lines with which compilers and build tools stop."""
_UNMADE = r"(?:^|[\s:'‘])\./\S+: (?:not found|No such file or directory)\s*$"
_ABOUT_BUILDING = r"(?i)\b(?:build\w*|built|compil\w+|linker|configure|makefile|cmake|warnings?)\b"
COMMON = frozenset(
    """cannot cmake configure could directory does error errors fatal file files find found from have line locate
    make module open package perhaps program required requires such test tests that this with your""".split()  # noqa: SIM905
)
_SOUGHT = (
    r"(?i)checking for (?:\S+ in -l)?([\w.+-]+)\.\.\. no|(?:-- )?.*\b(?:dependency|library|program|package|not find) "
    r"[\"'`]?([\w.+-]+)[\"']? *(?:found: no\b.*|.*not found.*|\(missing.*|)"
)
"""Pattern for lines about something that was looked for and is not there."""
_FOR_TESTS = r"(?i)unit|test|catch|check|cmocka|criterion|spec|mock"  # Names of libraries that tests are written with.
_NAMES = (
    r"[\"'`‘]([\w.+@/:-]+)[\"'’`]|(?<= )-l(\w+)|([\w+-]+)(?:/[\w+.-]+)*\.h\w*: No|(?:package|library|find|locate|load) "
    r"[(]?([\w:.+-]+)|\b([\w.+:-]+) (?:(?:package|library) )?(?:is |are )?(?:not found|required|not available)"
)
_HANGS = r"(?i)\b(?:hang|hung|time.?out|deadlock|slow|infinite|freez|stuck|endless|never (?:end|return))"
"""Words by which a goal says that the task is about a check that does not end."""
_NO_TARGET = (
    r"(?i:no rule to make target(?! '/)|(?:missing|unknown) (?:script|target|task)\b)|can't open file"
    r"|Cannot find module '/|No such file or directory: '\S*\.(?:py|sh|js)'|\b[a-z]+-1\.\d+: (?:command )?not found"
)
_NO_TESTS = r"(?i:no tests ran|no (?:tests?|specs)(?: files?)? (?:were )?found)|Could not find '(?!.*/node_modules/)"
_READ = 20_000  # Characters at the end of an output that are searched for the reason.
_UNDECLARED = ", and nothing here declares it"
_NOT_FOUND = (
    # A build system's own version (`aclocal-1.14`) made files of the project; another candidate rebuilds them.
    r"(?m)(?:^|[\s:'‘`])(?![a-z]+-1\.\d+: |[\w.-]+\.sh: No such)([\w.+@/-]+)['’`]?: "
    r"(?:(?:command )?not found|No such file or directory|Permission denied)\s*$"
    r"|(?:command not found:|\bgit:|Can't exec|\bexec:|exec of|directory -|_child\n[^']*directory:) [\"']?([\w.+@/-]+)"
)
_ENDED = r"(?:Error|exit \w+) 12[67]\b|\bENOENT|_execute_child\n|Can't exec \"|\bexec: \"|open3: exec|a git command"
_UNREACHABLE = (
    r"(?i)(?:(?:failed to|could ?n[o']t) resolve (?:host:? )?'?|getaddrinfo \w+ |tcp: lookup |unknown ?host\w*:? "
    r"|host address ['‘])([\w-]+(?:\.[\w-]+)+)|in name resolution|service not known|gaierror|network is unreach"
)
_REFUSED = r"(?i)connection refused|econnrefused|connect[^\n]{0,80}(?:Permission denied|EACCES|EPERM|not permitted)"
_ADDRESS = r"""(?:127\.0\.0\.1|localhost|::1)["')]*[:, ]+(?:port[ =:]+)?(\d{2,5})|port[ =]+(\d{2,5})"""
_DENIED = r"(?:ermission denied|EACCES|EROFS|-only file system)[^\n/]{0,40}(/[^\s'\":]+)|['‘](/[^'’]+)['’]: Read-only"


class ProjectFacts(Struct, frozen=True):
    """The project in which a check ran: the texts that say what has to be installed, by path; its files; what the run
    is asked to do; whether the work is among the files, so that it can be to blame; and who knows whether a module is a
    package that others publish."""

    manifests: Mapping[str, str]
    paths: Collection[str]
    goal: str = ""
    has_work: bool = False
    is_published: Callable[[Missing], bool] = lambda missing: False


def names_dependencies(path: str) -> bool:
    """Whether a file lists dependencies of the project."""
    return re.search(_DEPENDENCY_FILES, path) is not None


def find_missing(
    status: int | None, command: str, text: str, report: Report, base: ProjectFacts, cut: str = "", given: bool = False
) -> Missing | None:
    """Find what keeps a check from running as a whole, before or after the work; None if nothing does. `cut`: when the
    check was cut off, as a phrase; `given`: a person chose the check."""
    if status == 0:
        return None
    if status is None:
        too_much = cut.endswith("of output")
        return None if re.search(_HANGS, base.goal) else Missing("output" if too_much else "time", cut)
    empty = None if report.passed else _find_empty_submodule(text, base)
    if found := empty or _find_missing_command(status, command, text, base):
        return found
    if idle := find_idle(status, command, text, report):
        return None if _is_written(idle, base) else idle
    if report.passed and report.failing:
        # If half of the tests fail for lack of a package, the product itself can hardly be loaded.
        packages = Counter(one for one in _list_lacks(report, base).values() if one.kind == "package" and one.declared)
        # Some runners name only the failed tests; others name files, and count the tests in them.
        cases = [case for case in report.cases if case.outcome != "skipped"]
        named = any(case.outcome == "passed" or case.id in base.paths for case in cases)
        count = len(cases) if named else report.passed + report.failed
        most = packages.most_common(1) if packages.total() * 2 >= count else []
        return next((one for one, _ in most if not _is_named(one.name, base.goal)), None)
    said = [f"{case.message}\n{case.trace}" for case in report.failing]
    found = _find_package([*said, text], base, _list_own_names(base))
    # No test ran. A missing module that no manifest declares may be the one that the task has to write.
    if found is not None and (found.declared or not _may_be_ours(found, base)):
        return None if _is_named(found.name, base.goal) else found
    if report.passed or any(_find_elsewhere(each) is None for each in said):
        return None
    found = None if found is not None else _find_elsewhere(text)
    return found or (None if given or base.has_work else find_stop(status, command, text, report, base))


def find_stop(status: int | None, command: str, text: str, report: Report, base: ProjectFacts) -> Missing | None:
    """Find the lines with which a check stopped before its first test: a compiler's or build tool's, one about what is
    absent, or the last ones of a runner that always counts its tests. Any other output may be a failure of the product,
    as is an error in its own source that nothing absent explains, and what the goal is about."""
    if report.cases or report.passed + report.failed or count_told(text) or find_signal(status):
        return None
    # What the project's own build makes (`./tool: not found`) is missing only because the build did not run.
    lines = [line.strip() for line in text[-_READ:].splitlines() if line.strip() and not re.search(_UNMADE, line)]
    hard = next((at for at, line in enumerate(lines) if re.match(_STOPS, line)), None)
    weak = next((at for at in range(len(lines) - 1, -1, -1) if re.search(ABSENCE, lines[at])), None)
    around = lines[max((hard or 0) - 5, 0) :]
    if hard is not None and _is_own_error(lines[hard], base) and not any(re.search(ABSENCE, line) for line in around):
        return None
    runner, at = find_runner(recognise(command)), weak if hard is None else hard
    if at is None and (runner is None or not runner.closes or not lines):
        return None
    said = " ".join(lines[-2:] if at is None else lines[at : at + (3 if lines[at].endswith(":") else 1)])
    words = {word.casefold() for word in re.findall(r"[A-Za-z_]\w{3,}", said[:300])} - COMMON
    if re.search(_ABOUT_BUILDING, base.goal) or any(_is_named(word, base.goal) for word in words):
        return None
    # Tools that configure a build say just before what they looked for.
    sought = _list_sought(lines[max((at or 0) - 3, 0) : at])
    return Missing("start", said[:300], module=sought[-1] if sought else "")


def _is_own_error(line: str, base: ProjectFacts) -> bool:
    """Whether a line tells an error in a source of the project, or in how its sources fit together."""
    found = re.match(r"([\w./+-]+):\d", line)
    name = last_segment(found[1]) if found else ""
    return line.startswith("collect2:") or (name in map(last_segment, base.paths) and not _configures(name))


def _configures(path: str) -> bool:
    """Whether a file configures a build, so that it is no part of the product."""
    patterns = (r".*\.(?:ac|in|m4|am)", *(each.build_files for each in LANGUAGES if each.build_files))
    return any(re.fullmatch(pattern, last_segment(path)) for pattern in patterns)


def _list_sought(lines: Iterable[str]) -> list[str]:
    return [found[1] or found[2] for line in lines if (found := re.fullmatch(_SOUGHT, line.strip()))]


def find_test_library(text: str) -> str:
    """Find a test library that a build goes without, and then has no tests; empty if there is none."""
    return next((name for name in _list_sought(text.splitlines()) if re.search(_FOR_TESTS, name)), "")


def list_packages(said: str, paths: Collection[str]) -> list[tuple[str, str, str]]:
    """Guess what a check lacks by its last lines: names, Debian packages that may exist, and commands that install."""
    if not re.search(ABSENCE, said):
        return []
    suffixes = {path.rpartition(".")[2] for path in paths}
    forms = [(debian, get) for suffix, debian, get in PACKAGES if suffix in suffixes]
    forms += [(each.debian, each.gets) for each in LANGUAGES if each.debian and suffixes & {*each.suffixes}]
    named = [next(filter(None, found.groups()), "") for found in re.finditer(_NAMES, said)]
    bare = dict.fromkeys(re.sub(r"\W*(?:\.(?:h\w*|pm))?$", "", name) for name in named)
    names = [name for name in bare if len(name) > 1 and name[0] != "/" and name.casefold() not in COMMON]
    return [
        # A header (`lua.h`) is not in the package of a program of its name.
        (shown[0] if shown else name, debian.format(package.lower()), get.format(name))
        for name in names
        for shown in (re.search(rf"\b{re.escape(name)}\.h(?=: No)", said),)
        for package in (re.sub(r"::|[_/:.]", "-", re.sub(r"^lib(?=\w\w)", "", name)),)
        for debian, get in (*forms, ("lib{}-dev", ""), ("{}", ""))
    ]


def find_idle(status: int | None, command: str, text: str, report: Report) -> Missing | None:
    """Find the reason why a failing command started neither the product nor a test: a target, test, program or script
    that does not exist."""
    if status in (0, None) or report.passed + report.failed or count_told(text):
        return None
    heads = [part[0].text for part in split_commands(command)] or [command]
    if status == 126 or (status in NOT_STARTED and (not text.strip() or {*heads} & {*_list_unfound(text)})):
        return Missing("program" if status == 126 else "script", heads[0])
    target, tests = (re.search(rf"(?m)^.*(?:{each}).*$", text[-_READ:]) for each in (_NO_TARGET, _NO_TESTS))
    found = target or tests
    return Missing("target" if target else "tests", found[0].strip()[:200]) if found else None


def _is_written(idle: Missing, base: ProjectFacts) -> bool:
    """Whether the work has to write the missing thing: a script, something that the goal mentions, a test in a project
    without any, or a target in a project without a file that could define one."""
    if idle.kind in ("script", "program"):
        return idle.kind == "script"
    named = re.findall(r"['\"`‘]([^'\"`’]+)", idle.name)
    names = [path for path in base.paths if last_segment(path) != "conftest.py"]  # conftest.py holds no test itself.
    begun = any(last_segment(path) in MANIFESTS if idle.kind == "target" else is_test_path(path) for path in names)
    return not begun or any(_is_named(last_segment(name), base.goal) for name in named)


def set_aside(report: Report, base: ProjectFacts) -> dict[str, str]:
    """Map the failing tests that cannot run on this machine to what each lacks; empty if no test runs at all."""
    lacks = {id: f"{one}{'' if one.declared else _UNDECLARED}" for id, one in _list_lacks(report, base).items()}
    return lacks if report.passed or len(lacks) < len(report.failing) else {}


def _list_lacks(report: Report, base: ProjectFacts) -> dict[str, Missing]:
    own, lacks = _list_own_names(base), dict[str, Missing]()
    for case in report.failing:
        said = f"{case.message}\n{case.trace}"
        found = _find_empty_submodule(said, base) or _find_package([said], base, own) or _find_elsewhere(said)
        if found is not None and (found.declared or not _is_named(found.name, case.id)):
            lacks[case.id] = found
    return lacks


def still_aside(aside: Mapping[str, str], goal: str, before: Collection[Case], now: Collection[Case]) -> set[str]:
    """List the set-aside tests that the goal does not ask for and that fail now as they did before."""

    def read(cases: Collection[Case]) -> set[tuple[str, str]]:
        """Return each test with the first line of its message, with numbers replaced."""
        lines = ((case.id, case.message.strip().partition("\n")[0]) for case in cases)
        return {(id, re.sub(r"0x[0-9a-fA-F]+|\d+", "0", line)) for id, line in lines}

    return {id for id, _ in read(before) & read(now)} & {*keep_aside(aside, goal)}


def keep_aside(aside: Mapping[str, str], goal: str) -> dict[str, str]:
    """Return the tests that stay set aside: not those that the goal names (by test, file or missing module) nor, if the
    goal is about tests, those that lack an undeclared module."""
    about = re.search(_ABOUT_TESTS, goal) is not None

    def is_meant(id: str, lack: str) -> bool:
        test = id.partition("[")[0]
        names = (lack.split(" ", 1)[0], last_segment(test.partition("::")[0]), re.split(r"::| > |\.", test)[-1])
        return any(_is_named(name, goal) for name in names) or (about and lack.endswith(_UNDECLARED))

    return {id: lack for id, lack in aside.items() if not is_meant(id, lack)}


def _is_named(name: str, text: str) -> bool:
    return len(name) > 1 and re.search(rf"(?i)(?:\b|_){re.escape(name)}(?:\b|_)", text) is not None


def _may_be_ours(missing: Missing, base: ProjectFacts) -> bool:
    """Whether a module that nothing declares may be the project's own: the work needs it, a file's name or the goal
    shares a word with it, or the goal is about tests and nobody publishes it. A module for testing never is."""
    if re.search(_FOR_TESTS, missing.module):
        return False
    stems = " ".join(find_stem(path) for path in base.paths if not path.startswith("."))
    last, known = (
        {word.casefold() for word in re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}", text)}
        for text in (re.split(r"[/.:]+", missing.module)[-1], f"{stems} {base.goal}")
    )
    about = re.search(_ABOUT_TESTS, base.goal) and not base.is_published(missing)
    return base.has_work or not last.isdisjoint(known) or bool(about)


def _list_own_names(base: ProjectFacts) -> set[str]:
    # `.github/tap.json` and `Build.PL` define no module.
    paths = [path for path in base.paths if not path.startswith(".") and not _configures(path)]
    return {*map(find_stem, paths), *(re.sub(r"^(?:(?:src|lib)/)?([^/]*/?).*", r"\1", path) for path in paths)}


def _find_package(said: Iterable[str], base: ProjectFacts, own: set[str]) -> Missing | None:
    texts = [each for each in said if each.strip()]
    found = [hit for language in LANGUAGES if (hit := language.find_missing(texts, base.manifests, own))]
    return next((hit for hit in found if hit.declared), found[0] if found else None)


def _find_empty_submodule(text: str, base: ProjectFacts) -> Missing | None:
    """Find a git submodule that is not checked out and that the output names."""
    named = re.findall(r"(?m)^[ \t]*path\s*=\s*(\S+)", base.manifests.get(".gitmodules", ""))
    empty = [path for path in named if not any(own.startswith(f"{path}/") for own in base.paths)]
    return next((Missing("submodule", path) for path in empty if re.search(rf"(?<!\w){re.escape(path)}\b", text)), None)


def _list_unfound(text: str) -> list[str]:
    """List the programs that an output reports as not found."""
    return [next(filter(None, found.groups()), "") for found in re.finditer(_NOT_FOUND, text)]


def _find_missing_command(status: int | None, command: str, text: str, base: ProjectFacts) -> Missing | None:
    """Find a missing program, by name or by the path of an installed one. Any other path is a project file that the
    work may have to create."""
    if status not in NOT_STARTED and not re.search(_ENDED, text):
        return None
    first = next((part[0].text for part in split_commands(command)), "")
    names = _list_unfound(text) or ([first] if status in NOT_STARTED and not text.strip() else [])
    for name in filter(None, reversed(names)):
        # A bare word means a program found through PATH, even if a project file has that name (`dune`).
        if "/" in name and not (name.startswith("/") or is_made_folder(parent_folder(name))):
            continue
        # Find the language whose package manager installs the program, by a manifest or by its own list.
        program = last_segment(name)
        named = [(where, one.name) for one in LANGUAGES if (where := one.find_declaration(program, base.manifests))]
        known = [("", one.name) for one in LANGUAGES if program in one.programs - {*one.interpreters}]
        # What a manifest names comes from the project's set-up, unless it is a program for the whole machine.
        if "/" in name or any(program in one.provided for one in LANGUAGES):
            named = [*known, *(("", language) for _, language in named)]
        return Missing("command", name, *next(iter([*named, *known]), ()))
    return None


def _find_elsewhere(said: str) -> Missing | None:
    """Find a host, service or path that is not available here, or that commands may not use."""
    hosts = re.findall(_UNREACHABLE, said)
    if hosts and (any(hosts) or not re.search(_REFUSED, said)):
        return Missing("network", next(filter(None, hosts), "another host"))
    if re.search(_REFUSED, said):
        address = re.search(_ADDRESS, said)
        return Missing("service", f"localhost:{address[1] or address[2]}" if address else "localhost")
    paths = (one or other for one, other in re.findall(_DENIED, said))
    return next((Missing("permission", path) for path in paths if "/.bough/" not in path), None)
