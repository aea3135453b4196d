"""Which tests a runner collects and a check runs, as told by its command line and by pytest's settings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from msgspec import Struct

from bough.core.tamper import files
from bough.core.tamper.python.syntax import parse

NOT_ENTERED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")


class Collecting(Struct, frozen=True):
    """How the runner is told to find tests."""

    functions: tuple[str, ...] = ("test",)
    classes: tuple[str, ...] = ("Test",)
    files: tuple[str, ...] = ("test*.py", "*_test.py", "*_tests.py")

    def function(self, name: str) -> bool:
        return _fits(name, self.functions)

    def klass(self, name: str) -> bool:
        return _fits(name, self.classes)

    def file(self, path: str) -> bool:
        base = files.name_of(path)
        return any(fnmatchcase(path if "/" in pattern else base, pattern) for pattern in self.files)


class Reach(Struct, frozen=True):
    roots: tuple[str, ...] = ()
    """Paths that are run; empty: all."""
    ignored: tuple[str, ...] = ()
    marks: str = ""
    """The expression of `-m`."""
    keywords: str = ""
    """The expression of `-k`."""

    def covers(self, path: str) -> bool:
        inside = [path.removeprefix(root).split("/")[:-1] for root in self.roots or ("",) if under(path, root)]
        if not any(_entered(parts) for parts in inside):
            return False
        return not any(under(path, entry) or fnmatchcase(path, entry) for entry in self.ignored)

    def selects(self, path: str, title: str, labels: Iterable[str]) -> bool:
        names = [part.lower() for part in [*title.split("."), *path.split("/"), *labels]]
        marked = set(labels)
        return _holds(self.marks, lambda word: word in marked) and _holds(
            self.keywords, lambda word: any(word.lower() in part for part in names)
        )

    @property
    def selection(self) -> str:
        parts = [f"-m {self.marks!r}" if self.marks else "", f"-k {self.keywords!r}" if self.keywords else ""]
        return " ".join(part for part in parts if part)


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name.startswith(p) or ("*" in p and fnmatchcase(name, p)) for p in patterns)


def _entered(parts: list[str]) -> bool:
    """Pytest goes into these folders by itself."""
    return not any(fnmatchcase(part, pattern) for part in parts if part for pattern in NOT_ENTERED)


def under(path: str, root: str) -> bool:
    """Paths may be patterns."""
    return root in ("", ".") or path == root or path.startswith(f"{root}/") or fnmatchcase(path, f"{root}/*")


def _holds(expression: str, known: Callable[[str], bool]) -> bool:
    """Evaluate `not slow and (unit or fast)`; an expression that cannot be read selects everything."""
    tree = parse(expression.strip()) if expression.strip() else "broken"
    if not isinstance(tree, ast.Module) or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return True
    return _value(tree.body[0].value, known)


def _value(node: ast.expr, known: Callable[[str], bool]) -> bool:
    if isinstance(node, ast.BoolOp):
        combine = all if isinstance(node.op, ast.And) else any
        return combine([_value(value, known) for value in node.values])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _value(node.operand, known)
    if isinstance(node, ast.Call):
        return _value(node.func, known)
    return known(node.id) if isinstance(node, ast.Name) else True
