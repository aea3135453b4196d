"""A project's own test commands, and the command that runs one of its test files.

The commands are candidates, the most trusted first: what its CI runs, what its task files say, what its guides say,
what the runners that bough knows would run. Which of them works is found by running them; nothing here is certain.
The nearest project counts: the person's folder, and upward from there. Only when there is none are folders below
considered, and then all of them: no project is proven by another's tests.

One reader serves CI configuration, task files and guides. A file is not parsed, because there are dozens of formats:
each of its lines is stripped of markup, and what is left counts when its first word is a program that somebody asks
about. What a line means is tried, not guessed: a command that was misread does not start or runs no test.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from bough.core.acceptance.verdict import Check, Dependent
from bough.core.shell_syntax import find_folder, find_scripts, split_commands
from bough.core.verdict.language import Language, is_test_path
from bough.core.verdict.paths import find_stem, find_suffix, last_segment, list_parents, parent_folder
from bough.core.verdict.project_files import ProjectFiles, run_in_folder
from bough.core.verdict.registry import LANGUAGES, RUNNERS, find_language, find_runner, recognise
from bough.core.verdict.runner import ProjectCommand

_CI = (
    r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|\.circleci/config\.yml|\.travis\.yml|\.?appveyor\.yml|Jenkinsfile"
    r"|(?:\.azure-pipelines/)?azure-pipelines[^/]*\.yml|bitbucket-pipelines\.yml|\.cirrus\.(?:yml|star)|\.drone\.yml"
    r"|\.woodpecker(?:/[^/]+)?\.ya?ml|\.builds/[^/]+\.yml|\.buildkite/[^/]+\.ya?ml|\.semaphore/[^/]+\.yml"
)
_GUIDES = r"(?:\.github/|docs?/)?(?:CONTRIBUTING|HACKING|DEVELOP\w*|README|TESTING)[^/]*\.?(?:md|rst|txt|adoc)?"
_TASK_FILES = "|".join(language.task_files for language in LANGUAGES if language.task_files)
_LARGEST = 100_000
_MOST_FILES = 20

_LABELS = r"\s*(?:[-*]\s+)?(?:name|uses|if|description|title|deps)\s*[:=]"
"""Lines that run nothing, whatever they name."""
_KEY = r"(?:[-*]\s+)?(?:[\w.-]+\s*[:=]\s*|\"[\w./-]+\"\s*=\s*)?(?:[|>][-+]?)?\s*"
"""What stands before a command on a line: `- run: `, `test = `, `script: `."""
_FOLDED = r"(?m)^([ \t]*)((?:- +)?[\w.-]+:[ \t]*)>[-+]?[ \t]*\n((?:\1[ \t]+\S.*\n?|[ \t]*\n)+)"
"""A text of several lines in YAML that stands for one."""
_PROMPT = r"(?:[$%❯#]\s+)?"
_CALL = r"\b(?:run|sh|call|system|execute)\(?\s*((?:[\"'][^\"'\n]*[\"'][\s,]*)+)"
_PLACEHOLDER = (
    r"\{(?:env_?bin_?dir|tox_?ini_?dir)\}/|\{(?:posargs|args)(?::([^{}]*))?\}|\$\{?(?:ARGS|TESTARGS|PYTEST_ARGS)\}?"
    r"|\"?\$@\"?"
)
_HARMFUL = re.compile(
    r"\b(?:docker|docker-compose|podman|compose|kubectl|helm|terraform|sudo|ssh|scp|rsync|curl|wget|systemctl|service"
    r"|deploy\w*|publish\w*|release|upload|twine|push|serve|start|up|down|login)\b"
)
"""Words of commands that leave the machine, start services or ask for more rights: never tried unasked."""


_UNSET = r"\$\{?(?!(?:PWD|HOME|PATH|PYTHONPATH|SHELL|TMPDIR)\b)[A-Z_][A-Z0-9_]*\b"
"""Variables that only the matrix of a CI service sets."""
_SETTING = r"""\s+-{0,2}[\w.-]+=(?:"[^"\n]*"|'[^'\n]*'|(?:\$\{\{.*?\}\}|\S)+)"""
"""An argument that gives something a value, which has one without it, too: `LUA=$LUA`, `--basetemp={envtmpdir}`."""


