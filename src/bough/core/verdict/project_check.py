"""Find a project's own test commands, and the command that runs one of its test files.

The commands are candidates, the most trusted first: those in its CI files, in its task files, and of the runners that
its manifests show. Only running them shows which one works. The nearest project counts: in the person's folder or above
it, or else all those in the folders below, since one project's tests prove nothing about another.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from bough.core.acceptance.verdict import Check
from bough.core.shell_syntax import find_folder, find_scripts, split_commands
from bough.core.verdict.language import is_test_name
from bough.core.verdict.languages.c import MAKE_INPUTS
from bough.core.verdict.paths import find_stem, find_suffix, last_segment, list_parents, parent_folder
from bough.core.verdict.project_files import ProjectFiles, run_in_folder
from bough.core.verdict.registry import LANGUAGES, MANIFESTS, RUNNERS, find_language, find_runner, recognise
from bough.core.verdict.runner import ProjectCommand, find_commands
from bough.core.verdict.stated_commands import is_ci, is_harmless, list_commands

_IN_FOLDER = r"\s(?:-C|--test-dir|--build)[ =](?!/)([\w./-]+)"
"""Pattern for the build folder that a command needs; such a folder exists only after a build."""
_MOST_PLACES, _MOST_PROJECTS, _MOST_CANDIDATES, _MOST_STATED = 100, 12, 8, 4
"""The maximum numbers of folders that are searched for projects, of projects in them, of candidates, and of those from
CI and task files, which run one suite in many ways."""
_STARTS = (path for runner in RUNNERS for path, text, _ in runner.starts if text)
_SHOWS = "|".join((MAKE_INPUTS, r"autogen\.sh|bootstrap(?:\.sh)?", *_STARTS))
_PROGRAMS = frozenset(name for language in LANGUAGES for name in language.programs)
_INSTALLS = re.compile("|".join(language.installs for language in LANGUAGES if language.installs))
_OWN_SETUP = r"\bbundle exec |\bopam exec -- |\bxvfb-run (?:-\S+ )*|(?<![\w./-])(?:\./)?vendor/bin/"
"""Pattern for what makes a command need the project's own set-up, or that of its CI, which installs programs."""
_COVERAGE = r" (?:-lluacov|--coverage(?:-[\w-]+)?(?:=\S+)?)(?= |$)"  # Measuring coverage tests nothing.
_NO_SELECTION = r"(?:\s*-\S+(?:\s+(?:'[^'/]*'|\"[^\"/]*\"|[^\s/'\"-][^\s/'\"]*))?)*\s*"
"""Pattern for options, each with its value, that name no file or folder."""
_TESTY = r"(?i)(?:^|[-_.])(?:run|self)?[-_]?(?:unit)?tests?(?:$|[-_.\d])"
_TARGET = r"(?:(?:unit|quick|fast)[-_:]?)?tests?(?:[-_:](?:unit|all|ci|run|only|py\d*))?|specs?|verify|ert-run-tests.*"
"""Pattern for names of targets and scripts that run tests."""
_NO_PROGRAMS = r"cat|cd|chmod|cp|echo|else|export|for|git|grep|if|ls|mkdir|mv|printf|rm|set|tar|test|then|touch"
"""First words of lines that never run tests."""
RUNNABLE = tuple(dict.fromkeys(suffix for runner in RUNNERS for suffix in runner.suffixes))
"""Suffixes of files that can run as tests, the preferred ones first."""


def shows_runner(path: str) -> bool:
    """Whether a file's text shows which runner a project uses."""
    return path.count("/") < 5 and re.fullmatch(_SHOWS, path) is not None


