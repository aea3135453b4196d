"""The claim as a plain program: what its tests do, without a runner, in a place that looks like no checkout.

Code that is right only where it is tested goes by marks of a test run: a module of the runner, a variable, a name, a
caller, a file beside it, its age, a place, the first seconds. A plain program has none of them. It fails where the code
relies on one; what it says then counts only when it says the same about the code before the work.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from shlex import quote
from types import MappingProxyType

from msgspec import Struct

from bough.core.verdict.canary import falsify_expectations, find_tests
from bough.core.verdict.language import BESIDE, ENDS, FAILS, PASSES, PROJECT, PlainProgram, Wanted
from bough.core.verdict.original_tests import hash_refutation
from bough.core.verdict.paths import find_suffix, last_segment, list_parents, parent_folder
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import is_code, is_configuration, is_data, is_test_file, split_words
from bough.core.verdict.texts import Read

MOST_FILES = 5
"""Test files that become programs."""
LARGEST = 20_000
"""Files of a tree that is copied for them."""
LONGEST = 300
"""Seconds that one may take, where `timeout` is installed: a program at a terminal may wait for somebody."""
UNABLE = 99
"""The exit status where there is no place for it."""
_OWN = ("bough.toml", ".bough")
_PLACE = f"""\
[ "$(find {{tops}} -type f 2>/dev/null | head -n {2 * LARGEST} | wc -l)" -lt {2 * LARGEST} ] || exit {UNABLE}
d=$(mktemp -d /tmp/XXXXXX) && mkdir "$d/{PROJECT}" || exit {UNABLE}
for e in {{tops}}; do [ ! -e "$e" ] || cp -RP -- "$e" "$d/{PROJECT}/" || exit {UNABLE}; done
for e in * .[!.]*; do
  case $e in .git|{"|".join(_OWN)}) ;; *) [ -e "$d/{PROJECT}/$e" ] || ln -s "$PWD/$e" "$d/{PROJECT}/$e";; esac
done
cd "$d/{PROJECT}" && rm -f -- {{removed}} || exit {UNABLE}
[ ! -d {BESIDE} ] || mv {BESIDE} ..
find .. -type f -exec touch -t 202001010000 {{{{}}}} +
for v in $(env | sed -n 's/^\\([A-Za-z0-9_]*\\(TEST\\|BOUGH\\)[A-Za-z0-9_]*\\)=.*/\\1/p') CI; do unset $v; done
c={{command}}
! timeout 1 true 2>/dev/null || t='timeout {LONGEST}'
if script -qec true /dev/null >/dev/null 2>&1; then $t script -qec "$c" /dev/null; else $t sh -c "$c"; fi
s=$?; cd / && chmod -R u+w "$d" && rm -rf "$d"; exit $s
"""
"""A copy of the project at a short path, with old files, without tests and without variables of a test run; the
program has a terminal where `script` provides one."""


class PlainCheck(Struct, frozen=True):
    """A check that is a plain program."""

    command: str
    files: Mapping[str, str]
    """What its tree has in addition, or instead."""
    named: bool
    """It says which tests fail. Otherwise all of its output counts."""
    wrong: Mapping[int, Mapping[str, str]] = {}
    """The tests of programs whose expected values are wrong, by the program's number, with their names there."""


Source = tuple[Mapping[str, str], Sequence[str]]
"""Texts of code and configuration, and the tests of the claim that are taken from them."""


def make_plain_check(sources: Sequence[Source], paths: Collection[str], command: str) -> PlainCheck | None:
    """`sources`: without tests where these have no names; `paths`: all of the tree. None: it cannot be done."""
    if len(paths) > LARGEST:
        return None
    programs: list[PlainProgram] = []
    wrong: dict[int, Mapping[str, str]] = {}
    for texts, tests in sources:
        held = find_tests(texts, tests) if tests else {path: {} for path in texts if is_test_file(path)}
        for path in list(held)[:MOST_FILES]:
            add_program(programs, path, texts[path], {*held[path].values()}, command, texts.get)
        falsified, done = falsify_expectations(texts, tests) if tests else ({}, set[str]())
        held = find_tests({path: texts[path] for path in falsified}, done)
        for path in list(held)[:MOST_FILES]:
            if add_program(programs, path, falsified[path], {*held[path].values()}, command, texts.get):
                wrong[len(programs) - 1] = held[path]
    if programs:
        return join_programs(programs, paths, wrong)
    texts, tests = sources[0]
    return None if tests else _rename_tests(texts, paths, command)


def join_programs(
    programs: Sequence[PlainProgram],
    paths: Collection[str],
    wrong: Mapping[int, Mapping[str, str]] = MappingProxyType({}),
) -> PlainCheck:
    """A check that runs them one after the other, where no file of the tree has a test's name."""
    tests = [path for path in paths if is_code(path) and find_language(path).is_test_name(path)]
    files = {path: text for program in programs for path, text in program.files.items()}
    joined = " ; ".join(f"echo '{FAILS}@{at}' ; ( {program.command} )" for at, program in enumerate(programs))
    return PlainCheck(_place(joined, [*paths, *files], tests), files, True, wrong)


