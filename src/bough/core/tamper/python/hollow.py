"""Assertions that hold whatever the code under test does."""

from __future__ import annotations

import ast

from bough.core.tamper.python.checks import NEGATED, OPERATORS, Check, oriented
from bough.core.tamper.python.syntax import constant, dump, elements, fixed, last, number


def vacuous(check: Check) -> bool:
    """Said nothing to begin with: `assert True`."""
    return check.kind == "truth" and fixed(check.left)


def hollow(check: Check) -> bool:
    """Holds whatever the code under test does."""
    if check.kind == "runs":
        return False
    if check.kind in ("raises", "warns"):
        body = elements(check.left) or []
        return bool(body) and all(isinstance(one, ast.Call) and last(one) in ("raise", "warn") for one in body)
    if check.kind == "or":
        values = elements(check.left) or []
        return any(_outcome(value) for value in values) or _opposites(values)
    if check.kind in ("truth", "falsy"):
        return _outcome(check.left) is (check.kind == "truth")
    if "ANY" in (last(check.left), last(check.right)) and check.kind == "==":
        return True
    if check.kind in ("==", "is", "<=", ">=", "≈", "in") and check.core[1] == check.core[2]:
        return True
    if check.kind == "in" and any(dump(one) == check.core[1] for one in elements(check.right) or []):
        return True
    if check.kind in (">=", ">") and last(check.left) == "len":
        least = number(check.right)
        return least is not None and (least < 0 or (least == 0 and check.kind == ">="))
    return check.kind in OPERATORS.values() and fixed(check.left) and fixed(check.right) and _may_hold(check)


def _may_hold(check: Check) -> bool:
    """Two constants of which one is not the other were not constants: names stood for something that changes."""
    if check.kind not in ("==", "is"):
        return True
    try:
        return bool(ast.literal_eval(check.left) == ast.literal_eval(check.right))
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return True


def _outcome(node: ast.expr) -> bool | None:
    """What an expression comes to as a condition, whatever the code under test does; None when that depends."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _outcome(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        decisive = isinstance(node.op, ast.Or)
        parts = [_outcome(value) for value in node.values]
        if decisive in parts or (decisive and _opposites(node.values)):
            return decisive
        return None if None in parts else not decisive
    value = constant(node)
    if value is not ...:
        return bool(value)
    return _true(node) or None


def _true(node: ast.expr) -> bool:
    if isinstance(node, ast.Lambda | ast.JoinedStr | ast.GeneratorExp):
        return True
    if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
        return bool(node.keys if isinstance(node, ast.Dict) else node.elts)
    if isinstance(node, ast.IfExp):
        return _outcome(node.body) is True and _outcome(node.orelse) is True
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return hollow(Check(OPERATORS[type(node.ops[0])], *oriented(node.left, node.comparators[0])))
    if not isinstance(node, ast.Call) or not node.args:
        return False
    called, count = last(node.func), len(node.args)
    if called == "isinstance":
        return count == 2 and last(node.args[1]) == "object"
    if called == "all":
        return count == 1 and elements(node.args[0]) == []
    return called == "bool" and count == 1 and _outcome(node.args[0]) is True


def _opposites(values: list[ast.expr]) -> bool:
    """One of the alternatives is another's negation."""
    seen: set[tuple[str, str, str]] = set()
    for value in values:
        holds = True
        while isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
            value, holds = value.operand, not holds
        kind, left, right = "truth", dump(value), ""
        if isinstance(value, ast.Compare) and len(value.ops) == 1:
            kind, left, right = OPERATORS[type(value.ops[0])], dump(value.left), dump(value.comparators[0])
        kind = kind if holds else NEGATED[kind]
        if (NEGATED[kind], left, right) in seen:
            return True
        seen.add((kind, left, right))
    return False
