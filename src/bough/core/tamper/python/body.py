"""Walking through a test's body: what it asserts, under which conditions, what it does, skips and replaces."""

from __future__ import annotations

import ast

from msgspec import Struct

from bough.core.tamper.python import checks as c
from bough.core.tamper.python.checks import Bare, Check, Guard
from bough.core.tamper.python.contexts import keeps_quiet, pushed
from bough.core.tamper.python.facts import (
    BROAD,
    SUPPRESSED,
    enters_suppress,
    expressions,
    fails,
    grows,
    headed,
    patched,
    references,
    shared,
    swallows,
    written_out,
)
from bough.core.tamper.python.scope import Scope, assign, callee, resolve
from bough.core.tamper.python.sources import imported_names, is_fixture
from bough.core.tamper.python.syntax import (
    Function,
    always,
    constants,
    dotted,
    dump,
    elements,
    identifiers,
    last,
    never,
    show,
    statements,
    walk,
    without_docstring,
)
from bough.core.tamper.wording import short

MOST_CHECKS = 3_000
MOST_STEPS = 3_000
_QUIET = ("print", "pprint", "sleep", "debug", "info", "warning", "log", "setLevel", "flush", "record_property")


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
    own: dict[str, int] = {}
    """Names that the test binds itself, with the line."""


