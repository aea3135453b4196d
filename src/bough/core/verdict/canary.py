"""The canary: tests that carry the claim, with their expected values falsified. Those that still pass prove nothing.

It only writes the falsified tests. An expectation is falsified only where it is certain to be evaluated, since a test
that passes because it was not would be called worthless. How that is done is the rule of each language's record.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from bough.core.verdict.expectations import apply_changes
from bough.core.verdict.registry import find_language
from bough.core.verdict.test_files import split_words


def falsify_expectations(
    texts: Mapping[str, str], tests: Collection[str], script: str = ""
) -> tuple[dict[str, str], set[str]]:
    """Files with falsified expected values, and the names of the tests affected. `tests`: names as the runner has them.
    `script`: a file that is itself the check."""
    wrong: dict[str, str] = {}
    done: set[str] = set()
    for path, text in texts.items():
        language = find_language(path)
        names = {test: language.name_within_file(test, path) for test in tests if language.holds_test(test, path)}
        if not names and path != script:
            continue
        changes, found = language.falsify(text, {*names.values()}, path == script)
        if changes:
            wrong[path] = apply_changes(text, changes)
            done |= {test for test, name in names.items() if name in found}
            done |= {script} if path == script else set()
    return wrong, done


def is_test_of(test: str, path: str) -> bool:
    return find_language(path).holds_test(test, path)


def find_script(command: str, texts: Mapping[str, str]) -> str:
    """The file that is itself the check."""
    words = sorted(split_words(command))
    return next((path for path in words if path in texts and find_language(path).can_falsify), "")


def explain_not_asked(texts: Mapping[str, str], tests: Collection[str]) -> str:
    """Why no expected value was falsified, as a phrase; empty: there was nothing to falsify."""
    held = {find_language(path) for path in texts for test in tests if is_test_of(test, path)}
    others = sorted(language.name for language in held if language.name and not language.can_falsify)
    if others:
        return f"expected values cannot be altered in {others[0]}"
    return "no expected value found that could be altered" if tests else ""


def asserts_nothing(texts: Mapping[str, str], tests: Collection[str]) -> bool:
    """Nothing in these tests can fail except by accident."""
    names = {re.split(r"::|\.", re.sub(r"\[.*", "", test))[-1] for test in tests}
    held = [path for path in texts if any(is_test_of(test, path) for test in tests)]
    return bool(held) and all(find_language(path).asserts_nothing(texts[path], names) for path in held)
