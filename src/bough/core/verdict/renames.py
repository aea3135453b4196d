"""Adapt original tests to the new names of what they test.

A test that uses a name which the product no longer has cannot run. If the work renamed something, the diff of the tests
shows the new name; the original test then uses that name, and keeps its expectations. Only a name that the product
defined and no longer has is replaced, and only by one that the product newly defines, so that the new name can refer
only to the product. Definitions that moved to another module are imported from there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bough.core.verdict.paths import find_stem, last_segment, parent_folder
from bough.core.verdict.references import is_loading, list_defined
from bough.core.verdict.test_files import is_product, is_test_file
from bough.core.verdict.texts import FileChange, compare_lines

_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def apply_new_names(
    before: Mapping[str, str], after: Mapping[str, str], restored: Collection[str], changes: Iterable[FileChange]
) -> dict[str, str]:
    """Return the original test files that the new names change, with their new texts. `before`, `after`: texts by path;
    `restored`: the files that are put back; `changes`: the differences between the trees."""
    tests = {path: before[path] for path in restored if path in before and is_test_file(path)}
    changed = [change.path for change in changes if is_product(change.path)]
    # Find the product files that moved to another folder under the same name.
    new: dict[str, list[str]] = {}
    for path in changed:
        if path not in before:
            new.setdefault(last_segment(path), []).append(path)
    gone = (path for path in changed if path not in after)
    moved = {path: new[last_segment(path)][0] for path in gone if len(new.get(last_segment(path), ())) == 1}
    homes = _find_homes(changed, before, after)
    made = {path: _follow_imports(text, after.get(path, text), homes) for path, text in tests.items()}
    names = _find_names(tests, before, after, changed)
    made = {path: _follow_moved(text, path, moved) for path, text in made.items()}
    made = {path: _rename(text, names) for path, text in made.items()}
    return {path: text for path, text in made.items() if text != tests[path]}


def _follow_moved(text: str, test: str, moved: Mapping[str, str]) -> str:
    """Correct the quoted relative paths in a test that lead to files which have moved."""
    folder = parent_folder(test)
    for old, new in moved.items():
        was, now = (posixpath.relpath(path, folder or ".") for path in (old, new))
        now = now if now.startswith(".") else f"./{now}"
        stem, suffix = re.escape(was.rpartition(".")[0]), re.escape(f".{was.rpartition('.')[2]}")
        start = "" if was.startswith(".") else rf"(?:\./|(?={stem}{suffix}))"
        pattern = rf"([\"'`]){start}{stem}({suffix})?\1"
        text = re.sub(pattern, lambda hit: f"{hit[1]}{now if hit[2] else now.rpartition('.')[0]}{hit[1]}", text)  # noqa: B023
    return text


def _find_homes(changed: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """Find product modules that took over a definition from another module."""
    was, now = ({path: list_defined(texts.get(path, "")) for path in changed} for texts in (before, after))
    gone = {name for path in was for name in was[path] - now[path]}
    return {find_stem(path) for path in now if (now[path] - was[path]) & gone}


def _follow_imports(text: str, successor: str, homes: set[str]) -> str:
    """Return a test with the import lines of its changed version (`successor`), if these name nothing new but `homes`,
    modules that took over definitions."""
    lines, others = text.splitlines(keepends=True), successor.splitlines(keepends=True)
    made: list[str] = []
    for tag, a, b, c, d in compare_lines(lines, others):
        was, now = lines[a:b], others[c:d]
        fresh = {*_WORD.findall("".join(now))} - {*_WORD.findall("".join(was))}
        follows = tag == "replace" and all(map(is_loading, was + now)) and bool(fresh) and fresh <= homes
        made += now if follows else was
    return "".join(made)


def _find_names(
    tests: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str], changed: Sequence[str]
) -> dict[str, str]:
    """Find the new names of definitions that the product no longer has."""
    gone = _list_defined(before, changed) - _list_words(after, changed)
    gone &= {word for text in tests.values() for word in _WORD.findall(text)} if gone else set()
    gone -= _list_words(after, filter(is_product, after)) if gone else set()
    new = _list_defined(after, changed) - _list_words(before, filter(is_product, before)) if gone else set[str]()
    if not gone or not new:
        return {}
    # Pair each old test file with itself or with one of the new files.
    left = [path for path in after if path not in before and is_test_file(path)]
    pairs = {
        pair
        for path, text in tests.items()
        for pair in _pair_names(text, [after[own] for own in ([path] if path in after else left)], gone, new)
    }
    return {old: called for old, called in pairs if sum(other == old for other, _ in pairs) == 1}


def _list_words(texts: Mapping[str, str], paths: Iterable[str]) -> set[str]:
    return {word for path in paths if path in texts for word in (*_WORD.findall(texts[path]), *_WORD.findall(path))}


def _list_defined(texts: Mapping[str, str], paths: Iterable[str]) -> set[str]:
    """List the names that these files define, including modules and packages, which are named after the files."""
    here = [path for path in paths if path in texts]
    found = {word for path in here for word in list_defined(texts[path])}
    return found | {word for path in here for word in _WORD.findall(path.rpartition(".")[0])}


def _pair_names(old: str, successors: Iterable[str], gone: set[str], new: set[str]) -> Iterator[tuple[str, str]]:
    """Pair each lost name with the new name that replaces it in a changed line."""
    lines = old.splitlines()
    for text in successors:
        others = text.splitlines()
        for tag, a, b, c, d in compare_lines(lines, others):
            was = dict.fromkeys(word for line in lines[a:b] for word in _WORD.findall(line) if word in gone)
            now = dict.fromkeys(word for line in others[c:d] for word in _WORD.findall(line) if word in new)
            if tag == "replace" and len(was) == len(now):
                yield from zip(was, now, strict=True)


def _rename(text: str, names: Mapping[str, str]) -> str:
    words = {*_WORD.findall(text)}
    own = {old: called for old, called in names.items() if called not in words}  # Avoid clashes with other names.
    return _WORD.sub(lambda hit: own.get(hit[0], hit[0]), text)
