"""Commands that need a person's approval before they run: push, publish, deploy.

Promise: a command line that matches one of the person's patterns runs only if the person allows it. This guards against
accidents, not malice: a command can be written so that no pattern matches. What commands can *reach* is decided by the
sandbox that this one wraps.
"""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from bough.ports import CommandResult, Sandbox, WorkFolder

Permit = Callable[[str, str], Awaitable[str | None]]
"""Shows a command line and its task to the person, and returns their answer, or None if nobody answers."""
YES = ("y", "yes", "ok", "allow")
REFUSED = 126
"""The exit status that is reported for a command that was not allowed to run."""
_SHOWN = 2_000


def require_approval(sandbox: Sandbox, patterns: Sequence[str], permit: Permit | None) -> Sandbox:
    return cast(Sandbox, _ApprovedSandbox(sandbox, patterns, permit)) if patterns else sandbox


class _ApprovedSandbox:
    def __init__(self, sandbox: Sandbox, patterns: Sequence[str], permit: Permit | None) -> None:
        self._sandbox, self._patterns, self._permit = sandbox, patterns, permit
        self._one_question = asyncio.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    @property
    def says(self) -> str:
        listed = ", ".join(f"`{pattern}`" for pattern in self._patterns)
        return f"{self._sandbox.says} Commands like {listed} run only when the person allows them."

    async def run(self, argv: Sequence[str], *, workspace: WorkFolder, **how: Any) -> CommandResult:
        pattern = find_matching_pattern(self._patterns, argv)
        if pattern and (why := await self._find_refusal(argv, workspace.env.get("BOUGH_TASK", ""))):
            said = f"Not run: a command like `{pattern}` needs the person's approval, and {why}. Do not try it another "
            said += "way: continue without it, and say at the end what is left to do.\n"
            return CommandResult(REFUSED, said.encode(errors="replace"), 0.0)
        return await self._sandbox.run(argv, workspace=workspace, **how)

    async def _find_refusal(self, argv: Sequence[str], task: str) -> str:
        """Ask the person, and return why the command must not run; empty if it may."""
        if self._permit is None:
            return "nobody is there to ask"
        async with self._one_question:
            said = await self._permit(escape_invisible(format_command(argv)), task)
        if said is None:
            return "nobody answered"
        said = said.strip()
        if said.lower() in YES:
            return ""
        return "they said no" if said.lower() in ("", "n", "no") else f"they said: {said}"


def format_command(argv: Sequence[str]) -> str:
    """Format a command line as a person would write it."""
    return argv[2] if len(argv) == 3 and argv[1] == "-c" else shlex.join(argv)


def escape_invisible(text: str) -> str:
    """Escape characters that are invisible, move a terminal's cursor or reverse the text, and shorten a long text."""
    shown = "".join(one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} … ({len(shown) - _SHOWN:,} more characters)"


def find_matching_pattern(patterns: Sequence[str], argv: Sequence[str]) -> str | None:
    """Return the first pattern that matches a part of the command line, whatever the spacing and case."""
    words = " ".join(format_command(argv).lower().replace("\\\n", " ").split())
    return next((one for one in patterns if fnmatchcase(words, f"*{' '.join(one.lower().split())}*")), None)
