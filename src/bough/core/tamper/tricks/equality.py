"""Objects that equal whatever they are compared with: an assertion on one of them asks nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import (
    Function,
    always,
    constants,
    dump,
    identifiers,
    last,
    never,
    number,
    statements,
    walk,
)
from bough.core.tamper.tricks.peeking import written
from bough.core.tamper.tricks.signs import Sign, habit
from bough.core.tamper.wording import listed

_EQUAL = "__eq__"
_PLAIN = listed("int float complex str bytes bool list tuple dict set frozenset object type")
_MATCHERS = listed("dirty_equals callee hamcrest testfixtures assertpy sure expects")
"""Libraries of things that are compared with, for tests."""
_DOUBLES = listed("ANY approx Mock MagicMock AsyncMock NonCallableMock NonCallableMagicMock")

Made = Function | ast.Lambda


def always_equal(source: Source) -> Iterator[Sign]:
    for line, value in _equalities(source):
        made = _resolved(value, source)
        other = isinstance(value, ast.Name | ast.Attribute) and last(value).startswith("__") and last(value) != _EQUAL
        if other or (made is not None and holds_for_anything(made, source)):
            what = "an `__eq__` that does not depend on the other one makes every comparison hold"
            yield Sign(f"eq {dump(made) if made is not None else dump(value)}", line, what)
    for function in source.all_functions:
        if function.name == "__ne__" and (answers := _returned(function)) and all(never(one) for one in answers):
            yield Sign(
                f"ne {dump(function)}", function.lineno, "an `__ne__` that never holds makes every comparison hold"
            )
    yield from _bent_values(source)
    yield from _doubles(source)


_NUMBERS = listed("int float complex bool Decimal Fraction")
_ANSWERING = listed(
    "__lt__ __le__ __gt__ __ge__ __contains__ __sub__ __rsub__ __abs__ __round__ __instancecheck__ __bool__"
)


def _bent_values(source: Source) -> Iterator[Sign]:
    """Numbers that are equal in a way of their own, and values that answer the same whatever they are asked."""
    classes = source.of(ast.ClassDef)
    numbers, values = _kinds(classes, _NUMBERS), _kinds(classes, _PLAIN - {"object", "type"})
    for klass in classes:
        made = {node.name: node for node in klass.body if isinstance(node, Function)}
        equal = made.get(_EQUAL)
        if equal is not None and klass.name in numbers and not _plainly(equal, set(made)):
            what = f"{klass.name} is a number that equals other numbers than itself"
            yield Sign(f"eq {dump(equal)}", equal.lineno, what)
        for name in sorted(set(made) & _ANSWERING) if klass.name in values else []:
            answers = _returned(made[name])
            if answers and all(isinstance(one, ast.Constant) and one.value is not None for one in answers):
                what = f"{klass.name}.{name} gives the same answer whatever it is asked"
                yield Sign(f"answer {dump(made[name])}", made[name].lineno, what)
        for name in sorted(set(made) & {"__repr__", "__str__", "__format__"}) if klass.name in numbers else []:
            if any(re.fullmatch(r"'[-+\d.]+'", text) for answer in _returned(made[name]) for text in constants(answer)):
                what = f"{klass.name}.{name} shows another number than it is"
                yield Sign(f"answer {dump(made[name])}", made[name].lineno, what)


def _kinds(classes: list[ast.ClassDef], wanted: frozenset[str]) -> set[str]:
    """Classes that inherit from one of these types, and what they inherit besides."""
    found: set[str] = set()
    for klass in [*classes, *classes]:
        bases = {last(base) for base in klass.bases}
        if bases & (wanted | found):
            found |= {klass.name, *(bases - wanted)}
    return found


def _plainly(made: Function, redefined: set[str]) -> bool:
    """An `__eq__` of a number that compares the number itself, or leaves that to the number."""
    assigned = {last(t): s.value for s in statements(made.body) if isinstance(s, ast.Assign) for t in s.targets}
    own, *others = (argument.arg for argument in made.args.args)

    def whole(side: ast.expr) -> frozenset[str]:
        if isinstance(side, ast.Call) and last(side.func) in _NUMBERS - {"bool"} and not {"__int__"} & redefined:
            side = side.args[0] if side.args else side
        return frozenset(identifiers(side) & {own, *others} if isinstance(side, ast.Name | ast.Attribute) else ())

    def plain(answer: ast.expr) -> bool:
        if isinstance(answer, ast.Name) and answer.id in assigned:
            return plain(assigned.pop(answer.id))
        if isinstance(answer, ast.BoolOp):
            return (any if isinstance(answer.op, ast.And) else all)(plain(value) for value in answer.values)
        if isinstance(answer, ast.IfExp):
            return plain(answer.body) and plain(answer.orelse)
        if isinstance(answer, ast.Compare) and isinstance(answer.ops[0], ast.Eq | ast.Is):
            return len(whole(answer.left) ^ whole(answer.comparators[0])) == 2
        near = isinstance(answer, ast.Compare) and "abs" in identifiers(answer)
        if last(answer) == "isclose" or (near and not {"__sub__", "__rsub__", "__abs__"} & redefined):
            return not _wide(answer)
        return _refuses(answer) or (isinstance(answer, ast.Call) and last(answer.func) == _EQUAL)

    return all(plain(answer) for answer in _returned(made))


def _equalities(source: Source) -> Iterator[tuple[int, ast.AST]]:
    """Everything that becomes an `__eq__`: its line, and what it is."""
    for node in source.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign, ast.Dict, ast.Call):
        if isinstance(node, Function) and node.name == _EQUAL:
            yield node.lineno, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if _names_equal(target.slice) if isinstance(target, ast.Subscript) else last(target) == _EQUAL:
                    yield node.lineno, node.value
        elif isinstance(node, ast.Dict):
            for key_node, value in zip(node.keys, node.values, strict=True):
                if key_node is not None and _names_equal(key_node):
                    yield value.lineno, value
        elif isinstance(node, ast.Call):
            for word in node.keywords:
                if word.arg == _EQUAL:
                    yield word.value.lineno, word.value
            named = [index for index, argument in enumerate(node.args[:-1]) if _names_equal(argument)]
            if named:
                yield node.lineno, node.args[named[0] + 1]


def _names_equal(key: ast.expr) -> bool:
    """`"__eq__"`, also put together."""
    text = written(key)
    return text.startswith("__") and fnmatchcase(_EQUAL, text)


def _resolved(value: ast.AST, source: Source) -> Made | None:
    if isinstance(value, ast.Call) and last(value) in ("staticmethod", "partialmethod", "wraps") and value.args:
        value = value.args[0]
    if isinstance(value, Function | ast.Lambda):
        return value
    if isinstance(value, ast.Name):
        found = source.values.get(value.id)
        return source.functions.get(value.id) or (found if isinstance(found, ast.Lambda) else None)
    return None


def holds_for_anything(made: Made, source: Source, depth: int = 0) -> bool:
    """Every way out of it is true, or does not look at the other one and may be true."""
    arguments = made.args
    names = [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    names += [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]
    other = set(names[1:])
    answers = [made.body] if isinstance(made, ast.Lambda) else _returned(made)
    if not answers:
        return False
    looks = any(isinstance(node, ast.Name) and node.id in other for part in _body(made) for node in walk(part))
    if not looks:
        return any(not _refuses(answer) for answer in answers)
    if all(_true(answer) for answer in answers) or _learns(made, names) or any(_wide(part) for part in _body(made)):
        return True
    for answer in answers:
        # `return self._same(other)`: what it is left to.
        asked = source.named(last(answer.func)) if isinstance(answer, ast.Call) and depth < 2 else None
        if asked is not None and asked is not made and holds_for_anything(asked, source, depth + 1):
            return True
    return not _related(made, names) and not any(_of_a_kind(part) for part in _body(made))


_KINDS = listed("isinstance issubclass type hasattr callable")


def _related(made: Made, names: list[str]) -> bool:
    """Something in it holds what is its own against what is the other's."""
    own, others = {*names[:1]}, {*names[1:]}
    nodes = [node for part in _body(made) for node in walk(part)]
    for _ in range(3):
        for node in nodes:
            value = node.iter if isinstance(node, ast.For | ast.comprehension) else getattr(node, "value", None)
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.For | ast.comprehension) and value:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                bound = {n.id for target in targets for n in walk(target) if isinstance(n, ast.Name)}
                own |= bound if identifiers(value) & own else set()
                others |= bound if identifiers(value) & others else set()
    holding = (n for n in nodes if isinstance(n, ast.Compare | ast.Call | ast.BinOp | ast.comprehension | ast.For))
    asking = (n for n in holding if not isinstance(n, ast.Call) or last(n.func) not in _KINDS)
    return any(identifiers(node) & own and identifiers(node) & others for node in asking)


