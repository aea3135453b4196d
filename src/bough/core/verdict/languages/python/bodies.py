"""Where the functions of a Python file begin, and which of them it needs in order to be imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import accumulate

from bough.core.textual.python_source import parse_python

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Places:
    """Where nodes are in a text: lines and bytes become characters."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True) or [""]
        self._starts = [0, *accumulate(map(len, self._lines))]

    def find_offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode(errors="ignore"))


def find_bodies(text: str) -> Iterator[tuple[str, int]]:
    """Every function but the special methods, which classes need to be made, and where its first statement stands."""
    tree, place = parse_python(text), _Places(text)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, _Function) or node.name.startswith("__"):
            continue
        rest = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        if rest:
            first = min([rest[0], *getattr(rest[0], "decorator_list", [])], key=lambda one: one.lineno)
            at = place.find_offset(first.lineno, first.col_offset)
            yield node.name, at - (first is not rest[0])  # The sign of a decorator stands before it.


def list_called_at_load(texts: Iterable[str]) -> set[str]:
    """What module and class bodies call, and what that calls in turn, by name."""
    called: set[str] = set()
    inside: dict[str, set[str]] = {}
    for tree in filter(None, map(parse_python, texts)):
        called |= {name for node in tree.body for name in _list_calls(node, inside)}
    reached, waiting = set[str](), list(called)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += inside.get(name, ())
    return reached


def _list_calls(node: ast.AST, inside: dict[str, set[str]]) -> Iterator[str]:
    """The names that a node calls when it is run; functions are only defined, and what they call goes to `inside`."""
    if isinstance(node, _Function):
        for one in node.decorator_list:
            yield from _find_names(one)
            yield from _list_calls(one, inside)
        within = inside.setdefault(node.name, set())
        within |= {name for each in node.body for name in _list_calls(each, inside)}
        return
    if isinstance(node, ast.ClassDef):
        for one in node.decorator_list:
            yield from _find_names(one)
    if isinstance(node, ast.Call):
        yield from _find_names(node.func)
    for each in ast.iter_child_nodes(node):
        yield from _list_calls(each, inside)


def _find_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
