"""Decorators and marks that keep a test from running or from counting."""

from __future__ import annotations

import ast

from msgspec import Struct
from msgspec.structs import replace

from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import (
    Function,
    argument,
    constant,
    dotted,
    dump,
    elements,
    keyword,
    last,
    never,
    show,
    statements,
    walk,
)
from bough.core.tamper.python.syntax import always as holds


class Mark(Struct, frozen=True):
    key: str
    says: str
    line: int
    path: str
    hard: bool
    """Applies always: the test does not count any more."""


class Case(Struct, frozen=True):
    """One set of values of `parametrize`."""

    names: tuple[str, ...]
    values: tuple[ast.expr, ...]
    shown: str
    line: int
    marks: tuple[Mark, ...] = ()
    indirect: bool = False

    @property
    def key(self) -> str:
        return ", ".join(dump(value) for value in self.values)


def marks_of(node: ast.expr, source: Source, depth: int = 0) -> list[Mark]:
    """The skip-like marks that an expression stands for: a decorator, or the value of `pytestmark`."""
    several = elements(node)
    if several is not None:
        return [mark for one in several for mark in marks_of(one, source, depth)]
    if isinstance(node, ast.Name) and depth < 5:
        found = source.known_value(node.id)
        if found is not None:
            inside = marks_of(found[1], found[0], depth + 1)
            return [
                replace(mark, line=node.lineno, path=source.path, says=f"{node.id} = {mark.says}") for mark in inside
            ]
    hard = hardness(node)
    if hard is None:
        return []
    return [Mark(_mark_key(node), show(node, 70), node.lineno, source.path, hard)]


def _mark_key(node: ast.expr) -> str:
    """The mark without its reason."""
    if not isinstance(node, ast.Call):
        return dotted(node)
    kept = [dump(one) for one in node.args if not isinstance(constant(one), str) or last(node).lower() == "skipif"]
    kept += [f"{k.arg}={dump(k.value)}" for k in node.keywords if k.arg not in ("reason", "msg", "allow_module_level")]
    return f"{dotted(node)} {' '.join(kept)}".strip()


def hardness(node: ast.expr) -> bool | None:
    """None: not a mark that skips. Else whether it applies always."""
    parts = dotted(node).split(".")
    called = parts[-1].lower().replace("_", "")
    marked = len(parts) > 1 and parts[-2] == "mark"
    if called in ("expectedfailure",):
        return True
    if marked and called not in ("skip", "skipif", "xfail", "flaky"):
        return None
    if called == "flaky":
        return False
    if not called.startswith(("skip", "xfail")):
        return None
    condition = argument(node, 0, "condition") if isinstance(node, ast.Call) else None
    if called in ("skipif", "skipunless"):
        return _conditional(condition, called == "skipif")
    if called == "xfail":
        return _conditional(condition, True) if condition is not None else True
    return called == "skip"


def _conditional(condition: ast.expr | None, when: bool) -> bool | None:
    if condition is None:
        return False
    written = constant(condition)
    if isinstance(written, str):
        return True if written.strip() in ("True", "1") else False if written.strip() not in ("False", "0") else None
    if holds(condition):
        return True if when else None
    if never(condition):
        return None if when else True
    return False


def labels_of(decorators: list[ast.expr]) -> set[str]:
    """Names of all pytest marks among decorators."""
    found = set()
    for node in decorators:
        for one in elements(node) or [node]:
            parts = dotted(one).split(".")
            if len(parts) > 1 and parts[-2] == "mark":
                found.add(parts[-1])
    return found


def module_marks(source: Source) -> list[Mark]:
    """What skips a whole file: `pytestmark`, and skip calls at its top level."""
    found: list[Mark] = []
    value = source.values.get("pytestmark")
    if value is not None:
        found += marks_of(value, source)
    top = {id(statement) for statement in source.tree.body}
    for statement in statements(source.tree.body):
        skipped = _skips(statement)
        if skipped is not None:
            hard = id(statement) in top and last(skipped) != "importorskip"
            key = dump(skipped) if last(skipped) == "importorskip" else dotted(skipped)
            found.append(Mark(key, show(skipped, 70), statement.lineno, source.path, hard))
    return found


def _skips(statement: ast.stmt) -> ast.expr | None:
    if isinstance(statement, ast.Raise) and last(statement.exc) in ("SkipTest", "Skipped"):
        return statement.exc
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Call) and not isinstance(statement, ast.Return):
        whole = dotted(value.func)
        if (
            last(value) == "importorskip"
            or whole in ("pytest.skip", "pytest.xfail", "skip")
            or last(value) == "skip_module"
        ):
            return value
    return None


