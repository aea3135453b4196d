"""What a person may want to do next."""

from __future__ import annotations

from bough.core.budget.ledger import LAST_SHARE, Limits, Spend
from bough.interfaces.terminal.formatting import pad
from bough.interfaces.terminal.output import TerminalOutput
from bough.views.run_view import RunView

Advice = tuple[str, str]
"""A command line, and what it is good for."""


def list_next_steps(run: RunView, status: str, changed: bool) -> list[Advice]:
    """Commands that make sense now, the likeliest first; where nothing is changed, none that is about changes."""
    about_changes = ("bough diff ", "bough apply ")
    return [step for step in _list_steps(run, status) if changed or not step[0].startswith(about_changes)]


def _list_steps(run: RunView, status: str) -> list[Advice]:
    name = run.name
    look = (f"bough diff {name}", "see what it changed")
    partial = (f"bough apply {name} --partial", "take the work as it is, not verified")
    match status:
        case "completed" if run.applied:
            return [look]
        case "completed":
            return [look, (f"bough apply {name}", "bring it into your files")]
        case "not_verified":
            return [look, (f"bough verify {name} --check CMD", "prove it by another check"), partial]
        case "failed":
            again = (f"bough rewind {name}", "list the rounds it can be taken back to, to try again from there")
            return [(f"bough log {name}", "see what was tried"), look, again, partial]
        case "budget":
            return [
                (f"bough resume {name} {_suggest_limit(run.spend, run.limits)}", "go on with a larger budget"),
                look,
            ]
        case "unavailable":
            return [("bough doctor", "see what is wrong"), (f"bough resume {name}", "go on")]
        case "quota":
            itself = (f"bough resume {name} --wait-for-quota", "wait, and go on by itself when there is quota again")
            return [itself, (f"bough resume {name} --model M", "go on now, with another model")]
        case "needs_approval":
            allow = (f"bough approve {name}", "let these tests change, and go on")
            return [look, allow, (f"bough approve {name} --deny", "send it back to the agent")]
        case "waiting":
            answer = (f'bough answer {name} "…"', "answer it, and go on")
            return [(f"bough status {name}", "read the question"), answer, look]
        case "environment":
            return [("bough check", "see whether it is solved"), (f"bough resume {name}", "go on")]
        case "running":
            say = (f'bough say {name} "…"', "tell its agents something")
            stop = (f"bough stop {name}", "stop it; it can be resumed")
            asked = [(f'bough answer {name} "…"', "answer its question")] if run.question else []
            if run.held:
                asked.append((f"bough approve {name} --command yes", "let the command run that waits for you"))
            return [*asked, (f"bough log {name} --follow", "watch it"), say, stop]
        case _:
            return [(f"bough resume {name}", "go on"), look]


def _suggest_limit(spend: Spend, limits: Limits) -> str:
    """The option that lifts the limit which is spent, at twice the limit."""
    if limits.tokens is not None and spend.tokens >= limits.tokens * LAST_SHARE:
        return f"--max-tokens {limits.tokens * 2}"
    if limits.cost is not None and spend.cost >= limits.cost * LAST_SHARE:
        return f"--max-cost {limits.cost * 2:g}"
    if limits.minutes is not None and spend.rounds < limits.rounds - 1:
        return f"--max-minutes {limits.minutes * 2:g}"
    return f"--rounds {limits.rounds * 2}"


def print_advice(page: TerminalOutput, steps: list[Advice]) -> None:
    room = max((len(command) for command, _ in steps), default=0)
    for command, use in steps:
        page.line("  ", (pad(command, room), "bold"), (f"  {use}", "dim"))
