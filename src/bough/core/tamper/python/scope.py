"""What a name in a test file stands for: locals, fixtures, constants and small functions are put in place of their
names, so that renaming a variable, extracting a function or moving a value into a fixture leaves an assertion equal."""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec import Struct

from bough.core.tamper.python.forms import one_form
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import (
    Function,
    Node,
    constants,
    digest,
    dump,
    elements,
    kept,
    last,
    name,
    size,
    statements,
    walk,
    without_docstring,
)

LARGEST_VALUE = 200
"""Nodes of an expression that may be put in place of a name; a larger one is carried as its digest."""
DEEPEST_CALL = 4


class Scope(Struct, eq=False):
    """Names at one place of a test."""

    source: Source
    names: dict[str, ast.expr] = {}
    fields: dict[str, ast.expr] = {}
    """What `self.x` is."""
    inner: dict[str, Function] = {}
    """Functions defined inside the test."""
    klass: ast.ClassDef | None = None
    depth: int = 0
    fresh: int = 0
    known: dict[tuple[object, ...], tuple[ast.expr, list[object], ast.expr]] = {}
    """Calls that were resolved already, with what their names stood for: loops are written out, and most of their
    bodies say the same each time."""

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        kept = value if size(value) <= LARGEST_VALUE else digest(value)
        if isinstance(target, ast.Name):
            self.names[target.id] = kept
            self.inner.pop(target.id, None)
        elif isinstance(target, ast.Attribute) and last(target.value) in ("self", "cls"):
            self.fields[target.attr] = kept
        elif isinstance(target, ast.Tuple | ast.List):
            parts = elements(value)
            for index, one in enumerate(target.elts):
                if parts is not None and len(parts) == len(target.elts):
                    self.bind(one, parts[index])
                else:
                    self.bind(one, ast.Subscript(value=kept, slice=ast.Constant(value=index), ctx=ast.Load()))

    def branch(self) -> Scope:
        """A copy for a block whose bindings may not outlive it."""
        copies = (dict(self.names), dict(self.fields), dict(self.inner))
        return Scope(self.source, *copies, self.klass, self.depth, self.fresh, self.known)

    def join(self, test: ast.expr, then: Scope | None, otherwise: Scope | None) -> None:
        """What the names stand for after an `if`; None for a branch that does not come out of it."""
        if then is None or otherwise is None:
            left = then or otherwise
            if left is not None:
                self.names, self.fields, self.inner = left.names, left.fields, left.inner
            return
        for mine, yes, no in ((self.names, then.names, otherwise.names), (self.fields, then.fields, otherwise.fields)):
            for key in {*yes, *no}:
                a, b = yes.get(key), no.get(key)
                if a is not None and b is not None and a is not b and dump(a) != dump(b):
                    made = ast.IfExp(test=test, body=a, orelse=b)
                    mine[key] = made if size(made) <= LARGEST_VALUE else digest(made)
                elif key not in mine or (a is not None and b is not None):
                    mine[key] = a or b or mine[key]
        self.inner |= then.inner | otherwise.inner

    def enter(self, home: Source, function: Function, call: ast.Call | None, bound_self: bool) -> Scope:
        """The scope inside a function that is called here."""
        scope = Scope(home, depth=self.depth + 1)
        if bound_self:
            scope.fields, scope.klass = self.fields, self.klass
        if function.name in self.inner:
            scope.names, scope.inner = dict(self.names), self.inner
        arguments = function.args
        parameters = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
        parameters = parameters[1:] if bound_self and parameters else parameters
        defaults = dict(zip(parameters[::-1], arguments.defaults[::-1], strict=False))
        for only, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False):
            if default is not None:
                defaults[only.arg] = default
        for parameter, default in defaults.items():
            scope.names[parameter] = resolve(default, Scope(home, depth=self.depth + 1))
        if call is None:
            for index, parameter in enumerate(parameters):
                scope.names[parameter] = name(f"@{index}")
            return scope
        plain = [a for a in call.args if not isinstance(a, ast.Starred)]
        for parameter, value in zip(parameters, plain, strict=False):
            scope.bind(ast.Name(id=parameter), resolve(value, self))
        for item in call.keywords:
            if item.arg is not None:
                scope.bind(ast.Name(id=item.arg), resolve(item.value, self))
        return scope


