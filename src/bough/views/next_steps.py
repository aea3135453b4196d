"""Suggestions for what to do next."""

from bough.core.budget.limits import LAST_SHARE, Limits, Spend
from bough.views.run_view import RunView
from bough.views.vocabulary import EXAMINED_WORDS

Suggestion = tuple[str, str]
"""A command line and its purpose."""


def list_next_steps(run: RunView, status: str, changed: bool) -> list[Suggestion]:
    """List the commands that make sense now, the likeliest first. `changed`: whether the run changed any files."""
    if run.examines and status in EXAMINED_WORDS:
        return _list_steps_after_examination(run.name, status)
    about_changes = ("bough diff ", "bough apply ")
    return [step for step in _list_steps(run, status) if changed or not step[0].startswith(about_changes)]


def _list_steps_after_examination(name: str, status: str) -> list[Suggestion]:
    report = (f"bough report {name} --full", "see all evidence")
    repair = (f'bough run --continue {name} "…"', "have it repaired or completed")
    allow = (f"bough approve {name}", "allow these test changes and resume")
    deny = (f"bough approve {name} --deny", "refuse them: the change counts as refuted")
    return [allow, deny] if status == "needs_approval" else [report] if status == "completed" else [report, repair]


def _list_steps(run: RunView, status: str) -> list[Suggestion]:
    name = run.name
    look = (f"bough diff {name}", "see the changes")
    partial = (f"bough apply {name} --partial", "apply the work even though it is not proven")
    match status:
        case "completed" | "accepted" if run.applied:
            return [look]
        case "completed" | "accepted":
            return [look, (f"bough apply {name}", "apply the changes to your files")]
        case "not_proven":
            other = (f"bough verify {name} --check CMD", "prove it with a check that fails without the work")
            accept = (f"bough verify {name} --accept", "take it as it is")
            return [look, (f"bough report {name}", "see what is shown"), other, accept, partial]
        case "failed":
            again = (f"bough rewind {name}", "list the points it can be rewound to")
            return [(f"bough log {name}", "see what was tried"), look, again, partial]
        case "budget":
            return [
                (f"bough resume {name} {_suggest_limit(run.spend, run.limits)}", "resume with a larger budget"),
                look,
            ]
        case "unavailable":
            return [("bough doctor", "see what is wrong"), (f"bough resume {name}", "resume it")]
        case "quota":
            itself = (f"bough resume {name} --wait-for-quota", "wait until the quota resets, then resume")
            return [itself, (f"bough resume {name} --model M", "resume now with another model")]
        case "needs_approval":
            allow = (f"bough approve {name}", "allow these test changes and resume")
            return [look, allow, (f"bough approve {name} --deny", "send it back to the agent")]
        case "waiting":
            answer = (f'bough answer {name} "…"', "answer and resume")
            return [(f"bough status {name}", "read the question"), answer, look]
        case "environment":
            return [("bough check", "see whether it is fixed"), (f"bough resume {name}", "resume it")]
        case "running":
            say = (f'bough say {name} "…"', "send its agents a message")
            stop = (f"bough stop {name}", "stop it; it can be resumed")
            asked = [(f'bough answer {name} "…"', "answer its question")] if run.question else []
            if run.held:
                asked.append((f"bough approve {name}", "approve the command that is waiting"))
            return [*asked, (f"bough log {name} --follow", "watch it"), say, stop]
        case _:
            return [(f"bough resume {name}", "resume it"), look]


def _suggest_limit(spend: Spend, limits: Limits) -> str:
    """Return the option that doubles the exhausted limit."""
    if limits.tokens is not None and spend.tokens >= limits.tokens * LAST_SHARE:
        return f"--max-tokens {limits.tokens * 2}"
    if limits.cost is not None and spend.cost >= limits.cost * LAST_SHARE:
        return f"--max-cost {limits.cost * 2:g}"
    if limits.minutes is not None and spend.rounds < limits.rounds - 1:
        return f"--max-minutes {limits.minutes * 2:g}"
    return f"--rounds {limits.rounds * 2}"
