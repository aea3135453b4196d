"""A project's own test command, found by its manifests, and the command that runs one of its test files.

The runners are tried in the order of their registry: the first that matches counts; the others are named in the reason.
The nearest project counts: the person's folder, and upward from there. Only when there is none are folders below
considered, and then all of them: no project is proven by another's tests.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from bough.core.acceptance.verdict import Check, Dependent
from bough.core.shell_syntax import find_folder, find_scripts, split_commands
from bough.core.verdict.dependents import find_dependents
from bough.core.verdict.paths import find_suffix, last_segment, list_parents, parent_folder
from bough.core.verdict.project_files import ProjectFiles, run_in_folder
from bough.core.verdict.registry import LANGUAGES, RUNNERS, find_language, find_runner
from bough.core.verdict.runner import ProjectCommand
from bough.core.verdict.runners import recognise

_MANIFESTS = frozenset(name for language in LANGUAGES for name in language.manifests)
"""What makes a folder a project of its own."""
MOST_PROJECTS = 12
RUNNABLE = tuple(dict.fromkeys(suffix for runner in RUNNERS for suffix in runner.suffixes))
"""Suffixes of files that can be run as tests, in the order in which they are preferred."""


def find_project_check(look: ProjectFiles, start: str = "") -> Check | None:
    """The check that proves the project around the folder `start`; None when nothing shows how to test it."""
    projects = [way for way in (start, *list_parents(start)) if way and _is_project(look, way)]
    for here in (*projects, ""):
        if check := _find_check_in(look.inside(here)):
            where = f", in {here}/" if here else ""
            others = _list_dependents(look, here) if here else ()
            places = ", ".join(f"{other.folder}/" for other in others)
            then = f"; then {places}, which need{'s' if len(others) == 1 else ''} it" if others else ""
            return Check(
                run_in_folder(here, check.command), f"{check.why}{where}{then}", check.runner, dependents=others
            )
    # Another project's tests do not help in a project without tests.
    return _find_checks_below(look, start) or (_find_checks_below(look, "") if start and not projects else None)


def _list_dependents(look: ProjectFiles, here: str) -> tuple[Dependent, ...]:
    if not any(last_segment(path) in _MANIFESTS and not path.startswith(f"{here}/") for path in look):
        return ()
    checks = ((place, _find_check_in(look.inside(place))) for place in find_dependents(look, here))
    return tuple(_make_dependent(look.inside(place), place, check) for place, check in checks if check)


def _make_dependent(look: ProjectFiles, place: str, check: Check) -> Dependent:
    runner = find_runner(check.runner)
    command = runner.outside(check.command, look) if runner is not None else check.command
    return Dependent(place, run_in_folder(place, command), check.runner)


def _is_project(look: ProjectFiles, folder: str) -> bool:
    return any(f"{folder}/{name}" in look.files for name in _MANIFESTS)


def _find_checks_below(look: ProjectFiles, start: str) -> Check | None:
    """Of the projects in the folders below, all of them."""
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
    """The check of the project in this very folder, with the command as run from there."""
    found = sorted((hit for runner in RUNNERS if (hit := runner.project(look))), key=lambda hit: not hit.alone)
    return (
        Check(found[0].command, _explain_choice(found), find_runner_behind(found[0].command, look)) if found else None
    )


def _explain_choice(found: Sequence[ProjectCommand]) -> str:
    others = " and ".join(dict.fromkeys(hit.kind for hit in found[1:] if hit.kind != found[0].kind))
    return f"{found[0].why} (before {others})" if others else found[0].why


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