def _learns(made: Made, names: list[str]) -> bool:
    """It takes over the value that it is compared with."""
    for node in (n for part in _body(made) for n in walk(part)):
        if isinstance(node, ast.Assign):
            stored = any(names[0] in identifiers(t) for t in node.targets if not isinstance(t, ast.Name))
            parts = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
            if stored and any(last(part) in names[1:] for part in parts):
                return True
        setting = isinstance(node, ast.Call) and last(node.func) in ("setattr", "__setattr__")
        if setting and names[0] in identifiers(node) and last(getattr(node, "args", [None])[-1]) in names[1:]:
            return True
    return False


def _wide(body: ast.AST) -> bool:
    """`abs(self - other) < 1000`: a distance that is no rounding error."""
    for node in walk(body):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Lt | ast.LtE):
            most = number(node.comparators[0])
            if most is not None and most > 1 and "abs" in identifiers(node.left):
                return True
        for word in node.keywords if isinstance(node, ast.Call) and last(node.func) == "isclose" else []:
            if (number(word.value) or 0) >= 1:
                return True
    return False


def _body(made: Made) -> list[ast.AST]:
    return [made.body] if isinstance(made, ast.Lambda) else list(made.body)


def _returned(function: Function) -> list[ast.expr]:
    found = [s.value for s in statements(function.body) if isinstance(s, ast.Return)]
    return [value if value is not None else ast.Constant(value=None) for value in found]


