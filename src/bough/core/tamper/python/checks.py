"""One thing that a test asserts, in a form in which `assert a == b` and `self.assertEqual(a, b)` are the same."""

from __future__ import annotations

import ast
import re
from collections import Counter

from msgspec import Struct
from msgspec.structs import force_setattr

from bough.core.tamper.python.scope import Scope, resolve
from bough.core.tamper.python.syntax import (
    argument,
    constant,
    constants,
    dump,
    elements,
    fixed,
    identifiers,
    keyword,
    last,
    name,
    number,
    show,
)

NOTHING = ast.Constant(value=None)
FAILS = ("fail", NOTHING, NOTHING, "")


class Guard(Struct, frozen=True):
    """A reason for which an assertion may not be made, or may not count."""

    key: str
    word: str
    node: ast.AST | None = None

    @property
    def says(self) -> str:
        return f"{self.word} {show(self.node, 60)}" if self.node is not None else self.word

    @property
    def every(self) -> bool:
        """Says how often the assertion is made: less without it."""
        return self.word in ("for each of", "under")

    def widened(self, other: Guard) -> bool:
        """The other loops over something else, which has all the values that this one had."""
        if self.node is None or other.node is None or self.word != other.word or self.word != "for each of":
            return False
        names = identifiers(self.node) <= identifiers(other.node) or not self.key.startswith("parametrize")
        return names and constants(self.node) <= constants(other.node)


class Check(Struct, frozen=True):
    kind: str
    """An operator (`==`, `<`, `in` …), `truth`, `falsy`, `or`, `raises`, `warns`, `fail`, `runs`, or a call's name."""
    left: ast.expr
    """What is looked at."""
    right: ast.expr
    """What is expected of it."""
    detail: str = ""
    """Tolerance or pattern."""
    guards: tuple[Guard, ...] = ()
    written: ast.stmt | str = ""
    """The statement, or words for it."""
    path: str = ""
    line: int = 0
    owner: str = ""
    """The function that the assertion is written in."""
    case: int = -1
    core: tuple[str, str, str, str] = ("", "", "", "")
    """What it asks, wherever and under whatever conditions it is asked."""

    def __post_init__(self) -> None:
        left, right = dump(self.left), dump(self.right)
        if self.kind in SYMMETRIC and right < left:
            left, right = right, left
        force_setattr(self, "core", (self.kind, left, right, self.detail))

    @property
    def shown(self) -> str:
        return self.written if isinstance(self.written, str) else show(self.written)

    @property
    def key(self) -> tuple[tuple[str, str, str, str], frozenset[str]]:
        return self.core, frozenset(guard.key for guard in self.guards)


def without(checks: list[Check], others: list[Check]) -> list[Check]:
    """The assertions that are not among the others, as often as they are there."""
    there = Counter(check.key for check in others)
    left = []
    for check in checks:
        there[check.key] -= 1
        if there[check.key] < 0:
            left.append(check)
    return left


SYMMETRIC = ("==", "!=", "is", "is not", "≈")
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "in": "not in", "not in": "in"} | {
    "is": "is not",
    "is not": "is",
    "truth": "falsy",
    "falsy": "truth",
    "contains": "lacks",
    "lacks": "contains",
}
OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
} | {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}
_TWO_SIDED = (
    {"Equal": "==", "NotEqual": "!=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in"}
    | {"Greater": ">", "GreaterEqual": ">=", "Less": "<", "LessEqual": "<=", "Equals": "==", "NotEquals": "!="}
    | {kind + "Equal": "==" for kind in ("List", "Tuple", "Dict", "Set", "Sequence", "MultiLine")}
    | {"ArrayEqual": "==", "FrameEqual": "==", "SeriesEqual": "==", "StringEqual": "=="}
)
_RAISING = {"raises": "raises", "assertRaises": "raises", "assertRaisesRegex": "raises", "assertRaisesRegexp": "raises"}
_RAISING |= {"assert_raises": "raises", "assert_raises_regex": "raises", "warns": "warns", "assertWarns": "warns"}
_RAISING |= {"assertWarnsRegex": "warns", "deprecated_call": "warns", "assertLogs": "logs", "assertNoLogs": "no logs"}
Bare = tuple[str, ast.expr, ast.expr, str]
"""Kind, left, right, detail: a check before it knows where it stands."""