def resolve(node: ast.expr, scope: Scope) -> ast.expr:
    """The expression with names replaced by what they stand for. Alike expressions become equal trees."""
    if isinstance(node, ast.Name):
        return _resolve_name(node, scope)
    if isinstance(node, ast.Attribute):
        return _resolve_attribute(node, scope)
    if isinstance(node, ast.Constant):
        return ast.Constant(value=node.value) if node.kind else node
    if isinstance(node, ast.Await):
        return resolve(node.value, scope)
    if isinstance(node, ast.NamedExpr):
        value = resolve(node.value, scope)
        scope.bind(node.target, value)
        return value
    if isinstance(node, ast.Call):
        return _resolve_call(node, scope)
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return one_form(_rebuild(node, _with_own_names(node, scope)))
    return one_form(_rebuild(node, scope))


def _resolve_call(node: ast.Call, scope: Scope) -> ast.expr:
    needed = _needed(node)
    held: list[object] = [scope.source]
    if needed is not None:
        held += [scope.names.get(one) for one in needed[0]] + [scope.fields.get(one) for one in needed[1]]
        held += [scope.inner.get(one) for one in needed[0]] if scope.inner else []
    key = (id(node), scope.depth, *map(id, held))
    if needed is not None and key in scope.known:
        return scope.known[key][2]
    made = value_of_call(node, scope)
    if made is not None:
        return made
    found = one_form(_rebuild(node, scope))
    if needed is not None and not any(callee(n, scope) for n in walk(node) if isinstance(n, ast.Call)):
        scope.known[key] = (node, held, found)
    return found


@kept
def _needed(node: ast.Call) -> tuple[list[str], list[str]] | None:
    """The names, and the attributes of `self`, that what a call is depends on; None when it depends on more."""
    inside = walk(node)
    if any(isinstance(n, ast.NamedExpr | ast.Lambda | ast.comprehension | ast.Await) for n in inside):
        return None
    attributes = {n.attr for n in inside if isinstance(n, ast.Attribute) and last(n.value) in ("self", "cls")}
    return sorted({n.id for n in inside if isinstance(n, ast.Name)}), sorted(attributes)


def _resolve_name(node: ast.Name, scope: Scope) -> ast.expr:
    if node.id in scope.names:
        return scope.names[node.id]
    if node.id in scope.inner:
        return name("@inner")
    imported = scope.source.imports.get(node.id)
    if scope.depth < DEEPEST_CALL:
        found = scope.source.known_value(node.id)
        if found is not None:
            home, value = found
            made = resolve(value, Scope(home, depth=scope.depth + 1))
            return made if size(made) <= LARGEST_VALUE else digest(made)
    if imported is not None:
        return name(imported.attribute or imported.module.rpartition(".")[2])
    return node


def _resolve_attribute(node: ast.Attribute, scope: Scope) -> ast.expr:
    if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and node.attr in scope.fields:
        return scope.fields[node.attr]
    parts = _chain(node.value)
    imported = scope.source.imports.get(parts[0]) if parts else None
    of_module = imported is not None and not imported.attribute and parts[0] not in scope.names
    if of_module and all(part[:1].islower() or part[:1] == "_" for part in parts[1:]):
        return name(node.attr)
    return _rebuild(node, scope)


