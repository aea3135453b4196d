"""Walking through a test's body: what it asserts, under which conditions, what it does, skips and replaces."""

from __future__ import annotations

import ast

from msgspec import Struct

from bough.core.tamper.python import checks as c
from bough.core.tamper.python.checks import Bare, Check, Guard
from bough.core.tamper.python.contexts import enters_quiet, keeps_quiet
from bough.core.tamper.python.facts import (
    BROAD,
    expressions,
    fails,
    generator,
    grows,
    headed,
    patched,
    references,
    shared,
    swallows,
    unseen,
    written_out,
)
from bough.core.tamper.python.scope import Scope, assign, callee, resolve
from bough.core.tamper.python.sources import Source, imported_names, is_fixture
from bough.core.tamper.python.syntax import (
    Function,
    always,
    call,
    constants,
    dotted,
    dump,
    elements,
    identifiers,
    last,
    name,
    never,
    show,
    statements,
    walk,
    without_docstring,
)
from bough.core.tamper.wording import short

MOST_CHECKS = 3_000
MOST_STEPS = 3_000
_SKIPPING = ("skipTest", "importorskip", "skip_test")
_QUIET = ("print", "pprint", "sleep", "debug", "info", "warning", "log", "setLevel", "flush", "record_property")

Simple = ast.Expr | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign


class Skip(Struct, frozen=True):
    """A place in a body that skips or expects failure. Under which conditions is a matter of the assertions' guards."""

    kind: str
    says: str
    line: int
    path: str


class Patch(Struct, frozen=True):
    """Something that a test replaces by a stand-in."""

    target: str
    line: int
    path: str


class Found(Struct, eq=False):
    """What a walk brings home."""

    checks: list[Check] = []
    dead: list[Check] = []
    """Assertions that cannot be reached."""
    cut: str = ""
    """What makes them unreachable."""
    acts: list[ast.expr] = []
    """Other calls that the test makes, resolved."""
    constants: set[str] = set()
    """Values that the test works with outside of its assertions."""
    skips: list[Skip] = []
    patches: list[Patch] = []


class Place(Struct, frozen=True):
    """Where a walk is."""

    scope: Scope
    guards: tuple[Guard, ...]
    owner: Function
    """The function that is being read."""

    def under(self, *guards: Guard) -> Place:
        return Place(self.scope, (*self.guards, *guards), self.owner) if guards else self

    def aside(self, *guards: Guard) -> Place:
        """In a block whose bindings may not outlive it."""
        return Place(self.scope.branch(), (*self.guards, *guards), self.owner)


