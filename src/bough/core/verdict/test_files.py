"""Find the test side of a project's files: everything that determines a check's result and is not the product.

That is tests, fixtures, the runner's configuration, test registration, and data that only tests read. Paths and the
runner's reports decide; files with both sides are divided into parts. If a product file is mistaken for a test, the
original tests run without its change, and a person is asked; a test file mistaken for product is just not protected.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from bough.core.shell_syntax import split_commands
from bough.core.verdict.language import DATA, is_test_folder, is_test_name, is_test_path
from bough.core.verdict.paths import find_stem, find_suffix, is_installed_folder, last_segment, parent_folder
from bough.core.verdict.references import asserts, behaves, expects, loads, names_file, names_path
from bough.core.verdict.registry import LANGUAGES, MANIFESTS, NEUTRAL, RUNNERS, find_language
from bough.core.verdict.texts import FileChange, compare_lines, measure_indent, parse_object

_ALL_SETTINGS = (*(runner.settings for runner in RUNNERS), *(language.settings for language in LANGUAGES))
_SETTINGS = rf"(?:^|/)(?:{'|'.join(settings for settings in _ALL_SETTINGS if settings)})$"
"""Pattern for files that only configure test runs, of the runners and of the tools around them."""
_SCRIPTS = "|".join(runner.scripts for runner in RUNNERS if runner.scripts)
_TABLES = [
    *((file, re.escape(table)) for runner in RUNNERS for file, table in runner.sections),
    *(row for language in LANGUAGES for row in language.sections),
]
_SECTIONS = {name: "|".join(table for file, table in _TABLES if file == name) for name in {file for file, _ in _TABLES}}
"""Patterns for tables that configure test runs in files with other content, by the name of the file."""


def is_code(path: str) -> bool:
    """Whether a file is code: its language has a record, or it is named like a test and is not data."""
    return find_language(path) is not NEUTRAL or (find_suffix(path) not in DATA and is_test_name(path))


def _is_program(path: str) -> bool:
    return not find_suffix(path) and last_segment(parent_folder(path)) in ("bin", "sbin", "libexec")


def is_foreign(path: str) -> bool:
    return is_installed_folder(parent_folder(path))


def is_data(path: str) -> bool:
    return find_suffix(path) in DATA


def is_test_file(path: str) -> bool:
    """Whether a file is named like a test, or is code in a folder of tests."""
    named = is_test_name(path) or (is_code(path) and is_test_folder(parent_folder(path)))
    return named and not is_foreign(path)


def is_only_tests(path: str) -> bool:
    """Whether a file is code named like a test, and does not configure or build other tests."""
    return is_test_name(path) and is_code(path) and not (_is_setting(path) or is_build_file(path))


def is_product(path: str) -> bool:
    return is_code(path) and not is_test_file(path) and not is_foreign(path)


def _is_setting(path: str) -> bool:
    return re.search(_SETTINGS, path) is not None


@lru_cache(maxsize=8)
def split_words(command: str) -> frozenset[str]:
    """Return a command line's words as paths; a line that a shell could not parse is split at blanks."""
    words = [word.text for part in split_commands(command) for word in part] or command.split()
    return frozenset(word.partition("::")[0].removeprefix("./") for word in words)


@lru_cache(maxsize=8)
def _list_code_suffixes(command: str) -> frozenset[str]:
    """Return the suffixes of the files that a command names: files with these suffixes are code, record or not."""
    return frozenset(map(find_suffix, split_words(command))) - DATA - {""}


def is_watched(path: str, command: str = "") -> bool:
    """Whether a file's text matters: it is code or configuration, or the command names it."""
    if is_code(path) or _is_program(path) or find_suffix(path) in _list_code_suffixes(command):
        return not is_foreign(path)
    return is_configuration(path) or path in split_words(command)


def is_configuration(path: str) -> bool:
    name = last_segment(path)
    return name in _SECTIONS or name in MANIFESTS or _is_setting(path) or is_build_file(path)


class Restoration(Struct, frozen=True):
    """The changes that give a tree the tests that it had before the work (at the base)."""

    paths: tuple[str, ...] = ()
    """Files to restore to the base's state, or to remove."""
    texts: Mapping[str, str] = {}
    """New texts of files of which only a part is restored."""
    doubtful: tuple[str, ...] = ()
    """Restored files that may be product after all: code that only tests import."""

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(sorted({*self.paths, *self.texts}))


