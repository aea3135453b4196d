"""tox and nox: they make environments and run the project's test runner in them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bough.adapters.verifiers.look import Look
from bough.adapters.verifiers.runners.base import Found, Runner, joined
from bough.core.commandline import parts, program


class Tox(Runner):
    name = "tox"
    settings = r"tox\.(ini|toml)"
    sections = (("pyproject.toml", "tool.tox"), ("setup.cfg", "tox:tox"))

    def project(self, look: Look) -> Found | None:
        for name, section in (
            ("tox.ini", r"^\[(tox|testenv.*)\]"),
            ("tox.toml", r""),
            ("pyproject.toml", r"^\[tool\.tox[.\]]"),
            ("setup.cfg", r"^\[tox:tox\]"),
        ):
            if name in look.files and re.search(section, look.text(name), re.MULTILINE):
                return Found("tox", f"tox is configured in {name}", "tox")
        return None


class Nox(Runner):
    name = "nox"
    settings = r"noxfile\.py"

    def project(self, look: Look) -> Found | None:
        return Found("nox", "there is a noxfile.py", "nox") if "noxfile.py" in look.files else None


def handed_on(command: str, env: Mapping[str, str], variable: str) -> dict[str, str]:
    """The environment, so that tox hands a variable on to the runner: it hands on only those that it is told to."""
    made = dict(env)
    runs_tox = any(program(part, at) == "tox" for part in parts(command) for at in range(len(part)))
    if runs_tox and "TOX_OVERRIDE" not in env:
        made["TOX_OVERRIDE"] = f"testenv.pass_env+={variable}"  # tox 4
        made["TOX_TESTENV_PASSENV"] = joined(env.get("TOX_TESTENV_PASSENV"), variable)  # tox 3
    return made
