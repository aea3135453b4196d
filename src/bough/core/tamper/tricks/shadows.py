"""Files that stand in front of the runner or of what the tests import, and names that tests took over."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping

from bough.core.acceptance import Tampering
from bough.core.tamper import files
from bough.core.tamper.python.sources import Import, Project, Source, imported_names
from bough.core.tamper.python.syntax import Function, dotted, identifiers, statements, walk
from bough.core.tamper.tricks.ground import Ground

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
    if name in _START_UP or {"sitecustomize", "usercustomize"} & {*files.folders(path)}:
        return f"{path} {verb} runs at the start of every Python process, before the tests"
    if files.ending(path) == "pth":
        return f"{path} {verb} can run code at the start of every Python process"
    if files.program_in_front(path) and not files.foreign(path.removeprefix("node_modules/")):
        return f"{path} {verb} can stand in front of the program of that name" if new or files.foreign(path) else ""
    if files.compiled(path):
        stem = name.split(".")[0]
        source = f"{files.folder_of(path)}/{stem}.py".lstrip("/")
        asked = source in before or stem in files.RUNNER_MODULES or ground.imports(stem) or stem == "conftest"
        code = files.ending(path) in ("pyc", "pyo")
        return f"{path} {verb} is loaded in place of code that can be read" if code or asked else ""
    if path.startswith("vendor/") and _asserts(path):
        return f"{path} {verb} is part of what the tests assert with"
    if files.fake_package(path):
        return f"{path} {verb} stands in front of the test runner's package"
    if name == "entry_points.txt":
        plugin = "pytest11" in after[path] and "pytest11" not in before.get(path, "")
        return f"{path} {verb} loads a plugin into pytest" if plugin else ""
    return _module_in_front(path, before, after, ground, search) if name.endswith(".py") and new else ""


def _asserts(path: str) -> bool:
    """A file of a library of assertions that a Go project keeps a copy of."""
    from bough.core.tamper.config import packages

    return packages.ASSERTING.search(path) is not None


def _module_in_front(
    path: str, before: Mapping[str, str], after: Mapping[str, str], ground: Ground, search: frozenset[str]
) -> str:
    for folder, module, top in _modules(path):
        beside_tests = files.in_tests(f"{folder}/x")
        package = path == f"{top}/__init__.py" and f"{top}.py" in before and f"{top}.py" in after
        if package and ground.imports(top.replace("/", ".")):
            return f"{top} is new and shadows {top}.py, which the tests import"
        if any(_place(other, top) for other in before):
            continue
        if module in files.RUNNER_MODULES and (folder in search or beside_tests):
            return f"{top} is new and shadows the test runner's module {module}"
        if module in sys.stdlib_module_names and ground.imports(module) and (folder in search or beside_tests):
            return f"{top} is new and shadows {module} of Python itself, which the tests import"
        if beside_tests and ground.own(module) and ground.imports(module):
            return f"{top} is new and shadows {module}, which the tests import"
        own = [place for place in (module, f"src/{module}", f"lib/{module}") if any(_place(p, place) for p in before)]
        stays = any(_place(p, place) for p in after for place in own)
        if folder and stays and ground.imports(module) and _put_in_front(folder, before, after):
            return f"{top} is new and put in front of {module}, which the tests import"
        if folder == "":
            for layout in ("src", "lib"):
                kept = [p for p in after if _place(p, f"{layout}/{module}")]
                if kept and ground.imports(module):
                    return f"{top} is new and shadows {layout}/{module}, which the tests import"
    return ""


_SEARCH_PATH = ("sys.path", "pythonpath", "PYTHONPATH", "addsitedir", "--import-mode", "package_dir", "package-dir")


def _put_in_front(folder: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Something that changed puts a folder on Python's search path."""
    for path, text in after.items():
        if before.get(path) == text or not any(word in text for word in _SEARCH_PATH):
            continue
        if re.search(rf"(?<![\w-]){re.escape(folder.rpartition('/')[2])}(?![\w-])", text):
            return True
    return False


def _modules(path: str) -> Iterator[tuple[str, str, str]]:
    """For every level of a path: the folder, the module that would be imported from there, and its place."""
    parts = path.removesuffix(".py").split("/")
    for index, module in enumerate(parts):
        yield "/".join(parts[:index]), module, "/".join(parts[: index + 1])


def _place(path: str, top: str) -> bool:
    return path.endswith(".py") and (path == f"{top}.py" or path.startswith(f"{top}/"))


