"""tox and nox: they make environments and run the project's test runner in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bough.adapters.verifiers.look import PATH_PYTHON, Look
from bough.adapters.verifiers.runners.base import Found, Runner, joined
from bough.core.commandline import parts, program

_MINORS = range(20, 7, -1)
"""Of Python 3, the newest first."""


SKIP_PACKAGE = " --skip-pkg-install"
_PACKAGE = re.compile(r"(src/)?\w+/__init__\.py|src/\w+\.py")
_BESIDE = re.compile(r"(tests?|testing|docs?|examples?|scripts|tools|bench\w*)/")


class Tox(Runner):
    name = "tox"
    settings = r"tox\.(ini|toml)"
    sections = (("pyproject.toml", "tool.tox"), ("setup.cfg", "tox:tox"))

    def project(self, look: Look) -> Found | None:
        """With its environment alone, since the project that is installed there was built from another state of the
        sources. To build it again needs a network; where the checkout's own come first by themselves, it is left out.
        """
        for name, section in (
            ("tox.ini", r"^\[(tox|testenv.*)\]"),
            ("tox.toml", r""),
            ("pyproject.toml", r"^\[tool\.tox[.\]]"),
            ("setup.cfg", r"^\[tox:tox\]"),
        ):
            if name in look.files and re.search(section, look.text(name), re.MULTILINE):
                envs = ("py", *(f"{start}{minor}" for minor in _MINORS for start in ("py3", "3.")))
                if (used := _used(look, ".tox", envs)) and look.python() == PATH_PYTHON:
                    skip = SKIP_PACKAGE if _comes_first(look) else ""
                    return Found(f"tox{skip} -e {used}", f"its environment is in .tox/{used}", "tox", alone=True)
                return Found("tox", f"tox is configured in {name}", "tox")
        return None


class Nox(Runner):
    name = "nox"
    settings = r"noxfile\.py"

    def project(self, look: Look) -> Found | None:
        if "noxfile.py" not in look.files:
            return None
        named = re.findall(r"^def (\w*test\w*)\(", look.text("noxfile.py"), re.MULTILINE)
        sessions = [f"{name}{version}" for name in named for version in ("", *(f"-3.{minor}" for minor in _MINORS))]
        if (used := _used(look, ".nox", sessions)) and look.python() == PATH_PYTHON:
            skip = " -R" if _comes_first(look) else ""
            return Found(f"nox{skip} -s {used}", f"its environment is in .nox/{_folder(used)}", "nox", alone=True)
        return Found("nox", "there is a noxfile.py", "nox")


def _used(look: Look, folder: str, names: Iterable[str]) -> str:
    """The first of these that has an environment on the disk; empty: none."""
    return next((name for name in names if look.text(f"{folder}/{_folder(name)}/pyvenv.cfg")), "")


def _comes_first(look: Look) -> bool:
    """Whether the project's packages are where PYTHONPATH names them before any installed ones."""
    return any(_PACKAGE.fullmatch(path) and not _BESIDE.match(path) for path in look.files)


def _folder(name: str) -> str:
    """Where nox keeps a session's environment; tox's names have nothing to replace but the dot of `3.11`."""
    return name.replace(".", "-") if "-" in name else name


def handed_on(command: str, env: Mapping[str, str], variable: str) -> dict[str, str]:
    """The environment, so that tox hands a variable on to the runner: it hands on only those that it is told to."""
    made = dict(env)
    runs_tox = any(program(part, at) == "tox" for part in parts(command) for at in range(len(part)))
    if runs_tox and "TOX_OVERRIDE" not in env:
        names = f"{variable},PYTHONPATH" if SKIP_PACKAGE in command else variable
        made["TOX_OVERRIDE"] = f"testenv.pass_env+={names}"  # tox 4
        made["TOX_TESTENV_PASSENV"] = joined(env.get("TOX_TESTENV_PASSENV"), names.replace(",", " "))  # tox 3
    return made
