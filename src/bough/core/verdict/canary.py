"""The canary: bough changes values in the tests that should prove the work, one at a time, and runs these tests. A test
that passes in spite of every change proves nothing.

This module only chooses the changes. It finds tests by their names and by indentation, in any language.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from msgspec.structs import replace

from bough.core.acceptance.verdict import Report
from bough.core.verdict.literals import COMPARED, GIVEN, Replacement, blank_texts, list_changes
from bough.core.verdict.original_tests import find_file, strip_parameters
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.references import names_path
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import expand_command, is_code, is_data, is_foreign, is_test_file
from bough.core.verdict.texts import find_block, measure_indent

MOST = 20
"""The maximum number of tests, or files of tests, that the canary tries."""
ROUNDS = 4
"""How many values of one test the canary changes, one at a time."""
Value = tuple[str, Replacement]
"""The path of a file, and a change in that file."""
_HEAD = (
    r"\b(?:def|fn|func|fun|function|void|sub|test|it|specify|example|scenario|[Tt]ask|TEST\w*|async|static|public|describe"
    r"|context|class|mod|module|test_that|section|group|suite|Run|subtest|[sS]ubtest|proc|let|defmodule|deftest|Describe)\b"
)
"""Words before the name of a test, or of a class or group of tests."""

_DEFINES = r"\s*(?:(?:def|let|sub|const|var|my|our|static|public|private|protected|function)\W+)*\$?%s\W*[=({]"
"""Beginning of a line that defines a name."""


def choose_claim(claims: Sequence[str], request: str) -> list[str]:
    """Choose a few of the tests that should prove the work; tests that the goal mentions come first."""
    words = {*re.findall(r"[\w-]+", request)}
    named = [test for test in claims if {*re.findall(r"[\w-]+", test.rpartition("::")[2])} & words]
    return [*named, *(test for test in claims if test not in {*named})][:MOST]


def list_test_changes(texts: Mapping[str, str], tests: Collection[str]) -> dict[str, list[Value]]:
    """List the changes in each test, the surest to make it fail first. `tests`: names as the runner reports them."""
    found: dict[str, list[Value]] = {}
    for path, names in _find_tests(texts, tests).items():
        file = _TestFile(path, texts[path])
        for test in names:
            block = find_test(file.lines, _split_name(test, path))
            if block is None:
                continue
            changes = file.list_changes(*block)
            if all(one.rank == GIVEN for _, one in changes):
                changes += _list_used_changes(texts, path, "".join(file.lines[block[0] + 1 : block[1]]))
            found.setdefault(test, []).extend(changes)
    return found


class _TestFile:
    def __init__(self, path: str, text: str) -> None:
        self._path, language = path, find_language(path)
        self._changes = [*list_changes(text, language)]
        self.lines = blank_texts(text, language).splitlines(keepends=True)
        self._starts = [0, *accumulate(map(len, self.lines))]

    def list_changes(self, first: int, last: int) -> list[Value]:
        """List the changes between two lines, those first that are likeliest to make a test fail."""
        start, end = self._starts[first], self._starts[last]
        held = [(self._path, one) for one in self._changes if start <= one.start < end]
        return sorted(held, key=lambda each: each[1].rank)


def _list_used_changes(texts: Mapping[str, str], path: str, block: str) -> list[Value]:
    """List the changes in helpers and constants that a test uses and that one file of tests defines exactly once; the
    test's own file is searched first. Other tests may use these values too, so that none counts as compared."""
    found: list[Value] = []
    others = (each for each in texts if each != path and find_suffix(each) == find_suffix(path) and is_test_file(each))
    for where in (path, *others):
        file = _TestFile(where, texts[where])
        for word in dict.fromkeys(re.findall(r"[^\W\d]\w{3,}", block)):
            heads = [at for at, line in enumerate(file.lines) if line not in block and re.match(_DEFINES % word, line)]
            if len(heads) == 1:
                held = file.list_changes(*find_block(file.lines, heads[0]))
                found += [(each, replace(one, rank=GIVEN)) for each, one in held]
        if found:
            break
    return found


def list_asked_files(texts: Mapping[str, str], command: str) -> list[str]:
    """List the test files that a command names, or else all."""
    called = expand_command(command, texts)
    code = [path for path in texts if is_code(path) and not is_foreign(path)]
    named = [path for path in texts if not is_foreign(path) and not is_data(path) and names_path(called, path)]
    # A recipe also names files of the product (`VERSION_FROM`): these count only in a project without test files.
    tests, others = ([path for path in paths if is_test_file(path)] for paths in (named, code))
    tests = tests or [path for path in named if not others or names_path(command, path)]
    return (tests or others)[:MOST]


