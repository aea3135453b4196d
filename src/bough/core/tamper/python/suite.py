"""The tests of one Python file: which ones a runner collects, with their marks, cases and assertions."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator

from msgspec import Struct, field

from bough.core.tamper.config.reach import Collecting
from bough.core.tamper.python.body import Found, Patch, Skip, Walk, fixtures_used
from bough.core.tamper.python.checks import NOTHING, Check, Guard
from bough.core.tamper.python.facts import patched
from bough.core.tamper.python.marks import Case, Mark, labels_of, marks_of, module_marks, parametrized
from bough.core.tamper.python.scope import Scope, method_of, resolve, value_of
from bough.core.tamper.python.sources import Source, is_fixture
from bough.core.tamper.python.syntax import (
    Function,
    constant,
    dump,
    keyword,
    last,
    name,
    never,
    show,
    statements,
    without_docstring,
)

MOST_CASES = 200
UNNAMED = "class "
_SET_UP = ("setUpClass", "setup_class", "asyncSetUp", "setUp", "setup_method", "setup", "_setup")


class Test(Struct, eq=False):
    """A test, or a function beside the tests (`helper`), as it stands in its file."""

    name: str
    """With its classes: `TestAdd.test_small`."""
    node: Function
    scope: Scope
    decorators: list[ast.expr] = []
    """Also those of its classes."""
    marks: list[Mark] = []
    """What skips it."""
    labels: set[str] = set()
    """Names of all its marks."""
    guards: tuple[Guard, ...] = ()
    uncollected: str = ""
    """Why the runner does not see it."""
    mixin: bool = False
    """In a class that is not collected itself, and may be inherited from."""
    groups: list[list[Case] | ast.expr] = []
    found: Found = field(default_factory=Found)
    helper: bool = False

    @property
    def path(self) -> str:
        return self.scope.source.path

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.name

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def active(self) -> bool:
        return not self.uncollected and not any(mark.hard for mark in self.marks)

    @property
    def count(self) -> int:
        """Of cases."""
        return math.prod(len(group) for group in self.groups if isinstance(group, list))


def tests_of(source: Source, collecting: Collecting, collected: bool) -> list[Test]:
    """Every function that looks like a test, collected or not, without its assertions (see `read`)."""
    reader = _Reader(source, collecting)
    whole = [] if collected else ["its file's name is not one that the runner collects"]
    flag = source.values.get("__test__")
    if flag is not None and never(flag):
        whole.append("__test__ = False")
    reader.block(source.tree.body, (), "; ".join(whole))
    return reader.tests + _top_level(source)


TOP = "the top level"


def _top_level(source: Source) -> list[Test]:
    """Assertions outside of all functions are made when the file is imported or run."""
    body = [s for s in source.tree.body if not isinstance(s, Function | ast.ClassDef | ast.Import | ast.ImportFrom)]
    if not body:
        return []
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    node = ast.FunctionDef(name=TOP, args=nothing, body=body, decorator_list=[], lineno=body[0].lineno)
    return [Test(TOP, node, Scope(source))]


class _Reader:
    def __init__(self, source: Source, collecting: Collecting) -> None:
        self.source, self.collecting = source, collecting
        self.tests: list[Test] = []
        self.marks = module_marks(source)

    def block(self, body: list[ast.stmt], guards: tuple[Guard, ...], why: str) -> None:
        for node, inside, gone in members(body, guards, why):
            lost = gone or self._replaced(node, node.name, self.source.bound)
            if isinstance(node, ast.ClassDef):
                self._class(node, node, "", inside, lost, [])
                continue
            self._function(node, "", inside, lost, [], None)
            for made in statements(node.body):
                if isinstance(made, ast.ClassDef) and made.bases:
                    self._class(made, made, f"{node.name}.", inside, gone, [])

    def _replaced(self, node: ast.stmt, wanted: str, bound: dict[str, ast.stmt]) -> str:
        by = bound.get(wanted, node)
        if by is node:
            return ""
        if isinstance(by, ast.Delete):
            return f"deleted by `{show(by, 50)}`"
        return f"replaced in line {by.lineno} by `{show(by, 50)}`"

    def _class(
        self,
        node: ast.ClassDef,
        shape: ast.ClassDef,
        outer: str,
        guards: tuple[Guard, ...],
        why: str,
        decorators: list[ast.expr],
    ) -> None:
        """`shape` is the class whose methods are read: `node` itself, or one that it inherits from."""
        title = f"{outer}{node.name}"
        if shape is node:
            why = why or self._class_uncollected(node)
        own = [*decorators, *shape.decorator_list, *_class_marks(shape)]
        bound: dict[str, ast.stmt] = {s.name: s for s in shape.body if isinstance(s, Function | ast.ClassDef)}
        bound |= {
            t.id: s for s in shape.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)
        }
        overridden = {test.name for test in self.tests}
        for member, inside, gone in members(shape.body, guards, why):
            if isinstance(member, ast.ClassDef):
                self._class(member, member, f"{title}.", inside, gone, own)
            elif f"{title}.{member.name}" not in overridden or shape is node:
                lost = gone or self._replaced(member, member.name, bound)
                self._function(member, f"{title}.", inside, lost, own, node)
        for base in shape.bases:
            parent = self.source.classes.get(last(base))
            if parent is not None and parent is not shape and parent.lineno < shape.lineno:
                self._class(node, parent, outer, guards, why, own)

    def _class_uncollected(self, node: ast.ClassDef) -> str:
        flags = [s.value for s in node.body if isinstance(s, ast.Assign) and last(s.targets[0]) == "__test__"]
        if any(never(flag) for flag in flags):
            return f"{node.name}.__test__ = False"
        parents = [base for base in node.bases if last(base) not in ("object", "ABC", "Protocol")]
        if parents:
            return ""
        if not self.collecting.klass(node.name):
            return f"{UNNAMED}{node.name} is not one that the runner collects"
        made = {s.name for s in node.body if isinstance(s, Function)} & {"__init__", "__new__"}
        return f"{made.pop()} in {node.name} keeps the runner from collecting it" if made else ""

    def _function(
        self,
        node: Function,
        outer: str,
        guards: tuple[Guard, ...],
        why: str,
        outside: list[ast.expr],
        klass: ast.ClassDef | None,
    ) -> None:
        if not self.collecting.function(node.name):
            return
        if is_fixture(node):
            why = why or "made a fixture"
        elif any(last(d) in ("property", "cached_property") for d in node.decorator_list):
            why = why or "made a property"
        decorators = [*outside, *node.decorator_list]
        marks = [*self.marks, *(m for d in decorators for m in marks_of(d, self.source))]
        file_marks = self.source.values.get("pytestmark")
        labels = labels_of(decorators + ([file_marks] if file_marks is not None else []))
        test = Test(outer + node.name, node, Scope(self.source, klass=klass), decorators, marks, labels, guards, why)
        test.mixin = why.startswith(UNNAMED)
        test.groups = parametrized(decorators, self.source)
        self.tests.append(test)


def members(
    body: list[ast.stmt], guards: tuple[Guard, ...], why: str
) -> Iterator[tuple[Function | ast.ClassDef, tuple[Guard, ...], str]]:
    """Functions and classes of a block, also inside `if` and `try`, with the conditions that they depend on."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node, guards, why
        elif isinstance(node, ast.If):
            yes = Guard(f"if {dump(node.test)}", "if", node.test)
            no = Guard(f"unless {dump(node.test)}", "unless", node.test)
            off = f"under `if {show(node.test, 40)}:`, which never holds" if never(node.test) else ""
            yield from members(node.body, (*guards, yes), why or off)
            yield from members(node.orelse, guards if off else (*guards, no), why)
        elif isinstance(node, ast.Try | ast.TryStar):
            yield from members([*node.body, *node.orelse, *node.finalbody], guards, why)
            for handler in node.handlers:
                when = Guard("except", "in an except block")
                yield from members(handler.body, (*guards, when), why)
        elif isinstance(node, ast.With | ast.For | ast.While):
            yield from members(node.body, guards, why)


