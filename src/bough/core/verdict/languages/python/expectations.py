"""Expected values in Python tests, found by the syntax tree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate

from bough.core.textual.python_source import parse_python
from bough.core.verdict.expectations import NUMBER, make_other_value
from bough.core.verdict.language import Spans

_EQUAL = frozenset(
    """assertEqual assertEquals assertIs assertIn assertAlmostEqual assertListEqual assertDictEqual assertTupleEqual
    assertSetEqual assertSequenceEqual assertCountEqual assertMultiLineEqual""".split()  # noqa: SIM905
)
_AROUND = frozenset("approx Decimal Fraction Path set frozenset tuple list dict bytes str float int date".split())  # noqa: SIM905
"""Calls around literals that still count as values."""


def falsify_python(text: str, wanted: set[str], script: bool) -> tuple[Spans, set[str]]:
    tree = parse_python(text)
    if tree is None:
        return [], set()
    place = NodePlaces(text)
    changes: Spans = []
    done: set[str] = set()
    bodies: list[tuple[str, ast.AST | None, list[ast.stmt]]] = [("", None, tree.body)] if script else []
    for name, node in _list_functions(tree.body):
        if name in wanted and (doc := _find_docstring(node)) is not None:
            changes += (found := _find_doctests(place, doc))
            done |= {name} if found else set()
        elif name in wanted:
            bodies.append((name, node, node.body))
    for name, function, body in bodies:
        values, reached = _find_bindings(function, body), list(_list_reached(body))
        expected = [value for node in reached for value in _find_expected(node)]
        # All values of one test at once: one wrong expectation is enough to make it fail.
        # Of a script, only the last: an earlier one would end it.
        wanting = expected[-1:] if function is None else expected
        made = [change for value in wanting for change in _falsify_value(value, values, place)]
        if not made and function is not None:  # It says no value: then it has to demand the opposite.
            made = [change for node in reached for change in _deny(node, place)]
        changes += made
        done |= {name} if made else set()
    return changes, done


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _list_functions(body: list[ast.stmt], within: str = "") -> Iterator[tuple[str, _Function]]:
    """The functions, named with the classes that they are in: two tests of one name are two tests."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _list_functions(node.body, f"{within}{node.name}.")
        elif isinstance(node, _Function):
            yield f"{within}{node.name}", node


def _find_docstring(node: _Function) -> ast.Constant | None:
    first = node.body[0] if node.body else None
    held = first.value if isinstance(first, ast.Expr) else None
    return held if isinstance(held, ast.Constant) and isinstance(held.value, str) and ">>>" in held.value else None


def _find_doctests(place: NodePlaces, doc: ast.Constant) -> Spans:
    start, end = place.span(doc)
    lines = re.finditer(r"(?m)^[ \t]*>>> .*\n(?:[ \t]*\.\.\. .*\n)*[ \t]*(?!>>>|\.\.\.)(\S.*)$", place.text[start:end])
    asked = (line for line in lines if not re.search(r"#\s*doctest:.*\+SKIP", line[0]))
    return [(start + line.end(1), start + line.end(1), f"~{NUMBER}") for line in asked]


class NodePlaces:
    """Where nodes are in a text: lines and bytes become characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True) or [""]
        self._starts = [0, *accumulate(map(len, self._lines))]

    def span(self, node: ast.expr) -> tuple[int, int]:
        return self.find_offset(node.lineno, node.col_offset), self.find_offset(
            node.end_lineno or 0, node.end_col_offset or 0
        )

    def wrap(self, node: ast.expr, before: str, after: str) -> Spans:
        start, end = self.span(node)
        return [(start, start, before), (end, end, after)]

    def find_offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode(errors="ignore"))


def _list_reached(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that are certain to be reached."""
    for node in body:
        if isinstance(node, ast.Return | ast.Raise):
            return
        yield node
        if isinstance(node, ast.With | ast.AsyncWith):
            contexts = " ".join(ast.unparse(item.context_expr) for item in node.items)
            yield from _list_reached(node.body if not re.search("raises|suppress|Raises|warns", contexts) else [])
        if any(isinstance(inner, ast.Return) for inner in ast.walk(node)):
            return


def _find_expected(node: ast.stmt) -> Iterator[ast.expr]:
    """What something must equal in a statement."""
    match node:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right])):
            yield from _choose_value_side(left, right)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[left, right], keywords=others)):
            if name in _EQUAL and all(one.arg == "msg" for one in others):
                yield from _choose_value_side(left, right)


_OPPOSITES = {
    "assertTrue": ("not (", ")"),
    "assertFalse": ("not (", ")"),
    "assertIsNone": ("(", ",)"),
    "assertIsNotNone": ("[", "] and None"),
}
_RAISES = frozenset(("raises", "assertRaises", "assertRaisesRegex"))