def list_project_checks(look: ProjectFiles, start: str = "", goal: str = "") -> list[Check]:
    """List the candidates for the check of the project that contains the folder `start`, the most trusted first; empty
    if nothing shows how to test it. If several projects lie below `start`, the one that the goal names counts."""
    ways = (way for way in (start, *list_parents(start)) if way)
    projects = [way for way in ways if any(f"{way}/{name}" in look.files for name in MANIFESTS)]
    for here in (*projects, ""):
        if checks := _list_checks_in(look.inside(here)):
            said = f", in {here}/" if here else ""
            return [replace(one, command=run_in_folder(here, one.command), why=f"{one.why}{said}") for one in checks]
    # If `start` is in a project without tests, do not use the tests of projects elsewhere.
    below = _list_checks_below(look, start) or (_list_checks_below(look, "") if start and not projects else [])
    meant = below if len(below) == 1 else [one for one in below if _is_meant(one[0], goal)]
    if len(meant) == 1:
        others = f"; the goal names it, and {len(below) - 1} others here are not checked (--dir, --check CMD)"
        found = list_project_checks(look, meant[0][0])
        return [replace(check, why=f"{check.why}{others}") for check in found] if len(below) > 1 else found
    if below:
        command = " && ".join(f"({run_in_folder(place, check.command)})" for place, check in below)
        places = ", ".join(f"{place}/" for place, _ in below)
        said = "name one of them in the goal, or start in it (--dir), to check only that"
        return [Check(command, f"there are {len(below)} projects ({places}); {said}")]
    # Where no file says how to test, each test file runs with its language's program.
    home = look.inside(next(iter(projects), ""))
    tests = [path for path in home.near if is_test_name(path) and f".{find_suffix(path)}" in RUNNABLE]
    alone = [check for path in tests[:_MOST_PROJECTS] if (check := find_file_check(path, home))]
    command = " && ".join(check.command for check in alone)
    return [Check(run_in_folder(home.folder, command), f"there is a {alone[0].why}")] if alone else []


def _is_meant(place: str, goal: str) -> bool:
    """Whether the goal names a folder: by its path, by its name in backquotes, or by its name followed by a slash."""
    path, name = re.escape(place), re.escape(last_segment(place))
    return re.search(rf"(?<![\w/-]){path}(?![\w-])|(?<![\w-]){name}/|`{name}`", goal) is not None


def _list_checks_below(look: ProjectFiles, start: str) -> list[tuple[str, Check]]:
    """List the projects in the folders below `start`, each with its check as it runs in the project's folder."""
    inner, prefix = look.inside(start), f"{start}/" if start else ""
    names = {parent_folder(path) for path in inner if path.count("/") in (1, 2) and last_segment(path) in MANIFESTS}
    tops = [name for name in sorted(names) if parent_folder(name) not in names][:_MOST_PLACES]
    every = ((prefix + name, check) for name in tops for check in _list_checks_in(inner.inside(name))[:1])
    return list(islice(every, _MOST_PROJECTS))


def _list_checks_in(look: ProjectFiles) -> list[Check]:
    """List the candidates of the project in this very folder; their commands run in this folder."""
    known = [hit for runner in RUNNERS for hit in runner.projects(look)]
    stated = [Check(found.command, f"{found.why} runs it") for found in _list_stated(look, known)][:_MOST_STATED]
    places = {folder: f"({one.command})" for one in stated[::-1] if (folder := find_folder(one.command))}
    if len(places) > 1 and not known:
        stated.insert(0, Check(" && ".join([*places.values()][::-1]), f"{stated[0].why}, like the rest"))
    unique: dict[str, str] = {}
    for needless in ("", _OWN_SETUP):  # First with the project's own set-up, then with the system's programs.
        for one in (*stated, *(Check(hit.command, hit.why) for hit in known)):
            unique.setdefault(re.sub(needless, "", re.sub(_COVERAGE, "", one.command)), one.why)
    listed = [*unique.items()][:_MOST_CANDIDATES]
    # Tests may need the product that another command builds.
    build = next((hit.command for language in LANGUAGES for hit in find_commands(language.builds, look)), "")
    listed += [(f"{build} && {command}", why) for command, why in listed[:1] if build and "&&" not in command]
    return [Check(command, why, find_runner_behind(command, look)) for command, why in listed]