def _class_marks(node: ast.ClassDef) -> list[ast.expr]:
    return [s.value for s in node.body if isinstance(s, ast.Assign) and last(s.targets[0]) == "pytestmark"]


def helpers_of(source: Source, collecting: Collecting) -> list[Test]:
    """Functions beside the tests that may hold assertions of their own."""
    inside = {id(f) for c in source.tree.body if isinstance(c, ast.ClassDef) for f in c.body}
    found = []
    for node in source.all_functions:
        owner = next((c for c in source.classes.values() if node in c.body), None)
        if (id(node) in inside or source.functions.get(node.name) is node) and not collecting.function(node.name):
            title = f"{owner.name}.{node.name}" if owner is not None else node.name
            found.append(Test(title, node, Scope(source, klass=owner), node.decorator_list, helper=True))
    return found


def read(test: Test, listed: bool = False) -> Test:
    """Fill in what the test asserts, once for every case. `listed`: too many cases to put each of them in place."""
    marks = tuple(Guard(mark.key, f"with {mark.says}") for mark in test.marks)
    guards = (*test.guards, *marks, *_given(test.decorators))
    _set_up(test)
    _fixtures(test)
    for group in test.groups:
        if not isinstance(group, list):
            over = resolve(group, Scope(test.scope.source))
            guards = (*guards, Guard(f"parametrize {dump(over)}", "for each of", over))
    written = [group for group in test.groups if isinstance(group, list)]
    if listed:
        for case in itertools.chain.from_iterable(written):
            where = (case.shown, test.path, case.line, test.short)
            values = ast.Tuple(elts=list(case.values), ctx=ast.Load())
            test.found.checks.append(Check("case", values, NOTHING, "", guards, *where))
        Walk(test.found).function(test.node, _inside(test, ()), guards)
    else:
        for index, cases in enumerate(itertools.product(*written)):
            marked = [mark for case in cases for mark in case.marks]
            if any(mark.hard for mark in marked):
                continue
            extra = tuple(Guard(mark.key, f"with {mark.says}") for mark in marked)
            Walk(test.found, index).function(test.node, _inside(test, cases), (*guards, *extra))
    _runs(test, guards)
    return test