class Walk(Struct, eq=False):
    """One walk through a function and what it calls on the test side."""

    found: Found
    case: int = -1
    steps: int = 0
    """Statements seen so far: loops are written out only as long as there are not too many."""

    def function(self, node: Function, scope: Scope, guards: tuple[Guard, ...] = ()) -> None:
        self._block(without_docstring(node.body), Place(scope, guards, node))

    def _block(self, body: list[ast.stmt], at: Place) -> bool:
        """Walks the statements; true when what follows the block cannot be reached."""
        for index, statement in enumerate(body):
            ends, at = self._statement(statement, at)
            if ends:
                self._unreachable(body[index + 1 :], at, statement)
                return True
        return False

    def _unreachable(self, rest: list[ast.stmt], at: Place, by: ast.stmt) -> None:
        if not rest:
            return
        beyond = Walk(Found(), self.case)
        beyond._block(rest, at.aside())
        if beyond.found.checks and not self.found.cut:
            self.found.cut = short(ast.unparse(by).partition("\n")[0], 60)
        self.found.dead += beyond.found.checks + beyond.found.dead

    def _statement(self, node: ast.stmt, at: Place) -> tuple[bool, Place]:
        """Whether what follows cannot be reached, and where it stands."""
        self.steps += 1
        if isinstance(node, ast.Assert):
            return self._assert(node, at), at
        if isinstance(node, Simple):
            ends = self._simple(node, at)
            return ends, at.under(_QUIETED) if enters_quiet(node, at.scope.source) else at
        if isinstance(node, ast.Raise):
            self._raise(node, at)
            return True, at
        if isinstance(node, ast.If):
            return self._if(node, at)
        if isinstance(node, ast.Try | ast.TryStar):
            return self._try(node, at)
        if isinstance(node, ast.With | ast.AsyncWith):
            return self._with(node, at), at
        if isinstance(node, ast.For | ast.AsyncFor):
            self._for(node, at)
        elif isinstance(node, ast.While):
            self._while(node, at)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self._block(case.body, at.aside(Guard(f"case {dump(case.pattern)}", "in case", case.pattern)))
        elif isinstance(node, Function):
            self._inner(node, at)
        return isinstance(node, ast.Break | ast.Continue), at

    def _assert(self, node: ast.Assert, at: Place) -> bool:
        fails_here = never(node.test)
        self._add([c.FAILS] if fails_here else c.of_condition(node.test, at.scope), node, at)
        if node.msg is not None and identifiers(node.msg) & {"skip", "xfail", "skipTest", "exit", "_exit"}:
            self._skip("skip", node.msg, node, at)
        return fails_here

    def _simple(self, node: Simple, at: Place) -> bool:
        """A statement that is one expression. True when it ends the test."""
        value = node.value
        for target in node.targets if isinstance(node, ast.Assign) else []:
            # `calc.add = …`, `sys.modules["calc"].add = …`, for a module that the test itself imports.
            if isinstance(target, ast.Attribute) and dotted(target).split(".")[0] in _imported_within(at.owner):
                self._patch(dotted(target), node, at)
        plain = value.value if isinstance(value, ast.Await) else value
        ends = isinstance(node, ast.Return)
        if isinstance(plain, ast.Call):
            ends = self._call(plain, node, at) or ends
        elif value is not None:
            self._see(resolve(value, at.scope))
        if not isinstance(node, ast.Expr | ast.Return):
            self._assign(node, at)
        return ends

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, at: Place) -> None:
        assigned = assign(node, at.scope)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self._assigned(target, node, at)
            if isinstance(target, ast.Name) and target.id in shared(at.owner):
                at.scope.names[target.id] = name("shared")
            elif isinstance(target, ast.Name) and assigned is not None and grows(target.id, assigned, at.owner):
                at.scope.names[target.id] = call("grown", assigned)

    def _assigned(self, target: ast.expr, node: ast.stmt, at: Place) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._assigned(one, node, at)
        elif isinstance(target, ast.Attribute):
            root = dotted(target).split(".")[0]
            if root in at.scope.source.imports and root not in at.scope.names:
                self._patch(dotted(target), node, at)

    def _call(self, made: ast.Call, node: ast.stmt, at: Place) -> bool:
        """True when the call ends the test."""
        scope = at.scope
        if isinstance(made.func, ast.Name) and isinstance(known := scope.names.get(made.func.id), ast.Attribute):
            made = ast.Call(func=known, args=made.args, keywords=made.keywords)
        called = last(made.func)
        if self._skipping(made, node, at):
            return True
        if called in ("_exit", "abort") or dotted(made.func) in ("exit", "quit", "sys.exit"):
            return True
        self._patching(made, node, at)
        if called == "assume" and made.args:
            self._skip("assume", made, node, at)
        inlined = callee(made, scope)
        if inlined is not None:
            self._inlined(made, *inlined, node, at)
            return False
        asserted = c.of_call(made, scope)
        if asserted is not None:
            self._add(asserted, node, at)
            return called == "fail"
        if called not in _QUIET and not any(p.line == node.lineno for p in self.found.patches):
            act = resolve(made, scope)
            self.found.acts.append(act)
            self._see(act)
        return False

    def _inlined(
        self, made: ast.Call, home: Source, function: Function, bound_self: bool, node: ast.stmt, at: Place
    ) -> None:
        """What a function of the test side asserts is asserted here. An async one that nobody awaits runs nothing, and
        neither does a generator."""
        lazy = isinstance(function, ast.AsyncFunctionDef) or generator(function)
        if lazy and isinstance(node, ast.Expr) and node.value is made:
            inside = Place(at.scope.enter(home, function, made, bound_self), at.guards, function)
            self._unreachable(function.body, inside, node)
        elif len(self.found.checks) < MOST_CHECKS:
            self._see(*(resolve(a, at.scope) for a in made.args if not isinstance(a, ast.Starred)))
            self.function(function, at.scope.enter(home, function, made, bound_self), at.guards)

    def _see(self, *values: ast.expr) -> None:
        for value in values:
            self.found.constants |= constants(value)

    def _add(self, bare: list[Bare], node: ast.stmt, at: Place) -> None:
        if len(self.found.checks) >= MOST_CHECKS:
            return
        where = (at.scope.source.path, node.lineno, at.owner.name, self.case)
        self.found.checks += [Check(*one, at.guards, node, *where) for one in bare]

    def _raise(self, node: ast.Raise, at: Place) -> None:
        raised = last(node.exc)
        if raised in ("SkipTest", "Skipped"):
            self._skip("skip", node, node, at)
        elif raised in ("AssertionError", "failureException"):
            self._add([c.FAILS], node, at)

    def _if(self, node: ast.If, at: Place) -> tuple[bool, Place]:
        if never(node.test) or always(node.test):
            live, gone = (node.body, node.orelse) if always(node.test) else (node.orelse, node.body)
            self._unreachable(gone, at, headed("if", node.test))
            return self._block(live, at), at
        if len(node.body) == 1 and not node.orelse and fails(node.body[0]):
            self._add(c.of_condition(node.test, at.scope, False), node, at)
            return False, at
        test = resolve(node.test, at.scope)
        self._see(test)
        yes = Guard(f"if {dump(test)}", "if", node.test)
        no = Guard(f"unless {dump(test)}", "unless", node.test)
        then, otherwise = at.aside(yes), at.aside(no)
        ends, other = self._block(node.body, then), self._block(node.orelse, otherwise)
        at.scope.join(test, None if ends else then.scope, None if other else otherwise.scope)
        if ends and other:
            return True, at
        return False, at.under(no) if ends else at.under(yes) if other else at

    def _for(self, node: ast.For | ast.AsyncFor, at: Place) -> None:
        values = resolve(node.iter, at.scope)
        items = written_out(values) if self.steps < MOST_STEPS else None
        if items is None:
            self._see(values)
            at.scope.bind(node.target, call("each", values))
            self._block(node.body, at.under(Guard(f"for {dump(values)}", "for each of", values)))
        elif not items:
            self._unreachable(node.body, at, headed("for", node.iter))
        for item in items or []:
            at.scope.bind(node.target, item)
            self._block(node.body, at)
        self._block(node.orelse, at)

    def _while(self, node: ast.While, at: Place) -> None:
        if never(node.test):
            self._unreachable(node.body, at, headed("while", node.test))
            return
        test = resolve(node.test, at.scope)
        guard = Guard(f"while {dump(test)}", "while", node.test)
        self._block(node.body, at if always(node.test) else at.under(guard))

    def _try(self, node: ast.Try | ast.TryStar, at: Place) -> tuple[bool, Place]:
        inside = at
        swallowing = [handler for handler in node.handlers if swallows(handler)]
        if swallowing:
            caught = show(swallowing[0].type, 40) if swallowing[0].type is not None else ""
            inside = at.under(_swallowed(f"inside try, where `except {caught}".rstrip() + ":`"))
        if any(isinstance(s, ast.Return | ast.Break | ast.Continue) for s in statements(node.finalbody)):
            inside = at.under(_swallowed("inside try, where leaving `finally:`"))
        ends = self._block(node.body, inside)
        for handler in node.handlers:
            caught = dump(handler.type) if handler.type is not None else ""
            self._block(handler.body, at.aside(Guard(f"except {caught}", "in an except block")))
        ends = (self._block(node.orelse, inside) or ends) and not node.handlers
        ends = self._block(node.finalbody, at) or ends
        left = [handler for handler in swallowing if isinstance(handler.body[-1], ast.Return)]
        return ends, at.under(_swallowed("after try, where returning from `except`")) if left else at

    def _with(self, node: ast.With | ast.AsyncWith, at: Place) -> bool:
        inside: list[Guard] = []
        asserted: list[ast.Call] = []
        for item in node.items:
            context = item.context_expr
            if c.raising(context) and isinstance(context, ast.Call):
                asserted.append(context)
            elif keeps_quiet(context, at.scope.source):
                inside.append(_swallowed(f"inside `with {show(context, 40)}:`, which"))
            elif isinstance(context, ast.Call) and last(context) != "suppress":
                self._call(context, node, at)
            value = resolve(context, at.scope)
            if item.optional_vars is not None:
                at.scope.bind(item.optional_vars, value)
        for made in asserted:
            expected = [*made.args[:1], *(elements(made.args[0]) or [] if made.args else [])]
            if any(last(one) in BROAD for one in expected):
                says = f"inside `with {show(made, 40)}:`, which expects a failure"
                inside.append(Guard(f"inside {last(made)}", says))
        ends = self._block(node.body, at.under(*inside))
        for made in asserted:
            body = [resolve(value, at.scope) for value in expressions(node.body)]
            self._add([c.of_raising(made, body, at.scope)], node, at)
        return ends and not asserted and not any(isinstance(s, ast.Raise) for s in node.body)

    def _inner(self, node: Function, at: Place) -> None:
        """A function inside the test: walked where it is called by name, or here when it is only handed on."""
        at.scope.inner[node.name] = node
        at.scope.names.pop(node.name, None)
        used, called = references(at.owner)
        if node.name in used and (node.decorator_list or node.name not in called):
            inside = at.scope.branch()
            inside.depth += 1
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                inside.names.pop(argument.arg, None)
            where = unseen(at.owner, node.name)
            self.function(node, inside, at.under(_swallowed(where)).guards if where else at.guards)

    def _skipping(self, made: ast.Call, node: ast.stmt, at: Place) -> bool:
        """True when the call skips what follows it."""
        called, whole = last(made.func), dotted(made.func)
        if called in ("applymarker", "add_marker") and made.args and identifiers(made.args[0]) & {"skip", "xfail"}:
            self._skip("mark", made, node, at)
            return False
        if whole not in ("pytest.skip", "pytest.xfail", "skip", "xfail") and called not in _SKIPPING:
            return False
        self._skip(called, made, node, at)
        return called != "importorskip"

    def _skip(self, kind: str, what: ast.AST, node: ast.stmt, at: Place) -> None:
        self.found.skips.append(Skip(kind, show(what, 60), node.lineno, at.scope.source.path))

    def _patching(self, made: ast.Call, node: ast.stmt, at: Place) -> None:
        target = patched(made)
        plain = dotted(made.func) == "setattr" and target.split(".")[0] not in at.scope.source.imports
        if target and not plain:
            self._patch(target, node, at)

    def _patch(self, target: str, node: ast.stmt, at: Place) -> None:
        self.found.patches.append(Patch(target, node.lineno, at.scope.source.path))


def _swallowed(where: str) -> Guard:
    return Guard("swallowed", f"{where} swallows a failure")


_QUIETED = _swallowed("after entering `suppress`, which")


def _imported_within(owner: Function) -> set[str]:
    """Names that a function imports for itself."""
    inner = (node for node in walk(owner) if isinstance(node, ast.Import | ast.ImportFrom))
    return {name for statement in inner for name, _ in imported_names(statement)}


def fixtures_used(function: Function, scope: Scope, depth: int = 0) -> list[tuple[Scope, Function]]:
    """The fixtures that a test or fixture asks for by name, and those that they ask for."""
    found = []
    for argument in function.args.args:
        known = scope.source.known_fixture(argument.arg)
        if known is not None and known[1] is not function and depth < 4 and is_fixture(known[1]):
            inside = Scope(known[0])
            found.append((inside, known[1]))
            found += fixtures_used(known[1], inside, depth + 1)
    return found