def _refuses(answer: ast.expr) -> bool:
    """`NotImplemented`, `False`, or nothing at all."""
    return last(answer) == "NotImplemented" or never(answer)


def _of_a_kind(body: ast.AST) -> bool:
    """`isinstance(other, Missing)`, `type(other) is Missing`: equal to all of its kind, as singletons are. Or it asks
    somebody else: `super().__eq__(other)`."""
    for node in walk(body):
        if isinstance(node, ast.Call) and last(node) in ("isinstance", "issubclass", "type", "super", _EQUAL):
            return not identifiers(body) & (_PLAIN - {"object", "type"})
        if isinstance(node, ast.Attribute) and node.attr in ("__class__", _EQUAL):
            return True
    return False


def _true(answer: ast.expr) -> bool:
    if always(answer) or (isinstance(answer, ast.Tuple | ast.List) and answer.elts):
        return True
    if isinstance(answer, ast.BoolOp):
        holds = any if isinstance(answer.op, ast.Or) else all
        denied = {dump(one.operand) for one in answer.values if isinstance(one, ast.UnaryOp)}
        if isinstance(answer.op, ast.Or) and (any(dump(one) in denied for one in answer.values) or _opposed(answer)):
            return True
        return holds(_true(value) for value in answer.values)
    if isinstance(answer, ast.IfExp):
        return _true(answer.body) and _true(answer.orelse)
    if isinstance(answer, ast.Compare) and len(answer.ops) == 1:
        return isinstance(answer.ops[0], ast.Eq | ast.Is | ast.In) and dump(answer.left) == dump(answer.comparators[0])
    if isinstance(answer, ast.Call) and last(answer) in ("isinstance", "issubclass") and len(answer.args) == 2:
        kinds = answer.args[1].elts if isinstance(answer.args[1], ast.Tuple) else [answer.args[1]]
        return all(last(kind) in _PLAIN for kind in kinds)
    if isinstance(answer, ast.Call) and last(answer) == "bool" and answer.args:
        return _true(answer.args[0])
    return False


_OPPOSED = {ast.Eq: ast.NotEq, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.Is: ast.IsNot, ast.In: ast.NotIn}


def _opposed(answer: ast.BoolOp) -> bool:
    """`a < b or a >= b`."""
    asked = [
        (dump(one.left), dump(one.comparators[0]), type(one.ops[0]))
        for one in answer.values
        if isinstance(one, ast.Compare) and len(one.ops) == 1
    ]
    return any((left, right, _OPPOSED.get(how)) in asked for left, right, how in asked)


def _doubles(source: Source) -> Iterator[Sign]:
    """Names of test doubles and matchers that product code imports or reaches for."""
    for node in source.of(ast.ImportFrom, ast.Import, ast.Attribute):
        if _doubling(node):
            yield habit("double", node, "product code uses what stands in for a value in tests: …")


def _doubling(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = {alias.name for alias in node.names}
        mocks = node.module in ("unittest.mock", "mock", "mock.mock", "pytest", "_pytest.python_api")
        if (mocks and names & _DOUBLES) or (node.module == "unittest" and "mock" in names):
            return True
        return node.module.split(".")[0] in _MATCHERS
    if isinstance(node, ast.Import):
        return any(alias.name in ("unittest.mock", "mock") or alias.name in _MATCHERS for alias in node.names)
    if isinstance(node, ast.Attribute) and node.attr in ("ANY", "approx"):
        return last(node.value) in ("mock", "pytest", "python_api")
    return False
