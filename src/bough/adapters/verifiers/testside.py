"""The test side of a tree: what determines a check's result, and is not product.

Tests, fixtures, the runner's configuration, data that only tests read, and files that shadow the runner on its path.
Recognised by paths, by what the runner reported, and in files that hold both (`package.json`, `pyproject.toml`, Rust
sources with tests inside) by the part. Pure. A file wrongly classified as test side is judged by the tests of the base
without its change, and then a person is asked; one wrongly classified as product is only not protected.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from bough.adapters.verifiers.runners import RUNNERS
from bough.core.shell_syntax import split_commands
from bough.ports import FileChange

LANGUAGES = {
    "python": "py pyi",
    "javascript": "js jsx ts tsx mjs cjs mts cts",
    "go": "go",
    "rust": "rs",
    "ruby": "rb",
    "jvm": "java kt kts scala groovy",
    "csharp": "cs fs vb",
    "php": "php",
    "elixir": "ex exs",
    "swift": "swift",
    "c": "c cc cpp cxx h hh hpp m mm",
    "shell": "sh bash bats",
    "perl": "t pl",
    "dart": "dart",
}
_LANGUAGE = {ending: language for language, endings in LANGUAGES.items() for ending in endings.split()}
_TEST_NAME = {
    "python": r"^(?:test.*|.*_tests?|conftest)\.py$",
    "javascript": r"[.\-_](?:test|spec|tests|specs|e2e|cy)\.[^.]+$|^tests?[.\-]",
    "go": r"_test\.go$",
    "ruby": r"_(?:spec|test)\.rb$|^test_|_helper\.rb$",
    "jvm": r"(?:Tests?|IT|Spec|TestCase)\.\w+$|^Test[A-Z]",
    "csharp": r"Tests?\.\w+$|^Test[A-Z]",
    "php": r"Test\.php$",
    "elixir": r"_test\.exs$|^test_helper\.exs$",
    "swift": r"Tests?\.swift$",
    "c": r"[-_]tests?\.\w+$|^tests?[-_.]|Tests?\.\w+$",
    "shell": r"^(?:run[-_]?)?tests?\b|[-_]tests?\.\w+$|\.bats$",
    "perl": r"\.t$",
    "dart": r"_test\.dart$",
}
_TEST_FOLDERS = frozenset("test tests spec specs e2e __tests__ __mocks__ __snapshots__ testdata".split())  # noqa: SIM905
_TEST_WORDS = frozenset({"test", "tests", "spec", "specs", "e2e"})
_FOREIGN = frozenset("node_modules .venv venv site-packages .git .tox .nox __pycache__ .bough".split())  # noqa: SIM905
_SETTINGS = re.compile(
    "|".join(runner.settings for runner in RUNNERS if runner.settings)
    + r"|(?:playwright|cypress|ava|karma|babel|tsup)\.(?:config|setup|workspace|conf)\b.*|\.babelrc.*|\.swcrc"
    r"|\.?[jJ]ustfile|Taskfile\.ya?ml|\.coveragerc|\.envrc?|entry_points\.txt"
)
"""Files that only configure test runs: those of the runners, and of the tools around them."""
_TABLES = [(file, re.escape(table)) for runner in RUNNERS for file, table in runner.sections]
_TABLES += [("pyproject.toml", r"tool\.(?:coverage|nox|hatch\.envs)|project\.entry-points\.[\"']?pytest11")]
_TABLES += [("setup.cfg", r"pytest|coverage|options\.entry_points")]
_SECTIONS = {
    name: rf"\[+(?:{'|'.join(table for file, table in _TABLES if file == name)})\b"
    for name in ("pyproject.toml", "setup.cfg", "Cargo.toml")
}
"""Sections of files with other content, by the file's name."""
_SCRIPTED = (*(table for file, table in _TABLES if file == "package.json"), "ava", "nyc", "c8", "tap")
"""Parts of package.json that configure test runs."""
_RUNNER_MODULES = frozenset(
    """pytest _pytest py pluggy iniconfig unittest doctest nose nose2 xdist tox nox hypothesis pytest_cov pytest_asyncio
    pytest_mock pytest_timeout testtools assertpy sitecustomize usercustomize""".split()  # noqa: SIM905
)
"""Python modules that determine the result of a test run."""
_PROGRAMS = frozenset(
    """pytest py.test unittest python python3 tox nox nose2 jest vitest mocha node npm npx yarn pnpm bun deno ava tap
    playwright cypress go cargo make gradle mvn rspec rake bundle phpunit dotnet ctest bats prove mix swift
    just task hatch pdm poetry uv sh bash env""".split()  # noqa: SIM905
)
_DATA = frozenset(
    """json jsonl ndjson yaml yml toml csv tsv txt snap ambr golden expected out approved snapshot xml html md sql ini
    cfg feature dat""".split()  # noqa: SIM905
)
_EXPECTING = (
    r"(?:^|[\W_])(?:cases?|expect\w*|fixtures?|goldens?|snapshots?|vectors?|answers?|want(?:ed)?|samples?)(?:$|[\W_])"
)
"""Signs that something is compared with this data: in its path, or in its content."""
_RUST_TESTS = re.compile(
    r"(?m)^[ \t]*#\[cfg\([^\]]*\btest\b[^\]]*\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*(?=[{;])"
)
_LOADS = re.compile(r"\b(?:require|import|from)\s*\(?\s*['\"]((?:@[\w.-]+/)?\w[\w.-]*)(?=['\"/])")
"""The packages that JavaScript loads, without paths inside them."""


