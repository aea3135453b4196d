"""Product code that bends a test run: it ends the process by itself, knows when it is tested, or equals everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from bough.core.tamper import files
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import (
    Function,
    constant,
    constants,
    dotted,
    dump,
    identifiers,
    last,
    show,
    walk,
    without_docstring,
)
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
    yield from _named_in_pieces(source)
    if not ground.counted:
        yield from _ends_well(source, ground)
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


def _named_in_pieces(source: Source) -> Iterator[Sign]:
    """`getattr(os, "_ex" + "it")`: nobody writes a name that is known so, but to hide it."""
    for call in source.of(ast.Call):
        if (
            last(call.func) in ("getattr", "__getattribute__", "attrgetter", "import_module", "__import__")
            and call.args
        ):
            key = call.args[-1] if last(call.func) != "getattr" or len(call.args) < 3 else call.args[1]
            text = "" if isinstance(key, ast.Constant) else written(key)
            if text.isidentifier():
                yield shown(call, f"hides that it is {text} which it asks for")


def _ends_well(source: Source, ground: Ground) -> Iterator[Sign]:
    """What a script calls ends the process before it gets to its end: nothing but the exit status would tell."""
    called = [function.body for function in source.all_functions if ground.calls(function.name)]
    early = [node for node in import_time(source.tree.body) if not isinstance(node, Function | ast.ClassDef)]
    for node in (node for body in (*called, early) for statement in body for node in walk(statement)):
        if isinstance(node, ast.Call):
            status = constant(node.args[0]) if node.args else None
            ends = dotted(node.func) in ("sys.exit", "exit", "quit", "SystemExit") and status in (0, None, False)
            if ends or dotted(node.func).startswith("os.exec"):
                yield shown(node, "ends the check as if all were well")
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id == "SystemExit":
            yield shown(node, "ends the check as if all were well")
        elif isinstance(node, ast.Assign) and any(dotted(target) == "sys.excepthook" for target in node.targets):
            yield shown(node, "decides what a failed check says")


def _knows_of_tests(source: Source, ground: Ground) -> Iterator[Sign]:
    """Product code that behaves differently when it is being tested."""
    known = _known_as(source)
    for function in source.all_functions:
        if _looks_at_callers(function, known):
            yield Sign("aware", function.lineno, f"{function.name} looks at its callers for a test")
    for node, asked in _questions(source):
        if files.name_of(source.path) == "__main__.py":
            continue  # it is the program itself
        if (
            _asks_for_runner(asked, known)
            or _asks_for_callers(asked, known, ground)
            or _asks_for_workspace(asked, ground)
        ):
            yield Sign("aware", node.lineno, f"product code looks for a running test: `{show(node, 60)}`")
    for node in (*source.of(ast.Constant), *source.of(ast.BinOp)):
        if written(node) in ("PYTEST_CURRENT_TEST", "PYTEST_VERSION"):
            yield Sign("aware", node.lineno, "product code looks for a running test (PYTEST_CURRENT_TEST)")


def _questions(source: Source) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Whatever something may depend on, with its parts; the largest ones, so that each is asked once."""
    seen: set[int] = set()
    for node in source.of(ast.If, ast.IfExp, ast.While, ast.Compare, ast.Call, ast.BinOp, ast.BoolOp):
        question: ast.expr = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node  # type: ignore[assignment]
        if id(question) in seen:
            continue
        asked = [question] if isinstance(node, ast.If | ast.IfExp | ast.While) else _asked(question)
        if asked:
            seen |= {id(part) for part in walk(question)}
            yield question, asked


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
    told = "findCaller" in names or names >= {"catch_warnings", "filename"}
    texts = (text for statement in without_docstring(node.body) for text in constants(statement))
    return bool(frames or told) and any(re.search(r"(?<![a-z])test", text, re.I) for text in texts)


