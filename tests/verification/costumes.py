"""The Python cases of the verdict's tables in other clothes, so that none of them can be learned by its letters.

What a case's model does is done here to its files first, and both trees, before and after, are put into the costume:
its model then writes those files that differ. Only what is said by files of Python alone can be put on: a case that
runs commands, or names its tests and modules in a setting, keeps to its own clothes.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping

import msgspec

from tests.verification.cases import PROJECTS, Act, Case, lines

Tree = Mapping[str, str]
PRODUCT, TESTS = "calc.py", "test_calc.py"


class Unsuitable(Exception):
    """The case says something that the costume would not say."""


def dress(case: Case, costume: str) -> Case | None:
    """The same case in a costume; none where it does not fit."""
    if case.project != "pytest" or case.check is not None or case.neutral.count("calc") > 1:
        return None
    try:
        before = {path: lines(text) for path, text in (PROJECTS["pytest"][1] | case.files).items()}
        after = _carry_out(case, before)
        put_on = COSTUMES[costume]
        old, new = put_on(_read(before)), put_on(_read(after))
    except Unsuitable:
        return None
    changed = {path for path, text in new.items() if old.get(path) != text}
    if len(changed) != sum(before.get(path) != text for path, text in after.items()):
        return None  # A comment made the difference, and a tree of Python has none.
    does: list[Act | str] = [Act(write=path, text=new[path]) for path in sorted(changed)]
    neutral = case.neutral.replace("from calc ", "from shop.calc ") if costume == "package" else case.neutral
    return msgspec.structs.replace(
        case, name=f"{case.name} ({costume})", project="none", files=dict(old), does=does, neutral=neutral
    )


def _carry_out(case: Case, before: Tree) -> dict[str, str]:
    files = dict(before)
    for answer in case.answers():
        tool, said = answer.calls[0].name, json.loads(answer.calls[0].arguments)
        if tool == "write":
            files[said["path"]] = said["content"]
        elif tool == "edit" and said["old"] in files.get(said["path"], ""):
            files[said["path"]] = files[said["path"]].replace(said["old"], said["new"], 1)
        else:
            raise Unsuitable
    return files


def _read(files: Tree) -> dict[str, ast.Module | str]:
    """Its modules as trees; what is beside them may name nothing that a costume calls otherwise."""
    found: dict[str, ast.Module | str] = {}
    for path, text in files.items():
        if path not in (PRODUCT, TESTS) and re.search(r"add|sub|calc|test_", f"{path} {text}"):
            raise Unsuitable
        try:
            found[path] = ast.parse(text) if path in (PRODUCT, TESTS) else text
        except SyntaxError:
            raise Unsuitable from None
    if "test_" in files[PRODUCT] or re.search(r"\bopen\(|calc\.py|__file__|globals|settrace", "".join(files.values())):
        raise Unsuitable
    return found


def _annotate(files: Mapping[str, ast.Module | str]) -> dict[str, str]:
    """Typed, with a future import."""
    for tree in files.values():
        if isinstance(tree, str):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                    if argument.arg not in ("self", "cls"):
                        argument.annotation = argument.annotation or ast.Name("int")
                node.returns = node.returns or (ast.Constant(None) if node.name[:5] == "test_" else ast.Name("int"))
        future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
        tree.body = [each for each in tree.body if ast.dump(each) != ast.dump(future)]
        tree.body.insert(ast.get_docstring(tree) is not None, future)
    return _write(files)


def _enclose(files: Mapping[str, ast.Module | str]) -> dict[str, str]:
    """Tests as methods of a class, which take a value from a fixture."""
    tree = files[TESTS]
    assert isinstance(tree, ast.Module)
    tests = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
    rest = [each for each in tree.body if each not in tests]
    names = {node.id for each in tree.body for node in ast.walk(each) if isinstance(node, ast.Name)}
    # What a module or a class does with the names of tests, a class of them would not do.
    if names & {each.name for each in tests} or len({each.name for each in tests}) != len(tests):
        raise Unsuitable
    if any(isinstance(each, ast.ClassDef) or "test_" in ast.unparse(each) for each in rest) or "three" in names:
        raise Unsuitable
    for each in tests:
        each.args.args.insert(0, ast.arg("self"))
        body = [_Three().visit(statement) for statement in each.body]
        if any(isinstance(node, ast.Name) and node.id == "three" for one in body for node in ast.walk(one)):
            each.args.args.append(ast.arg("three"))
    fixture = ast.parse("import pytest\n\n@pytest.fixture\ndef three():\n    return 3\n").body
    head = next((n for n, each in enumerate(rest) if not isinstance(each, ast.Import | ast.ImportFrom)), len(rest))
    if tests:
        rest.append(ast.ClassDef("TestCalc", [], [], list(tests), []))
    tree.body = [*rest[:head], *fixture, *rest[head:]]
    return _write(files)


class _Three(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name("three") if type(node.value) is int and node.value == 3 else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node  # The parts of a text in it are constants, too.


def _package(files: Mapping[str, ast.Module | str]) -> dict[str, str]:
    """The module in a package, and its tests in a folder of their own."""
    written = {"shop/__init__.py": ""}
    for path, text in _write(files).items():
        if path not in (PRODUCT, TESTS):
            written[path] = text
            continue
        text = re.sub(r"(?m)^(\s*)from calc import", r"\1from shop.calc import", text)
        text = re.sub(r"(?m)^(\s*)import calc$", r"\1from shop import calc", text)
        text = re.sub(r"(['\"])calc\.", r"\1shop.calc.", text)
        if re.search(r"import calc\b(?! *$)|(['\"])calc\1", text.replace("from shop import calc", "")):
            raise Unsuitable
        written[{PRODUCT: "shop/calc.py", TESTS: "tests/test_calc.py"}[path]] = text
    return written


def _write(files: Mapping[str, ast.Module | str]) -> dict[str, str]:
    return {
        path: tree if isinstance(tree, str) else lines(ast.unparse(ast.fix_missing_locations(tree)))
        for path, tree in files.items()
    }


COSTUMES: dict[str, Callable[[Mapping[str, ast.Module | str]], dict[str, str]]] = {
    "typed": _annotate,
    "class": _enclose,
    "package": _package,
}
