"""Product code that bends a test run: it ends the process by itself, knows when it is tested, or equals everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import Function, constant, constants, dotted, dump, identifiers, last, show, walk
from bough.core.tamper.tricks.equality import always_equal
from bough.core.tamper.tricks.ground import Ground
from bough.core.tamper.tricks.peeking import peeking, written
from bough.core.tamper.tricks.replaced import replacing
from bough.core.tamper.tricks.signs import Sign, expressions_of, hooks, import_time, runner_patched, shown
from bough.core.tamper.wording import listed


def product_signs(source: Source, ground: Ground) -> Iterator[Sign]:
    yield from hooks(source)
    yield from runner_patched(source)
    for node in import_time(source.tree.body):
        for part in expressions_of(node):
            if last(part) == "_exit" or (isinstance(part, ast.Constant) and part.value == "_exit"):
                yield shown(node, "can end the test run with an exit status of its own")
        yield from replacing(node, source, ground)
    yield from _exit_hooks(source)
    for function in source.all_functions:
        if "_exit" in identifiers(function) and "fork" not in identifiers(function):
            for call in (n for n in walk(function) if isinstance(n, ast.Call) and last(n.func) == "_exit"):
                if not call.args or constant(call.args[0]) == 0:
                    what = f"`{show(call, 40)}` ends the process as if all were well, a test run too"
                    yield Sign(f"_exit {dump(call)}", call.lineno, what)
    yield from _knows_of_tests(source, ground)
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


def _knows_of_tests(source: Source, ground: Ground) -> Iterator[Sign]:
    """Product code that behaves differently when it is being tested."""
    known = _known_as(source)
    for function in source.all_functions:
        if _looks_at_callers(function, known):
            yield Sign("aware", function.lineno, f"{function.name} looks at its callers for a test")
    parts: list[ast.expr] = [*source.of(ast.Constant), *source.of(ast.Compare), *source.of(ast.Call)]
    for node in (*parts, *source.of(ast.BinOp)):
        asked = _asked(node)
        if asked and (_asks_for_runner(asked, known) or _asks_for_callers(asked, known, ground)):
            yield Sign("aware", node.lineno, f"product code looks for a running test: `{show(node, 60)}`")
        elif written(node) in ("PYTEST_CURRENT_TEST", "PYTEST_VERSION"):
            yield Sign("aware", node.lineno, "product code looks for a running test (PYTEST_CURRENT_TEST)")


def _known_as(source: Source) -> dict[str, str]:
    """What names were imported as or set to, where that is one of the surroundings or a way to one's callers."""
    known = {name: imported.attribute for name, imported in source.imports.items() if imported.attribute}
    for node in source.of(ast.Assign):
        found = identifiers(node.value) & _SURROUNDINGS
        copied = isinstance(node.value, ast.Call) and last(node.value) in _COPYING
        if found and (copied or isinstance(node.value, ast.Attribute)):
            known |= {target.id: min(found) for target in node.targets if isinstance(target, ast.Name)}
    return known


def _names(nodes: Iterable[ast.AST], known: dict[str, str]) -> set[str]:
    names = {name for node in nodes for name in identifiers(node)}
    return names | {known[name] for name in names if name in known}


def _asked(node: ast.expr) -> list[ast.expr]:
    """The parts of a question; empty: it is none."""
    if isinstance(node, ast.Call):
        return [node.func, *node.args] if last(node.func) in _ASKING else []
    return [node] if isinstance(node, ast.Compare) or isinstance(getattr(node, "op", None), ast.BitAnd) else []


def _looks_at_callers(node: Function, known: dict[str, str]) -> bool:
    names = _names([node], known)
    frames = names & {"_getframe", "currentframe", "stack"} and names & {"inspect", "_getframe"}
    return bool(frames) and any("test" in text.lower() for text in constants(node))


_ASKING = listed(
    """
    get endswith startswith count find any search match fullmatch getenv isdisjoint intersection issuperset
    __contains__
    """
)
_COPYING = ("list", "set", "tuple", "dict", "sorted", "str", "copy", "keys", "join")
_SURROUNDINGS = frozenset({"modules", "argv", "orig_argv", "environ", "getenv", "__main__", "cmdline"})
"""Where a process can see what it is part of."""


def _asks_for_runner(asked: list[ast.expr], known: dict[str, str]) -> bool:
    """`"pytest" in sys.modules`, `sys.argv[0].endswith("pytest")`, `any(name.startswith("test_") for name in …)`."""
    texts = [text for part in asked for text in constants(part)]
    names = _names(asked, known)
    if any("/proc/" in text for text in texts):
        names.add("cmdline")
    if any(re.search(r"pytest|unittest|py\.test", text, re.I) for text in texts):
        return bool(names & _SURROUNDINGS)
    whole = names & {"modules", "orig_argv"} or names >= {"argv", "join"}
    return bool(whole) and any(re.fullmatch(r"[\W_]*tests?[\W_]*", text) for text in texts)


_PLACES = frozenset({"co_name", "co_filename", "co_qualname"})
_FRAMES = frozenset({"stack", "getouterframes", "getframeinfo", "f_back"})


def _asks_for_callers(asked: list[ast.expr], known: dict[str, str], ground: Ground) -> bool:
    """How many callers there are, or whether one of them is called as a test of the base is."""
    names = _names(asked, known)
    if names >= {"len", "inspect"} and names & {"stack", "getouterframes"}:
        return True
    if not names & _PLACES and not (names & _FRAMES and names & {"function", "filename"}):
        return False
    texts = [text[1:-1] for part in asked for text in constants(part) if text[:1] in "\"'"]
    return any(len(text) > 3 and any(text in path for path in ground.tests) for text in texts)
