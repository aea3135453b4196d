"""`bash`: a command line in the sandbox."""

import asyncio
import json
import os

import pytest

from bough.adapters.sandboxes.env import make_env
from bough.adapters.sandboxes.process import make_sandbox
from bough.adapters.tools.workbench import WorkbenchTools
from bough.adapters.workspaces.plain_folder import PlainFolder
from bough.core.messages import Call
from bough.core.rules import Rules
from tests.adapters.test_sandbox import checkout, linux, token
from tests.adapters.test_tools import TOOLS, use

__all__ = ["checkout", "token"]
from tests.conformance.sandboxes import alive


def test_output_and_exit_status(checkout: PlainFolder) -> None:
    result = use(checkout, "bash", command="echo out; echo err >&2")
    assert result.ok and result.output.startswith("out\nerr\n(exit status 0, ")
    result = use(checkout, "bash", command="echo bad; exit 3")
    assert not result.ok and not result.fault and "bad\n(exit status 3, " in result.output
    assert use(checkout, "bash", command="true").output.startswith("(no output, exit status 0")


@pytest.mark.parametrize(
    ("closing", "passed"),
    [
        ("Ran 5 tests in 0.1s\n\nFAILED (failures=2, errors=1)", 2),
        ("1 failed, 10 passed in 0.12s", 10),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out", 3),
        ("ERROR collecting test_a.py\n1 error in 0.1s", 0),
        ("3 of them passed, I think", None),
    ],
)
def test_a_run_of_tests_says_how_many_passed(checkout: PlainFolder, closing: str, passed: int | None) -> None:
    (checkout.root / "said").write_text(closing + "\n")
    assert use(checkout, "bash", command="cat said  # as a test would").passed == passed
    assert use(checkout, "bash", command="cat said").passed is None, "nobody was running tests"


def test_it_starts_in_the_folder_and_keeps_nothing(checkout: PlainFolder) -> None:
    (checkout.root / "sub").mkdir()
    below = PlainFolder(checkout.root, checkout.root / "sub", checkout.scratch)
    assert use(below, "bash", command="pwd; cd /; X=1").output.startswith(f"{checkout.root}/sub\n")
    assert use(below, "bash", command='pwd; echo "[$X]"').output.startswith(f"{checkout.root}/sub\n[]\n")
    assert use(below, "bash", command="echo $TMPDIR; touch $TMPDIR/x && [[ -e $TMPDIR/x ]]").ok


def test_long_output_is_head_and_tail_and_kept_whole(checkout: PlainFolder) -> None:
    result = use(checkout, "bash", command="seq 1 100000; exit 1")
    assert len(result.output) <= Rules().shown
    assert result.output.startswith("1\n2\n3\n") and "\n100000\n(exit status 1, " in result.output
    assert " lines, " in result.output and "left out" in result.output
    assert result.whole == "".join(f"{n}\n" for n in range(1, 100001)).encode()
    assert use(checkout, "bash", command="seq 1 10").whole is None


def test_one_endless_line(checkout: PlainFolder) -> None:
    result = use(checkout, "bash", command="head -c 1000000 /dev/zero | tr '\\0' x; echo END")
    assert len(result.output) <= Rules().shown and "END" in result.output and len(result.whole or b"") == 1_000_004


def test_output_is_cleaned(checkout: PlainFolder) -> None:
    command = r"""printf '\033[31mred\033[0m\n10%%\r20%%\r100%%\n\xff\xfe\n\0'"""
    assert use(checkout, "bash", command=command).output.startswith("red\n100%\n��\n")


def test_endless_output_is_cut_off_with_advice(checkout: PlainFolder) -> None:
    result = use(checkout, "bash", command="yes", rules=Rules(kept=1_000_000))
    assert not result.ok and "killed after 1 MB of output" in result.output and "print less" in result.output
    assert result.whole is not None and len(result.whole) == 1_000_000


def test_a_timeout_is_named_with_advice(checkout: PlainFolder) -> None:
    result = use(checkout, "bash", command="echo before; sleep 600", timeout=0.3)
    assert not result.ok and result.output.startswith("before\n(killed after 0.3 s")
    assert "`timeout` (up to 600)" in result.output


def test_the_default_and_the_longest_time_are_the_rules(checkout: PlainFolder) -> None:
    rules = Rules(bash_timeout=0.2, bash_longest=0.4)
    assert "killed after 0.2 s" in use(checkout, "bash", command="sleep 60", rules=rules).output
    longest = use(checkout, "bash", command="sleep 60", timeout=1000, rules=rules).output
    assert "killed after 0.4 s" in longest and "ask for more time" not in longest


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b"])
def test_an_unusable_command_is_a_fault(checkout: PlainFolder, command: str) -> None:
    assert use(checkout, "bash", command=command).fault


def test_a_command_line_too_long_for_the_system(checkout: PlainFolder) -> None:
    result = use(checkout, "bash", command="echo " + "x" * 200_000)
    assert not result.ok and "`write` the long part to a file" in result.output


@linux
def test_nothing_is_left_running(checkout: PlainFolder, token: str) -> None:
    assert use(checkout, "bash", command=f"sleep {token} & setsid sleep {token} & echo started").ok
    assert alive(token) == []


def test_a_planted_key_is_not_in_the_environment(checkout: PlainFolder) -> None:
    key = "sk-planted-0123456789abcdef"
    source = {**os.environ, "ANTHROPIC_API_KEY": key, "OPENAI_API_KEY": key}
    tools = WorkbenchTools(make_sandbox("auto", make_env(source, [key])))
    result = use(checkout, "bash", tools=tools, command="env; printenv OPENAI_API_KEY; export -p; true")
    assert "PATH=" in result.output and key not in result.output and "API_KEY" not in result.output


def test_progress_comes_while_it_runs(checkout: PlainFolder) -> None:
    lines: list[str] = []
    call = Call("1", "bash", json.dumps({"command": "echo one; sleep 0.2; echo two"}))
    asyncio.run(TOOLS.run(call, checkout, Rules(), lines.append))
    assert lines == ["one", "two"]
