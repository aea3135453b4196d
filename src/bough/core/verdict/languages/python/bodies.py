"""The functions of a Python file, and those of them that its import needs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import accumulate

from bough.core.textual.python_source import parse_python

_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Places:
    """Converts the lines and bytes of syntax nodes to positions in the text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True) or [""]
        self._starts = [0, *accumulate(map(len, self._lines))]

    def find_offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode(errors="ignore"))


def find_bodies(text: str) -> Iterator[tuple[str, int]]:
    """Find every function and its first statement, but no special methods: classes need those to be created."""
    tree, place = parse_python(text), _Places(text)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, _Function) or node.name.startswith("__"):
            continue
        rest = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        if rest:
            first = min([rest[0], *getattr(rest[0], "decorator_list", [])], key=lambda one: one.lineno)
            at = place.find_offset(first.lineno, first.col_offset)
            yield node.name, at - (first is not rest[0])  # The `@` of a decorator stands before the node.


def list_called_at_load(texts: Iterable[str]) -> set[str]:
    """List the names that module and class bodies call, and the names that those functions call in turn."""
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
    """Collect the names that a node calls when it runs; calls inside functions it only defines go to `inside`."""
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