def _deny(node: ast.stmt, place: NodePlaces) -> Spans:
    """The changes that make a statement demand what cannot be: another value, the opposite, an unknown exception."""
    match node:
        case ast.Assert(test=ast.Compare(ops=[ast.Eq() | ast.Is() | ast.In()], comparators=[right])):
            return place.wrap(right, f"({NUMBER}, ", ")")
        case ast.Assert(test=test):
            return place.wrap(test, "not (", ")")
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[_, right, *_])) if name in _EQUAL:
            return place.wrap(right, f"({NUMBER}, ", ")")
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[said, *_])) if name in _OPPOSITES:
            return place.wrap(said, *_OPPOSITES[name])
        case ast.With(items=[ast.withitem(context_expr=ast.Call(func=function, args=[error, *_]))]):
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            return [(*place.span(error), "type('Other', (Exception,), {})")] if name in _RAISES else []
    return []


def _choose_value_side(left: ast.expr, right: ast.expr) -> Iterator[ast.expr]:
    """The side that is a value; where both are, nothing is tested."""
    if _is_value(left) != _is_value(right):
        yield left if _is_value(left) else right


def _is_value(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in _AROUND and bool(node.args) and not node.keywords and all(map(_is_value, node.args))
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(_is_value, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and _is_value(key) for key in node.keys) and all(map(_is_value, node.values))
    if isinstance(node, ast.UnaryOp):
        return _is_value(node.operand)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Name)


def _find_bindings(function: ast.AST | None, body: list[ast.stmt]) -> dict[str, list[ast.expr]]:
    """The values of names that refer to one: parameters of the cases, and what is assigned once."""
    found: dict[str, list[ast.expr]] = {}
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            found[name] = [] if name in found or not _is_value(node.value) else [node.value]
    for mark in getattr(function, "decorator_list", []):
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) >= 2:
            found |= _read_cases(mark.args[0], mark.args[1])
    # A value that has other uses too is not only expected.
    used = Counter(
        node.id
        for one in body
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )
    return {name: values for name, values in found.items() if used[name] == 1}


def _read_cases(names: ast.expr, cases: ast.expr) -> dict[str, list[ast.expr]]:
    said = (
        [names.value]
        if isinstance(names, ast.Constant)
        else [getattr(one, "value", "") for one in getattr(names, "elts", [])]
    )
    titles = [name.strip() for text in said for name in str(text).split(",") if name.strip()]
    found: dict[str, list[ast.expr]] = {title: [] for title in titles}
    for case in getattr(cases, "elts", []):
        row = case.args if isinstance(case, ast.Call) else [case] if len(titles) == 1 else getattr(case, "elts", [])
        for title, value in zip(titles, row, strict=False):
            found[title].append(value)
    return found


def _falsify_value(
    node: ast.expr, values: Mapping[str, list[ast.expr]], place: NodePlaces, deep: int = 0
) -> Iterator[tuple[int, int, str]]:
    start, end = place.span(node)
    text = place.text[start:end]
    if isinstance(node, ast.Name):
        if deep < 2:
            yield from (
                change for value in values.get(node.id, []) for change in _falsify_value(value, values, place, deep + 1)
            )
    elif isinstance(node, ast.Call):
        yield from (change for value in node.args for change in _falsify_value(value, values, place, deep))
    elif isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        below = node.values if isinstance(node, ast.Dict) else node.elts
        if not below:
            yield start, end, {"[": f"[{NUMBER}]", "(": f"({NUMBER},)"}.get(text[:1], f"{{{NUMBER}: {NUMBER}}}")
        yield from (change for value in below for change in _falsify_value(value, values, place, deep))
    elif isinstance(node, ast.JoinedStr):
        yield start, end, f"({text} + '~{NUMBER}')"
    elif isinstance(node, ast.UnaryOp | ast.Constant):
        with suppress(ValueError, TypeError):
            yield start, end, repr(make_other_value(ast.literal_eval(node)))


def has_no_assertion(text: str, names: set[str]) -> bool:
    """Nothing in the functions of these names can fail except by accident."""
    tree = parse_python(text)
    if tree is None:
        return False
    functions = (node for node in ast.walk(tree) if isinstance(node, _Function) and node.name in names)
    return not any(_has_assertion(node) for function in functions for node in ast.walk(function))


def _has_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    return (
        isinstance(node, ast.Call | ast.Raise | ast.With)
        and re.search(r"(?i)assert|raise|check|verify|expect|fail", ast.unparse(node)) is not None
    )
