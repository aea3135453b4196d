"""Whether one assertion asks as much as another that it took the place of."""

from __future__ import annotations

import ast
import builtins
import re

from msgspec.structs import replace

from bough.core.tamper.python.checks import SYMMETRIC, Check
from bough.core.tamper.python.facts import BROAD
from bough.core.tamper.python.hollow import hollow
from bough.core.tamper.python.syntax import (
    children,
    constant,
    constants,
    dump,
    elements,
    fixed,
    identifiers,
    kept,
    last,
    number,
    show,
    walk,
)

_RANK = (
    {"==": 6, "is": 6, "raises": 6, "warns": 5, "≈": 5, "falsy": 4, "logs": 4, "runs": 1, "fail": 6, "case": 6}
    | {"<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3, "contains": 3, "lacks": 3, "!=": 2, "not in": 2, "is not": 2}
    | {"truth": 1, "or": 1, "nand": 1}
)
_LOSS = (
    {"bool": 5, "any": 5, "all": 4, "len": 4, "isinstance": 5, "hasattr": 5, "callable": 5, "type": 5, "id": 5}
    | {"set": 3, "frozenset": 3, "sorted": 2, "Counter": 2, "round": 3, "int": 3, "abs": 3, "min": 4, "max": 4}
    | {"lower": 3, "upper": 3, "casefold": 3, "strip": 3, "lstrip": 3, "rstrip": 3, "replace": 3, "sum": 4}
    | {"floor": 3, "ceil": 3, "trunc": 3, "startswith": 4, "endswith": 4, "get": 4, "keys": 4, "count": 4, "sub": 3}
)
_STAND_INS = {"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "create_autospec", "SimpleNamespace", "patch", "ANY"}


def likeness(before: Check, after: Check) -> int:
    """How surely `after` took the place of `before`; 0: it did not."""
    after = _facing(before, after)
    if before.core == after.core:
        return 100
    if before.core[1:3] == after.core[1:3]:
        return 92
    if _same(before.left, after.left):
        return 90
    if _inside(before.left, after.left) or _inside(after.left, before.left):
        return 70 + (5 if before.kind == after.kind else 0)
    if _alternatives(before, after):
        return 75
    if before.kind == after.kind and _same(before.right, after.right) and not isinstance(before.right, ast.Constant):
        return 60
    if before.kind == after.kind and shape(before.left) == shape(after.left):
        return 65
    if before.kind == after.kind and dump(before.right) == dump(after.right):
        return 50
    shared = identifiers(before.left) & identifiers(after.left)
    return 40 if shared else 30 if before.owner == after.owner else 0


def weaker(before: Check, after: Check) -> str:
    """What was lost from `before` to `after`, as a clause; empty when nothing was."""
    after = _facing(before, after)
    if hollow(after) and not hollow(before):
        return f"{_became(before, after)}, which always holds"
    if before.core == after.core:
        return _guarded(before, after)
    if before.kind in ("raises", "warns") or after.kind in ("raises", "warns"):
        return _raising(before, after)
    clause = _compared(before, after)
    return clause or _guarded(before, after)


def _facing(before: Check, after: Check) -> Check:
    """`b == a` turned around when `a` was on the left before."""
    if after.kind not in SYMMETRIC or _same(before.left, after.left):
        return after
    if _same(before.left, after.right) or (_same(before.right, after.left) and not _same(before.right, after.right)):
        return replace(after, left=after.right, right=after.left)
    return after


def _guarded(before: Check, after: Check) -> str:
    known = {guard.key for guard in before.guards}
    new = [guard for guard in after.guards if guard.key not in known]
    new = [guard for guard in new if not any(old.widened(guard) for old in before.guards)]
    if new:
        return f"`{after.shown}` is now only made {new[0].says}"
    kept = {guard.key for guard in after.guards}
    each = [guard for guard in before.guards if guard.every and guard.key not in kept]
    each = [guard for guard in each if not any(guard.widened(other) for other in after.guards)]
    return f"`{after.shown}` is no longer made {each[0].says}" if each else ""


def _compared(before: Check, after: Check) -> str:
    if _alternatives(before, after):
        return _loosened(before, after, "other outcomes are accepted as well")
    if _same(before.left, after.left):
        return _same_subject(before, after)
    if after.kind in ("==", "is") and _unwrapped(before.left, after.left):
        return ""
    if _inside(before.left, after.left) and _RANK.get(before.kind, 4) <= 2 and _RANK.get(after.kind, 4) >= 3:
        return ""
    return _other_subject(before, after)


def _same_subject(before: Check, after: Check) -> str:
    was, now = _RANK.get(before.kind, 4), _RANK.get(after.kind, 4)
    if before.kind == after.kind:
        return _same_kind(before, after)
    if _lint(before, after):
        return ""
    if (before.kind, after.kind) in (("<=", "<"), (">=", ">")) and _same(before.right, after.right):
        return ""
    if (before.kind, after.kind) == ("==", "is") and _same(before.right, after.right):
        return ""
    if before.kind in ("==", "is") and after.kind == "≈":
        near = after.detail == "" and renamed(before.right, after.right)
        return "" if near else _loosened(before, after, f"{before.kind} became an approximation")
    if now > was:
        return ""
    return _loosened(before, after, f"{before.kind} became {after.kind}")


def _same_kind(before: Check, after: Check) -> str:
    if renamed(before.right, after.right):
        if before.detail != after.detail and _wider(before.detail, after.detail):
            return _loosened(before, after, "a wider tolerance")
        return ""
    if before.kind in ("<", "<=", ">", ">="):
        was, now = number(before.right), number(after.right)
        if was is not None and now is not None and (now <= was if before.kind[0] == "<" else now >= was):
            return ""
    if before.kind == "in":
        kept = {dump(one) for one in elements(before.right) or []}
        if elements(after.right) is not None and {dump(one) for one in elements(after.right) or []} <= kept:
            return ""
    if before.kind == "contains":
        was_text, now_text = constant(before.right), constant(after.right)
        if isinstance(was_text, str) and isinstance(now_text, str) and was_text and was_text in now_text:
            return ""
    return _changed(before, after)


def _other_subject(before: Check, after: Check) -> str:
    """The code under test is called differently: fine when only names changed or something was added to the call."""
    gained = identifiers(after.left) - identifiers(before.left)
    if gained & _STAND_INS:
        return f"{_became(before, after)}, which looks at a stand-in"
    if identifiers(before.left) and fixed(after.left):
        return f"{_became(before, after)}, which runs nothing"
    picked = isinstance(after.left, ast.Subscript) and _inside(before.left, after.left)
    if _loss(after.left) > _loss(before.left) or picked:
        return _loosened(before, after, "less of the result is looked at")
    was, now = _RANK.get(before.kind, 4), _RANK.get(after.kind, 4)
    if now < was or (now == was and before.kind != after.kind):
        return _loosened(before, after, f"{before.kind} became {after.kind}")
    if before.kind == after.kind and not renamed(before.right, after.right):
        return _changed(before, after)
    lost = _lost_input(before.left, after.left)
    return f"{_became(before, after)}: the tested input {lost} is gone" if lost else ""


def _raising(before: Check, after: Check) -> str:
    if before.kind == "fail" and after.kind == "raises" and not {*_names(after.right)} & {*BROAD}:
        return ""  # `try: … except E: pass else: fail()`, said shorter
    if before.kind != after.kind:
        return _loosened(before, after, f"{before.kind} became {after.kind}")
    if broader(before.right, after.right):
        return _loosened(before, after, f"{_types(before.right)} became {_types(after.right)}")
    if not _same(before.right, after.right) and not _narrower(before.right, after.right):
        return _changed(before, after)
    if before.detail and before.detail != after.detail:
        lost = "its match was dropped" if not after.detail else "its match was changed"
        if _unescaped(before.detail) not in _unescaped(after.detail):
            return _loosened(before, after, lost)
    lost_input = _lost_input(before.left, after.left)
    if lost_input:
        return f"{_became(before, after)}: the tested input {lost_input} is gone"
    return _guarded(before, after)


def _unescaped(pattern: str) -> str:
    return re.sub(r"\\(\W)", r"\1", pattern)


def broader(before: ast.expr, after: ast.expr) -> bool:
    """Every exception of `before` is still accepted, and others are too."""
    was, now = _names(before), _names(after)
    if set(was) < set(now):
        return True
    return set(was) != set(now) and any(_parent(general, special) for general in now for special in was)


def _narrower(before: ast.expr, after: ast.expr) -> bool:
    was, now = _names(before), _names(after)
    return all(any(one == general or _parent(general, one) for general in was) for one in now)


def _parent(general: str, special: str) -> bool:
    if general == special:
        return False
    if general in ("Exception", "BaseException"):
        return special not in ("BaseException",)
    a, b = getattr(builtins, general, None), getattr(builtins, special, None)
    return isinstance(a, type) and isinstance(b, type) and issubclass(b, a)


def _names(node: ast.expr) -> list[str]:
    return [last(one) or dump(one) for one in elements(node) or [node]]


def _types(node: ast.expr) -> str:
    return " or ".join(_names(node))


def _loosened(before: Check, after: Check, how: str) -> str:
    return f"assertion loosened ({how}): {_became(before, after)}"


def _changed(before: Check, after: Check) -> str:
    return f"expected value changed: {_became(before, after)}"


def _became(before: Check, after: Check) -> str:
    """As it is written; when that is the same, with the names replaced by what they stand for."""
    if before.shown != after.shown:
        return f"`{before.shown}` became `{after.shown}`"
    return f"`{_meant(before)}` became `{_meant(after)}`"


def _meant(check: Check) -> str:
    right = "" if check.kind in ("truth", "falsy", "or", "nand", "runs", "fail") else f" {show(check.right, 50)}"
    return f"{show(check.left, 70)} {check.kind}{right}"


def _lost_input(before: ast.expr, after: ast.expr) -> str:
    """Values that the code under test was given and is not given any more."""
    lost = constants(before) - constants(after)
    if lost:
        return ", ".join(sorted(lost)[:3])
    if {name for name in identifiers(before) if name[0] == "#"} - identifiers(after):
        return "(too long to show)"
    was, now = list(walk(before)), list(walk(after))
    if [type(node) for node in was] != [type(node) for node in now]:
        return ""
    pairs = (
        (a.value, b.value)
        for a, b in zip(was, now, strict=True)
        if isinstance(a, ast.Constant) and isinstance(b, ast.Constant)
    )
    return next((repr(a) for a, b in pairs if repr(a) != repr(b)), "")


def _same(a: ast.expr, b: ast.expr) -> bool:
    return dump(a) == dump(b)


def _inside(part: ast.expr, whole: ast.expr) -> bool:
    if isinstance(part, ast.Constant):
        return False
    wanted = dump(part)
    return any(isinstance(n, ast.expr) and dump(n) == wanted for n in walk(whole))


def _alternatives(before: Check, after: Check) -> bool:
    """`after` is an `or` with what `before` asked for as one side."""
    if after.kind != "or" or before.kind == "or":
        return False
    return any(_inside(before.left, value) for value in elements(after.left) or [])


def _unwrapped(before: ast.expr, after: ast.expr) -> bool:
    """`len(x)` before, `x` itself now."""
    return _loss(before) > 0 and isinstance(before, ast.Call) and any(_same(arg, after) for arg in before.args)


def _loss(node: ast.expr) -> int:
    """How much of a result is thrown away before it is compared."""
    if isinstance(node, ast.Call):
        return max(_LOSS.get(last(node.func), 0), *(_loss(arg) for arg in node.args), 0)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv | ast.Mult | ast.BitAnd):
        return max(3, _loss(node.left))
    if isinstance(node, ast.IfExp | ast.BoolOp):
        return 5
    return 0


def _lint(before: Check, after: Check) -> bool:
    """`x == True` written as linters want it."""
    value = constant(before.right)
    if before.kind == "==" and value is True:
        return after.kind == "truth"
    return before.kind == "==" and value is False and after.kind == "falsy"


def _wider(before: str, after: str) -> bool:
    try:
        return float(after or 1e-6) > float(before or 1e-6)
    except ValueError:
        return True


@kept
def shape(node: ast.AST) -> str:
    """The expression without its names: equal for a call whose function was renamed."""
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.Name) and node.id.startswith("#"):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        return shape(node.value)
    return f"{type(node).__name__}({','.join(map(shape, children(node)))})"


def renamed(a: ast.expr, b: ast.expr) -> bool:
    """The same but for the names in it."""
    return _same(a, b) or (not fixed(a) and shape(a) == shape(b))
