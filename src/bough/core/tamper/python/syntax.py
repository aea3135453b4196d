"""Reading Python text into a syntax tree, and small questions about trees. Nothing here raises for any text."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

from bough.core.tamper.wording import short

Function = ast.FunctionDef | ast.AsyncFunctionDef
Parsed = ast.Module | Literal["broken", "deep"]
Node = TypeVar("Node", bound=ast.AST)
Answer = TypeVar("Answer")

_FIXED = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.Starred),
    *(ast.expr_context, ast.operator, ast.unaryop),
)
_NOT_DUMPED = frozenset({"ctx", "kind", "type_comment"})
DEEPEST = 100
"""Nesting beyond which a file is compared as text: every walk here is recursive."""


def parse(text: str) -> Parsed:
    """The tree, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"))
    except (RecursionError, MemoryError):
        return "deep"
    except (SyntaxError, ValueError):
        return "broken"
    return tree if _manageable(tree) else "deep"


def _manageable(tree: ast.AST) -> bool:
    """Not nested too deeply to walk, and without integers that Python refuses to write out in decimal."""
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        for node in level:
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > 10_000:
                return False
        level = [child for node in level for child in children(node)]
        if not level:
            return True
    return False


def kept(answer: Callable[[Node], Answer]) -> Callable[[Node], Answer]:
    """Keeps the answer to a question about a node at the node: trees share their parts, and do not change."""
    key = f"_{answer.__name__}"

    def get(node: Node) -> Answer:
        known = node.__dict__
        if key not in known:
            known[key] = answer(node)
        found: Answer = known[key]
        return found

    return get


@kept
def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, but for `Load` and `Store`."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and field != "ctx":
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """The node and all below it, level by level."""
    found = [node]
    for one in found:
        found += children(one)
    return found


@kept
def dump(node: ast.AST) -> str:
    """A key that is equal for equal trees, wherever they stand."""
    parts = [_dumped(getattr(node, key, None)) for key in node._fields if key not in _NOT_DUMPED]
    whole = f"{type(node).__name__}({','.join(parts)})"
    return whole if len(whole) <= 160 else _hash(whole)


def _hash(text: str) -> str:
    return "#" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _dumped(value: object) -> str:
    if isinstance(value, ast.AST):
        return dump(value)
    return f"[{','.join(map(_dumped, value))}]" if isinstance(value, list) else repr(value)


def show(node: ast.AST, most: int = 90) -> str:
    """Source text for people, on one line."""
    return short(re.sub(r"#[0-9a-f]{24}|@inner", "…", ast.unparse(node)), most)


def digest(node: ast.AST) -> ast.Name:
    """A stand-in for an expression that is too large to be carried about: equal for equal expressions."""
    return ast.Name(id=_hash(dump(node)), ctx=ast.Load())


@kept
def size(node: ast.AST) -> int:
    return 1 + hasattr(node, "ctx") + sum(map(size, children(node)))


def name(identifier: str) -> ast.Name:
    return ast.Name(id=identifier, ctx=ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.Call:
    """A call that stands for something that a test does not write as one."""
    return ast.Call(func=name(function), args=list(arguments), keywords=[])


def dotted(node: ast.AST | None) -> str:
    """`a.b.c` for a chain of attributes on a name, looking through calls and subscripts; else empty."""
    parts: list[str] = []
    while node is not None:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        else:
            return ""
    return ""


def last(node: ast.AST | None) -> str:
    """The name that a call or attribute ends in, also on a receiver that is no plain name."""
    if isinstance(node, ast.Call):
        return last(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def constant(node: ast.AST | None) -> object:
    """The value of a constant expression, a negative number included; Ellipsis when it is none."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            return -inner
    return ...


def number(node: ast.AST | None) -> float | None:
    value = constant(node)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def fixed(node: ast.AST) -> bool:
    """Made of constants alone."""
    return all(isinstance(n, _FIXED) for n in walk(node))


@kept
def constants(node: ast.AST) -> frozenset[str]:
    """Values in a tree, as they are written."""
    value = constant(node)
    if value is not ...:
        return frozenset({repr(value)})
    return frozenset().union(*map(constants, children(node)))


@kept
def identifiers(node: ast.AST) -> frozenset[str]:
    """Names and attributes in a tree."""
    inside = walk(node)
    names = {one.id for one in inside if isinstance(one, ast.Name)}
    return frozenset(names | {one.attr for one in inside if isinstance(one, ast.Attribute)})


def keyword(call: ast.Call, wanted: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == wanted), None)


def argument(call: ast.Call, position: int, wanted: str) -> ast.expr | None:
    return call.args[position] if len(call.args) > position else keyword(call, wanted)


def elements(node: ast.AST | None) -> list[ast.expr] | None:
    """The elements of a list, tuple or set that is written out."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return None if any(isinstance(e, ast.Starred) for e in node.elts) else list(node.elts)
    return None


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements, in order, also nested ones, but not those inside functions and classes."""
    for statement in body:
        yield statement
        if isinstance(statement, Function | ast.ClassDef):
            continue
        for blocks in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, blocks, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)
        for case in getattr(statement, "cases", []):
            yield from statements(case.body)


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in walk(tree) if isinstance(node, Function))


def main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and "__name__" in identifiers(test) and "'__main__'" in constants(test)


def never(test: ast.expr) -> bool:
    """A condition that cannot hold."""
    return settled(test) is False


def always(test: ast.expr) -> bool:
    return settled(test) is True


def settled(test: ast.expr) -> bool | None:
    """What a condition comes to, whatever else happens; None when that depends."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = settled(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)
        parts = [settled(value) for value in test.values]
        return decisive if decisive in parts else None if None in parts else not decisive
    if last(test) == "TYPE_CHECKING":
        return False
    value = constant(test)
    return None if value is ... else bool(value)