_IN_FOLDER = r"\s(?:-C|--test-dir|--build)[ =](?!/)([\w./-]+)"
"""The folder of a build that a command is about: before that was built, it is not there."""
_BUILDS = re.compile(
    r"(?:\w+=(?:'[^']*'|\"[^\"]*\"|\S*)\s+)*"
    rf"(?:{'|'.join(language.builds for language in LANGUAGES if language.builds)})"
)
"""Commands that build what tests need."""
_BY_DEFAULT = "|".join(language.tests_by_default for language in LANGUAGES if language.tests_by_default)


class Stated(NamedTuple):
    """A command that a file of the project runs."""

    command: str
    path: str
    built: str = ""
    """What CI runs before it in the same job to build the project; empty: nothing."""


def list_commands(look: ProjectFiles) -> Iterator[Stated]:
    """The most trusted first: CI configuration and the scripts that it runs, then task files, then guides; as often
    as they occur."""
    for pattern in (_CI, _TASK_FILES, _GUIDES):
        scripts: dict[str, str] = {}
        named = [path for path in look if path.count("/") < 3 and pattern and re.fullmatch(pattern, path)]
        # One that is named after tests says more about them than one for documents or releases.
        for path in sorted(named, key=lambda path: "test" not in path.lower())[:_MOST_FILES]:
            for one in _list_lines(path, look.text(path)[:_LARGEST]):
                yield one
                if pattern is _CI and (script := _find_shell_script(one.command, look)):
                    scripts.setdefault(script, path)
        for script, path in list(scripts.items())[:_MOST_FILES]:
            yield from _list_lines(path, look.text(script)[:_LARGEST])


def _find_shell_script(command: str, look: ProjectFiles) -> str:
    """The file of the project that a command runs in a shell; empty: none."""
    words = [word.text for word in (split_commands(command) or ((),))[0]]
    named = words[1:2] if words[:1] in (["bash"], ["sh"]) else words[:1]
    found = named[0].removeprefix("./") if named else ""
    return found if found in look.files and find_suffix(found) in ("", "sh", "bash") else ""


def rank_told(path: str) -> int:
    """How much a file says about how a project is tested, 1 the most; 0: nothing."""
    if path.count("/") > 2:
        return 0
    kinds = (_CI, _TASK_FILES, r"(?:[^/]+/)?(?:[Mm]ake|[Rr]ake|[Bb]uild|[Tt]est)[^/]*", _GUIDES)
    return next((rank for rank, kind in enumerate(kinds, 1) if kind and re.fullmatch(kind, path)), 0)


def is_ci(path: str) -> bool:
    return re.fullmatch(_CI, path) is not None


def is_guide(path: str) -> bool:
    return re.fullmatch(_GUIDES, path) is not None


def is_harmless(command: str) -> bool:
    """Whether a command can be tried: it does no harm, and nothing in it is known to a CI service or a reader alone."""
    return not (_HARMFUL.search(command) or re.search(rf"\$\{{\{{|<<|<[\w-]+>|{_UNSET}", command))


def find_setup(language: Language, look: ProjectFiles) -> tuple[str, str]:
    """The command that installs what a project of this language needs, and the file that shows it; empty: nothing
    does. What CI runs comes before what a lock file stands for."""
    for found in list_commands(look):
        shown = language.installs and re.match(rf"(?:{language.installs})", found.command)
        tools = re.search(r"\s(?:-g|--global|--user)\b", found.command)  # Of the machine, not of the project.
        if shown and not tools and is_harmless(found.command) and re.fullmatch(_CI, found.path):
            return found.command, found.path
    for pattern, command in language.setups:
        if named := next((path for path in look.near if re.fullmatch(pattern, path)), ""):
            return command.replace("{file}", named), named
    return "", ""


