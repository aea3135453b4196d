"""A source tree as modules, their nodes and their imports, for the rules of the architecture."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

SAMPLES = "demos"
"""A folder of other people's projects."""


@cache
def modules(source: Path) -> Mapping[str, ast.Module]:
    """Every module by its path (`engine/drive`), packages by theirs."""
    paths = (path for path in source.rglob("*.py") if SAMPLES not in path.relative_to(source).parts)
    return {_name(path.relative_to(source)): ast.parse(path.read_text("utf-8")) for path in paths}


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Everything in a module: ten rules look through it."""
    return tuple(ast.walk(tree))


def _name(path: Path) -> str:
    return (path.parent if path.name == "__init__.py" else path.with_suffix("")).as_posix()


def imported(nodes: Iterable[ast.AST], known: Iterable[str]) -> Iterator[tuple[int, str]]:
    """What is imported by these statements, as paths of modules of ours (`core/plan`) or names of others (`os`)."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, _path(alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [_path(f"{node.module}.{alias.name}") for alias in node.names]
            inner = [name for name in names if name in known]
            yield from ((node.lineno, name) for name in inner or [_path(node.module)])


def _path(module: str) -> str:
    return module.removeprefix("bough.").replace(".", "/") if module.startswith("bough") else module


def at_load(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is loaded."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            yield from at_load([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from at_load([*node.body, *node.orelse, *node.finalbody])
