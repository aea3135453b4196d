"""A check's command line as something that can be run, and the result of running it, in one sentence for people."""

from __future__ import annotations

import shutil
import signal

from bough.core.shell_syntax import split_argv
from bough.ports import Finished


def to_argv(command: str) -> list[str]:
    """A command line as its words; as one line for a shell when it needs one."""
    return split_argv(command) or [shutil.which("bash") or "sh", "-c", command]


def describe_result(finished: Finished) -> str:
    """The result of the check, in one sentence for people."""
    status, took = finished.exit_status, f"{finished.seconds:.1f} s"
    if status == 0:
        return f"the check passed (exit status 0 in {took})"
    if finished.killed.endswith("of output"):
        return f"the check was killed {finished.killed}: make it print less"
    if status is None:
        return f"the check was killed {finished.killed}: make it faster, or raise check_timeout under [limits]"
    if status == 127:
        return "the check's command was not found (exit status 127): is it installed, and spelled right?"
    if status == 126:
        return "the check's command cannot be executed (exit status 126): is it an executable program?"
    if status > 128 and (name := _name_signal(status - 128)):
        return f"the check was killed by {name} (exit status {status}) after {took}"
    return f"the check failed with exit status {status} after {took}"


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