class Walk(Struct, eq=False):
    """One walk; `owner` is the function that is being read."""

    found: Found
    case: int = -1
    steps: int = 0
    """Statements seen so far: loops are written out only as long as there are not too many."""

    def function(self, node: Function, scope: Scope, guards: tuple[Guard, ...] = ()) -> None:
        self._block(without_docstring(node.body), scope, guards, node)

    def _block(self, body: list[ast.stmt], scope: Scope, guards: tuple[Guard, ...], owner: Function) -> bool:
        """Walks the statements; true when what follows the block cannot be reached."""
        for index, statement in enumerate(body):
            ends, guards = self._statement(statement, scope, guards, owner)
            if ends:
                self._unreachable(body[index + 1 :], scope, guards, owner, statement)
                return True
        return False

    def _unreachable(
        self, rest: list[ast.stmt], scope: Scope, guards: tuple[Guard, ...], owner: Function, by: ast.stmt
    ) -> None:
        if not rest:
            return
        aside = Walk(Found(), self.case)
        aside._block(rest, scope.branch(), guards, owner)
        if aside.found.checks and not self.found.cut:
            self.found.cut = short(ast.unparse(by).partition("\n")[0], 60)
        self.found.dead += aside.found.checks + aside.found.dead

    def _statement(
        self, node: ast.stmt, scope: Scope, guards: tuple[Guard, ...], owner: Function
    ) -> tuple[bool, tuple[Guard, ...]]:
        self.steps += 1
        if isinstance(node, ast.Assert):
            failing: list[Bare] = [("fail", c.NOTHING, c.NOTHING, "")]
            self._add(failing if never(node.test) else c.of_condition(node.test, scope), node, scope, guards, owner)
            if node.msg is not None and identifiers(node.msg) & {"skip", "xfail", "skipTest", "exit", "_exit"}:
                self.found.skips.append(self._skip("skip", node.msg, node, scope))
            return never(node.test), guards
        if isinstance(node, ast.Expr | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign):
            ends = self._simple(node, scope, guards, owner)
            hidden = enters_suppress(node) or pushed(node, scope.source)
            return ends, (*guards, SUPPRESSED) if hidden else guards
        if isinstance(node, ast.Raise):
            self._raise(node, scope, guards, owner)
            return True, guards
        if isinstance(node, ast.If):
            return self._if(node, scope, guards, owner)
        if isinstance(node, ast.For | ast.AsyncFor):
            self._for(node, scope, guards, owner)
        elif isinstance(node, ast.While):
            self._while(node, scope, guards, owner)
        elif isinstance(node, ast.Try | ast.TryStar):
            return self._try(node, scope, guards, owner), guards
        elif isinstance(node, ast.With | ast.AsyncWith):
            return self._with(node, scope, guards, owner), guards
        elif isinstance(node, ast.Match):
            for case in node.cases:
                when = Guard(f"case {dump(case.pattern)}", "in case", case.pattern)
                self._block(case.body, scope.branch(), (*guards, when), owner)
        elif isinstance(node, Function):
            self._inner(node, scope, guards, owner)
        elif isinstance(node, ast.ClassDef):
            self.found.own.setdefault(node.name, node.lineno)
        return isinstance(node, ast.Break | ast.Continue), guards

    def _simple(
        self,
        node: ast.Expr | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign,
        scope: Scope,
        guards: tuple[Guard, ...],
        owner: Function,
    ) -> bool:
        """A statement that is one expression. True when it ends the test."""
        value = node.value
        for target in node.targets if isinstance(node, ast.Assign) else []:
            # `calc.add = …`, `sys.modules["calc"].add = …`, for a module that the test itself imports.
            if isinstance(target, ast.Attribute) and dotted(target).split(".")[0] in _imported_within(owner):
                self._patch(dotted(target), node, scope)
        plain = value.value if isinstance(value, ast.Await) else value
        ends = isinstance(node, ast.Return)
        if isinstance(plain, ast.Call):
            ends = self._call(plain, node, scope, guards, owner) or ends
        elif value is not None:
            self._see(resolve(value, scope))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            assigned = assign(node, scope)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._assigned(target, node, scope)
                if isinstance(target, ast.Name) and target.id in shared(owner):
                    scope.names[target.id] = ast.Name(id="shared", ctx=ast.Load())
                elif isinstance(target, ast.Name) and assigned is not None and grows(target.id, assigned, owner):
                    scope.names[target.id] = ast.Call(
                        func=ast.Name(id="grown", ctx=ast.Load()), args=[assigned], keywords=[]
                    )
        return ends

    def _assigned(self, target: ast.expr, node: ast.stmt, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            self.found.own.setdefault(target.id, node.lineno)
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._assigned(one, node, scope)
        elif isinstance(target, ast.Attribute):
            root = dotted(target).split(".")[0]
            if root in scope.source.imports and root not in scope.names:
                self._patch(dotted(target), node, scope)

    def _call(self, call: ast.Call, node: ast.stmt, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> bool:
        if isinstance(call.func, ast.Name) and isinstance(known := scope.names.get(call.func.id), ast.Attribute):
            call = ast.Call(func=known, args=call.args, keywords=call.keywords)
        called = last(call.func)
        if self._skipping(call, node, scope):
            return True
        if called in ("_exit", "abort") or (
            called in ("exit", "quit") and dotted(call.func) in ("exit", "quit", "sys.exit")
        ):
            return True
        self._patching(call, node, scope)
        if called == "assume" and call.args:
            self.found.skips.append(self._skip("assume", call, node, scope))
        inlined = callee(call, scope)
        if inlined is not None:
            home, function, bound_self = inlined
            if isinstance(function, ast.AsyncFunctionDef) and isinstance(node, ast.Expr) and node.value is call:
                self._unreachable(function.body, scope.enter(home, function, call, bound_self), guards, function, node)
            elif len(self.found.checks) < MOST_CHECKS:
                self._see(*(resolve(a, scope) for a in call.args if not isinstance(a, ast.Starred)))
                self._block(
                    without_docstring(function.body), scope.enter(home, function, call, bound_self), guards, function
                )
            return False
        asserted = c.of_call(call, scope)
        if asserted is not None:
            self._add(asserted, node, scope, guards, owner)
            return called == "fail"
        if called not in _QUIET and not any(p.line == node.lineno for p in self.found.patches):
            act = resolve(call, scope)
            self.found.acts.append(act)
            self._see(act)
        return False

    def _see(self, *values: ast.expr) -> None:
        for value in values:
            self.found.constants |= constants(value)

    def _add(self, bare: list[Bare], node: ast.stmt, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> None:
        if len(self.found.checks) >= MOST_CHECKS:
            return
        for kind, left, right, detail in bare:
            where = (scope.source.path, node.lineno, owner.name, self.case)
            self.found.checks.append(Check(kind, left, right, detail, guards, node, *where))

    def _raise(self, node: ast.Raise, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> None:
        raised = last(node.exc)
        if raised in ("SkipTest", "Skipped"):
            self.found.skips.append(self._skip("skip", node, node, scope))
        elif raised in ("AssertionError", "failureException"):
            self._add([("fail", c.NOTHING, c.NOTHING, "")], node, scope, guards, owner)

    def _if(
        self, node: ast.If, scope: Scope, guards: tuple[Guard, ...], owner: Function
    ) -> tuple[bool, tuple[Guard, ...]]:
        if never(node.test) or always(node.test):
            live, gone = (node.body, node.orelse) if always(node.test) else (node.orelse, node.body)
            self._unreachable(gone, scope, guards, owner, ast.Expr(value=headed("if", node.test)))
            return self._block(live, scope, guards, owner), guards
        if len(node.body) == 1 and not node.orelse and fails(node.body[0]):
            self._add(c.of_condition(node.test, scope, False), node, scope, guards, owner)
            return False, guards
        test = resolve(node.test, scope)
        self._see(test)
        yes = Guard(f"if {dump(test)}", "if", node.test)
        no = Guard(f"unless {dump(test)}", "unless", node.test)
        then, otherwise = scope.branch(), scope.branch()
        ends = self._block(node.body, then, (*guards, yes), owner)
        other = self._block(node.orelse, otherwise, (*guards, no), owner)
        scope.join(test, None if ends else then, None if other else otherwise)
        if ends and other:
            return True, guards
        return False, (*guards, no) if ends else (*guards, yes) if other else guards

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> None:
        values = resolve(node.iter, scope)
        items = written_out(values) if self.steps < MOST_STEPS else None
        if items is None:
            self._see(values)
            scope.bind(node.target, ast.Call(func=ast.Name(id="each", ctx=ast.Load()), args=[values], keywords=[]))
            over = Guard(f"for {dump(values)}", "for each of", values)
            self._block(node.body, scope, (*guards, over), owner)
        elif not items:
            self._unreachable(node.body, scope, guards, owner, ast.Expr(value=headed("for", node.iter)))
        else:
            for item in items:
                scope.bind(node.target, item)
                self._block(node.body, scope, guards, owner)
        self._block(node.orelse, scope, guards, owner)

    def _while(self, node: ast.While, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> None:
        if never(node.test):
            self._unreachable(node.body, scope, guards, owner, ast.Expr(value=headed("while", node.test)))
            return
        test = resolve(node.test, scope)
        inside = guards if always(node.test) else (*guards, Guard(f"while {dump(test)}", "while", node.test))
        self._block(node.body, scope, inside, owner)

    def _try(self, node: ast.Try | ast.TryStar, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> bool:
        inside = guards
        swallowing = [handler for handler in node.handlers if swallows(handler)]
        if swallowing:
            caught = show(swallowing[0].type, 40) if swallowing[0].type is not None else ""
            inside = (
                *guards,
                Guard("swallowed", f"inside try, where `except {caught}".rstrip() + ":` swallows a failure"),
            )
        if any(isinstance(s, ast.Return | ast.Break | ast.Continue) for s in statements(node.finalbody)):
            inside = (*guards, Guard("swallowed", "inside try, where leaving `finally:` swallows a failure"))
        ends = self._block(node.body, scope, inside, owner)
        for handler in node.handlers:
            caught = dump(handler.type) if handler.type is not None else ""
            when = Guard(f"except {caught}", "in an except block")
            self._block(handler.body, scope.branch(), (*guards, when), owner)
        ends = (self._block(node.orelse, scope, inside, owner) or ends) and not node.handlers
        return self._block(node.finalbody, scope, guards, owner) or ends

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> bool:
        inside = guards
        asserted: list[ast.Call] = []
        for item in node.items:
            context = item.context_expr
            if c.raising(context) and isinstance(context, ast.Call):
                asserted.append(context)
            elif last(context) == "suppress" and isinstance(context, ast.Call):
                if any(last(arg) in BROAD for arg in context.args):
                    inside = (
                        *inside,
                        Guard("swallowed", f"inside `with {show(context, 40)}:`, which swallows a failure"),
                    )
            elif keeps_quiet(context, scope.source):
                quiet = Guard("swallowed", f"inside `with {show(context, 40)}:`, which swallows a failure")
                inside = (*inside, quiet)
            elif isinstance(context, ast.Call):
                self._call(context, node, scope, guards, owner)
            value = resolve(context, scope)
            if item.optional_vars is not None:
                scope.bind(item.optional_vars, value)
        for call in asserted:
            if any(
                last(arg) in BROAD for arg in [*call.args[:1], *(elements(call.args[0]) or [] if call.args else [])]
            ):
                inside = (
                    *inside,
                    Guard(f"inside {last(call)}", f"inside `with {show(call, 40)}:`, which expects a failure"),
                )
        ends = self._block(node.body, scope, inside, owner)
        for call in asserted:
            body = [resolve(value, scope) for value in expressions(node.body)]
            self._add([c.of_raising(call, body, scope)], node, scope, guards, owner)
        return ends and not asserted and not any(isinstance(s, ast.Raise) for s in node.body)

    def _inner(self, node: Function, scope: Scope, guards: tuple[Guard, ...], owner: Function) -> None:
        """A function inside the test: walked where it is called by name, or here when it is only handed on."""
        self.found.own.setdefault(node.name, node.lineno)
        scope.inner[node.name] = node
        scope.names.pop(node.name, None)
        used, called = references(owner)
        if node.name in used and (node.decorator_list or node.name not in called):
            inside = scope.branch()
            inside.depth += 1
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                inside.names.pop(argument.arg, None)
            self._block(without_docstring(node.body), inside, guards, node)

    def _skipping(self, call: ast.Call, node: ast.stmt, scope: Scope) -> bool:
        called, whole = last(call.func), dotted(call.func)
        if called in ("applymarker", "add_marker") and call.args and identifiers(call.args[0]) & {"skip", "xfail"}:
            self.found.skips.append(self._skip("mark", call, node, scope))
            return False
        known = whole in ("pytest.skip", "pytest.xfail", "skip", "xfail", "pytest.importorskip", "importorskip")
        if not known and called not in ("skipTest", "importorskip", "skip_test"):
            return False
        self.found.skips.append(self._skip(called, call, node, scope))
        return called not in ("importorskip",)

    def _skip(self, kind: str, what: ast.AST, node: ast.stmt, scope: Scope) -> Skip:
        return Skip(kind, show(what, 60), node.lineno, scope.source.path)

    def _patching(self, call: ast.Call, node: ast.stmt, scope: Scope) -> None:
        target = patched(call)
        plain = dotted(call.func) == "setattr" and target.split(".")[0] not in scope.source.imports
        if target and not plain:
            self._patch(target, node, scope)

    def _patch(self, target: str, node: ast.stmt, scope: Scope) -> None:
        self.found.patches.append(Patch(target, node.lineno, scope.source.path))


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
