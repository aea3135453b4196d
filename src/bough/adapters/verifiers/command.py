"""A check's command line as something that can be run, and what came of running it, in one sentence for people."""

from __future__ import annotations

import shlex
import shutil
import signal

from bough.ports import Finished

_SHELL_ONLY = frozenset(
    {".", ":", "!", "[[", "alias", "case", "cd", "declare", "eval", "exec", "exit", "export", "for", "function", "if"}
    | {"local", "let", "popd", "pushd", "read", "set", "shopt", "source", "time", "trap", "type", "ulimit", "umask"}
    | {"unset", "until", "wait", "while"}
)
"""First words that only a shell understands."""
_OPERATORS = frozenset("|&;<>()$`*?[{\n")
"""What means something to a shell outside of quotes."""


def to_argv(command: str) -> list[str]:
    """A command line as its words; as one line for a shell when it needs one."""
    if not needs_shell(command):
        return shlex.split(command)
    return [shutil.which("bash") or "sh", "-c", command]


def needs_shell(command: str) -> bool:
    """Whether the line holds anything that only a shell understands: operators, variables, patterns, built-ins."""
    try:
        words = shlex.split(command)
    except ValueError:  # an open quote: the shell says it best
        return True
    if not words or words[0] in _SHELL_ONLY or _assigns(words[0]):
        return True
    return _has_operator(command)


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _has_operator(command: str) -> bool:
    quote = ""
    before = " "
    letters = iter(command)
    for letter in letters:
        if quote == "'":
            quote = "" if letter == "'" else quote
        elif letter == "\\":
            next(letters, "")
        elif quote == '"':
            if letter in "$`":
                return True
            quote = "" if letter == '"' else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _OPERATORS or (letter in "~#" and before.isspace()):
            return True
        before = letter
    return False


def reason_of(finished: Finished) -> str:
    """What came of the check, in one sentence for people."""
    status, took = finished.exit_status, f"{finished.seconds:.1f} s"
    if status == 0:
        return f"the check passed (exit status 0 in {took})"
    if finished.killed.endswith("of output"):
        return f"the check was killed {finished.killed}: make it print less"
    if status is None:
        return f"the check was killed {finished.killed}: make it quicker, or raise check_timeout under [limits]"
    if status == 127:
        return "the check's command was not found (exit status 127): is it installed, and spelled right?"
    if status == 126:
        return "the check's command cannot be executed (exit status 126): is it a program, with the right to run?"
    if status > 128 and (name := _signal(status - 128)):
        return f"the check was ended by {name} (exit status {status}) after {took}"
    return f"the check failed with exit status {status} after {took}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
