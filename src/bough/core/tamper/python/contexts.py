"""Contexts and wrappers, wherever they are defined, that keep a test's failure to themselves."""

from __future__ import annotations

import ast

from bough.core.tamper.python.facts import BROAD, swallows
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import Function, always, identifiers, last, statements, walk


def definition(source: Source, name: str) -> ast.ClassDef | Function | None:
    """The class or function that a name in a test file stands for, also when it is product code."""
    imported = source.imports.get(name)
    if imported is not None and imported.attribute:
        path, attribute = source.project.origin(source, imported)
        home = source.project.source(path) if path else None
        return (home.classes.get(attribute) or home.functions.get(attribute)) if home is not None else None
    made = (*source.of(ast.ClassDef), *source.all_functions)
    return next((node for node in made if node.name == name), None)


def keeps_quiet(context: ast.expr, source: Source) -> bool:
    """`with context:` swallows a failed assertion: `suppress(Exception)`, or one of the project's own."""
    name = last(context)
    if name == "suppress" and isinstance(context, ast.Call):
        return any(last(given) in BROAD for given in context.args)
    if not name or not isinstance(context.func if isinstance(context, ast.Call) else context, ast.Name):
        return False
    made = definition(source, name)
    if isinstance(made, ast.ClassDef):
        exits = [n for n in made.body if isinstance(n, Function) and n.name in ("__exit__", "__aexit__")]
        return any(_says_yes(one) for one in exits)
    if made is None or not any(last(d) in ("contextmanager", "asynccontextmanager") for d in made.decorator_list):
        return False
    for node in walk(made):
        if isinstance(node, ast.Try) and _yields(node.body) and any(swallows(handler) for handler in node.handlers):
            return True
        if isinstance(node, ast.With) and _yields(node.body):
            inner = [item.context_expr for item in node.items if last(item.context_expr) == "suppress"]
            if any(keeps_quiet(one, source) for one in inner):
                return True
    return False


_ENTERING = frozenset({"push", "push_async_exit", "enter_context", "enterContext", "enter_async_context"})


def enters_quiet(node: ast.stmt, source: Source) -> bool:
    """`stack.enter_context(suppress(Exception))`, `stack.push(lambda *error: True)`: what follows is swallowed."""
    if not identifiers(node) & _ENTERING:
        return False
    for part in walk(node):
        if not isinstance(part, ast.Call) or not part.args:
            continue
        given, called = part.args[0], last(part.func)
        if called in ("push", "push_async_exit"):
            made = given if isinstance(given, ast.Lambda) else definition(source, last(given))
            if isinstance(made, ast.Lambda):
                return always(made.body)
            if isinstance(made, Function) and _says_yes(made):
                return True
        entering = called in ("push", "enter_context", "enterContext", "enter_async_context")
        if entering and keeps_quiet(given, source):
            return True
    return False


def _yields(body: list[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Yield) for statement in body for n in walk(statement))


def _says_yes(function: Function) -> bool:
    """An `__exit__` that is true for any error, not for certain ones."""
    names = identifiers(function) - {*BROAD}
    chosen = any(name.endswith(("Error", "Exception", "Exit")) for name in names)
    returned = [s.value for s in statements(function.body) if isinstance(s, ast.Return) and s.value is not None]
    return not chosen and any(always(value) for value in returned)