def _list_lines(path: str, text: str) -> Iterator[Stated]:
    folder, builds, ci = "", list[str](), is_ci(path)
    placed = "".join(_place(block) for block in re.split(r"(?m)^(?=\s*- )", text)) if ci else text
    folded = re.sub(_FOLDED, lambda found: f"{found[1]}{found[2]}{' '.join(found[3].split())}\n", placed)
    for line in _list_code(path, re.sub(r"\\\n\s*", " ", folded)):
        if re.match(r"\s*(?:-\s+)?(?:name|run|script|steps|jobs)\s*:", line):
            folder = ""  # Another shell.
        builds = [] if re.match(r"\s*(?:steps|jobs)\s*:", line) else builds
        for command in (*_unwrap_calls(line), _unwrap(line)):
            words = split_commands(command)
            if not words:
                continue
            if words[0][0].text == "cd" and len(words) == 1 and len(words[0]) == 2:
                folder = words[0][1].text
                continue
            inside = folder and not folder.startswith(("/", "~", "$", "-"))
            found = f"cd {folder} && {command}" if inside else command
            yield Stated(found, path, " && ".join(builds))
            if ci and _BUILDS.match(command) and is_harmless(found) and found not in builds:
                builds.append(f"({found})" if inside else found)


def _place(step: str) -> str:
    """A step of CI whose commands change to the folder that the step names."""
    named = re.search(r"(?m)^\s*(?:- )?(?:working-directory|workingDirectory|dir):\s*[\"']?([\w./-]+)[\"']?\s*$", step)
    if not named:
        return step
    several = re.sub(r"(\brun:[ \t]*\|[-+]?[ \t]*\n)([ \t]*)", rf"\1\2cd {named[1]}\n\2", step)
    return re.sub(r"(\brun:[ \t]*)(?=[^\s|>])", rf"\1cd {named[1]} && ", several)


def _unwrap(line: str) -> str:
    """The command of a line, without list marks, keys, prompts, quotes and placeholders."""
    bare = "" if re.match(_LABELS, line) else re.sub(rf"^\s*{_KEY}{_PROMPT}", "", line).rstrip(" \t,|>")
    bare = bare[1:-1].strip() if bare.startswith("[") and bare.endswith("]") else bare
    if len(bare) > 1 and bare[0] in "\"'" and bare.rfind(bare[0]) == len(bare) - 1:
        bare = bare[1:-1]
    bare = re.sub(r"^(?:& )?(?=\./\S+\.ps1\b)", "pwsh -File ", bare)
    plain = re.sub(_PLACEHOLDER, lambda found: found[1] or "", bare).strip()
    unset = rf"^\s+\w.*(?:\$\{{\{{|{_UNSET})|=\{{[a-z_]+\}}"
    return re.sub(_SETTING, lambda found: "" if re.search(unset, found[0]) else found[0], plain)


def _unwrap_calls(line: str) -> Iterator[str]:
    """`session.run("tool", "-v")`, `sh 'make check'`."""
    for found in re.finditer(_CALL, line):
        yield " ".join(re.findall(r"[\"']([^\"'\n]*)[\"']", found[1]))


def _list_code(path: str, text: str) -> Iterator[str]:
    """The lines of a file; of a guide only its code, whose other lines may begin with the name of a program too."""
    if is_ci(path):
        yield from (line for line in text.splitlines() if not line.lstrip().startswith("#"))
        return
    if find_suffix(path) not in ("md", "rst", "txt", "adoc", "") or _is_task_file(path):
        yield from text.splitlines()
        return
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif fenced or line.startswith(("    ", "\t", "$ ")):
            yield line
        else:
            yield from re.findall(r"`([^`\n]+)`", line)


def _is_task_file(path: str) -> bool:
    return bool(_TASK_FILES) and re.fullmatch(_TASK_FILES, path) is not None


