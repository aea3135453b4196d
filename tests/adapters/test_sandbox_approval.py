"""Commands that the person wants to see first."""

import asyncio
from pathlib import Path

import pytest

from bough.adapters.sandboxes.approval import escape_invisible, find_matching_pattern, require_approval
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.workspaces.plain_folder import make_plain_folder
from bough.ports import CommandResult

PATTERNS = ("git push", "npm*publish", "*deploy*")


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("git push origin main", "git push"),
        ("cd src && git   push", "git push"),
        ("git \\\n push", "git push"),
        ("Git PUSH", "git push"),
        ("npm --access public publish", "npm*publish"),
        ("make deploy-all", "*deploy*"),
        ("git pull", None),
        ("git status; echo pushed", None),
        ("npm test", None),
    ],
)
def test_a_pattern_fits_a_part_of_the_line(line: str, pattern: str | None) -> None:
    assert find_matching_pattern(PATTERNS, ["bash", "-c", line]) == pattern


def test_a_program_with_arguments_is_a_line_too() -> None:
    assert find_matching_pattern(PATTERNS, ["git", "push"]) == "git push"


def test_nothing_is_hidden_from_the_person() -> None:
    assert escape_invisible("git push evil\rls\x1b[2K\u202e") == "git push evil\\rls\\x1b[2K\\u202e"
    assert escape_invisible("x" * 3_000).endswith(" … (1,000 more characters)")


@pytest.mark.parametrize(
    ("answer", "runs", "why"),
    [
        ("y", True, ""),
        ("Yes ", True, ""),
        ("n", False, "they said no"),
        ("", False, "they said no"),
        ("only to the fork", False, "they said: only to the fork"),
        (None, False, "nobody answered"),
        ("nobody there", False, "nobody is there to ask"),
    ],
)
def test_only_a_yes_lets_it_run(tmp_path: Path, answer: str | None, runs: bool, why: str) -> None:
    shown: list[str] = []

    async def permit(line: str, task: str) -> str | None:
        shown.append(line)
        return answer

    sandbox = make_sandbox("none", {"PATH": "/usr/bin:/bin"})
    asked = require_approval(sandbox, PATTERNS, None if answer == "nobody there" else permit)

    checkout = make_plain_folder(tmp_path)

    async def run(line: str) -> CommandResult:
        return await asked.run(["bash", "-c", line], workspace=checkout, timeout=9, limit=999)

    line = "touch ran; echo git push"
    done = asyncio.run(run(line))
    assert (checkout.root / "ran").exists() == runs
    assert done.exit_status == (0 if runs else 126)
    assert runs or (why in done.output.decode() and "`git push` needs the person's approval" in done.output.decode())
    assert shown == ([] if answer == "nobody there" else [line])
    assert asyncio.run(run("echo hello")).output == b"hello\n"
    assert "Commands like `git push`, `npm*publish`, `*deploy*` run only when the person allows them." in asked.says
    assert require_approval(sandbox, (), permit) is sandbox
