"""The home and the project that a hostile repository attacks, a run in them, and the list of the attacks."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bough.app import Choices, RunObserver, open_session
from bough.core import events as e
from bough.core.errors import BoughError
from bough.core.planning.plan import build_goal_step
from bough.testing import ScriptedModel, call

SECRET = "-".join(("SECRET", "77aa10", "of", "the", "home"))
KEY = "sk-of-the-person-8f31a0c2d4"
SECONDS = 100.0
"""For an attack: one that takes longer has blocked bough, and not only a busy machine has it."""
MEMORY = 700 << 20
"""Bytes that bough's process may have at most while it is attacked."""
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
CALC = "def add(a, b):\n    return a + b\n"
TEST = """\
import unittest
from calc import add

class T(unittest.TestCase):
    def test(self):
        self.assertEqual(add(2, 2), 4)
"""


class Place:
    """A person's home with secrets, and a project that somebody else prepared."""

    def __init__(self, top: Path) -> None:
        self.home, self.project, self.mark = top / "home", top / "projects" / "p", top / "home" / "RAN"
        self.project.mkdir(parents=True)
        self.write(self.home / ".ssh" / "id_ed25519", f"TOKEN={SECRET}\n")
        self.write(self.home / ".aws" / "credentials", f"TOKEN={SECRET}\n")
        self.write(self.home / "notes" / "diary.txt", f"{SECRET}\n")
        self.write(self.project / "calc.py", CALC)
        self.write(self.project / "test_calc.py", TEST)
        self.git("init", "-q", "-b", "main", "--template=")
        self.commit()
        os.environ.update(HOME=str(self.home), OPENAI_API_KEY=KEY, PATH=SYSTEM)
        os.environ.update(BOUGH_ACCEPTANCE_EXAMINE="never", BOUGH_MODELS_PROTOCOL="tools")
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            os.environ.pop(name, None)
        os.chdir(self.project)

    def write(self, path: Path | str, text: str, mode: int = 0o644) -> None:
        place = self.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)

    def link(self, path: str, target: Path | str) -> None:
        (self.project / path).parent.mkdir(parents=True, exist_ok=True)
        (self.project / path).symlink_to(target)

    def pipe(self, path: str) -> None:
        (self.project / path).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self.project / path)

    def settings(self, text: str) -> None:
        """The person's own."""
        self.write(self.home / ".config" / "bough" / "config.toml", text)

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", *who, *words], cwd=self.project, check=True, capture_output=True, text=True
        ).stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")

    def module(self, name: str) -> None:
        """Python that tells that it ran, and with what."""
        text = f"import os\nopen({str(self.mark)!r}, 'a').write({name!r} + os.environ.get('OPENAI_API_KEY', ''))\n"
        self.write(name, f"{text}raise ImportError('planted')\n")

    def program(self, path: Path | str) -> None:
        self.write(path, f"#!/bin/sh\necho {path} >> {self.mark}\n", 0o755)

    @property
    def ran(self) -> list[str]:
        """Code of the repository that ran outside the sandbox."""
        return [f"ran: {self.mark.read_text().splitlines()[0]}"] if self.mark.exists() else []


def run(
    place: Place,
    *commands: str,
    check: str | None = "true",
    trust: bool = False,
    script: Sequence[Any] = (),
    **choices: Any,
) -> tuple[str, list[e.Record], str]:
    """A run whose model runs these commands: everything that reached it, the records, and how it ended."""
    wanted = [*(call("bash", command=command) for command in commands), *script, call("done", summary="done")]
    model, records, said = ScriptedModel([*wanted, *wanted, *wanted]), list[e.Record](), ""

    async def go() -> str:
        chosen = Choices(model=model, flat=True, rounds=len(wanted) + 4, trust_config=trust, **choices)
        async with open_session(place.project, create=True, choices=chosen) as session:
            step = build_goal_step("Make add add.", check=check)
            outcome = await session.start(step, chosen, RunObserver(recorded=records.append))
        return outcome.status

    try:
        said = asyncio.run(go())
    except BoughError as error:
        said = f"refused: {error}"
    return repr(model.prompts) + repr(records), records, said


def read(text: str) -> list[str]:
    return ["read: a secret of the home"] if SECRET in text else []


def finished(said: str, *fine: str) -> list[str]:
    """Whether the run came to an end of its own, or was refused in a sentence."""
    return (
        []
        if said in ("completed", "budget", "not_verified", "not_proven", "environment", *fine)
        or said.startswith("refused: ")
        else [f"ended: {said}"]
    )


ATTACKS: dict[str, Callable[[Place], list[str]]] = {}


def attack(row: str) -> Callable[[Callable[[Place], list[str]]], Callable[[Place], list[str]]]:
    def note(function: Callable[[Place], list[str]]) -> Callable[[Place], list[str]]:
        ATTACKS[f"{row}: {function.__name__.replace('_', ' ')}"] = function
        return function

    return note