def taken_over(was: Source, now: Source) -> Iterator[Tampering]:
    """Names that the tests imported from the code under test and now get from somewhere else."""
    used = {name for function in _tests(now) for name in identifiers(function)}
    known = {function.name for function in was.all_functions}
    before, after = _origins(was, known), _origins(now, known)
    for name, origin in was.imports.items():
        if name not in used or _test_sided(was, origin, now.project):
            continue
        binding = now.bound.get(name)
        if binding is not None and not isinstance(binding, ast.Import | ast.ImportFrom):
            if isinstance(was.bound.get(name), ast.Import | ast.ImportFrom):
                what = f"{name} is now defined in the test file, no longer imported from {_shown(origin)}"
                yield Tampering(now.path, binding.lineno, what)
            continue
        if name not in after:
            yield from _through_another(name, origin, was, now)
        last_import = max((line for line, _ in after[name]), default=0)
        later = [star for star in after["*"] if star[0] > last_import and star[1] not in was.imports.values()]
        yield from _through_all(name, origin, was, now, later)
        for line, origin_now in after[name]:
            if origin_now in (origin, *(one for _, one in before[name])):
                continue
            if _suspicious(now, origin, origin_now) or _left_behind(was, now, origin, origin_now):
                what = f"{name} is now imported from {_shown(origin_now)}, no longer from {_shown(origin)}"
                yield Tampering(now.path, line, what)


def _origins(source: Source, within: set[str]) -> dict[str, list[tuple[int, Import]]]:
    """Every place that a name may be imported from: `try: … except ImportError: …` has two, and the functions of these
    names may import it for themselves."""
    found: dict[str, list[tuple[int, Import]]] = defaultdict(list)
    inside = (node for function in source.all_functions if function.name in within for node in walk(function))
    for node in (*statements(source.tree.body), *inside):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, origin in imported_names(node):
                found[name].append((node.lineno, origin))
    return found


def _through_another(name: str, origin: Import, was: Source, now: Source) -> Iterator[Tampering]:
    """The name is no longer imported, and the tests use one that is called so in a module."""
    for function in _tests(now):
        for node in walk(function):
            if not isinstance(node, ast.Attribute) or node.attr != (origin.attribute or name):
                continue
            module = now.imports.get(dotted(node.value))
            if module is None:
                continue
            through = Import(f"{module.module}.{module.attribute}".strip("."), node.attr, module.level)
            if _left_behind(was, now, origin, through):
                what = f"{name} is now taken from {_shown(through)}, no longer from {_shown(origin)}"
                yield Tampering(now.path, node.lineno, what)
                return


def _through_all(
    name: str, origin: Import, was: Source, now: Source, stars: list[tuple[int, Import]]
) -> Iterator[Tampering]:
    """The name comes with `from another import *`, no longer by itself."""
    for line, star in stars:
        through = Import(star.module, origin.attribute or name, star.level)
        if _left_behind(was, now, origin, through):
            yield Tampering(now.path, line, f"{name} is now taken from {_shown(star)}, no longer from {_shown(origin)}")


def _left_behind(was: Source, now: Source, origin: Import, origin_now: Import) -> bool:
    """What the tests asked is still there, made as before by its own code, and they ask something else."""
    names = [origin.attribute] if origin.attribute else sorted(_attributes(was, origin))
    for name in names:
        old = was.project.origin(was, Import(origin.module, name, origin.level))
        asked = origin_now.attribute or name
        new = now.project.origin(now, Import(origin_now.module, asked, origin_now.level))
        # Reckoned from the old test file: the new one may lie elsewhere.
        kept = now.project.origin(was, Import(origin.module, name, origin.level))
        if all([*old, *new, *kept]) and kept != new and kept[0] == old[0]:
            return True
    return False


def _attributes(source: Source, origin: Import) -> set[str]:
    """What a file uses of a module that it imports."""
    bound = {name for name, one in source.imports.items() if one == origin}
    return {node.attr for node in source.of(ast.Attribute) if dotted(node.value) in bound}


def _tests(source: Source) -> Iterator[ast.AST]:
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef) and "test" in node.name.lower():
            yield node


def _test_sided(source: Source, origin: Import, project: Project) -> bool:
    if project.module(source, origin) is not None:
        return True
    return project.module(source, Import(f"{origin.module}.{origin.attribute}", level=origin.level)) is not None


def _suspicious(source: Source, was: Import, now: Import) -> bool:
    """From the test side, or from the standard library, where it came from neither."""
    if _test_sided(source, now, source.project):
        return True
    stdlib = now.module.split(".")[0] in sys.stdlib_module_names and now.level == 0
    return stdlib and was.module.split(".")[0] not in sys.stdlib_module_names


def _shown(origin: Import) -> str:
    return "." * origin.level + origin.module
