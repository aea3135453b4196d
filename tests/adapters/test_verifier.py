"""A check's command as it is run, and what is said of how it ended."""

import asyncio
import os
import sys

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.verifiers.check_runner import to_argv
from bough.adapters.workspaces.plain_folder import PlainFolder
from bough.core.verdict.check_run import describe_result
from bough.ports import CommandResult
from tests.adapters.test_sandbox import checkout, linux, token
from tests.conformance.sandboxes import alive

__all__ = ["checkout", "token"]

SANDBOX = make_sandbox("auto", make_env(os.environ))


def check(
    checkout: PlainFolder, command: str, timeout: float = 30, limit: int = 1_000_000
) -> tuple[CommandResult, str]:
    finished = asyncio.run(SANDBOX.run(to_argv(command), workspace=checkout, timeout=timeout, limit=limit))
    reason = describe_result(finished)
    assert reason and "\n" not in reason
    return finished, reason


def test_exit_status_0_passes(checkout: PlainFolder) -> None:
    finished, reason = check(checkout, "echo fine")
    assert finished.exit_status == 0 and finished.output == b"fine\n" and finished.seconds > 0
    assert reason.startswith("the check passed")


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("exit 1", 1, "failed with exit status 1"),
        ("echo OK passed; false", 1, "failed with exit status 1"),
        ("no-such-program --x", 127, "not found"),
        ("no-such-program | cat; exit ${PIPESTATUS[0]}", 127, "not found"),
        ("./data.txt", 126, "cannot be executed"),
        ("kill -SEGV $$", 139, "killed by SIGSEGV"),
        ("exit 200", 200, "failed with exit status 200"),
        ("'open quote", 2, "failed with exit status 2"),
    ],
)
def test_anything_else_fails_and_says_why(checkout: PlainFolder, command: str, status: int, says: str) -> None:
    (checkout.root / "data.txt").write_text("x")
    finished, reason = check(checkout, command)
    assert finished.exit_status == status and says in reason


def test_a_check_that_takes_too_long_fails(checkout: PlainFolder) -> None:
    finished, reason = check(checkout, "echo started; sleep 60", timeout=0.3)
    assert finished.exit_status is None and finished.output == b"started\n"
    assert "killed after 0.3 s" in reason and "check_timeout" in reason


def test_a_check_that_prints_too_much_fails(checkout: PlainFolder) -> None:
    finished, reason = check(checkout, "yes", limit=100_000)
    assert finished.exit_status is None and "killed after 100,000 bytes of output" in reason


def test_it_runs_where_the_person_stood(checkout: PlainFolder) -> None:
    (checkout.root / "sub").mkdir()
    below = PlainFolder(checkout.root, checkout.root / "sub", checkout.scratch)
    assert check(below, "pwd")[0].output.decode().strip() == str(checkout.root / "sub")


def test_an_edit_of_the_same_size_in_the_same_second_is_seen(checkout: PlainFolder) -> None:
    """Python would otherwise run the bytecode of what was there before."""
    command = f"{sys.executable} -c 'import calc; assert calc.add(2, 2) == 5'"
    source = checkout.root / "calc.py"
    for operator, status in (("+ 0 +", 1), ("+ 1 +", 0), ("+ 0 +", 1)):
        source.write_text(f"def add(a, b): return a {operator} b\n")
        os.utime(source, (1_700_000_000, 1_700_000_000))
        assert check(checkout, command)[0].exit_status == status


@linux
def test_nothing_of_a_check_is_left(checkout: PlainFolder, token: str) -> None:
    assert check(checkout, f"setsid sleep {token} & true")[0].exit_status == 0
    assert alive(token) == []


@pytest.mark.parametrize(
    "command",
    [
        "a | b",
        "a && b",
        "a; b",
        "a > out",
        "a 2>&1",
        "a < in",
        "a &",
        "echo $HOME",
        'echo "$HOME"',
        "echo `date`",
        "(a)",
        "ls *.py",
        "ls a?",
        "ls [ab]",
        "ls {a,b}",
        "ls ~/x",
        "a # comment",
        "CI=1 pytest",
        "cd sub",
        "source venv/bin/activate",
        ". env",
        "export X=1",
        "! a",
        "if a; then b; fi",
        "[[ -e x ]]",
        "a\nb",
        "a 'open",
        " ",
    ],
)
def test_what_needs_a_shell(command: str) -> None:
    assert to_argv(command)[1:] == ["-c", command]


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("pytest -q tests/test_a.py", ["pytest", "-q", "tests/test_a.py"]),
        ("pytest -k 'a and (b or c)'", ["pytest", "-k", "a and (b or c)"]),
        ('pytest -k "not (slow | big)"', ["pytest", "-k", "not (slow | big)"]),
        ("grep '$HOME' a", ["grep", "$HOME", "a"]),
        (r"grep \$HOME a\ b", ["grep", "$HOME", "a b"]),
        ("make test X=1", ["make", "test", "X=1"]),
        ("git log a~1 b#c", ["git", "log", "a~1", "b#c"]),
        ("./run --set a.b=c", ["./run", "--set", "a.b=c"]),
        ("echo it's\\ fine'", ["echo", "its\\ fine"]),
    ],
)
def test_what_is_split_into_words(command: str, argv: list[str]) -> None:
    assert to_argv(command) == argv
