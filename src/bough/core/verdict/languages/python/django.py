"""Django's own test runner, which reports as unittest does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from bough.core.shell_syntax import Part, get_program_name, get_word
from bough.core.verdict.languages.python.interpreter import find_interpreter, find_module_word
from bough.core.verdict.languages.python.unittest import Unittest
from bough.core.verdict.paths import last_segment, parent_folder
from bough.core.verdict.project_files import ProjectFiles, run_in_folder
from bough.core.verdict.runner import ProjectCommand

_TASK_FILES = ("tox.ini", "tox.toml", "setup.cfg", "pyproject.toml", "noxfile.py", "Makefile")


class Django(Unittest):
    name = "django"
    suffixes = ()
    probe_path = ""

    def recognise(self, part: Part, at: int) -> int | None:
        for index in range(at, min(at + 2, len(part))):
            if get_program_name(part, index) == "manage.py" and get_word(part, index + 1) == "test":
                return index + 1
        module = find_module_word(part, at, "django") if get_program_name(part, at).startswith("python") else None
        return module + 1 if module is not None and get_word(part, module + 1) == "test" else None

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        told = re.search(r"\s(-v|--verbosity)\b", command)
        return command if told else self.append(command, "-v 2") or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, " ".join(map(quote, ids)))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        for path in _TASK_FILES:  # A package without a `manage.py` of its own says which settings its tests have.
            if stated := re.search(r"-m django test((?: --?[\w=.-]+| [\w.]+)*)", look.text(path)):
                yield ProjectCommand(f"{find_interpreter(look)} -m django test{stated[1]}", f"{path} runs it")
                return
        named = next((path for path in look.near if last_segment(path) == "manage.py"), "")
        if named and "django" in look.text(named):
            up = "../" if parent_folder(named) and not find_interpreter(look).startswith("/") else ""
            python = find_interpreter(look)
            python = f"{up}{python}" if "/" in python else python
            yield ProjectCommand(run_in_folder(parent_folder(named), f"{python} manage.py test"), f"there is a {named}")