def restore_test_side(
    changes: Iterable[FileChange],
    before: Mapping[str, str],
    after: Mapping[str, str],
    command: str,
    reported: Collection[str],
    request: str = "",
) -> Restoration:
    """Find what to restore. `reported`: files with tests, by the runner; `request`: the goal."""
    added = {change.path for change in changes if change.kind == "A"}
    changed = sorted(change.path for change in changes)
    side = _TestSide(before, command, reported, request)
    paths: list[str] = []
    texts: dict[str, str] = {}
    for path in changed:
        old, new, inside = before.get(path), after.get(path), path in reported
        if is_build_file(path) and old and new and only_adds(old, new, changed):
            continue
        if side.is_test_only(path, path in added):
            paths.append(path)
        elif (made := _restore_part(path, old, new, inside, changed)) is not None:
            texts[path] = made
    known = {*paths, *texts, *added}
    others = [path for path in changed if not (path in known or is_foreign(path) or is_configuration(path))]
    read = side.find_read(others) if others else []
    paths += read
    # Keep new data files: they replace nothing, and a test may need them.
    idle = DATA - {"snap", "ambr", "ini", "cfg", "toml"}  # Runners load files with these suffixes on their own.
    paths = [path for path in paths if path not in added or find_suffix(path) not in idle or is_configuration(path)]
    doubtful = tuple(path for path in paths if path in read and is_code(path) and not is_test_path(path))
    return Restoration(tuple(sorted(paths)), texts, doubtful)


class _TestSide:
    """Decides whether a file belongs to the tests or to the product, by the texts at the base and by the check."""

    def __init__(self, before: Mapping[str, str], command: str, reported: Collection[str], request: str) -> None:
        self._before = before
        self._command = command
        self._called = expand_command(command, before)
        self._reported = reported
        self._request = request

    def is_test_only(self, path: str, added: bool) -> bool:
        if is_foreign(path):
            return False
        # A new `unittest.py` at the top takes the place of the language's own module.
        in_front = added and re.split(r"[/.]", path, maxsplit=1)[0] in find_language(path).own_modules
        if _is_setting(path) or (in_front and not names_file(self._request, path)):
            return True
        if is_test_path(path):
            return added or path in self._reported or not (self._is_meant(path) or self._is_used_by_product(path))
        if re.fullmatch(_SCRIPTS, last_segment(path)):
            programs = {last_segment(word) for word in split_words(self._command)}
            own = (runner for runner in RUNNERS if runner.scripts and runner.name in programs)
            return any(re.fullmatch(runner.scripts, last_segment(path)) for runner in own)
        if added and path in split_words(self._command):
            return True
        scripts = find_language(path).scripts or not find_suffix(path)
        return scripts and names_path(_strip_tested(self._called), path)

    def _is_meant(self, path: str) -> bool:
        """Whether the goal names a file by its whole path, and the file is code without assertions."""
        text = self._before.get(path, "")
        return bool(self._reported) and names_path(self._request, path) and behaves(text) and not asserts(path, text)

    def _is_used_by_product(self, path: str) -> bool:
        """Whether product code loads or starts a file that is named like a test."""
        if is_test_folder(parent_folder(path)):
            return False
        own = (other for other in self._before if is_product(other) or _is_program(other))
        names = names_file if not find_suffix(path) or find_language(path).scripts else loads
        return any(other != path and not is_build_file(other) and names(self._before[other], path) for other in own)

    def find_read(self, paths: Collection[str]) -> list[str]:
        """Find what the check reads and does not test: data that it names, and expectations that only tests import."""
        before = self._before
        code = [path for path in before if is_code(path) and not is_foreign(path)]
        # What names a package's `__init__.py` does not run it, but reads it, as `setup.py` does for the version.
        called = (path for path in code if find_stem(path) != "__init__" and names_path(self._called, path))
        roots = {*filter(is_test_file, code), *called}
        # A file that the command itself names is what the person wants tested, unless the command compares something
        # with it or passes it to code of the project.
        tested = re.sub(r"[^|;&\n]*\b(?:diff|cmp|comm)\b[^|;&\n]*", "", self._command)
        runs = any(behaves(before.get(word, "")) for word in split_words(self._command))

        def is_read(path: str) -> bool:
            text = before.get(path, "")
            if names_file(self._request, path) or (names_file(tested, path) and (is_code(path) or not runs)):
                return False
            if not is_code(path):
                by = (self._called, *(before[root] for root in roots))
                return (is_data(path) or not behaves(text)) and any(names_file(each, path) for each in by)
            if path.startswith(("src/", "lib/")):  # In any language these folders hold what is published.
                return False
            loading = [other for other in code if other != path and loads(before[other], path)]
            return bool(loading) and roots.issuperset(loading) and expects(path, text)

        found = [path for path in paths if is_read(path)]
        # The only code that the tests load or start is no expectation of theirs: it is the product.
        others = [path for path in code if path not in roots and is_product(path)]
        if any(is_code(path) for path in found) and not any(
            not is_read(other) and any(loads(before[root], other) or names_file(before[root], other) for root in roots)
            for other in others
        ):
            return [path for path in found if not is_code(path)]
        return found


def _strip_tested(command: str) -> str:
    """Remove from a command the programs whose output it compares, since those are what it tests."""
    return re.sub(r"\$\([^()]*\)|`[^`]*`|(?<![^|;&\n])[^|;&\n]*\|(?=\s*(?:grep|diff|cmp)\b)", "", command)


def expand_command(command: str, before: Mapping[str, str]) -> str:
    """Return the command followed by the texts of the build files whose recipes it may run."""
    recipes = (path for path in before if "/" not in path and is_configuration(path))
    return "\n".join([command, *(before[path] for path in recipes)])


# ── files with tests and product ──────────────────────────────────────────────────────────────────────────────────────