def last_segment(path: str) -> str:
    return path.rpartition("/")[2]


def find_suffix(path: str) -> str:
    name = last_segment(path)
    return name.rpartition(".")[2].lower() if "." in name else ""


def find_language(path: str) -> str:
    return _LANGUAGE.get(find_suffix(path), "")


def is_foreign(path: str) -> bool:
    """Installed or generated, not the project's own."""
    return _foreign_folder(path.rpartition("/")[0])


@lru_cache(maxsize=1_000)
def _foreign_folder(folder: str) -> bool:
    return any(part in _FOREIGN or part.endswith(".egg-info") for part in folder.split("/"))


def is_data(path: str) -> bool:
    return find_suffix(path) in _DATA


def is_makefile(path: str) -> bool:
    return last_segment(path) in ("GNUmakefile", "makefile", "Makefile") or find_suffix(path) in ("mk", "mak")


def is_test_file(path: str) -> bool:
    """Code of tests, or next to them."""
    return not is_foreign(path) and (
        _is_named_as_test(path) or (bool(find_language(path)) and _is_in_tests(path.rpartition("/")[0]))
    )


def _is_named_as_test(path: str) -> bool:
    """Named like a test in its language, wherever it lies."""
    pattern = _TEST_NAME.get(find_language(path))
    return pattern is not None and re.search(pattern, last_segment(path)) is not None


@lru_cache(maxsize=1_000)
def _is_in_tests(folder: str) -> bool:
    parts = folder.lower().split("/")
    return any(part in _TEST_FOLDERS or re.split(r"[-_.]", part)[-1] in _TEST_WORDS for part in parts)


@lru_cache(maxsize=8)
def split_words(command: str) -> frozenset[str]:
    """A command line's words as paths; one that a shell could not parse is split at its blanks."""
    words = [word.text for part in split_commands(command) for word in part] or command.split()
    return frozenset(word.partition("::")[0].removeprefix("./") for word in words)


def is_watched(path: str, command: str = "") -> bool:
    """Its text is relevant: code, configuration, or what the command names."""
    if find_language(path):
        return not is_foreign(path)
    name = last_segment(path)
    known = name == "package.json" or name in _SECTIONS or _SETTINGS.fullmatch(name) or is_makefile(path)
    return bool(known) or path in split_words(command)


class Restored(Struct, frozen=True):
    """What makes the test side of a tree that of the base again."""

    paths: tuple[str, ...] = ()
    """Files that must be as they were at the base, or absent."""
    texts: Mapping[str, str] = {}
    """Files of which a part must be as it was."""

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(sorted({*self.paths, *self.texts}))