def add_program(programs: list[PlainProgram], path: str, text: str, wanted: Wanted, command: str, read: Read) -> bool:
    """Add the program of a test file, by a name that others do not have, if there is one and it has its place: in some
    languages there is room for one only."""
    made = find_language(path).make_program(path, text, wanted, command, read)
    own = f"program{len(programs)}."
    files = {name.replace("program.", own): text for name, text in made.files.items()} if made else {}
    if made is None or any(files.keys() & other.files.keys() for other in programs):
        return False
    programs.append(PlainProgram(made.command.replace("program.", own), files))
    return True


def _place(command: str, paths: Collection[str], removed: Sequence[str]) -> str:
    tops = sorted({path.partition("/")[0] for path in paths} - {*_OWN})
    return _PLACE.format(tops=" ".join(map(quote, tops)), removed=" ".join(map(quote, removed)), command=quote(command))


# ── a check whose tests have no names ───────────────────────────────────────────────────────────────────────────────


def _rename_tests(texts: Mapping[str, str], paths: Collection[str], command: str) -> PlainCheck | None:
    """The check with its files under other names, so that nothing that it runs has a test's name."""
    words = split_words(command)
    own = [path for path in texts if is_test_file(path) or (path in words and not is_data(path))]
    mixed = {folder for path in paths if path not in {*own} for folder in list_parents(path)}
    tests = {path: _make_name(path, at, mixed) for at, path in enumerate(own)}
    recipes = [path for path in texts if "/" not in path and is_configuration(path)]
    if not tests:
        return None

    def change(text: str) -> str:
        for path, new in tests.items():
            text = re.sub(rf"(?<![\w/.-])((?:\./)?){re.escape(path)}(?![\w/-])", rf"\g<1>{new}", text)
            old_stem, new_stem = last_segment(path).rpartition(".")[0], last_segment(new).rpartition(".")[0]
            if re.search(r"\w[._-]\w", old_stem):
                text = re.sub(rf"(?<![\w-]){re.escape(old_stem)}(?![\w-])", new_stem, text)
        return text

    changed = {path: new for path in recipes if (new := change(texts[path])) != texts[path]}
    if change(command) == command and not changed:
        return None  # It finds tests by their names, and would find none.
    files = {new: change(texts[path]) for path, new in tests.items()} | changed
    return PlainCheck(_place(change(command), [*paths, *files], list(tests)), files, False)


def _make_name(path: str, number: int, mixed: Collection[str]) -> str:
    """`mixed`: folders with other files, which keep their names."""
    folder, suffix = parent_folder(path), find_suffix(path)
    name = f"program{number}" + (f".{suffix}" if "." in last_segment(path) else "")
    if folder and folder not in mixed:
        folder = "/".join([*folder.split("/")[:-1], "parts"])
    return f"{folder}/{name}".lstrip("/")


# ── what it says ────────────────────────────────────────────────────────────────────────────────────────────────────


class PlainResult(Struct, frozen=True):
    """What a plain program shows."""

    failures: set[str]
    """What fails, so that two of them can be compared; empty: nothing, or it could not run. Where tests have names,
    each follows the number of its program."""
    failing: set[str]
    """The tests that fail with wrong expected values, as they should."""
    hollow: set[str]
    """The tests that pass."""


def read_result(text: str, exit_status: int | None, plain: PlainCheck) -> PlainResult:
    if not plain.named:
        said = hash_refutation(re.sub(r"/tmp/\w{6}/", "", text))
        failed = exit_status not in (None, 0, UNABLE, 124, 126, 127)
        return PlainResult({said} if failed and said else set(), set(), set())
    failures: set[str] = set()
    failing: set[str] = set()
    passing: set[str] = set()
    for number, lines in _split_programs(text).items():
        for test, name in plain.wrong.get(number, {}).items():
            failing |= {test for line in lines if line.startswith(f"{FAILS}{name}: ")}
            passing |= {test} if f"{PASSES}{name}" in lines else set()
        if number not in plain.wrong:
            failures |= {f"{number} {line.removeprefix(FAILS)}" for line in lines if line.startswith(FAILS)}
    return PlainResult(failures, failing, passing - failing)


def _split_programs(text: str) -> dict[int, set[str]]:
    """What each program says about its tests, if it ran to its end."""
    _, *parts = re.split(rf"(?m)^{FAILS}@(\d+)\s*$", text)
    said = {
        int(n): {line.strip() for line in part.splitlines()} for n, part in zip(parts[::2], parts[1::2], strict=True)
    }
    return {number: lines - {ENDS} for number, lines in said.items() if ENDS in lines}