def list_file_changes(texts: Mapping[str, str], paths: Collection[str]) -> list[Value]:
    """List the changes in files that their runner treats as one test each."""
    files = (_TestFile(path, texts[path]) for path in paths)
    return choose_surest(
        [one for file in files for one in file.list_changes(0, len(file.lines)) if one[1].rank < GIVEN]
    )


def choose_surest(values: Sequence[Value]) -> list[Value]:
    """Choose the values that something compares, if there are any: another input may break the product whatever the
    test asserts."""
    return [one for one in values if one[1].rank == COMPARED] or [*values]


def find_failed(report: Report, exit_status: int | None, tests: Collection[str]) -> dict[str, bool]:
    """Map each test that ran, without its parameters, to whether it failed."""
    if not report.cases:
        return dict.fromkeys(tests, False) if exit_status == 0 else {}
    found: dict[str, bool] = {}
    for case in report.cases:
        if case.outcome != "skipped":
            name = strip_parameters(case.id)
            found[name] = found.get(name, False) or case.outcome != "passed"
    return {test: found[test] for test in tests if test in found}


def apply_changes(texts: Mapping[str, str], changes: Collection[Value]) -> dict[str, str]:
    made: dict[str, str] = {}
    for path, one in sorted({*changes}, key=lambda each: each[1].start, reverse=True):
        text = made.get(path, texts[path])
        made[path] = text[: one.start] + one.new + text[one.end :]
    return made


def _find_tests(texts: Mapping[str, str], tests: Collection[str]) -> dict[str, list[str]]:
    files = {test: find_file(test) for test in tests}
    unknown = {test for test in tests if files[test] not in texts}
    held = {path: {test for test in unknown if find_language(path).holds_test(test, path)} for path in texts}
    for test in set(tests) - unknown:
        held[files[test]].add(test)
    # Some runners name a test by its package or class instead of its file, or give only its name.
    loose = {*tests}.difference(*held.values())
    found = {path: own | loose if is_test_file(path) else own for path, own in held.items()}
    return {path: sorted(own) for path, own in found.items() if own}


def _split_name(test: str, path: str) -> list[str]:
    name = re.sub(r"\[.*", "", test)
    module = path.rpartition(".")[0].replace("/", ".")
    rest = name.partition("::")[2] if "::" in name else name
    parts = [part.strip() for part in re.split(r"::| > ", rest) if part.strip()]
    if parts and re.fullmatch(r"[\w.$]+", parts[-1]):
        last = parts[-1].removeprefix(f"{module}.").removeprefix(f"{module.rpartition('.')[2]}.")
        parts[-1:] = last.split(".")
    return parts


def find_test(lines: Sequence[str], names: Sequence[str]) -> tuple[int, int] | None:
    """Find the first and last line of the test with this name; None unless exactly one test matches."""
    if not names:
        return None
    first, last = 0, len(lines)
    for name in names[:-1]:
        outer = [at for at in _find_heads(lines, name) if first <= at < last]
        if len(outer) == 1:
            first, last = find_block(lines, outer[0])
    heads = [at for at in _find_heads(lines, names[-1]) if first <= at < last]
    if len(heads) > 1 and len(names) == 1:  # A class may have the same name as the test.
        heads = [at for at in heads if not measure_indent(lines[at])] or heads
    return find_block(lines, heads[0]) if len(heads) == 1 else None


def _find_heads(lines: Sequence[str], name: str) -> list[int]:
    named = rf"([\"'`]){re.escape(name)}\1|(?<![\w.]){re.escape(name)}\s*(?:[({{=:;,)<]|do\b|$)"
    heads = [at for at, line in enumerate(lines) if re.search(named, line) and re.search(_HEAD, line)]
    if heads:
        return heads
    # A runner may prepend the titles of the groups around a test, or number its cases.
    titles = ((at, hit[2]) for at, line in enumerate(lines) for hit in re.finditer(r"([\"'`])(.{3,}?)\1", line))
    ends = [(at, title) for at, title in titles if name.endswith(title) and re.search(_HEAD, lines[at])]
    longest = max((len(title) for _, title in ends), default=0)
    return [at for at, title in ends if len(title) == longest] or (
        _find_heads(lines, name.partition("/")[0]) if "/" in name else []
    )


def describe_value(value: Value) -> str:
    path, one = value
    return f"`{one.new[:40]}` in place of `{one.old[:40]}` in {path}"