def _restore_part(path: str, old: str | None, new: str | None, inside: bool, changed: Collection[str]) -> str | None:
    """Return the new file with its old tests; None if these did not change. `inside`: the runner found tests in it."""
    if is_foreign(path) or (old is None and new is None):
        return None
    was, now = old or "", new or ""
    if (tables := _SECTIONS.get(last_segment(path))) is not None:
        made = _restore_keys(was, now, tables) if path.endswith(".json") else _restore_sections(was, now, tables)
    elif is_build_file(path):
        made = restore_registration(was, now, changed) if was else now
    else:
        language = find_language(path)
        made = _restore_tests(was, now, *(language.find_inner_tests(text, inside) for text in (was, now)))
    return None if made == now else made


def _restore_keys(old: str, new: str, pattern: str) -> str:
    """Restore the matching keys of a JSON object; keep all others."""
    was, now = parse_object(old or "{}"), parse_object(new or "{}")
    if was is None or now is None:
        return new
    made = {key: value for key, value in now.items() if not re.fullmatch(pattern, key)}
    made |= {key: value for key, value in was.items() if re.fullmatch(pattern, key)}
    return new if made == now else json.dumps(made, indent=2)


def _restore_sections(old: str, new: str, pattern: str) -> str:
    """Restore the sections with a matching heading; keep all others."""
    pattern = rf"\[+(?:{pattern})\b"
    was, now = ([one for one in _split_sections(text) if re.match(pattern, one)] for text in (old, new))
    if [one.strip() for one in was] == [one.strip() for one in now]:
        return new
    kept = "".join(one for one in _split_sections(new) if not re.match(pattern, one))
    return "\n".join([kept.rstrip("\n"), *(one.strip("\n") for one in was)]).lstrip("\n") + "\n"


def _split_sections(text: str) -> list[str]:
    return re.split(r"(?m)^(?=\[[^\]\n]+\]\]?\s*(?:#.*)?$)", text)


def _restore_tests(old: str, new: str, was: list[tuple[int, int]], now: list[tuple[int, int]]) -> str:
    """Put the old tests in place of the new ones in a file that holds both product code and tests. `was` and `now`:
    where the tests are in the old and in the new text."""
    tests = [old[start:end] for start, end in was]
    if not tests or tests == [new[start:end] for start, end in now]:
        return new
    for start, end in reversed(now):
        new = new[:start] + new[end:]
    return "\n\n".join([new.rstrip(), *(test.strip("\n") for test in tests)]) + "\n"


# ── build files: lines that register, configure or start tests belong to the tests, others to the product ─────────────

_BUILD_FILES = "|".join(language.build_files for language in LANGUAGES if language.build_files)
_ABOUT_TESTS = (
    r"(?<![a-z])[Tt]ests?(?![a-z])|TEST|(?<![a-z])[Tt]est(?=[A-Z_])|(?<=[a-z_])Tests?\b|\b[Cc]heck\b|(?<![a-z])specs?\b"
    r"|eunit|surefire|WILL_FAIL|should_fail|ignoreFailures|NDEBUG"
)
"""Words that make a line of a build file concern tests."""


def is_build_file(path: str) -> bool:
    return re.fullmatch(_BUILD_FILES, last_segment(path)) is not None


def restore_registration(old: str, new: str, files: Collection[str]) -> str:
    """Return the new file with the lines about tests restored, but for those that only add names of `files`."""
    was, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    before, after = _mark_tests(was), _mark_tests(now)
    made: list[str] = []
    for tag, a, b, c, d in compare_lines(was, now):
        if tag == "insert":
            made += [line for line, mark in zip(now[c:d], after[c:d], strict=True) if not mark]
            continue
        concerns = tag != "equal" and any(before[a:b] + after[c:d])
        back = concerns and not only_adds("".join(was[a:b]), "".join(now[c:d]), files)
        made += was[a:b] if back else now[c:d]
    return "".join(made)


def _mark_tests(lines: Sequence[str]) -> list[bool]:
    """Mark each line that is about tests, is indented below such a line or closes its brackets."""
    marks: list[bool] = []
    around: list[tuple[int, bool]] = []
    for line in lines:
        indent, opened = measure_indent(line), False
        while line.strip() and around and around[-1][0] >= indent:
            opened = around.pop()[1]
        below = next((mark for outer, mark in reversed(around) if outer < indent), False)
        closes = opened and re.match(r"\s*[)\]}]", line) is not None
        marks.append(below or closes or re.search(_ABOUT_TESTS, line) is not None)
        if line.strip():
            around.append((indent, marks[-1]))
    return marks


def only_adds(old: str, new: str, files: Collection[str]) -> bool:
    """Whether the new text has all words of the old one in the same order, and otherwise only names of these files."""
    names = {last_segment(path) for path in files}
    left, more = iter(re.findall(r"[\w./+-]+", old)), list[str]()
    wanted = next(left, None)
    for word in re.findall(r"[\w./+-]+", new):
        if word == wanted:
            wanted = next(left, None)
        else:
            more.append(word)
    return wanted is None and bool(more) and all(last_segment(word) in names for word in more)
