"""The canary: tests that carry the claim, with their expected values falsified. Those that still pass prove nothing.

It only writes the falsified tests. An expectation is falsified only where it is certain to be evaluated, since a test
that passes because it was not would be called worthless. How that is done is the rule of each language's record.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from bough.core.verdict.expectations import apply_changes
from bough.core.verdict.original_tests import find_file
from bough.core.verdict.references import names_path
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import expand_command, is_code, is_data, is_foreign, is_test_file

MOST = 20
"""Tests that are falsified."""
NONSENSE = '\x01 ((( ]]] "\n<?= (((\n'
"""What no language accepts."""


def choose_claim(claims: Sequence[str], request: str) -> list[str]:
    """A few of the claims, beginning with the tests that the request names."""
    words = {*re.findall(r"[\w-]+", request)}
    named = [test for test in claims if {*re.findall(r"[\w-]+", test.rpartition("::")[2])} & words]
    return [*named, *(test for test in claims if test not in {*named})][:MOST]


def falsify_expectations(texts: Mapping[str, str], tests: Collection[str]) -> tuple[dict[str, str], set[str]]:
    """Files with falsified expected values, and the names of the tests affected. `tests`: names as the runner has
    them."""
    wrong: dict[str, str] = {}
    done: set[str] = set()
    for path, names in find_tests(texts, tests).items():
        changes, found = find_language(path).falsify(texts[path], {*names.values()}, False)
        if changes:
            wrong[path] = apply_changes(texts[path], changes)
            done |= {test for test, name in names.items() if name in found}
    return wrong, done


def find_tests(texts: Mapping[str, str], tests: Collection[str]) -> dict[str, dict[str, str]]:
    """The tests of each file that has any, with their names there."""
    files = {test: find_file(test) for test in tests}
    held = {
        path: {test for test in tests if path == files[test] or (files[test] not in texts and is_test_of(test, path))}
        for path in texts
    }
    # Some runners name a test by its package or class, which is no file, or not at all.
    loose = {*tests}.difference(*held.values())
    found = {path: own | loose if is_test_file(path) else own for path, own in held.items()}
    return {
        path: {test: find_language(path).name_within_file(test, path) for test in sorted(own)}
        for path, own in found.items()
        if own
    }


def falsify_files(texts: Mapping[str, str], command: str, singly: bool = False) -> list[dict[str, str]]:
    """Files that a check names, directly or in a recipe, or else all tests, with falsified expected values: all of
    them, or one at a time, since a test that fails hides one that does not."""
    called = expand_command(command, texts)
    code = [path for path in texts if is_code(path) and not is_foreign(path)]
    named = [path for path in texts if not is_foreign(path) and not is_data(path) and names_path(called, path)]
    tests = [path for path in named if is_test_file(path)] or named or [path for path in code if is_test_file(path)]
    found = {path: find_language(path).falsify(texts[path], set(), True)[0] for path in tests[:MOST]}
    if singly:
        return [{path: apply_changes(texts[path], [one])} for path, changes in found.items() for one in changes]
    whole = {path: apply_changes(texts[path], changes) for path, changes in found.items() if changes}
    return [whole] if whole else []


def is_test_of(test: str, path: str) -> bool:
    return find_language(path).holds_test(test, path)


def asserts_nothing(texts: Mapping[str, str], tests: Collection[str]) -> bool:
    """Nothing in these tests can fail except by accident."""
    names = {re.split(r"::|\.", re.sub(r"\[.*", "", test))[-1] for test in tests}
    held = [path for path in texts if any(is_test_of(test, path) for test in tests)]
    return bool(held) and all(find_language(path).asserts_nothing(texts[path], names) for path in held)
