"""Small questions about the statements of a test: what they patch, swallow, fill or only pretend to do."""

from __future__ import annotations

import ast

from bough.core.tamper.python.syntax import (
    Function,
    call,
    constant,
    dotted,
    elements,
    functions,
    kept,
    last,
    name,
    show,
    statements,
    walk,
)
from bough.core.tamper.wording import listed

BROAD = ("Exception", "BaseException", "AssertionError", "Failed")


def patched(call: ast.Call) -> str:
    """The dotted target of `patch("a.b")`, `patch.object(a, "b")`, `monkeypatch.setattr(a, "b", …)` and the like."""
    whole, called = dotted(call.func), last(call.func)
    if whole in ("type.__setattr__", "object.__setattr__"):
        whole = called = "setattr"
    if called in ("patch", "setattr", "object") and ("patch" in whole or whole == "setattr") and call.args:
        first = constant(_ending(call.args[0]))
        if isinstance(first, str):
            return first
        second = constant(call.args[1]) if len(call.args) > 1 else ...
        if isinstance(second, str):
            return f"{dotted(call.args[0])}.{second}"
    return ""


def _ending(node: ast.expr) -> ast.expr:
    """The last part of a text that is put together: `f"{__name__}.add"`."""
    if isinstance(node, ast.JoinedStr) and node.values:
        return node.values[-1]
    return node.right if isinstance(node, ast.BinOp) else node


_GROWING = listed(
    """
    append extend insert add update setdefault pop remove discard clear sort reverse appendleft popleft popitem
    write writelines
    """
)


def grows(name: str, value: ast.expr, owner: Function) -> bool:
    """A list or the like that is filled after it was made does not stand for what is written down."""
    empty = not getattr(value, "elts", getattr(value, "keys", [None])) or (
        isinstance(value, ast.Call) and last(value.func) in ("list", "dict", "set", "deque") and not value.args
    )
    if not isinstance(value, ast.List | ast.Dict | ast.Set | ast.Call):
        return False
    return empty or (not isinstance(value, ast.Call) and name in _filled(owner))


@kept
def shared(owner: Function) -> frozenset[str]:
    """Names that inner functions assign to: what they stand for cannot be read off."""
    nodes = (node for statement in owner.body for node in walk(statement))
    return frozenset(name for node in nodes if isinstance(node, ast.Nonlocal | ast.Global) for name in node.names)


@kept
def references(owner: Function) -> tuple[frozenset[str], frozenset[str]]:
    """Names that a body uses, and those that it calls as a statement."""
    nodes = [node for statement in owner.body for node in walk(statement)]
    calls = [n.value.func for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    used = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    return used, frozenset(call.id for call in calls if isinstance(call, ast.Name))


@kept
def bound_in(function: Function) -> dict[str, int]:
    """Names that a function binds for itself, in whichever way but by importing them, with the line."""
    found: dict[str, int] = {}
    for node in walk(function):
        bound = getattr(node, "arg", None) if isinstance(node, ast.arg) else None
        if isinstance(node, Function | ast.ClassDef | ast.MatchAs | ast.MatchStar) and node is not function:
            bound = node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound = node.id
        if bound is not None:
            found.setdefault(bound, getattr(node, "lineno", function.lineno))
    return found


@kept
def generator(node: Function) -> bool:
    inner = {id(n) for f in functions(node) if f is not node for n in walk(f)}
    return any(isinstance(n, ast.Yield | ast.YieldFrom) and id(n) not in inner for n in walk(node))


_LAZY = listed("map filter starmap partial zip imap chain takewhile dropwhile")
"""Calls that run what they are given only when somebody asks for the results."""
_THREADS = listed("Thread Timer Process start_new_thread")
"""Calls that run what they are given where nobody sees it fail."""


def unseen(owner: Function, inner: str) -> str:
    """Why a function that is defined inside another one is not run in its place; empty: it may well be."""
    nodes = [node for statement in owner.body for node in walk(statement)]
    put_off = [n.value for n in nodes if isinstance(n, ast.Expr) and _put_off(n.value)]
    idle = {id(node) for value in put_off for node in walk(value)}
    used = sum(isinstance(node, ast.Name) and node.id == inner and id(node) not in idle for node in nodes)
    if not used:
        return "in a function that nothing ever runs, which"
    if used == sum(isinstance(n, ast.Return) and isinstance(n.value, ast.Name) and n.value.id == inner for n in nodes):
        return "in a function that is returned and not called, which"
    threads = (node for node in nodes if isinstance(node, ast.Call) and last(node.func) in _THREADS)
    given = (one for node in threads for one in [*node.args, *(word.value for word in node.keywords)])
    return "inside a thread, which" if any(isinstance(one, ast.Name) and one.id == inner for one in given) else ""


def _put_off(value: ast.expr) -> bool:
    """A statement that is only a promise: `map(check, values)`, `(check(one) for one in values)`."""
    lazy = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _LAZY
    return lazy or isinstance(value, ast.GeneratorExp | ast.Lambda)


@kept
def _filled(owner: Function) -> frozenset[str]:
    """Names whose values a function changes in place."""
    found = set()
    for node in (node for statement in owner.body for node in walk(statement)):
        stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del)
        if stored or (isinstance(node, ast.Attribute) and node.attr in _GROWING):
            found.add(last(getattr(node, "value", None)))
    return frozenset(found)


def headed(word: str, test: ast.expr) -> ast.stmt:
    """The first line of a statement, as one that can be shown."""
    return ast.Expr(value=name(f"{word} {show(test, 30)}:"))


def fails(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return last(node.exc) == "AssertionError"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and last(node.value) == "fail"


def swallows(handler: ast.ExceptHandler) -> bool:
    caught = [] if handler.type is None else elements(handler.type) or [handler.type]
    if handler.type is not None and not any(last(one) in BROAD for one in caught):
        return False
    return not any(isinstance(s, ast.Raise) or fails(s) for s in handler.body)


def written_out(values: ast.expr) -> list[ast.expr] | None:
    """The elements of a literal that is looped over, `{…}.items()` included."""
    if isinstance(values, ast.Call) and last(values.func) == "items" and isinstance(values.func, ast.Attribute):
        pairs = values.func.value
        if isinstance(pairs, ast.Dict) and None not in pairs.keys:
            both = zip(pairs.keys, pairs.values, strict=True)
            return [ast.Tuple(elts=[k, v], ctx=ast.Load()) for k, v in both if k is not None]
        return None
    if isinstance(values, ast.Dict):
        return None if None in values.keys else [k for k in values.keys if k is not None]
    return elements(values)


def expressions(body: list[ast.stmt]) -> list[ast.expr]:
    """The expressions of the statements of a block; a `raise` as the call that it is like."""
    found: list[ast.expr] = []
    for node in statements(body):
        if isinstance(node, ast.Raise):
            found.append(call("raise", *([node.exc] if node.exc else [])))
        elif isinstance(node, ast.With | ast.AsyncWith):
            found += [item.context_expr for item in node.items]
        elif isinstance(node, ast.For | ast.AsyncFor):
            found.append(node.iter)
        elif isinstance(node, ast.If | ast.While | ast.Assert):
            found.append(node.test)
        elif isinstance(value := getattr(node, "value", None), ast.expr):
            found.append(value)
    return found