_MANIFESTS = {name: language for language in LANGUAGES for name in language.manifests}
"""What makes a folder a project of its own."""
MOST_DEPENDENTS = 4
"""Projects that need this one whose tests run."""
_DEEPEST = 3
MOST_PROJECTS = 12
MOST_CANDIDATES, MOST_STATED = 8, 4
"""Candidates for a check, and how many of them the project's files state: CI runs one suite in many ways."""
_SHOWS = "|".join(path for runner in RUNNERS for path, text, _ in runner.starts if text)
_PROGRAMS = frozenset(name for language in LANGUAGES for name in language.programs)
_LAUNCHERS = re.compile(rf"^(?:{'|'.join(language.launchers for language in LANGUAGES if language.launchers)})")
_INSTALLS = re.compile("|".join(language.installs for language in LANGUAGES if language.installs))
_TESTY = r"(?i)(?:^|[-_.])(?:run)?[-_]?(?:unit)?tests?(?:$|[-_.\d])"
_TARGET = r"(?:(?:unit|quick|fast)[-_:]?)?tests?(?:[-_:](?:unit|all|ci|run|only|py\d*))?|specs?|verify"
"""Names of targets and scripts that run tests."""
_CI_TARGET = rf"(?:\+?[\w.+-]+[/:])?(?:{_TARGET}|run[-_]?tests?)"
_NO_PROGRAMS = frozenset(
    """cat cd chmod cp echo else exit export for git grep if image key ls mkdir mv needs printf rm run set stage tar
    test then touch with""".split()  # noqa: SIM905
)
"""First words of lines that run no tests, whatever follows."""
RUNNABLE = tuple(dict.fromkeys(suffix for runner in RUNNERS for suffix in runner.suffixes))
"""Suffixes of files that can be run as tests, in the order in which they are preferred."""


def shows_runner(path: str) -> bool:
    """Whether the text of a file decides which runner a project uses."""
    return path.count("/") < 2 and re.fullmatch(_SHOWS, path) is not None


def list_project_checks(look: ProjectFiles, start: str = "") -> list[Check]:
    """The candidates for the check that proves the project around the folder `start`, the most trusted first; none
    when nothing shows how to test it."""
    ways = (way for way in (start, *list_parents(start)) if way)
    projects = [way for way in ways if any(f"{way}/{name}" in look.files for name in _MANIFESTS)]
    for here in (*projects, ""):
        if checks := _list_checks_in(look.inside(here)):
            where = f", in {here}/" if here else ""
            others = _list_dependents(look, here) if here else ()
            places = ", ".join(f"{other.folder}/" for other in others)
            then = f"; then {places}, which need{'s' if len(others) == 1 else ''} it" if others else ""
            return [
                Check(run_in_folder(here, check.command), f"{check.why}{where}{then}", check.runner, dependents=others)
                for check in checks
            ]
    # Another project's tests do not help in a project without tests.
    below = _find_checks_below(look, start) or (_find_checks_below(look, "") if start and not projects else None)
    return [below] if below else []


def _list_dependents(look: ProjectFiles, here: str) -> tuple[Dependent, ...]:
    if not any(last_segment(path) in _MANIFESTS and not path.startswith(f"{here}/") for path in look):
        return ()
    checks = ((place, _find_check_in(look.inside(place))) for place in find_dependents(look, here))
    return tuple(_make_dependent(look.inside(place), place, check) for place, check in checks if check)


def find_dependents(look: ProjectFiles, here: str) -> list[str]:
    """Folders of the projects that name the one in `here` as something they need, the nearest ones first."""
    names = {name for language in LANGUAGES for name in language.list_project_names(look.inside(here).text)}
    places = {parent_folder(path) for path in look if last_segment(path) in _MANIFESTS and path.count("/") <= _DEEPEST}
    others = [place for place in places if place and not f"{here}/".startswith(f"{place}/")]
    others = [place for place in others if not place.startswith(f"{here}/")]
    found = [place for place in others if _needs(look, place, here, names)]
    return sorted(found, key=lambda place: (place.count("/"), place))[:MOST_DEPENDENTS]


def _needs(look: ProjectFiles, place: str, here: str, names: set[str]) -> bool:
    path = re.escape(posixpath.relpath(here, place))
    for manifest, language in _MANIFESTS.items():
        text = look.text(f"{place}/{manifest}")
        if text and (re.search(rf"""["'\s:=/]{path}/?["'\s]""", f"{text}\n") or language.requires(text, names)):
            return True
    return False


def _make_dependent(look: ProjectFiles, place: str, check: Check) -> Dependent:
    runner = find_runner(check.runner)
    command = runner.outside(check.command, look) if runner is not None else check.command
    return Dependent(place, run_in_folder(place, command), check.runner)


