"""Files that stand in front of the runner or of what the tests import, and names that tests took over."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.sources import Import, Project, Source
from bough.core.tamper.syntax import Function, identifiers
from bough.core.tamper.tricks import Ground

_START_UP = ("sitecustomize.py", "usercustomize.py")
_FRONT = frozenset({"", "src", "lib", "python"})
"""Folders that are commonly on Python's search path."""


def shadows(before: Mapping[str, str], after: Mapping[str, str], ground: Ground, command: str) -> Iterator[Tampering]:
    search = _FRONT | _search_path(command)
    named: set[str] = set()
    for path in sorted(after):
        if before.get(path) == after[path]:
            continue
        what = _in_front(path, before, after, ground, search)
        if what and what not in named:
            named.add(what)
            yield Tampering(path, 1, what)


def _search_path(command: str) -> frozenset[str]:
    """Folders that the command puts on Python's search path itself."""
    found = set()
    for word in files.words(command):
        variable, equals, value = word.partition("=")
        if equals and variable == "PYTHONPATH":
            found |= {files.plain_path(part) for part in value.split(":")}
    return frozenset(found)


def _in_front(
    path: str, before: Mapping[str, str], after: Mapping[str, str], ground: Ground, search: frozenset[str]
) -> str:
    name, new = files.name_of(path), path not in before
    verb = "is new and" if new else "was changed and"
    if name in _START_UP:
        return f"{path} {verb} runs at the start of every Python process, before the tests"
    if files.ending(path) == "pth":
        return f"{path} {verb} can run code at the start of every Python process"
    if files.program_in_front(path) and not files.foreign(path.removeprefix("node_modules/")):
        return f"{path} {verb} can stand in front of the program of that name" if new or files.foreign(path) else ""
    if files.fake_package(path):
        return f"{path} {verb} stands in front of the test runner's package"
    if name == "entry_points.txt":
        plugin = "pytest11" in after[path] and "pytest11" not in before.get(path, "")
        return f"{path} {verb} loads a plugin into pytest" if plugin else ""
    return _module_in_front(path, before, after, ground, search) if name.endswith(".py") and new else ""


def _module_in_front(
    path: str, before: Mapping[str, str], after: Mapping[str, str], ground: Ground, search: frozenset[str]
) -> str:
    for folder, module, top in _modules(path):
        beside_tests = any(files.in_tests(f"{part}/x") for part in [folder] if part)
        if any(_place(other, top) for other in before):
            continue
        if module in files.RUNNER_MODULES and (folder in search or beside_tests):
            return f"{top} is new and shadows the test runner's module {module}"
        if beside_tests and ground.own(module) and ground.imports(module):
            return f"{top} is new and shadows {module}, which the tests import"
        if folder == "":
            for layout in ("src", "lib"):
                kept = [p for p in after if _place(p, f"{layout}/{module}")]
                if kept and ground.imports(module):
                    return f"{top} is new and shadows {layout}/{module}, which the tests import"
    return ""


def _modules(path: str) -> Iterator[tuple[str, str, str]]:
    """For every level of a path: the folder, the module that would be imported from there, and its place."""
    parts = path.removesuffix(".py").split("/")
    for index, module in enumerate(parts):
        yield "/".join(parts[:index]), module, "/".join(parts[: index + 1])


def _place(path: str, top: str) -> bool:
    return path.endswith(".py") and (path == f"{top}.py" or path.startswith(f"{top}/"))


def taken_over(was: Source, now: Source, project: Project) -> Iterator[Tampering]:
    """Names that the tests imported from the code under test and now get from somewhere else."""
    used = {name for function in _tests(now) for name in identifiers(function)}
    for name, origin in was.imports.items():
        if name not in used or _test_sided(was, origin, project):
            continue
        binding = now.bound.get(name)
        if binding is None:
            continue
        if isinstance(binding, ast.Import | ast.ImportFrom):
            origin_now = now.imports[name]
            if origin_now != origin and _suspicious(now, origin, origin_now, project):
                what = f"{name} is now imported from {_shown(origin_now)}, no longer from {_shown(origin)}"
                yield Tampering(now.path, binding.lineno, what)
        elif isinstance(was.bound.get(name), ast.Import | ast.ImportFrom):
            what = f"{name} is now defined in the test file, no longer imported from {_shown(origin)}"
            yield Tampering(now.path, binding.lineno, what)


def _tests(source: Source) -> Iterator[ast.AST]:
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef) and "test" in node.name.lower():
            yield node


def _test_sided(source: Source, origin: Import, project: Project) -> bool:
    if project.module(source, origin) is not None:
        return True
    return project.module(source, Import(f"{origin.module}.{origin.attribute}", level=origin.level)) is not None


def _suspicious(source: Source, was: Import, now: Import, project: Project) -> bool:
    """From the test side, or from the standard library, where it came from neither."""
    if _test_sided(source, now, project):
        return True
    stdlib = now.module.split(".")[0] in sys.stdlib_module_names and now.level == 0
    return stdlib and was.module.split(".")[0] not in sys.stdlib_module_names


def _shown(origin: Import) -> str:
    return "." * origin.level + origin.module
