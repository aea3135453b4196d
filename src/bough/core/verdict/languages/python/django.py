"""Django's own test runner, which reports as unittest does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from bough.core.shell_syntax import Part, get_program_name, get_word
from bough.core.verdict.languages.python.interpreter import find_interpreter
from bough.core.verdict.languages.python.unittest import Unittest
from bough.core.verdict.paths import last_segment, parent_folder
from bough.core.verdict.project_files import ProjectFiles, run_in_folder
from bough.core.verdict.runner import ProjectCommand


class Django(Unittest):
    name = "django"
    suffixes = ()
    probe_path = ""

    def recognise(self, part: Part, at: int) -> int | None:
        for index in range(at, min(at + 2, len(part))):
            if get_program_name(part, index) == "manage.py" and get_word(part, index + 1) == "test":
                return index + 1
        return None

    def instrument(self, command: str, report: str, env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        told = re.search(r"\s(-v|--verbosity)\b", command)
        return command if told else self.append(command, "-v 2") or command, dict(env)

    def narrow(self, command: str, ids: Sequence[str]) -> str | None:
        return self.append(command, " ".join(map(quote, ids)))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        named = next((path for path in look.near if last_segment(path) == "manage.py"), "")
        if named and "django" in look.text(named):
            up = "../" if parent_folder(named) and not find_interpreter(look).startswith("/") else ""
            python = find_interpreter(look)
            python = f"{up}{python}" if "/" in python else python
            yield ProjectCommand(run_in_folder(parent_folder(named), f"{python} manage.py test"), f"there is a {named}")