def _chain(node: ast.expr) -> list[str]:
    """`["a", "b"]` for `a.b`; empty for anything but names and attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _with_own_names(node: ast.expr, scope: Scope) -> Scope:
    """Parameters of a lambda and targets of a comprehension are named by their position."""
    inside = scope.branch()
    bound: list[str] = []
    if isinstance(node, ast.Lambda):
        bound = [a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    for part in getattr(node, "generators", []):
        bound += [n.id for n in walk(part.target) if isinstance(n, ast.Name)]
    for one in bound:
        inside.names[one] = name(f"~{inside.fresh}")
        inside.fresh += 1
    return inside


def _rebuild(node: ast.expr, scope: Scope) -> ast.expr:
    return _map(node, lambda child: resolve(child, scope))


def _map(node: Node, change: Callable[[ast.expr], ast.expr]) -> Node:
    """The node with its expressions changed; the node itself when none was."""
    changed: dict[str, object] = {}
    for key in node._fields:
        new = old = getattr(node, key, None)
        if isinstance(old, ast.expr):
            new = change(old)
        elif isinstance(old, ast.arguments):
            new = _map(old, change)
        elif isinstance(old, list) and old:
            made = [_changed_child(item, change) for item in old]
            new = made if any(a is not b for a, b in zip(made, old, strict=True)) else old
        if new is not old:
            changed[key] = new
    if not changed:
        return node
    fields = {key: changed[key] if key in changed else getattr(node, key, None) for key in node._fields}
    return type(node)(**fields)


def _changed_child(item: object, change: Callable[[ast.expr], ast.expr]) -> object:
    if isinstance(item, ast.expr):
        return change(item)
    return _map(item, change) if isinstance(item, ast.AST) else item


def callee(call: ast.Call, scope: Scope) -> tuple[Source, Function, bool] | None:
    """The test-side function that a call runs, and whether it is a method of the test's class."""
    if scope.depth >= DEEPEST_CALL:
        return None
    if isinstance(call.func, ast.Name):
        if call.func.id in scope.inner:
            inner = scope.inner[call.func.id]
            return None if inner.decorator_list else (scope.source, inner, False)
        if call.func.id in scope.names:
            return None
        found = scope.source.known_function(call.func.id)
        return None if found is None or found[1].decorator_list else (*found, False)
    if isinstance(call.func, ast.Attribute) and last(call.func.value) in ("self", "cls") and scope.klass is not None:
        method = method_of(scope.klass, call.func.attr, scope.source)
        return None if method is None else (scope.source, method, True)
    return None


def method_of(klass: ast.ClassDef, wanted: str, source: Source, depth: int = 0) -> Function | None:
    for statement in reversed(klass.body):
        if isinstance(statement, Function) and statement.name == wanted:
            return statement
    for base in klass.bases if depth < DEEPEST_CALL else []:
        parent = source.classes.get(last(base))
        found = method_of(parent, wanted, source, depth + 1) if parent is not None and parent is not klass else None
        if found is not None:
            return found
    return None


def value_of_call(call: ast.Call, scope: Scope) -> ast.expr | None:
    found = callee(call, scope)
    if found is None:
        return None
    home, function, bound_self = found
    value = value_of(function, scope.enter(home, function, call, bound_self))
    if value is None:
        return None
    given = [
        resolve(a, scope) for a in [*call.args, *(k.value for k in call.keywords)] if not isinstance(a, ast.Starred)
    ]
    unseen = [argument for argument in given if constants(argument) - constants(value)]
    return ast.Call(func=name("of"), args=[value, *unseen], keywords=[]) if unseen else value


def value_of(function: Function, inside: Scope) -> ast.expr | None:
    """What a function returns or yields, when that can be read off without following branches."""
    made = _returned(without_docstring(function.body), inside)
    return None if made is None else (made if size(made) <= LARGEST_VALUE else digest(made))


def _returned(body: list[ast.stmt], inside: Scope) -> ast.expr | None:
    for statement in body:
        if isinstance(statement, ast.Return):
            return resolve(statement.value, inside) if statement.value is not None else None
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
            return resolve(statement.value.value, inside) if statement.value.value is not None else None
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            assign(statement, inside)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            for item in statement.items:
                if item.optional_vars is not None:
                    inside.bind(item.optional_vars, resolve(item.context_expr, inside))
            made = _returned(statement.body, inside)
            if made is not None:
                return made
        elif isinstance(statement, ast.Try) and not statement.handlers:
            made = _returned(statement.body, inside)
            if made is not None:
                return made
        elif any(isinstance(s, ast.Return) for s in statements([statement])):
            return None
    return None


def assign(statement: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: Scope) -> ast.expr | None:
    """Carry an assignment out in the scope; gives the value that was assigned."""
    if statement.value is None:
        return None
    value = resolve(statement.value, scope)
    if isinstance(statement, ast.AugAssign):
        value = ast.BinOp(left=resolve(statement.target, scope), op=statement.op, right=value)
        scope.bind(statement.target, value)
        return value
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        scope.bind(target, value)
    return value
