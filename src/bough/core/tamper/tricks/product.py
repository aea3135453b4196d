"""Product code that bends a test run: it ends the process by itself, knows when it is tested, or equals everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import Function, constant, constants, dotted, dump, identifiers, last, show, walk
from bough.core.tamper.tricks.equality import always_equal
from bough.core.tamper.tricks.ground import Ground
from bough.core.tamper.tricks.peeking import peeking
from bough.core.tamper.tricks.signs import Sign, expressions_of, hooks, import_time, runner_patched, shown


def product_signs(source: Source, ground: Ground) -> Iterator[Sign]:
    yield from hooks(source)
    yield from runner_patched(source)
    for node in import_time(source.tree.body):
        for part in expressions_of(node):
            if last(part) == "_exit" or (isinstance(part, ast.Constant) and part.value == "_exit"):
                yield shown(node, "can end the test run with an exit status of its own")
    yield from _exit_hooks(source)
    for function in source.all_functions:
        if "_exit" in identifiers(function) and "fork" not in identifiers(function):
            for call in (n for n in walk(function) if isinstance(n, ast.Call) and last(n.func) == "_exit"):
                if not call.args or constant(call.args[0]) == 0:
                    what = f"`{show(call, 40)}` ends the process as if all were well, a test run too"
                    yield Sign(f"_exit {dump(call)}", call.lineno, what)
    yield from _knows_of_tests(source)
    yield from always_equal(source)
    yield from peeking(source, ground)


def _exit_hooks(source: Source) -> Iterator[Sign]:
    """Product code that has the process end with a status of its own."""
    for node in source.of(ast.Call, ast.FunctionDef, ast.AsyncFunctionDef):
        registered: list[ast.expr] = []
        if isinstance(node, ast.Call) and dotted(node.func) in ("atexit.register", "register") and node.args:
            registered = [node.args[0]]
        elif isinstance(node, Function) and any(dotted(d) == "atexit.register" for d in node.decorator_list):
            registered = [ast.Name(id=node.name)]
        for target in registered:
            function = source.functions.get(last(target))
            inside = identifiers(function) if function is not None else identifiers(target)
            if inside & {"_exit", "abort", "exit"}:
                line = getattr(node, "lineno", 0)
                yield Sign("atexit", line, f"an atexit hook (`{show(target, 40)}`) forces the exit status")


def _knows_of_tests(source: Source) -> Iterator[Sign]:
    """Product code that behaves differently when it is being tested."""
    for node in source.of(ast.Constant, ast.Compare, ast.Call, ast.FunctionDef, ast.AsyncFunctionDef):
        if isinstance(node, ast.Constant) and node.value in ("PYTEST_CURRENT_TEST", "PYTEST_VERSION"):
            yield Sign("aware", node.lineno, "product code looks for a running test (PYTEST_CURRENT_TEST)")
        elif isinstance(node, ast.Compare | ast.Call) and _asks_for_runner(node):
            yield Sign("aware", node.lineno, f"product code looks for a running test: `{show(node, 60)}`")
        elif isinstance(node, Function) and _looks_at_callers(node):
            yield Sign("aware", node.lineno, f"{node.name} looks at its callers for a test")


def _looks_at_callers(node: Function) -> bool:
    names = identifiers(node)
    frames = names & {"_getframe", "currentframe", "stack"} and names & {"inspect", "_getframe"}
    return bool(frames) and any("test" in text.lower() for text in constants(node))


def _asks_for_runner(node: ast.Compare | ast.Call) -> bool:
    """`"pytest" in sys.modules`, `sys.argv[0].endswith("pytest")`, `sys.modules.get("pytest")`."""
    parts = [node] if isinstance(node, ast.Compare) else [node.func, *node.args]
    if isinstance(node, ast.Call) and last(node.func) not in ("get", "endswith", "startswith", "count", "find", "any"):
        return False
    runner = any(re.search(r"pytest|unittest|py\.test", text) for part in parts for text in constants(part))
    return runner and any(identifiers(part) & {"modules", "argv", "environ"} for part in parts)
