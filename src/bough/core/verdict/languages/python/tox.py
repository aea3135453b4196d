"""The runners tox and nox, which create environments and run the project's test runner in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bough.core.shell_syntax import get_program_name, split_commands
from bough.core.verdict.languages.python.interpreter import PATH_PYTHON, find_interpreter
from bough.core.verdict.project_files import ProjectFiles
from bough.core.verdict.runner import ProjectCommand, Runner, join_options

_MINORS = range(20, 7, -1)
"""The minor versions of Python 3 that are looked for, the newest first."""


SKIP_PACKAGE = " --skip-pkg-install"
_PACKAGE = re.compile(r"(src/)?\w+/__init__\.py|src/\w+\.py")
_BESIDE = re.compile(r"(tests?|testing|docs?|examples?|scripts|tools|bench\w*)/")


class Tox(Runner):
    name = "tox"
    wraps = True
    settings = r"tox\.(ini|toml)"
    sections = (("pyproject.toml", "tool.tox"), ("setup.cfg", "tox:tox"))

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        """Best with its environment, since the project installed there was built from another state of the sources.
        Building it again needs a network; where the checkout's own sources come first anyway, it is skipped.
        """
        for name, section in (
            ("tox.ini", r"^\[(tox|testenv.*)\]"),
            ("tox.toml", r""),
            ("pyproject.toml", r"^\[tool\.tox[.\]]"),
            ("setup.cfg", r"^\[tox:tox\]"),
        ):
            if name in look.files and re.search(section, look.text(name), re.MULTILINE):
                envs = ("py", *(f"{start}{minor}" for minor in _MINORS for start in ("py3", "3.")))
                if (used := _find_used(look, ".tox", envs)) and find_interpreter(look) == PATH_PYTHON:
                    skip = SKIP_PACKAGE if _comes_first(look) else ""
                    yield ProjectCommand(f"tox{skip} -e {used}", f"its environment is in .tox/{used}", alone=True)
                else:
                    # Never all its environments: those are of other interpreters, of documents and releases.
                    yield ProjectCommand("tox -e py", f"tox is configured in {name}")
                return


class Nox(Runner):
    name = "nox"
    wraps = True
    settings = r"noxfile\.py"

    def projects(self, look: ProjectFiles) -> Iterable[ProjectCommand]:
        if "noxfile.py" not in look.files:
            return
        named = re.findall(r"^def (\w*test\w*)\(", look.text("noxfile.py"), re.MULTILINE)
        sessions = [f"{name}{version}" for name in named for version in ("", *(f"-3.{minor}" for minor in _MINORS))]
        if (used := _find_used(look, ".nox", sessions)) and find_interpreter(look) == PATH_PYTHON:
            skip = " -R" if _comes_first(look) else ""
            yield ProjectCommand(f"nox{skip} -s {used}", f"its environment is in .nox/{_name_folder(used)}", alone=True)
        else:
            yield ProjectCommand(f"nox -s {named[0]}" if named else "nox", "there is a noxfile.py")


def _find_used(look: ProjectFiles, folder: str, names: Iterable[str]) -> str:
    """The first of these that has an environment on disk; empty: none."""
    return next((name for name in names if look.text(f"{folder}/{_name_folder(name)}/pyvenv.cfg")), "")


def _comes_first(look: ProjectFiles) -> bool:
    """Whether PYTHONPATH finds the project's packages before any installed ones."""
    return any(_PACKAGE.fullmatch(path) and not _BESIDE.match(path) for path in look.files)


def _name_folder(name: str) -> str:
    """Where nox keeps a session's environment; in tox's names only the dot of `3.11` is replaced."""
    return name.replace(".", "-") if "-" in name else name


def hand_on_variable(command: str, env: Mapping[str, str], variable: str) -> dict[str, str]:
    """The environment, so that tox passes a variable on to the runner: it passes only those that it is told to."""
    made = dict(env)
    runs_tox = any(get_program_name(part, at) == "tox" for part in split_commands(command) for at in range(len(part)))
    if runs_tox and "TOX_OVERRIDE" not in env:
        names = f"{variable},PYTHONPATH" if SKIP_PACKAGE in command else variable
        made["TOX_OVERRIDE"] = f"testenv.pass_env+={names}"  # tox 4
        made["TOX_TESTENV_PASSENV"] = join_options(env.get("TOX_TESTENV_PASSENV"), names.replace(",", " "))  # tox 3
    return made