def _find_checks_below(look: ProjectFiles, start: str) -> Check | None:
    """One check for all the projects in the folders below."""
    inner = look.inside(start)
    names = sorted(
        {parent_folder(path) for path in inner if path.count("/") in (1, 2) and last_segment(path) in _MANIFESTS}
    )
    tops = [name for name in names if not any(name.startswith(f"{other}/") for other in names)]
    found = [(name, check) for name in tops if (check := _find_check_in(inner.inside(name)))][:MOST_PROJECTS]
    prefix = f"{start}/" if start else ""
    if len(found) == 1:
        [(name, check)] = found
        return Check(run_in_folder(prefix + name, check.command), f"{check.why}, in {prefix}{name}/", check.runner)
    if not found:
        return None
    command = " && ".join(f"({run_in_folder(prefix + name, check.command)})" for name, check in found)
    places = ", ".join(f"{prefix}{name}/" for name, _ in found)
    return Check(command, f"there are {len(found)} projects ({places}); start in one of them to check only that")


def _find_check_in(look: ProjectFiles) -> Check | None:
    return next(iter(_list_checks_in(look)), None)


def _list_checks_in(look: ProjectFiles) -> list[Check]:
    """The candidates of the project in this very folder, with their commands as run from there."""
    known = [hit for runner in RUNNERS for hit in runner.projects(look)]
    alone = [Check(hit.command, hit.why) for hit in known if hit.alone]
    files = [one for one in list_commands(look) if look.has_folder(find_folder(one.command))]
    told = list(_list_stated(look, known, files))
    stated = [Check(found.command, f"{found.path} runs it") for found in told if _is_there(found, look)][:MOST_STATED]
    built = next((found for found in told if found.built), None)
    if built:
        stated.insert(1, Check(f"{built.built} && {built.command}", f"{built.path} builds it first"))
    others = [
        Check(found.command, f"{found.path} runs it")
        for found in files
        if _is_ci_test(found, look) and _is_there(found, look)
    ]
    found = [*alone, *stated, *(Check(hit.command, hit.why) for hit in known if not hit.alone), *others]
    unique = {check.command: check for check in reversed(found)}
    return [
        replace(unique[command], runner=find_runner_behind(command, look))
        for command in dict.fromkeys(check.command for check in found)
    ][:MOST_CANDIDATES]


def _is_there(one: Stated, look: ProjectFiles) -> bool:
    return all(map(look.has_folder, re.findall(_IN_FOLDER, one.command)))


def _is_ci_test(one: Stated, look: ProjectFiles) -> bool:
    """Whether CI runs tests with a program that bough does not know, by the words of the command."""
    words = [word.text for word in (split_commands(one.command) or ((),))[-1]]
    if not is_ci(one.path) or not is_harmless(one.command) or _INSTALLS.match(one.command) or len(words) < 2:
        return False
    named = [word for word in words[1:] if not word.startswith("-")]
    return (
        re.fullmatch(r"(?:\./)?[a-z][\w.+-]*", words[0]) is not None
        and words[0] not in _NO_PROGRAMS
        and not {"-c", "-o"} & {*words}  # It compiles one.
        and any(re.fullmatch(_CI_TARGET, word) or (word in look.files and is_test_path(word)) for word in named)
    )


def _list_stated(look: ProjectFiles, known: Sequence[ProjectCommand], files: Sequence[Stated]) -> Iterator[Stated]:
    """The commands of the project's own files that run tests. One of a runner that bough would use here anyway is run
    as bough would, with its arguments; where the files select several parts, the whole."""
    whole = {find_runner_behind(hit.command, look): hit.command for hit in known}
    targets = frozenset(name for runner in RUNNERS for name in runner.find_targets(look)[1])
    parts: dict[str, set[str]] = {}
    found: list[tuple[Stated, str, str | None]] = []
    for one in files:
        command = _LAUNCHERS.sub("", one.command)
        name = recognise(command)
        runner = find_runner(name)
        if (
            not is_harmless(command)
            or _INSTALLS.match(command)
            or (runner.wraps if runner else not _runs_tests(command, look, targets))
        ):
            continue
        rest = runner.strip_reporting(command) if runner else None
        found.append((one._replace(command=command), name, rest))
        parts.setdefault(name, set()).update([rest] if rest is not None and rest != whole.get(name) else [])
    for one, name, rest in found:
        if rest is None or name not in whole:
            yield one
        elif is_guide(one.path) or len(parts[name]) > 1:
            yield one._replace(command=whole[name])
        else:
            yield one._replace(command=f"{whole[name]} {rest}".strip() if _selects_nothing(rest) else one.command)


