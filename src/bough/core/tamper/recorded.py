"""Recorded expectations: snapshots, golden files and other data that tests read. They may grow."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.python.syntax import constants, last, parse
from bough.core.tamper.wording import listed, short

_ASIDE = tuple(listed("readme requirements tsconfig .eslintrc docker-compose package changelog license cmake"))


MOST_TRIED = 50
"""New items of a list of which one may be an old one that has grown."""
DEEPEST = 6


_WORDS = listed(
    "case cases testcase testcases expected expectation expectations fixture fixtures golden goldens snapshot "
    "snapshots vector vectors"
)
"""What files are called that tests hold the code against, as a word of their path."""
_EXPECTING = re.compile(r"^.*\b(?:expected|wanted|answer)\b|\b(?:expected\w*|wanted|answer)[\"']?\s*[:=]", re.I)


def read_by_tests(paths: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Those of the paths, wherever they lie, that tests of the base name and no other code does. `texts`: the base."""
    python = {path: text for path, text in texts.items() if path.endswith(".py") and not files.foreign(path)}
    tests = [text for path, text in python.items() if files.test_file(path)]
    others = [text for path, text in python.items() if not files.test_file(path)]
    found = []
    for path in paths:
        if files.foreign(path) or not (files.data(path) or path.endswith(".py")):
            continue
        names = _names(path)
        if any(names.search(text) for text in tests) and not any(names.search(text) for text in others):
            found.append(path)
    return found


def _names(path: str) -> re.Pattern[str]:
    """How code that uses a file names it: by its name, by its folder, or as a module."""
    name, folder = files.name_of(path), files.folder_of(path).rpartition("/")[2]
    if path.endswith(".py"):
        module = re.escape(name.removesuffix(".py"))
        return re.compile(rf"^\s*(?:from\s+(?:[\w.]*\.)?{module}\s+import|(?:from|import)\b.*\b{module}\b)", re.M)
    inside = rf"|[\"'/]{re.escape(folder)}[\"'/]" if folder else ""
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-]){inside}")


def expecting(path: str, text: str) -> bool:
    """It says what is expected, by its name or by the names in it; code says what is done."""
    if path.endswith(".py") and re.search(r"^\s*(?:async\s+)?def\s", text, re.M):
        return False
    words = set(re.split(r"[\W_]+", path.lower()))
    return bool(words & _WORDS) or (files.data(path) and _EXPECTING.search(text) is not None)


def compare(before: Mapping[str, str], after: Mapping[str, str], changed: list[str]) -> Iterator[Tampering]:
    added = {after[path] for path in changed if path in after and path not in before}
    for path in changed:
        if path not in before or files.name_of(path).lower().startswith(_ASIDE):
            continue
        if path not in after:
            if before[path] not in added and before[path].strip():
                yield Tampering(path, 0, f"test data {path} was removed")
            continue
        lost = _literals_lost if path.endswith(".py") else _lost
        what = lost(before[path], after[path])
        if what:
            yield Tampering(path, 0, f"test data changed: {what}")


def _lost(old: str, new: str) -> str:
    try:
        return _missing(json.loads(old), json.loads(new), "$", 0)
    except (ValueError, RecursionError):
        pass
    there = Counter(_plain(line) for line in new.splitlines())
    for line in old.splitlines():
        plain = _plain(line)
        there[plain] -= 1
        if plain and there[plain] < 0:
            return f"`{short(plain, 60)}` is gone"
    return ""


def _literals_lost(old: str, new: str) -> str:
    """Of a module that holds cases: values that are gone from it."""
    was, now = parse(old), parse(new)
    if not isinstance(was, ast.Module) or not isinstance(now, ast.Module):
        return ""
    before, after = _literals(was), _literals(now)
    what = _missing(before, {**before, **after}, "", 0)
    gone = constants(was) - constants(now)
    return what or (f"`{short(min(gone), 60)}` is gone" if gone else "")


def _literals(tree: ast.Module) -> dict[str, object]:
    found = {}
    for node in (node for node in tree.body if isinstance(node, ast.Assign)):
        try:
            found[last(node.targets[0])] = _as_json(ast.literal_eval(node.value))
        except (ValueError, TypeError, MemoryError, RecursionError):
            continue
    return found


def _as_json(value: object) -> object:
    if isinstance(value, dict):
        return {repr(key): _as_json(one) for key, one in value.items()}
    return [_as_json(one) for one in value] if isinstance(value, list | tuple) else repr(value)


def _plain(line: str) -> str:
    return line.strip().rstrip(",")


def _missing(old: object, new: object, place: str, depth: int) -> str:
    """The first value of `old` that `new` does not have."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                return f"{place}.{key} is gone"
            what = _missing(value, new[key], f"{place}.{key}", depth + 1)
            if what:
                return what
        return ""
    if isinstance(old, list) and isinstance(new, list):
        return _missing_items(old, new, place, depth)
    return "" if _said(old) == _said(new) else f"{place}: {short(_said(old), 40)} became {short(_said(new), 40)}"


def _missing_items(old: list[object], new: list[object], place: str, depth: int) -> str:
    """Items may come in between, and may have grown themselves; each old one has to be found in another new one."""
    there = Counter(map(_said, new))
    there.subtract(map(_said, old))
    fresh = [value for value in new if there[_said(value)] > 0]
    for index, value in enumerate(old):
        if there[_said(value)] >= 0:
            continue
        there[_said(value)] += 1
        tried = [one for one in new[index : index + 1] if one in fresh] + (fresh[:MOST_TRIED] if value else [])
        nested = tried if isinstance(value, dict | list) and depth < DEEPEST else []
        grown = next((one for one in nested if not _missing(value, one, place, depth + 1)), None)
        if grown is None:
            return f"{place}[{index}] `{short(_said(value), 50)}` is gone"
        fresh = [one for one in fresh if one is not grown]
    return ""


def _said(value: object) -> str:
    return json.dumps(value, sort_keys=True)
