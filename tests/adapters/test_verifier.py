"""The check, and the verdict that comes of it."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.verifiers.command import CommandVerifier, needs_shell, to_argv
from bough.core.acceptance import Verdict
from bough.core.events import CheckFinished, encode
from bough.core.plan import Step
from bough.core.rules import Rules
from tests.adapters.test_sandbox import Checkout, alive, checkout, linux, token

__all__ = ["checkout", "token"]

VERIFIER = CommandVerifier(make_sandbox("auto", make_env(os.environ)))


def verify(checkout: Checkout, step: Step, rules: Rules | None = None) -> tuple[Verdict, bytes | None]:
    verdict, whole = asyncio.run(VERIFIER.verify(step, checkout, "tree", rules or Rules(), lambda line: None))
    assert verdict.reason and "\n" not in verdict.reason
    assert verdict.tree == "tree"
    assert encode(CheckFinished(verdict))
    return verdict, whole


def check(checkout: Checkout, command: str, rules: Rules | None = None) -> Verdict:
    return verify(checkout, Step("s", "do", test_command=command), rules)[0]


def test_exit_status_0_passes(checkout: Checkout) -> None:
    verdict = check(checkout, "echo fine")
    assert verdict.ruling == "passed" and verdict.exit_status == 0 and verdict.output == "fine"
    assert verdict.command == "echo fine" and verdict.seconds > 0


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        ("exit 1", 1, "failed with exit status 1"),
        ("echo OK passed; false", 1, "failed with exit status 1"),
        ("no-such-program --x", 127, "not found"),
        ("no-such-program | cat; exit ${PIPESTATUS[0]}", 127, "not found"),
        ("./data.txt", 126, "cannot be executed"),
        ("kill -SEGV $$", 139, "ended by SIGSEGV"),
        ("exit 200", 200, "failed with exit status 200"),
        ("'open quote", 2, "failed with exit status 2"),
    ],
)
def test_anything_else_fails_and_says_why(checkout: Checkout, command: str, status: int, says: str) -> None:
    (checkout.root / "data.txt").write_text("x")
    verdict = check(checkout, command)
    assert verdict.ruling == "failed" and verdict.exit_status == status and says in verdict.reason


def test_a_check_that_takes_too_long_fails(checkout: Checkout) -> None:
    verdict = check(checkout, "echo started; sleep 60", Rules(check_timeout=0.3))
    assert verdict.ruling == "failed" and verdict.exit_status is None
    assert "killed after 0.3 s" in verdict.reason and "check_timeout" in verdict.reason
    assert verdict.output == "started"


def test_a_check_that_prints_too_much_fails(checkout: Checkout) -> None:
    verdict = check(checkout, "yes", Rules(kept=100_000))
    assert verdict.ruling == "failed" and "killed after 100,000 bytes of output" in verdict.reason


def test_long_output_is_head_and_tail_and_whole(checkout: Checkout) -> None:
    verdict, whole = verify(checkout, Step("s", "do", test_command="seq 50000"))
    assert len(verdict.output) <= Rules().shown
    assert verdict.output.startswith("1\n2\n") and verdict.output.endswith("\n50000") and "left out" in verdict.output
    assert whole == "".join(f"{n}\n" for n in range(1, 50001)).encode()
    assert verify(checkout, Step("s", "do", test_command="seq 5"))[1] is None


def test_output_that_is_no_text(checkout: Checkout) -> None:
    assert check(checkout, r"printf '\xff\033[31mred\033[0m'").output == "�red"


def test_without_a_check_nothing_is_verified(checkout: Checkout) -> None:
    verdict, whole = verify(checkout, Step("s", "do"))
    assert verdict.ruling == "not_verified" and whole is None
    assert verdict.reason == "finished, not verified: no check was given (use --check CMD)"
    assert VERIFIER.command(Step("s", "do")) == ""


def test_a_step_that_needs_none_passes(checkout: Checkout) -> None:
    step = Step("s", "plan", test_command="touch ran; false", requires_testing=False)
    verdict, _ = verify(checkout, step)
    assert verdict.ruling == "passed" and verdict.reason == "no check was required" and verdict.exit_status is None
    assert VERIFIER.command(step) == "" and not (checkout.root / "ran").exists()


def test_the_command_is_the_steps_own() -> None:
    assert VERIFIER.command(Step("s", "do", test_command="pytest -q")) == "pytest -q"


def test_it_runs_where_the_person_stood(checkout: Checkout) -> None:
    (checkout.root / "sub").mkdir()
    below = Checkout(checkout.root, checkout.root / "sub", checkout.scratch)
    assert check(below, "pwd").output == str(checkout.root / "sub")


def test_an_edit_of_the_same_size_in_the_same_second_is_seen(checkout: Checkout) -> None:
    """Python would otherwise run the bytecode of what was there before."""
    command = f"{sys.executable} -c 'import calc; assert calc.add(2, 2) == 5'"
    source = checkout.root / "calc.py"
    for operator, ruling in (("+ 0 +", "failed"), ("+ 1 +", "passed"), ("+ 0 +", "failed")):
        source.write_text(f"def add(a, b): return a {operator} b\n")
        os.utime(source, (1_700_000_000, 1_700_000_000))
        assert check(checkout, command).ruling == ruling


@linux
def test_nothing_of_a_check_is_left(checkout: Checkout, token: str) -> None:
    assert check(checkout, f"setsid sleep {token} & true").ruling == "passed"
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
    assert needs_shell(command)
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
    assert not needs_shell(command)
    assert to_argv(command) == argv