def parametrized(decorators: list[ast.expr], source: Source) -> list[list[Case] | ast.expr]:
    """For every `parametrize` its cases, or its expression when they are not written out."""
    found: list[list[Case] | ast.expr] = []
    for node in decorators:
        if not (isinstance(node, ast.Call) and last(node.func) in ("parametrize", "parameterized", "expand", "data")):
            continue
        if last(node.func) == "parametrize":
            found.append(_cases(node, source))
        elif node.args:
            found.append(_positional_cases(node, source))
    return found


def _cases(node: ast.Call, source: Source) -> list[Case] | ast.expr:
    names = _names(argument(node, 0, "argnames"))
    values = argument(node, 1, "argvalues")
    if values is None or not names:
        return node
    items = _listed(values, source)
    indirect = keyword(node, "indirect")
    if items is None:
        return values
    return [_case(names, item, source, indirect is not None and not never(indirect)) for item in items]


def _listed(values: ast.expr, source: Source) -> list[ast.expr] | None:
    """The cases that are written out: a list, or the values or pairs of a table."""
    asked = last(values.func) if isinstance(values, ast.Call) and isinstance(values.func, ast.Attribute) else ""
    within = _follow(values.func.value, source) if asked in ("values", "items") else None  # type: ignore[attr-defined]
    if not isinstance(within, ast.Dict):
        return elements(_follow(values, source))
    if asked == "values":
        return within.values
    pairs = [(key, value) for key, value in zip(within.keys, within.values, strict=True) if key is not None]
    return [ast.copy_location(ast.Tuple(elts=[key, value], ctx=ast.Load()), value) for key, value in pairs]


def _positional_cases(node: ast.Call, source: Source) -> list[Case] | ast.expr:
    """`@parameterized.expand([(1, 2), …])`: the values fill the parameters in order."""
    items = elements(_follow(node.args[0], source)) if last(node.func) != "data" else list(node.args)
    if items is None:
        return node.args[0]
    count = max((len(elements(item) or [item]) for item in items), default=0)
    names = tuple(f"#{index}" for index in range(count))
    return [_case(names if elements(item) is not None else ("#0",), item, source, False) for item in items]


def _names(node: ast.expr | None) -> tuple[str, ...]:
    written = constant(node)
    if isinstance(written, str):
        return tuple(part.strip() for part in written.split(",") if part.strip())
    return tuple(str(constant(one)) for one in elements(node) or [])


def _follow(node: ast.expr, source: Source) -> ast.expr:
    for _ in range(4):
        found = source.known_value(node.id) if isinstance(node, ast.Name) else None
        if found is None:
            return node
        source, node = found
    return node


def _case(names: tuple[str, ...], item: ast.expr, source: Source, indirect: bool) -> Case:
    shown, marks = show(item, 70), list[Mark]()
    if isinstance(item, ast.Call) and last(item.func) == "param":
        given = keyword(item, "marks")
        marks = marks_of(given, source) if given is not None else []
        values = list(item.args)
        shown = "(" + ", ".join(show(value, 70) for value in values) + ")" if len(values) != 1 else show(values[0], 70)
    elif len(names) == 1:
        values = [item]
    else:
        values = elements(item) or [item]
    return Case(names, tuple(values), shown, item.lineno, tuple(marks), indirect)


def hides(decorator: Function) -> bool:
    """A decorator that does not let a test's failure through: it never calls the test, or swallows what it raises."""
    if not decorator.args.args:
        return False
    wrapped = decorator.args.args[0].arg
    body = decorator.body
    if any(isinstance(s, ast.Return) and last(s.value) == wrapped and isinstance(s.value, ast.Name) for s in body):
        return False
    if len([n for n in walk(decorator) if isinstance(n, Function)]) == 1 and not any(
        isinstance(n, ast.Lambda) for n in walk(decorator)
    ):
        return False
    calls = [n for n in walk(decorator) if isinstance(n, ast.Call) and last(n.func) == wrapped]
    if not calls:
        handed_on = [n for n in walk(decorator) if isinstance(n, ast.Name) and n.id == wrapped]
        wraps = [n for n in walk(decorator) if isinstance(n, ast.Call) and last(n.func) == "wraps"]
        return len(handed_on) <= len(wraps)
    if all(_under_condition(call, decorator) for call in calls):
        return True
    return any(
        isinstance(n, ast.Try) and n.handlers and not any(isinstance(r, ast.Raise) for r in walk(n))
        for n in walk(decorator)
    ) or any(isinstance(n, ast.withitem) and last(n.context_expr) == "suppress" for n in walk(decorator))


def _under_condition(call: ast.Call, decorator: Function) -> bool:
    """Made only when something holds, with nothing but silence otherwise."""
    for node in walk(decorator):
        if isinstance(node, ast.If) and any(n is call for s in node.body for n in walk(s)):
            others = [n for s in node.orelse for n in walk(s)]
            if not any(isinstance(n, ast.Call | ast.Raise) for n in others):
                return True
    return False