def _given(decorators: list[ast.expr]) -> tuple[Guard, ...]:
    """Hypothesis' strategies are part of what is asserted."""
    return tuple(Guard(dump(d), "under", d) for d in decorators if last(d) == "given")


def _runs(test: Test, guards: tuple[Guard, ...]) -> None:
    """A test without assertions still asserts that what it calls does not raise."""
    found = test.found
    if not found.checks and not found.dead and found.acts and not test.helper and test.name != TOP:
        acts = ast.Tuple(elts=list(found.acts), ctx=ast.Load())
        where = (test.path, test.node.lineno, test.short)
        shown = "; ".join(show(act, 60) for act in found.acts[:3])
        found.checks.append(Check("runs", acts, NOTHING, "", guards, shown, *where))


def _set_up(test: Test) -> None:
    """`self.x` as the class and its set-up methods leave it."""
    klass = test.scope.klass
    if klass is None or test.helper:
        return
    for statement in klass.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            test.scope.fields[statement.targets[0].id] = resolve(statement.value, Scope(test.scope.source))
    for wanted in _SET_UP:
        method = method_of(klass, wanted, test.scope.source)
        if method is not None:
            Walk(test.found).function(method, test.scope)
            test.scope.names.clear()


def _fixtures(test: Test) -> None:
    """What the fixtures that a test asks for skip and replace counts as its own."""
    asked = fixtures_used(test.node, test.scope)
    for decorator in test.decorators:
        target = patched(decorator) if isinstance(decorator, ast.Call) else ""
        if target:
            test.found.patches.append(Patch(target, decorator.lineno, test.path))
        if isinstance(decorator, ast.Call) and last(decorator.func) == "usefixtures":
            for given in decorator.args:
                known = test.scope.source.known_fixture(str(constant(given)))
                asked += [(Scope(known[0]), known[1])] if known is not None else []
    for scope, fixture in asked:
        aside = Found()
        Walk(aside).function(fixture, scope.branch())
        test.found.skips += [Skip(s.kind, f"{s.says} in fixture {fixture.name}", s.line, s.path) for s in aside.skips]
        test.found.patches += aside.patches
        test.found.constants |= aside.constants


def _inside(test: Test, cases: tuple[Case, ...]) -> Scope:
    """The scope in which the body is read: parameters stand for fixtures' and cases' values."""
    scope = test.scope.branch()
    parameters = [a.arg for a in [*test.node.args.posonlyargs, *test.node.args.args, *test.node.args.kwonlyargs]]
    if test.helper:
        for index, parameter in enumerate(p for p in parameters if p not in ("self", "cls")):
            scope.names[parameter] = name(f"@{index}")
        return scope
    for parameter in parameters:
        value = fixture_value(parameter, scope)
        if value is not None:
            scope.names[parameter] = value
    top = Scope(test.scope.source)
    for parameter, double in zip((p for p in parameters if p not in ("self", "cls")), _doubles(test), strict=False):
        if parameter not in scope.names:
            scope.bind(ast.Name(id=parameter), resolve(double, top))
    ordered = [p for p in parameters if p not in ("self", "cls")]
    for case in cases:
        for parameter, value in zip(case.names, case.values, strict=False):
            wanted = (
                ordered[int(parameter[1:])] if parameter[0] == "#" and int(parameter[1:]) < len(ordered) else parameter
            )
            made = resolve(value, top)
            if case.indirect:
                made = ast.Call(func=name(f"fixture {wanted}"), args=[made], keywords=[])
            scope.bind(ast.Name(id=wanted), made)
    return scope


def _doubles(test: Test) -> list[ast.expr]:
    """What `@patch` decorators hand to a test, in the order of its parameters."""
    calls = [d for d in reversed(test.node.decorator_list) if isinstance(d, ast.Call) and patched(d)]
    own = {
        id(d) for d in calls if len(d.args) > (2 if last(d.func) == "object" else 1) or keyword(d, "new") is not None
    }
    return [d for d in calls if id(d) not in own]


def fixture_value(wanted: str, scope: Scope, depth: int = 0) -> ast.expr | None:
    if wanted in ("self", "cls", "request") or depth > 3:
        return None
    known = scope.source.known_fixture(wanted)
    if known is None:
        return None
    home, fixture = known
    inside = Scope(home, depth=scope.depth + 1)
    for argument in fixture.args.args:
        value = fixture_value(argument.arg, inside, depth + 1) if argument.arg != wanted else None
        if value is not None:
            inside.names[argument.arg] = value
    return value_of(fixture, inside)


def has_effect(node: Function) -> bool:
    """There is anything in the body at all."""
    return any(not isinstance(s, ast.Pass) for s in without_docstring(node.body))
