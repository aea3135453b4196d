"""What a change is made of: code that runs, or only documents, comments and tests; and whether public names differ."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bough.core.acceptance.shown import Difference
from bough.core.conversation.code_outline import list_declarations
from bough.core.verdict.language import is_test_path
from bough.core.verdict.paths import find_stem, find_suffix
from bough.core.verdict.registry import NEUTRAL, find_language

_VERSION = r"\d+(?:\.\d+)+"
_DOCUMENTS = ("md", "markdown", "rst", "adoc", "tex")


def is_document(path: str) -> bool:
    """A text for people: no program reads it. A `.txt` may be one (`README.txt`) or not (`requirements.txt`)."""
    return find_suffix(path) in _DOCUMENTS or (find_suffix(path) in ("", "txt") and find_stem(path).isupper())


def compare_texts(before: Mapping[str, str], after: Mapping[str, str], paths: tuple[str, ...]) -> Difference:
    """The texts of the changed files, before and after. A file without a text in either (binary, too large) counts as
    code."""
    code = documents = version = False
    for path in paths:
        old, new = before.get(path), after.get(path)
        if is_document(path) or is_test_path(path):
            documents = True
        elif (
            old is None
            or new is None
            or find_language(path).strip_comments(old) != find_language(path).strip_comments(new)
        ):
            code = True
        elif old != new:
            documents = True  # Only comments or layout differ.
        if find_language(path) is NEUTRAL and not is_document(path):
            version |= re.findall(_VERSION, old or "") != re.findall(_VERSION, new or "")
    interface = _declare(before) != _declare(after)
    return Difference(code=code, documents=documents, interface=interface, version=version)


def _declare(texts: Mapping[str, str]) -> set[str]:
    return {
        f"{path}: {line}"
        for path, text in texts.items()
        if not is_test_path(path) and not is_document(path)
        for line in list_declarations(path, text)
    }
