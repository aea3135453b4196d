"""The cases of the verdict's tables in costumes, so that none of them can be learned by its letters.

Two costumes fit cases in any language: all files in a folder of a larger project, and a notice at the top of each file.
Three more fit Python files that a case changes without running commands. For these the model's work is done here first,
and both trees, before and after, are put into the costume: its model then writes the files that differ.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping

import msgspec

from bough.core.verdict.paths import find_suffix, last_segment
from tests.verification.cases import PROJECTS, Act, Case, lines

Tree = Mapping[str, str]
PRODUCT, TESTS = "calc.py", "test_calc.py"


class Unsuitable(Exception):
    """The case says something that the costume would not say."""


def dress(case: Case, costume: str) -> Case | None:
    """Return the same case in a costume; None if it does not fit."""
    if costume in ANY_LANGUAGE:
        try:
            return ANY_LANGUAGE[costume](case)
        except Unsuitable:
            return None
    if case.project != "pytest" or case.check is not None or case.neutral.count("calc") > 1:
        return None
    try:
        before = {path: lines(text) for path, text in (PROJECTS["pytest"][1] | case.files).items()}
        after = _carry_out(case, before)
        put_on = PYTHON[costume]
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


# ── costumes for any language ───────────────────────────────────────────────────────────────────────────────────────

FOLDER = "parts/app"
BESIDE = {
    "README.md": "# Parts\n\nEach folder below `parts` is a program of its own.\n",
    "parts/notes/plan.txt": "First the app, then the rest.\n",
}
"""The files of the larger project."""


def _move(case: Case) -> Case:
    """Move all files into a folder of a larger project, from which the check and the commands run."""
    check, files = _lay_bare(case)
    if not check or case.step or case.repository:
        raise Unsuitable
    does = [
        msgspec.structs.replace(
            act,
            bash=act.bash and f"cd {FOLDER}\n{act.bash}",
            write=act.write and f"{FOLDER}/{act.write}",
            edit=act.edit and f"{FOLDER}/{act.edit}",
        )
        for act in _spell_out(case)
    ]
    moved = BESIDE | {f"{FOLDER}/{path}": text for path, text in files.items()}
    neutral = case.neutral and f"cd {FOLDER}\n{case.neutral}"
    return _change(case, "folder", moved, does, check=f"cd {FOLDER} && {{ {check}; }}", neutral=neutral)


NOTICE = "Part of a larger work. Copying and distribution are permitted in any medium without royalty."
_MARKS = {
    "#": "py sh bash pl pm t rb awk tcl jq ex exs R r cmake toml bats Makefile CMakeLists.txt",
    "//": "c h cc cpp hpp go rs js mjs cjs ts java",
    "--": "lua sql hs",
    ";": "lisp scm el",
    "%": "erl pro",
    "!": "f90",
}
_MARK = {name: mark for mark, names in _MARKS.items() for name in names.split()}
"""How a line of comment begins, by the file's suffix or name."""


def _head(path: str, text: str) -> str:
    """Return a file's text with the notice above it, or below a first line that has to be the first."""
    mark = _MARK.get(find_suffix(path)) or _MARK.get(last_segment(path))
    if mark is None:
        return text
    first, rest = text.split("\n", 1) if text.startswith("#!") and "\n" in text else ("", text)
    return f"{first}\n{mark} {NOTICE}\n\n{rest}" if first else f"{mark} {NOTICE}\n\n{text}"


def _head_all(case: Case) -> Case:
    """Put a notice at the top of each file, also of those that the model writes."""
    check, files = _lay_bare(case)
    headed = {path: _head(path, text) for path, text in files.items()}
    # A case that counts lines, looks at a first line or restores a file by a command would not be the same.
    said = [case.neutral, check or "", *(act.bash for act in _spell_out(case)), *files.values()]
    if headed == files or any(
        re.search(r"\b(?:head|sed|wc|NR|lineno|LINENO|__LINE__|f_lineno)\b", each) for each in said
    ):
        raise Unsuitable
    does = [
        msgspec.structs.replace(act, text=_head(act.write, lines(act.text))) if act.write else act
        for act in _spell_out(case)
    ]
    return _change(case, "notice", headed, does, check=check)


def _lay_bare(case: Case) -> tuple[str | None, dict[str, str]]:
    """Return a case's check, and all of its files."""
    check, files = PROJECTS[case.project]
    check = check if case.check is None else case.check
    return check, {path: lines(text) for path, text in (files | case.files).items()}


def _spell_out(case: Case) -> list[Act]:
    """Return what the model of a case does, with the whole texts that it writes."""
    found = []
    for answer in case.answers():
        tool, said = answer.calls[0].name, json.loads(answer.calls[0].arguments)
        if tool == "write":
            found.append(Act(write=said["path"], text=said["content"]))
        elif tool == "edit":
            found.append(Act(edit=said["path"], old=said["old"], new=said["new"]))
        else:
            found.append(Act(bash=said["command"]))
    return found


def _change(case: Case, costume: str, files: Tree, does: list[Act], **changes: str | None) -> Case:
    return msgspec.structs.replace(
        case, name=f"{case.name} ({costume})", project="none", files=dict(files), does=does, **changes
    )


ANY_LANGUAGE: dict[str, Callable[[Case], Case]] = {"folder": _move, "notice": _head_all}


# ── costumes for Python ─────────────────────────────────────────────────────────────────────────────────────────────


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


PYTHON: dict[str, Callable[[Mapping[str, ast.Module | str]], dict[str, str]]] = {
    "typed": _annotate,
    "class": _enclose,
    "package": _package,
}
COSTUMES = (*ANY_LANGUAGE, *PYTHON)