def restore_test_side(
    changes: Iterable[FileChange],
    before: Mapping[str, str],
    after: Mapping[str, str],
    command: str,
    reported: Collection[str],
) -> Restored:
    """`changes`: what differs. `before` and `after`: the texts of watched files. `reported`: files in which
    the runner found tests at the base."""
    added = {change.path for change in changes if change.kind == "A"}
    changed = sorted(change.path for change in changes)
    called = _expand_command(command, before) if any(map(_is_script, changed)) else command
    loaded = find_loaded_packages(before) if any(map(is_foreign, changed)) else set()
    paths: list[str] = []
    texts: dict[str, str] = {}
    for path in changed:
        old, new, inside = before.get(path), after.get(path), path in reported
        if _is_test_only(path, path in added, command, called, loaded) or (inside and _has_only_tests(old or "")):
            paths.append(path)
        elif (made := _restore_part(path, old, new, inside)) is not None:
            texts[path] = made
    paths += _find_test_data([path for path in changed if path not in paths and path not in texts], before)
    # New files that are only data take nothing away: a test may have waited for them.
    paths = [path for path in paths if path not in added or not _is_only_data(path)]
    return Restored(tuple(sorted(paths)), texts)


def _is_only_data(path: str) -> bool:
    """Nothing that a runner would load on its own."""
    name = last_segment(path)
    settings = _SETTINGS.fullmatch(name) or name in _SECTIONS or name == "package.json" or is_makefile(path)
    return find_suffix(path) in _DATA - {"snap", "ambr", "ini", "cfg", "toml"} and not settings


def find_loaded_packages(texts: Mapping[str, str]) -> set[str]:
    """The packages that JavaScript tests load."""
    tests = (path for path in texts if find_language(path) == "javascript" and is_test_file(path))
    return {name for path in tests for name in _LOADS.findall(texts[path])}


def _has_only_tests(text: str) -> bool:
    """Python that defines only tests and their helpers: runners find tests inside product code too."""
    names = re.findall(r"(?m)^(?:async\s+)?(?:def|class)\s+(\w+)", text)
    return bool(names) and all(re.match(r"_|test|Test|setup|teardown|check", name) for name in names)


def _is_script(path: str) -> bool:
    return find_language(path) == "shell" or not find_suffix(path)


def _is_test_only(path: str, added: bool, command: str, called: str, loaded: set[str]) -> bool:
    """Only a test run needs it."""
    if is_foreign(path):
        parts = path.split("/")
        packages = {name.split("/")[0] for name in loaded} | _PROGRAMS
        below = parts[parts.index("node_modules") + 1 :] if "node_modules" in parts else []
        return bool(below) and (below[0] in packages or below[0] == ".bin")
    name = last_segment(path)
    if (
        _is_in_tests(path.rpartition("/")[0])
        or _is_named_as_test(path)
        or _SETTINGS.fullmatch(name)
        or ".cargo/config" in path
    ):
        return True
    if is_makefile(path):
        return "make" in {last_segment(word) for word in split_words(command)}
    if find_suffix(path) in ("snap", "ambr", "golden", "approved", "pth"):
        return True
    if added and (_shadows_runner(path) or path in split_words(command)):
        return True
    return _is_script(path) and re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/-])", called) is not None


def _shadows_runner(path: str) -> bool:
    """Something new that is found before the runner, or before what the runner loads."""
    parts = path.split("/")
    stem = parts[-1].partition(".")[0]
    if find_suffix(path) in ("pyc", "pyo", "so", "pyd"):
        return True
    if find_suffix(path) == "py" or len(parts) > 1:
        first = stem if len(parts) == 1 else parts[1] if parts[0] in ("src", "lib") and len(parts) > 2 else parts[0]
        if {*parts[:-1], stem} & _RUNNER_MODULES or (find_suffix(path) == "py" and first in sys.stdlib_module_names):
            return True
    return len(parts) > 1 and parts[-2] in ("bin", ".bin", "Scripts", ".local") and stem in _PROGRAMS


def _expand_command(command: str, before: Mapping[str, str]) -> str:
    """The command, and the recipes that it may run."""
    recipes = ("package.json", "Makefile", "makefile", "GNUmakefile", "tox.ini", "noxfile.py", "justfile")
    return "\n".join([command, *(before[path] for path in recipes if path in before)])