def _runs_tests(command: str, look: ProjectFiles, targets: Collection[str]) -> bool:
    """Whether a command of no known runner runs tests by its words: a target or script of that name, or a file of the
    project."""
    words = [word.text for word in (split_commands(command) or ((),))[-1]]
    program = last_segment(words[0]) if words else ""
    runnable = ("", "sh", "bash", "ps1", *(suffix[1:] for suffix in RUNNABLE))
    scripts = (word for word in words[:3] if word.removeprefix("./") in look.files and find_suffix(word) in runnable)
    if any(re.search(_TESTY, find_stem(word)) for word in scripts):
        return True
    named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    by_name = any(re.fullmatch(_TARGET, word) or (word == "check" and word in targets) for word in named)
    return (program in _PROGRAMS and by_name) or re.fullmatch(_BY_DEFAULT, " ".join([program, *named])) is not None


def _selects_nothing(rest: str) -> bool:
    try:
        words = shlex.split(rest)
    except ValueError:
        return False
    return all(
        word.startswith("-") or (at and words[at - 1].startswith("-") and "/" not in word)
        for at, word in enumerate(words)
    )


def find_file_check(path: str, look: ProjectFiles) -> Check | None:
    """The check that runs the tests of one file; None for a language that bough has no runner for.

    The file need not exist yet: a step may name the test that is still to be written. pytest's `::test` may follow.
    """
    file, _, test = path.partition("::")
    suffix = f".{find_suffix(file)}"
    for runner in RUNNERS:
        if suffix not in runner.suffixes:
            continue
        home = runner.home(file, look)
        inside = file[len(home) + 1 :] if home else file
        made = runner.file(f"./{inside}" if inside.startswith("-") else inside, look.inside(home), test)
        if made is not None:
            return Check(run_in_folder(home, made), file, recognise(made))
    return None


def rank_suffix(path: str) -> int:
    """The rank of a file's suffix in `RUNNABLE`, all of a language as one; negative: it cannot run."""
    ranks = (f".{suffix}" for suffix in (find_suffix(path), *find_language(path).suffixes))
    return min((RUNNABLE.index(suffix) for suffix in ranks if suffix in RUNNABLE), default=-1)


def find_runner_behind(command: str, look: ProjectFiles) -> str:
    """The runner that a command runs, also behind a script of a manifest (`npm test`, `cd web && yarn run unit`)."""
    runner, run, inside = recognise(command), find_scripts(command), find_folder(command)
    if runner or len(run) != 1 or inside.startswith(("/", "..")):
        return runner
    place = look.inside(posixpath.normpath(inside) if inside else "")
    known = {name: line for language in LANGUAGES for name, line in language.list_scripts(place).items()}
    script = known.get(run[0].name)
    return _find_script_runner(script, known) if isinstance(script, str) else ""


def _find_script_runner(script: str, known: Mapping[str, object], depth: int = 0) -> str:
    """The runner behind a script of package.json, following `npm run other`; empty when it cannot be made to report
    from outside."""
    runner, run = find_runner(recognise(script)), find_scripts(script)
    if runner is None and len(run) == len(split_commands(script)) == 1 and depth < 3:
        other = known.get(run[0].part[-1].text)
        behind = find_runner(_find_script_runner(other, known, depth + 1)) if isinstance(other, str) else None
        # Arguments do not pass through a second script; the environment does.
        return behind.name if behind and behind.by_environment else ""
    if runner is None:
        return ""
    # Arguments are appended to the script, so it has to be the last command.
    ends_with_it = recognise(script[split_commands(script)[-1][0].start :]) == runner.name
    return runner.name if ends_with_it or not runner.by_arguments else ""