def of_condition(test: ast.expr, scope: Scope, holds: bool = True) -> list[Bare]:
    """What `assert test` (or `assert not test`) checks, taken apart into single comparisons."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return of_condition(test.operand, scope, not holds)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is holds:
            return [bare for value in test.values for bare in of_condition(value, scope, holds)]
        return [_either(test.values, scope, holds)]
    if isinstance(test, ast.Compare):
        if not holds and len(test.ops) > 1:
            return [("falsy", resolve(test, scope), NOTHING, "")]
        sides = [test.left, *test.comparators]
        pairs = zip(test.ops, sides, sides[1:], strict=False)
        return [_compare(OPERATORS[type(op)], resolve(a, scope), resolve(b, scope), holds) for op, a, b in pairs]
    if isinstance(test, ast.Call) and last(test.func) in ("all", "any") and len(test.args) == 1 and not test.keywords:
        each = _each(test.args[0], scope, holds) if (last(test.func) == "all") is holds else None
        if each is not None:
            return each
    if isinstance(test, ast.Call) and last(test.func) in ("isclose", "allclose") and len(test.args) >= 2 and holds:
        near = resolve(test, scope)
        if isinstance(near, ast.Call) and len(near.args) >= 2:
            return [("≈", *oriented(near.args[0], near.args[1]), _tolerance(near))]
    return [("truth" if holds else "falsy", resolve(test, scope), NOTHING, "")]


def _each(values: ast.expr, scope: Scope, holds: bool) -> list[Bare] | None:
    """The parts of `all([…])` and of `all(… for x in […])`, when the list is written out."""
    if isinstance(values, ast.GeneratorExp | ast.ListComp) and len(values.generators) == 1:
        loop = values.generators[0]
        items = None if loop.ifs else elements(resolve(loop.iter, scope))
        if items is None:
            return None
        found = []
        for item in items:
            inside = scope.branch()
            inside.bind(loop.target, item)
            found += of_condition(values.elt, inside, holds)
        return found
    parts = elements(resolve(values, scope))
    return None if parts is None else [bare for part in parts for bare in of_condition(part, scope, holds)]


def _either(values: list[ast.expr], scope: Scope, holds: bool) -> Bare:
    resolved = sorted((resolve(value, scope) for value in values), key=dump)
    return ("or" if holds else "nand", ast.Tuple(elts=resolved, ctx=ast.Load()), NOTHING, "")


def oriented(a: ast.expr, b: ast.expr) -> tuple[ast.expr, ast.expr]:
    """What is looked at first, what is expected second: constants are expectations."""
    return (b, a) if fixed(a) and not fixed(b) else (a, b)


def _compare(operator: str, a: ast.expr, b: ast.expr, holds: bool) -> Bare:
    operator = operator if holds else NEGATED[operator]
    if operator in ("==", "is") and (near := _approximate(a, b)) is not None:
        return near
    if operator in ("<", "<=") and (near := _distance(a, b)) is not None:
        return near
    if operator in ("in", "not in"):
        if fixed(a) and not fixed(b):
            return ("contains" if operator == "in" else "lacks", b, a, "")
        return (operator, a, b, "")
    left, right = oriented(a, b)
    if left is b:
        operator = FLIPPED.get(operator, operator)
    if operator in (">", ">=") and not fixed(right):
        return (FLIPPED[operator], right, left, "")
    if operator in ("==", "!=") and isinstance(right, ast.Constant) and right.value is None:
        operator = "is" if operator == "==" else "is not"
    return (operator, left, right, "")


def _approximate(a: ast.expr, b: ast.expr) -> Bare | None:
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ast.Call) and last(one.func) in ("approx", "Approx", "almost") and one.args:
            return ("≈", *oriented(other, one.args[0]), _tolerance(one))
    return None


def _distance(a: ast.expr, b: ast.expr) -> Bare | None:
    """`abs(x - y) < eps`."""
    if not (isinstance(a, ast.Call) and last(a.func) in ("abs", "fabs") and len(a.args) == 1):
        return None
    inside = a.args[0]
    if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub):
        eps = number(b)
        return ("≈", *oriented(inside.left, inside.right), dump(b) if eps is None else _near(eps))
    return None


def _tolerance(call: ast.Call) -> str:
    given = [keyword(call, wanted) for wanted in ("rel", "abs", "rel_tol", "abs_tol", "rtol", "atol", "delta")]
    if last(call.func) == "approx":
        given += call.args[1:3]
    numbers = [number(value) for value in given if value is not None]
    if not numbers:
        return ""
    return "?" if None in numbers else _near(max(n for n in numbers if n is not None))


def _near(eps: float) -> str:
    """No explicit tolerance and one of a millionth or less are the same: rounding of floats."""
    return "" if eps <= 1e-6 else repr(eps)


def of_call(call: ast.Call, scope: Scope) -> list[Bare] | None:
    """What a call asserts; None when it asserts nothing that is known here."""
    called = last(call.func)
    if called in _RAISING:
        return [_raising_callable(call, scope)] if len(call.args) > 1 and called not in ("assertLogs",) else []
    if called == "fail":
        return [FAILS]
    if not called.startswith("assert") and called != "eq_":
        return None
    asked = re.sub(r"(?:^|_)([a-z])", lambda found: found[1].upper(), called).removeprefix("Assert")
    asked = {"_": "True", "Eq_": "Equal"}.get(asked, asked)
    arguments = [a for a in call.args if not isinstance(a, ast.Starred)]
    found = _known_assertion(asked, arguments, call, scope)
    if found is not None:
        return found
    receiver = resolve(call.func.value, scope) if isinstance(call.func, ast.Attribute) else name(called)
    given = [resolve(a, scope) for a in arguments] + [resolve(k.value, scope) for k in call.keywords if k.arg != "msg"]
    return [(called, receiver, ast.Tuple(elts=given, ctx=ast.Load()), "")]


def _known_assertion(asked: str, arguments: list[ast.expr], call: ast.Call, scope: Scope) -> list[Bare] | None:
    if asked in ("True", "False") and arguments:
        return of_condition(arguments[0], scope, asked != "False")
    if asked in ("IsNone", "IsNotNone") and arguments:
        return [_compare("is" if asked == "IsNone" else "is not", resolve(arguments[0], scope), NOTHING, True)]
    if len(arguments) < 2:
        return None
    a, b = resolve(arguments[0], scope), resolve(arguments[1], scope)
    if asked in _TWO_SIDED:
        return [_compare(_TWO_SIDED[asked], a, b, True)]
    if asked in ("CountEqual", "ItemsEqual"):
        both = [ast.Call(func=name("sorted"), args=[side], keywords=[]) for side in oriented(a, b)]
        return [("==", both[0], both[1], "")]
    if asked in ("IsInstance", "NotIsInstance"):
        made = ast.Call(func=name("isinstance"), args=[a, b], keywords=[])
        return [("truth" if asked == "IsInstance" else "falsy", made, NOTHING, "")]
    if asked in ("Regex", "RegexpMatches", "NotRegex"):
        made = ast.Call(func=name("search"), args=[b, a], keywords=[])
        return [("falsy" if asked == "NotRegex" else "truth", made, NOTHING, "")]
    if asked in ("AlmostEqual", "AlmostEquals", "Allclose", "AllClose", "ArrayAlmostEqual"):
        return [("≈", *oriented(a, b), _places(call))]
    if asked == "NotAlmostEqual":
        return [("!=", *oriented(a, b), "")]
    return None


def _places(call: ast.Call) -> str:
    places = number(argument(call, 2, "places") or keyword(call, "decimal"))
    if places is not None and "lmost" in last(call.func):
        return _near(0.5 * 10 ** -min(max(places, -300), 300))
    return _tolerance(call)


def raising(call: ast.expr) -> str:
    """`raises` for `pytest.raises(…)` and its relatives; empty for anything else."""
    return _RAISING.get(last(call.func), "") if isinstance(call, ast.Call) else ""


def of_raising(call: ast.Call, body: list[ast.expr], scope: Scope) -> Bare:
    """What `with pytest.raises(E, match=m): body` checks."""
    expected = call.args[0] if call.args else keyword(call, "expected_exception") or name("Warning")
    pattern = keyword(call, "match") or keyword(call, "expected_regex")
    if "egex" in last(call.func) and len(call.args) > 1:
        pattern = call.args[1]
    kind = _RAISING[last(call.func)]
    match = constant(pattern)
    detail = "" if pattern is None else match if isinstance(match, str) else dump(resolve(pattern, scope))
    return (kind, ast.Tuple(elts=body, ctx=ast.Load()), resolve(expected, scope), detail)


def _raising_callable(call: ast.Call, scope: Scope) -> Bare:
    """`raises(E, f, x)` is `with raises(E): f(x)`."""
    offset = 2 if "egex" in last(call.func) else 1
    if len(call.args) <= offset:
        return of_raising(call, [], scope)
    inner = call.args[offset]
    if isinstance(inner, ast.Lambda) and len(call.args) == offset + 1:
        made: ast.expr = inner.body
    else:
        made = ast.Call(func=inner, args=call.args[offset + 1 :], keywords=call.keywords)
    outer = ast.Call(func=call.func, args=call.args[:offset], keywords=[])
    return of_raising(outer, [resolve(made, scope)], scope)