def _find_test_data(paths: Collection[str], before: Mapping[str, str]) -> list[str]:
    """Data, wherever it lies, that tests of the base name and no other code does."""
    found: list[str] = []
    for path in paths:
        module = (
            path.endswith(".py") and path in before and not re.search(r"(?m)^\s*(?:def|class|async)\b", before[path])
        )
        said = rf"(?i){_EXPECTING}"
        if (
            is_foreign(path)
            or not (find_suffix(path) in _DATA or module)
            or not re.search(said, f"{path}\n{before.get(path)}")
        ):
            continue
        stem, folder = re.escape(last_segment(path)), re.escape(path.rpartition("/")[0].rpartition("/")[2])
        inside = rf"|[\"'/]{folder}[\"'/]" if folder else ""
        pattern = rf"(?<![\w-]){stem}(?![\w-]){inside}"
        if module:
            word = re.escape(last_segment(path).removesuffix(".py"))
            pattern = rf"(?m)^\s*(?:from\s+(?:[\w.]*\.)?{word}\s+import|(?:from|import)\b.*\b{word}\b)"
        named = {is_test_file(other) for other, text in before.items() if other != path and re.search(pattern, text)}
        if named == {True}:
            found.append(path)
    return found


# ── files that hold both ────────────────────────────────────────────────────────────────────────────────────────────


def _restore_part(path: str, old: str | None, new: str | None, inside: bool) -> str | None:
    """The file with its test side as it was; None: that did not change, or it has none. `inside`: the runner found
    tests in it."""
    name = last_segment(path)
    if is_foreign(path) or (old is None and new is None):
        return None
    if name == "package.json":
        made = _restore_scripts(old, new)
    elif name in _SECTIONS:
        made = _restore_sections(old or "", new or "", _SECTIONS[name])
    elif find_language(path) == "rust":
        made = _restore_tests(old or "", new or "", _find_rust_tests)
    elif find_language(path) == "python" and inside:
        made = _restore_tests(old or "", new or "", _find_python_tests)
    else:
        return None
    return None if made == (new or "") else made


def _restore_scripts(old: str | None, new: str | None) -> str:
    try:
        was, now = json.loads(old or "{}"), json.loads(new or "{}")
    except (ValueError, RecursionError):
        return new or ""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return new or ""
    kept = {key: value for key, value in now.items() if key not in _SCRIPTED}
    made = kept | {key: value for key, value in was.items() if key in _SCRIPTED}
    return (new or "") if made == now else json.dumps(made, indent=2)


def _restore_sections(old: str, new: str, pattern: str) -> str:
    """Sections with a matching heading as they were, all others as they are."""
    was, now = ([one for one in _split_sections(text) if re.match(pattern, one)] for text in (old, new))
    if [one.strip() for one in was] == [one.strip() for one in now]:
        return new
    kept = "".join(one for one in _split_sections(new) if not re.match(pattern, one))
    return "\n".join([kept.rstrip("\n"), *(one.strip("\n") for one in was)]).lstrip("\n") + "\n"


def _split_sections(text: str) -> list[str]:
    return re.split(r"(?m)^(?=\[[^\]\n]+\]\]?\s*(?:#.*)?$)", text)


def _restore_tests(old: str, new: str, find: Callable[[str], list[tuple[int, int]]]) -> str:
    """Tests next to the code: the code of one with the tests of the other."""
    was, now = ([text[start:end] for start, end in find(text)] for text in (old, new))
    if not was or was == now:
        return new
    for start, end in reversed(find(new)):
        new = new[:start] + new[end:]
    return "\n\n".join([new.rstrip(), *(test.strip("\n") for test in was)]) + "\n"


def _find_python_tests(text: str) -> list[tuple[int, int]]:
    blocks = r"(?m)^(?:@.*\n)*(?:async\s+)?(?:def test|class Test)\w*.*\n(?:[ \t)].*\n|\n)*"
    return [found.span() for found in re.finditer(blocks, text if text.endswith("\n") else f"{text}\n")]


def _find_rust_tests(text: str) -> list[tuple[int, int]]:
    return [(found.start(), _find_closing_brace(text, found.end())) for found in _RUST_TESTS.finditer(text)]


def _find_closing_brace(text: str, start: int) -> int:
    """After the brace that closes the one at `start`; braces in strings and comments do not count."""
    if text[start : start + 1] == ";":  # in a file of its own
        return start + 1
    depth = 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\])\'|[{}]', text[start:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if depth == 0 and found.group() == "}":
            return start + found.end()
    return len(text)
