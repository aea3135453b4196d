"""Slips in a small model's Python that need no thought to repair, found by the syntax tree and by what tests said.

Of 3,224 wrong answers by Qwen2.5-Coder 1.5B to 60 exercises (`bench/README.md`), 40 are right after that: it forgets
the imports that the file had or needs, hides a method behind an attribute of the same name, and words an error as it
likes, attempt after attempt.
"""

from __future__ import annotations

import ast
import builtins
import collections
import functools
import itertools
import math
import re
import sys
import typing
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from bough.core.textual.python_source import parse_python
from bough.core.verdict.expectations import apply_changes
from bough.core.verdict.language import Spans
from bough.core.verdict.languages.python.expectations import NodePlaces
from bough.core.verdict.languages.python.interpreter import is_text

_PROVIDED = {
    name: module
    for module, names in (
        ("typing", typing.__all__),
        *((module.__name__, dir(module)) for module in (math, itertools)),
        ("functools", functools.__all__),
        ("datetime", ("date", "datetime", "timedelta", "timezone")),
        ("collections", collections.__all__),
    )
    for name in names
    if not name.startswith("_")
}
"""The modules of names that small models use without them; of two, the later one."""
_LITERAL = r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\""
_COMPARED = re.compile(rf"(?:AssertionError: |assert )({_LITERAL}) [!=]= ({_LITERAL})\s*$", re.M)


def repair_python(text: str, before: str, tests: str, failures: Collection[str]) -> tuple[str, list[str]]:
    """The text without such slips, and what was done about each. A text that is not Python stays as it is."""
    tree = parse_python(text)
    if tree is None:
        return text, []
    place = NodePlaces(text)
    changes: Spans = []
    done: list[str] = []
    added = list(_find_missing(tree, before))
    if added:
        start = _find_top(tree, place)
        changes.append((start, start, "".join(f"{statement}\n" for statement in added)))
        done += [f"added the missing `{statement.partition(chr(10))[0]}`" for statement in added]
    hidden = _find_hidden_methods(tree)
    for node in _list_values(tree, hidden):
        end = place.span(node)[1]
        if not text[:end].endswith(node.attr):  # Inside f-strings, Python 3.11 does not say where a node is.
            return text, []
        changes.append((end - len(node.attr), end, f"_{node.attr}"))
    done += [f"renamed the attribute `{name}`, which hid the method of that name" for name in sorted(hidden)]
    wordings = _read_wordings(failures, tests)
    for literal, said in _list_error_texts(tree):
        if wanted := wordings.get(said):
            changes.append((*place.span(literal), repr(wanted)))
            done.append(f"worded an error as the tests do: `{wanted}`")
    made = apply_changes(text, changes)
    return (made, list(dict.fromkeys(done))) if parse_python(made) is not None else (text, [])


# ── names that are nowhere defined ──────────────────────────────────────────────────────────────────────────────


def _find_missing(tree: ast.Module, before: str) -> Iterator[str]:
    """The statements that define them, as the file had them before or from the standard library."""
    kept = parse_python(before)
    lines = before.split("\n")
    there = {name: node for node in (kept.body if kept else ()) for name in _list_bound(node)}
    bound, missing = set(_list_bound(tree, deeply=True)), _list_used(tree)
    # What is used as a module is, and not as a copy of the tests uses theirs.
    holders = (node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    modules = {holder.id for holder in holders if isinstance(holder, ast.Name)} - {"unittest"}
    restored: list[ast.stmt] = []
    imports: set[str] = set()
    while missing := missing - bound - set(dir(builtins)) - {"__file__", "*"}:
        if "*" in bound:
            return
        name = min(missing)
        bound.add(name)
        if node := there.get(name):
            restored.append(node)
            bound |= set(_list_bound(node, deeply=True))
            missing |= _list_used(node)
        elif name in sys.stdlib_module_names and name in modules:
            imports.add(f"import {name}")
        elif name in _PROVIDED:
            imports.add(f"from {_PROVIDED[name]} import {name}")
    yield from sorted(imports)
    for node in sorted(restored, key=lambda node: node.lineno):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        yield "\n".join(lines[first - 1 : node.end_lineno])


def _list_bound(node: ast.AST, deeply: bool = False) -> Iterator[str]:
    """The names that it defines. `deeply`: in any scope, as the same name may mean two things."""
    for each in ast.walk(node) if deeply or not isinstance(node, ast.FunctionDef | ast.ClassDef) else (node,):
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def _list_used(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _find_top(tree: ast.Module, place: NodePlaces) -> int:
    """Where statements may be added: below the docstring and what has to come first."""
    first = next(
        (n for n in tree.body if not is_text(n) and not (isinstance(n, ast.ImportFrom) and n.module == "__future__")),
        None,
    )
    if first is None:
        return len(place.text)
    line = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    return place.find_offset(line, 0)


# ── methods hidden by attributes ────────────────────────────────────────────────────────────────────────────────


def _find_hidden_methods(tree: ast.Module) -> set[str]:
    """Methods whose class sets an attribute of the same name: calling one then calls the attribute's value."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            plain = {each.name for each in node.body if isinstance(each, ast.FunctionDef) and not each.decorator_list}
            own = (each for each in ast.walk(node) if isinstance(each, ast.Attribute))
            found |= plain & {
                each.attr
                for each in own
                if isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name) and each.value.id == "self"
            }
    return found


def _list_values(tree: ast.Module, names: Collection[str]) -> Iterator[ast.Attribute]:
    """Where such an attribute is meant: wherever it is not called."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names and id(node) not in called:
            yield node


# ── the wording of errors ───────────────────────────────────────────────────────────────────────────────────────


def _read_wordings(failures: Collection[str], tests: str) -> Mapping[str, str]:
    """What an error said, and what the tests say instead, where all of them say the same."""
    found: dict[str, set[str]] = {}
    for pair in (pair for text in failures for pair in _COMPARED.findall(text)):
        with suppress(SyntaxError, ValueError):
            said, wanted = sorted(map(ast.literal_eval, pair), key=lambda each: each in tests)
            if wanted in tests and said not in tests:
                found.setdefault(said, set()).add(wanted)
    return {said: min(wanted) for said, wanted in found.items() if len(wanted) == 1}


def _list_error_texts(tree: ast.Module) -> Iterator[tuple[ast.Constant, str]]:
    for node in ast.walk(tree):
        raised = node.exc if isinstance(node, ast.Raise) else None
        for each in raised.args if isinstance(raised, ast.Call) else ():
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each, each.value
