"""Python files of one side, read when they are first asked for, and what the names at their top level are bound to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import cast

from msgspec import Struct

from bough.core.tamper import files
from bough.core.tamper.python.syntax import Function, Node, last, parse, statements, walk

_IMPORTING = (ast.Import, ast.ImportFrom)


class Import(Struct, frozen=True):
    module: str
    attribute: str = ""
    """Empty for `import module`."""
    level: int = 0


class Source:
    """One Python file, read once: what its names are bound to at the top level."""

    def __init__(self, path: str, tree: ast.Module, project: Project) -> None:
        self.path, self.tree, self.project = path, tree, project
        self.imports: dict[str, Import] = {}
        self.values: dict[str, ast.expr] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.bound: dict[str, ast.stmt] = {}
        """The last statement that binds a name."""
        self.rebound: set[str] = set()
        self._kinds: dict[tuple[type[ast.AST], ...], list[ast.AST]] = {}
        for statement in statements(tree.body):
            self._bind(statement)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Also those of code that is written down as a text and run."""
        found = walk(self.tree)
        for node in list(found):
            if isinstance(node, ast.Call) and last(node.func) in ("exec", "eval", "compile") and node.args:
                text = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
                inner = parse(text) if isinstance(text, str) else ""
                found += walk(inner) if isinstance(inner, ast.Module) else []
        return found

    @cached_property
    def all_functions(self) -> list[Function]:
        """Also those inside classes and functions."""
        return self.of(ast.FunctionDef, ast.AsyncFunctionDef)

    @cached_property
    def outside(self) -> frozenset[str]:
        """Names that are imported, and not from the test side."""
        imported = ((name, one) for name, one in self.imports.items() if isinstance(self.bound[name], _IMPORTING))
        return frozenset(name for name, one in imported if self.project.module(self, one) is None)

    def of(self, *kinds: type[Node]) -> list[Node]:
        """All nodes of these kinds. Kept: many questions are asked about the same few kinds."""
        known = self._kinds.get(kinds)
        if known is None:
            known = self._kinds[kinds] = [node for node in self.nodes if type(node) in kinds]
        return cast("list[Node]", known)

    def _bind(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for imported, source in imported_names(statement):
                self.imports[imported] = source
                self.bound[imported] = statement
        elif isinstance(statement, Function):
            self.functions[statement.name] = statement
            self.bound[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            self.classes[statement.name] = statement
            self.bound[statement.name] = statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                if isinstance(target, ast.Name):
                    if target.id in self.values:
                        self.rebound.add(target.id)
                    self.values[target.id] = statement.value
                    self.bound[target.id] = statement
            self._bind_inside(statement)
        elif isinstance(statement, ast.For | ast.With | ast.Expr | ast.Match):
            self._bind_inside(statement)
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    self.bound[target.id] = statement

    def _bind_inside(self, statement: ast.stmt) -> None:
        """Names that are bound in passing: by unpacking, loops, contexts, patterns and `:=`."""
        parts: list[ast.AST] = [*getattr(statement, "targets", []), getattr(statement, "value", statement)]
        if isinstance(statement, ast.For):
            parts = [statement.target]
        elif isinstance(statement, ast.With):
            parts = [item.optional_vars for item in statement.items if item.optional_vars is not None]
        elif isinstance(statement, ast.Match):
            parts = [case.pattern for case in statement.cases]
        for node in (n for part in parts for n in walk(part)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in self.imports:
                self.bound[node.id] = statement
            elif isinstance(node, ast.MatchAs) and node.name in self.imports:
                self.bound[node.name] = statement

    def named(self, wanted: str) -> Function | None:
        """A function or method of this name, if there is just one."""
        found = [function for function in self.all_functions if function.name == wanted]
        return found[0] if len(found) == 1 else None

    def value(self, wanted: str) -> ast.expr | None:
        """What a top-level name is set to, when it is set once."""
        if wanted in self.rebound or not isinstance(self.bound.get(wanted), ast.Assign | ast.AnnAssign):
            return None
        return self.values.get(wanted)

    def known_value(self, wanted: str) -> tuple[Source, ast.expr] | None:
        """What a name is set to once, here or in the test-side file that it is imported from."""
        for home, name in self._homes(wanted):
            found = home.value(name)
            if found is not None:
                return home, found
        return None

    def known_function(self, wanted: str) -> tuple[Source, Function] | None:
        """The function of the test side that a name stands for."""
        for home, name in self._homes(wanted):
            if isinstance(home.bound.get(name), Function):
                return home, home.functions[name]
        return None

    def known_fixture(self, wanted: str) -> tuple[Source, Function] | None:
        for place in [self, *self.project.conftests(self.path)]:
            found = place.known_function(wanted)
            if found is not None and is_fixture(found[1]):
                return found
        return None

    def _homes(self, wanted: str) -> Iterator[tuple[Source, str]]:
        """Where a name may be made, and what it is called there."""
        yield self, wanted
        imported = self.imports.get(wanted)
        home = self.project.module(self, imported) if imported is not None and imported.attribute else None
        if imported is not None and home is not None and home is not self:
            yield home, imported.attribute


def imported_names(statement: ast.Import | ast.ImportFrom) -> list[tuple[str, Import]]:
    if isinstance(statement, ast.Import):
        return [
            (alias.asname, Import(alias.name)) if alias.asname else (alias.name.split(".")[0], Import(alias.name))
            for alias in statement.names
        ]
    module = statement.module or ""
    return [(a.asname or a.name, Import(module, a.name, statement.level)) for a in statement.names]


class Project:
    """The watched files of one side, parsed when they are first asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.parsed: dict[str, Source | str] = {}
        self._modules: dict[tuple[str, str, int], str] = {}

    def source(self, path: str) -> Source | None:
        """None when there is no such file, or it is no tree."""
        if path not in self.parsed:
            self.parsed[path] = self._read(path)
        found = self.parsed[path]
        return found if isinstance(found, Source) else None

    def unreadable(self, path: str) -> str:
        """Why a file is no tree; empty when it is one, or is not there."""
        return str(self.parsed[path]) if self.source(path) is None else ""

    def _read(self, path: str) -> Source | str:
        text = self.texts.get(path)
        if text is None:
            return ""
        tree = parse(text) if len(text) <= files.LARGEST else "large"
        return Source(path, tree, self) if isinstance(tree, ast.Module) else tree

    def module(self, source: Source, wanted: Import) -> Source | None:
        """The test-side file that an import names; product modules stay what they are: names."""
        key = (files.folder_of(source.path), wanted.module, wanted.level)
        if key not in self._modules:
            paths = (path for path in _places(source, wanted, ("src",)) if path in self.texts)
            self._modules[key] = next((path for path in paths if files.test_file(path)), "")
        return self.source(self._modules[key]) if self._modules[key] else None

    def product(self, source: Source, wanted: Import) -> str:
        """The path of the module that an import names, on either side; empty: none of the project's."""
        return next((path for path in _places(source, wanted, ("src", "lib")) if path in self.texts), "")

    def origin(self, source: Source, wanted: Import) -> tuple[str, str]:
        """Where a name that is imported was made: the file and the name there; empty: not to be found out."""
        for _ in range(8):
            submodule = Import(f"{wanted.module}.{wanted.attribute}".strip("."), level=wanted.level)
            path = self.product(source, wanted)
            home = self.source(path) if path else None
            if home is None or not wanted.attribute:
                return path, wanted.attribute
            inner = home.imports.get(wanted.attribute)
            if wanted.attribute not in home.bound:
                stars = [i for i in home.imports.values() if i.attribute == "*"]
                if not stars:
                    module = self.product(source, submodule)
                    return (module, "") if module else (path, "")
                inner = Import(stars[0].module, wanted.attribute, stars[0].level)
            elif inner is None or not isinstance(home.bound[wanted.attribute], ast.Import | ast.ImportFrom):
                return path, wanted.attribute
            source, wanted = home, inner
        return "", ""

    def conftests(self, path: str) -> list[Source]:
        """Nearest first."""
        folder = files.folder_of(path)
        names = [f"{base}/conftest.py" if base else "conftest.py" for base in [folder, *_parents(folder)]]
        return [found for found in (self.source(n) for n in dict.fromkeys(names) if n in self.texts) if found]


def _places(source: Source, wanted: Import, roots: tuple[str, ...]) -> Iterator[str]:
    """Where the module that an import names may lie: beside the file, above it, or in one of the roots."""
    folder = files.folder_of(source.path)
    bases = [folder, *_parents(folder), *roots]
    if wanted.level:
        here = files.folders(source.path)
        bases = ["/".join(here[: len(here) - wanted.level + 1])]
    parts = [part for part in wanted.module.split(".") if part]
    for base in bases:
        stem = "/".join([base, *parts] if base else parts)
        yield f"{stem}.py"
        yield f"{stem}/__init__.py"


def _parents(folder: str) -> list[str]:
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, -1, -1)]


def is_fixture(function: Function) -> bool:
    return any(last(decorator) in ("fixture", "yield_fixture") for decorator in function.decorator_list)
