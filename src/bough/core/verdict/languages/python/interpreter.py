"""What Python's test runners share: how they are started, and which files are tests."""

import re
import shlex
from collections.abc import Sequence
from posixpath import join as join_paths
from typing import ClassVar

from bough.core.shell_syntax import Part, find_inner_line, find_programs, get_program_name, get_word, split_commands
from bough.core.verdict.paths import last_segment, list_parents, parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import Runner

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini")
PATH_PYTHON = "python3"
"""The interpreter for projects without a virtual environment."""
_MADE_BY_TOOLS = tuple(
    f"{start}{minor}"
    for minor in (*range(20, 7, -1), "")
    for start in (".tox/py3", ".tox/3.", ".nox/tests-3-", ".tox/py", ".nox/tests")
)
"""Environments for tests that tox and nox made, those of the newest Python first."""
_GIVEN = re.compile(r"""(?:env\s+)?(?:\b[A-Za-z_]\w*\+?=(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\&|;()])*\s+)+\Z""")
"""The variables that are set before a command."""
_PATHS = "PYTHONPATH=.:src${PYTHONPATH:+:$PYTHONPATH} "
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

    def home(self, path: str, look: ProjectFiles, manifests: Sequence[str]) -> str:
        return look.home(path, *MANIFESTS)


def make_interpreter_command(command: str) -> str:
    """Return the command of the interpreter that runs a check's tests, from the folder in which the check starts: with
    the variables, wrappers and environments that the check gives it, and without the check's other commands."""
    folder, before, end = "", "", 0
    for part in split_commands(command):
        given, end = _GIVEN.search(command, end, part[0].start), part[-1].end
        own = _PATHS + re.sub(r"(PYTHONPATH=[^\s'\"]+)", r"\1:$PYTHONPATH", given[0] if given else "")
        if part[0].text == "cd" and not part[-1].live:
            folder = join_paths(folder, part[-1].text)
        elif part[0].text in (".", "source") and not part[-1].live:
            before += f". {shlex.quote(join_paths(folder or '.', get_word(part, 1)))} && "
        elif part[0].text == "export":
            before += f"{command[part[0].start : end]} && "
        if inner := find_inner_line(part):
            return before + make_interpreter_command(inner)
        for at in find_programs(part):
            raw, place = command[part[at].start : part[at].end], part[at].text.rpartition("/")[0]
            if re.fullmatch(r"pytest|py\.test|coverage(-?3)?", get_program_name(part, at)):
                beside = f'"$(dirname {raw})"' if part[at].live else shlex.quote(join_paths(folder, place))
                program = f"{beside}/python" if place else PATH_PYTHON
            elif re.fullmatch(r"(python|pypy)[\d.]*", get_program_name(part, at)) or (
                part[at].live and get_word(part, at + 1) == "-m"
            ):
                program = raw if part[at].live or not place else shlex.quote(join_paths(folder, part[at].text))
            else:
                continue
            return f"{before}{own}{command[part[0].start : part[at].start]}{program}"
    return f"{before}{_PATHS}{PATH_PYTHON}"


def list_python_tests(look: ProjectFiles) -> list[str]:
    """List the files that are Python tests by their name, except those of projects nested in this one."""
    nested = {parent_folder(path) for path in look if last_segment(path) in MANIFESTS[:2]} - {""}
    named = (path for path in look if re.search(r"(?:^|/)test_[^/]*\.py$|_test\.py$", path))
    return [path for path in named if not nested.intersection(list_parents(path))]
