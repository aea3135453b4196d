"""The tool `bash`, which runs a command line in the sandbox."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from bough.adapters.sandboxes.limits import describe_hit
from bough.adapters.tools.output_text import cut_middle, decode_output
from bough.adapters.tools.tool import Bench, Refusal, Tool
from bough.core.rules import Rules
from bough.ports import CommandResult, ToolResult
from bough.trust.programs import make_shell_argv

_LONGEST = 100_000
"""The most bytes of a command line: Linux allows 128 KiB for a single argument of a program."""
_CLOSING = 10_000
"""How many characters at the end of an output are searched for a test runner's results."""
_LARGE = 1_000_000
"""An output of this many bytes or more is decoded in a thread, so that the event loop is not blocked."""


class Bash(Struct, frozen=True, forbid_unknown_fields=True):
    command: Annotated[str, Meta(description="The command line, run by `bash -c` in your starting folder.")]
    timeout: Annotated[float, Meta(description="Seconds until the command is killed, at most 600; 0: 120.", ge=0)] = 0


async def bash(arguments: Bash, bench: Bench) -> ToolResult:
    command = arguments.command
    if not command.strip():
        raise Refusal("`command` is empty: give the command line to run.", fault=True)
    if "\0" in command:
        raise Refusal("`command` contains a NUL character, which no command line can.", fault=True)
    if len(command.encode()) > _LONGEST:
        raise Refusal(
            f"`command` is longer than {_LONGEST:,} bytes: `write` the long part to a file and use that in the command."
        )
    rules = bench.rules
    timeout = min(arguments.timeout or rules.bash_timeout, rules.bash_longest)
    finished = await bench.sandbox.run(
        make_shell_argv(command),
        workspace=bench.workspace,
        timeout=timeout,
        limit=rules.kept,
        progress=bench.progress,
    )
    whole = finished.output
    text = decode_output(whole) if len(whole) < _LARGE else await asyncio.to_thread(decode_output, whole)
    shown, cut = cut_middle(text.rstrip("\n"), rules.shown - 400)
    output = "\n".join(part for part in (shown, _describe_ending(finished, timeout, rules)) if part)
    return ToolResult(
        output, ok=finished.exit_status == 0, whole=whole if cut else None, passed=_count_passed(command, text)
    )


def _count_passed(command: str, text: str) -> int | None:
    """Return how many tests passed, as the output says, if the command contains a word that suggests tests."""
    from bough.core.verdict.registry import RUNNERS, read_closing

    words = ("test", "check", *(runner.name for runner in RUNNERS if runner.wraps))
    found = read_closing(text[-_CLOSING:].split("\n"), "") if any(word in command for word in words) else None
    return found[1].passed if found is not None else None


def _describe_ending(finished: CommandResult, timeout: float, rules: Rules) -> str:
    took = f"{finished.seconds:.1f} s"
    if not finished.killed:
        silent = "" if finished.output.strip() else "no output, "
        reason = describe_hit(finished.exit_status, finished.killed)
        return f"({silent}exit status {finished.exit_status}, {took}{f'; {reason}' if reason else ''})"
    advice = "do less at once"
    if "output" in finished.killed:
        advice = "print less (quiet options, head, tail), or redirect it to a file in $TMPDIR"
    elif finished.seconds >= timeout and timeout < rules.bash_longest:
        advice = f"do less at once, or ask for more time with `timeout` (up to {rules.bash_longest:g})"
    return f"(killed {finished.killed}, with everything it started: {advice})"


BASH = Tool(
    name="bash",
    description=(
        "Run a command line. Each call is a shell of its own, without a terminal or input; when it ends, everything it "
        "started is killed too, so servers run only within one call. {reach} Output of more "
        "than 16,000 characters is shown as head and tail; a pipe into `tail` is not needed, and would hide the exit "
        "status."
    ),
    arguments=Bash,
    example='{"command": "python -m pytest -q tests/test_app.py", "timeout": 120}',
    writes=True,
    act=bash,
)
