"""Signs of a bent test run that both tests and product code can bear: hooks, and a runner that was patched."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from bough.core.tamper import files
from bough.core.tamper.python.facts import patched
from bough.core.tamper.python.sources import Source
from bough.core.tamper.python.syntax import Function, children, dotted, dump, kept, main_guard, show
from bough.core.tamper.tricks.hooks import DECISIVE, bends, is_hook

_RUNNERS = files.RUNNER_MODULES | {"builtins", "nose", "mock"}


class Sign(Struct, frozen=True):
    key: str
    line: int
    what: str
    habit: bool = False
    """A file that bore it at the base may bear more of it."""


def shown(node: ast.AST, what: str, key: str = "") -> Sign:
    """A sign that quotes the code which bears it."""
    return Sign(key or dump(node), getattr(node, "lineno", 0), f"`{show(node, 60)}` {what}")


def habit(key: str, node: ast.AST, what: str) -> Sign:
    """A sign of which a file that bore it at the base may bear more. `…` in `what` stands for the code."""
    said = what.replace("…", f"`{show(node, 60)}`") if "…" in what else what
    return Sign(key, getattr(node, "lineno", 0), said, habit=True)


def import_time(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the block runs, the inside of functions left out; not those of `if __name__ == …`."""
    for node in body:
        if isinstance(node, ast.If) and main_guard(node.test):
            continue
        yield node
        if isinstance(node, Function):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from import_time(getattr(node, name, []))
        for handler in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            yield from import_time(handler.body)


@kept
def expressions_of(node: ast.stmt) -> list[ast.AST]:
    """Every expression of one statement, without those of the statements inside it."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(node.decorator_list if isinstance(node, Function | ast.ClassDef) else children(node))
    while stack:
        part = stack.pop()
        if not isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case):
            found.append(part)
            stack += children(part)
    return found


def hooks(source: Source) -> Iterator[Sign]:
    for function in source.all_functions:
        if not is_hook(function):
            continue
        if function.name in DECISIVE:
            what = f"hook {function.name} can change which tests run or what they report"
            yield Sign(dump(function), function.lineno, what)
            continue
        for line, text in bends(function):
            yield Sign(f"{function.name} {text}", line, f"hook {function.name} bends the run: `{text}`")


def runner_patched(source: Source) -> Iterator[Sign]:
    for node in source.of(ast.Assign, ast.AugAssign, ast.Delete, ast.Call):
        targets: list[str] = []
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            several = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            targets = [dotted(target) for target in several if isinstance(target, ast.Attribute | ast.Subscript)]
        elif isinstance(node, ast.Call):
            target = patched(node)
            targets = [target] if target and target.split(".")[0] not in ("sys", "os", "builtins") else []
        for target in targets:
            if _runners_own(target, source):
                yield shown(node, f"changes the test runner ({target})", f"runner {target}")


def _runners_own(target: str, source: Source) -> bool:
    root, _, rest = target.partition(".")
    imported = source.imports.get(root)
    if target.startswith(("self.assert", "self.fail", "cls.assert")) or target == "__builtins__":
        return True
    if not rest and root != "__builtins__":
        return False
    if imported is None:
        return root in ("pytest", "_pytest", "__builtins__")
    if target in ("sys.exit", "os._exit", "sys.excepthook") and files.test_file(source.path):
        return True
    top = imported.module.split(".")[0]
    if top == "builtins":
        return rest.partition(".")[0] in ("AssertionError", "BaseException", "Exception", "SystemExit")
    return top in _RUNNERS and "mock" not in f"{imported.module}.{imported.attribute}"
