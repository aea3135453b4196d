"""What Python's test runners share: how they are started, and which files are tests."""

import ast
import re
import shlex
from fnmatch import fnmatchcase
from typing import ClassVar

from bough.core.shell_syntax import Part, get_program_name, get_word
from bough.core.textual.python_source import parse_python
from bough.core.verdict.paths import last_segment, list_parents, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import Runner

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
PATH_PYTHON = "python3"
"""The interpreter for projects without a virtual environment."""
_MADE_BY_TOOLS = tuple(
    f"{start}{end}"
    for minor in range(20, 7, -1)
    for start, end in (
        (".tox/py3", minor),
        (".tox/3.", minor),
        (".nox/tests-3-", minor),
        (".tox/py", ""),
        (".nox/tests", ""),
    )
)
"""Environments for tests that tox and nox made, those of the newest Python first."""
_MOST_PATTERNS = 20
"""The maximum number of patterns for test files that are read from one setting."""
_PYTHON = r"python(\d(\.\d+)?)?|pypy3?|py|coverage(-?3)?"


def find_module_word(part: Part, at: int, name: str) -> int | None:
    """Return the index of the word that names this module, as in `python -m pytest` or `coverage run -m pytest`."""
    if not re.fullmatch(_PYTHON, get_program_name(part, at)):
        return None
    index = at + 1
    while index < len(part):
        word = part[index].text
        found = get_word(part, index + 1) if word == "-m" else word[2:] if re.match(r"-m\w", word) else ""
        if found:
            end = index + (word == "-m")
            if found == name:
                return end
            return find_module_word(part, end, name) if found == "coverage" else None
        by_value = part[index - 1].text in ("-X", "-W", "--source", "--rcfile")
        if not word.startswith("-") and word != "run" and not by_value:
            return None
        index += 1
    return None


def find_interpreter(look: ProjectFiles) -> str:
    """Return the interpreter of the project's virtual environment if it has one, else the one on the PATH."""
    for depth, folder in enumerate([look.folder, *list_parents(look.folder)]):
        for name in (".venv", "venv"):
            place = f"{folder}/{name}" if folder else name
            if look.has_in_workspace(f"{place}/bin/python", f"{place}/pyvenv.cfg"):
                return f"{'../' * depth}{name}/bin/python"
    made = next((name for name in _MADE_BY_TOOLS if look.text(f"{name}/pyvenv.cfg")), "")
    return f"{made}/bin/python" if made else PATH_PYTHON


class PythonRunner(Runner):
    """A runner of tests in Python files."""

    suffixes: ClassVar[tuple[str, ...]] = (".py",)
    manifests = MANIFESTS


def make_interpreter_command(command: str) -> str:
    """Return the command of the interpreter that runs a check's tests."""
    try:
        words = shlex.split(command)
    except ValueError:  # Only a shell can parse this command: use the interpreter on the PATH.
        words = []
    for at, word in enumerate(words):
        if re.fullmatch(r"(.*/)?python[\d.]*", word):
            return shlex.join(words[: at + 1])
        if re.fullmatch(r"(.*/)?(pytest|py\.test)", word):
            folder = word.rpartition("/")[0]
            return shlex.join([*words[:at], f"{folder}/python" if folder else PATH_PYTHON])
    return PATH_PYTHON


def list_python_tests(look: ProjectFiles) -> list[str]:
    """List the files that are Python tests by their name, except those of projects nested in this one."""
    wanted = {"test_*.py", "*_test.py"}
    for name in ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"):
        for value in re.findall(r"^python_files\s*=\s*(\[[^\]]*\]|[^\n]*)", look.text(name), re.MULTILINE):
            wanted |= {*re.findall(r"(?<![\w*.-])[\w*.-]+\.py\b", value)[:_MOST_PATTERNS]}
    nested = {parent_folder(path) for path in look if last_segment(path) in MANIFESTS[:2]} - {""}
    named = (path for path in look if path.endswith(".py") and not nested.intersection(list_parents(path)))
    return [path for path in named if any(fnmatchcase(last_segment(path), glob) for glob in wanted)]


def dump_code(text: str) -> str:
    """Return the syntax tree without docstrings, as text; return the text itself if it is not Python."""
    tree = parse_python(text)
    try:
        return ast.dump(_Bare().visit(tree)) if tree is not None else text
    except RecursionError:
        return text


class _Bare(ast.NodeTransformer):
    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not is_text(each)] or [ast.Pass()]  # type: ignore[attr-defined]
        return node


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