def _list_stated(look: ProjectFiles, known: Sequence[ProjectCommand]) -> Iterator[ProjectCommand]:
    """List the test commands that the project's own files state. If bough would use the same runner anyway, return
    bough's command with the file's arguments; before one that names a part of the tests also that for all of them."""
    whole = {find_runner_behind(hit.command, look): hit.command for hit in known}
    targets = frozenset(name for runner in RUNNERS for name in runner.find_targets(look)[1])
    for one in list_commands(look):
        command, name = one.command, recognise(one.command)
        runner = find_runner(name)
        if (
            not is_harmless(command)
            or not all(map(look.has_folder, (find_folder(command), *re.findall(_IN_FOLDER, command))))
            or any(_INSTALLS.match(" ".join(word.text for word in part)) for part in split_commands(command)[-1:])
            or (runner.wraps if runner else not _runs_tests(command, one.why, look, targets))
        ):
            continue
        rest = runner.strip_reporting(command) if runner and name in whole else None
        if rest is not None and re.fullmatch(_NO_SELECTION, rest):
            yield one._replace(command=f"{whole[name]} {rest}".strip())
        else:
            yield from () if rest is None else [one._replace(command=whole[name])]
            yield one


def _runs_tests(command: str, path: str, look: ProjectFiles, targets: Collection[str]) -> bool:
    """Whether the words of a command without a known runner show that it runs tests: a project file named after tests,
    or such a target or script. The program must be known, except in CI files."""
    words = [word.text for word in (split_commands(command) or ((),))[-1]]
    program = last_segment(words[0]) if words else ""
    if re.fullmatch(_NO_PROGRAMS, program) or {"-c", "-o"} & {*words}:  # With -c or -o a command compiles a program.
        return False
    runnable = ("", "sh", "bash", "ps1", "hxml", *(suffix[1:] for suffix in RUNNABLE))
    own = (word for word in words[:3] if word.removeprefix("./") in look.files)
    if any(re.search(_TESTY, find_stem(word)) for word in own if find_suffix(word) in runnable):
        return True
    named = [at for at, word in enumerate(words) if at and not word.startswith("-") and "=" not in word]
    wanted = [at for at in named if re.fullmatch(_TARGET, words[at]) or (words[at] == "check" and "check" in targets)]
    # The last name decides: `rebar3 as test dialyzer` runs no test. A word after an option may be the option's.
    by_name = bool(wanted) and not any(at > wanted[-1] and not words[at - 1].startswith("-") for at in named)
    return by_name and (program in _PROGRAMS or is_ci(path))


def find_file_check(path: str, look: ProjectFiles) -> Check | None:
    """Make the check that runs the tests of one file; None if bough has no runner for its language. A step may name a
    file that is still to be written, and in pytest's notation a single test may follow the path (`::test`)."""
    file, _, test = path.partition("::")
    suffix = f".{find_suffix(file)}"
    for runner in (one for one in RUNNERS if suffix in one.suffixes):
        home = runner.home(file, look, find_language(file).manifests)
        inside = file[len(home) + 1 :] if home else file
        made = runner.file(f"./{inside}" if inside.startswith("-") else inside, look.inside(home), test)
        if made is not None:
            return Check(run_in_folder(home, made), file, recognise(made))
    return None


def find_runner_behind(command: str, look: ProjectFiles) -> str:
    """Find the runner that a command starts, directly or through scripts of a manifest (`npm test`, `cd web && yarn run
    unit`); empty if there is none, or if added options could not reach it."""
    if command.startswith("("):
        return ""  # The line runs several checks in sequence, and a runner's report would cover only one.
    runner, run, inside = recognise(command), find_scripts(command), find_folder(command)
    if runner or len(run) != 1 or inside.startswith(("/", "..")):
        return runner
    place = look.inside(posixpath.normpath(inside) if inside else "")
    lines = [line for each in LANGUAGES for name, line in each.list_scripts(place).items() if name == run[0].name]
    script = lines[-1] if lines and isinstance(lines[-1], str) else ""
    if (behind := find_runner(runner := recognise(script))) is None:
        return ""
    # Arguments are appended to the script, so the runner has to be its last command.
    last = split_commands(script)[-1][0].start if behind.by_arguments else 0
    return runner if recognise(script[last:]) == runner else ""