_ASKING = listed(
    """
    get endswith startswith count find any search match fullmatch getenv isdisjoint intersection issuperset
    __contains__
    """
)
_COPYING = ("list", "set", "tuple", "dict", "sorted", "str", "copy", "keys", "join")
_SURROUNDINGS = listed("modules argv orig_argv environ getenv __main__ cmdline meta_path stdout stdin stderr")
"""Where a process can see what it is part of."""
_RUNNER = re.compile(r"pytest|unittest|py\.test|^.?AssertionRew|^.?(?:EncodedFile|DontReadFromInput|CaptureIO)", re.I)
_VARIABLES = "PYTEST_CURRENT_TEST PYTEST_VERSION PYTEST_ADDOPTS"
_MODULES = "_pytest pytest unittest pluggy"


def _asks_for_runner(asked: list[ast.expr], known: dict[str, str]) -> bool:
    """`"pytest" in sys.modules`, `sys.argv[0].endswith("pytest")`, `any(name.startswith("test_") for name in …)`."""
    parts = [node for part in asked for node in walk(part)]
    texts = {text for part in parts if (text := written(part))} - {"__name__", "__file__"}
    names = _names(asked, known) | ({"__main__"} if "__main__" in texts else set())
    if any("/proc/" in text for text in texts):
        names.add("cmdline")
    found = names & _SURROUNDINGS
    if not found:
        return False
    if any(_RUNNER.search(text) for text in texts) or ("__main__" in names and _of_the_program(parts)):
        return True
    if names & {"argv", "orig_argv"} and any("__main__.py" in text for text in texts):
        return True
    counted = (node.args[0] for node in parts if isinstance(node, ast.Call) and last(node.func) == "len" and node.args)
    if any(dotted(one) == "sys.modules" or known.get(dotted(one)) == "modules" for one in counted):
        return True
    if "meta_path" in found and texts:
        return True
    whole = names & {"modules", "orig_argv"} or names >= {"argv", "join"}
    if whole and any(re.fullmatch(r"[\W_]*tests?[\W_]*", text) for text in texts):
        return True
    # Names that are gone through one by one, for a part of what the runner's are called.
    through = any(isinstance(node, ast.comprehension) for node in parts) or names & {*_COPYING}
    called = {"environ": _VARIABLES, "modules": _MODULES}
    return bool(through) and any(len(text) > 2 and text in called[one] for one in found & {*called} for text in texts)


def _of_the_program(parts: list[ast.AST]) -> bool:
    """Something is asked of the module that was started, not only whether this is it."""
    for node in parts:
        within = node.value if isinstance(node, ast.Attribute | ast.Subscript) else None
        if isinstance(node, ast.Call) and last(node.func) in ("getattr", "hasattr", "vars", "dir") and node.args:
            within = node.args[0]
        key = within.slice if isinstance(within, ast.Subscript) else None
        key = within.args[0] if isinstance(within, ast.Call) and within.args else key
        if within is not None and (last(within) == "__main__" or constant(key) == "__main__"):
            return True
    return False


_PLACES = frozenset({"co_name", "co_filename", "co_qualname"})
_FRAMES = frozenset({"stack", "getouterframes", "getframeinfo", "f_back"})


def _asks_for_callers(asked: list[ast.expr], known: dict[str, str], ground: Ground) -> bool:
    """How many callers there are, or whether one of them is called as a test of the base is."""
    names = _names(asked, known)
    if names >= {"len", "inspect"} and names & {"stack", "getouterframes"}:
        return True
    of_frame = names & (_FRAMES | {"_getframe", "currentframe"}) and names & {"function", "filename", "f_globals"}
    if not names & _PLACES and not of_frame:
        return False
    texts = [text for part in asked for node in walk(part) if (text := written(node))]
    compared = {
        constant(one)
        for part in asked
        for node in walk(part)
        if isinstance(node, ast.Compare)
        for one in node.comparators
    }
    if names & {"_getframe", "currentframe", "stack"} and compared & {"<module>", "__main__"}:
        return True
    if any("test".startswith(text.lower().strip("_")) for text in texts):
        return True
    return any(len(text) > 3 and any(text in path for path in ground.tests) for text in texts)


def _asks_for_workspace(asked: list[ast.expr], ground: Ground) -> bool:
    """Whether this is where bough checks the work. A project that had to do with bough before may ask."""
    named = any(re.search(r"\.bough|BOUGH_", text) for part in asked for text in constants(part))
    return named and not any(".bough" in text for path, text in ground.texts.items() if path.endswith(".py"))
