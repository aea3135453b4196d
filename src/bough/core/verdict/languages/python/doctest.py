"""The runner `doctest`, for projects whose only tests are examples in their documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from shlex import quote

from bough.core.shell_syntax import Part
from bough.core.verdict.languages.python.interpreter import find_interpreter, find_module_word, list_python_tests
from bough.core.verdict.paths import parent_folder
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ClosingLine, ProjectCommand, Runner

_MOST_READ = 100
"""Files that are read to learn whether they have examples."""


class Doctest(Runner):
    name = "doctest"

    def recognise(self, part: Part, at: int) -> int | None:
        return find_module_word(part, at, "doctest")

    def closing(self, lines: Sequence[str]) -> ClosingLine | None:
        """One pair of lines for each file: `3 passed.` or `2 passed and 1 failed.`"""
        end = r"(\d{1,9}) passed(?: and (\d{1,9}) failed)?\."
        found = [(at, m) for at, line in enumerate(lines) if (m := re.fullmatch(end, line.strip()))]
        if not found:
            return None
        return ClosingLine(found[-1][0], sum(int(m[1]) for _, m in found), sum(int(m[2] or 0) for _, m in found))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if list_python_tests(look):
            return
        modules = [path for path in look if path.endswith(".py") and path not in ("setup.py", "conftest.py")]
        examples = [path for path in modules[:_MOST_READ] if re.search(r"^\s*>>> ", look.text(path), re.MULTILINE)]
        texts = [path for path in look.near if path.endswith((".rst", ".txt")) and "\n>>> " in look.text(path)]
        why = f"there are examples in {(examples or texts)[0]}" if examples or texts else ""
        plain = [path for path in examples if f"{parent_folder(path)}/__init__.py" not in look.files] + texts
        if plain:
            yield ProjectCommand(f"{find_interpreter(look)} -m doctest -v {' '.join(map(quote, plain))}", why)
        if len(examples) > len(plain) - len(texts):
            yield ProjectCommand(f"{find_interpreter(look)} -m pytest --doctest-modules", why)
