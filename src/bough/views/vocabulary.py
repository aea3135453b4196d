"""The words and styles in which every interface shows rungs of the ladder (bough's reactions to stuck work), patterns
of stuck work, states, statuses, roles and verdicts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bough.core.acceptance.verdict import Disagreement, Failure, Verdict
from bough.core.events import NeedlessFound, Rechecked
from bough.core.textual.cleaning import escape_text
from bough.core.tree.task_state import State
from bough.views.formatting import first_line, format_count, format_duration, name_some, one_line, pluralize

if TYPE_CHECKING:
    from bough.core.acceptance.evidence_table import RequirementStatus, Table

Told = tuple[str, str]
"""A description and the name of its style."""
STANDINGS: "tuple[RequirementStatus, ...]" = (
    "proven",
    "refuted",
    "tested only by its author",
    "not shown",
    "nothing to run",
    "superseded",
)
ROLES = {"builder": "builder", "bug_hunter": "bug hunter", "test_writer": "test writer", "critic": "critic"}
_RUNGS = (
    ("other_protocol", "switches to the other protocol", ""),
    ("attempts", "makes another attempt", ""),
    ("nudge", "nudges the agent", ""),
    ("prune", "prunes the context", "pruning the context"),
    ("decompose", "splits the task", "splitting the task"),
    ("zoom_out", "sets the task aside", ""),
    ("stronger_model", "switches to a stronger model", ""),
    ("verify", "checks whether it is done", ""),
    ("replan", "plans another approach", "planning another approach"),
    ("ask", "asks you", "asking you"),
    ("give_up", "gives up", ""),
)
"""The rungs of the escalation ladder in order: name, what bough does, and the words while it is doing that, if long."""
RUNGS = {rung: does for rung, does, _ in _RUNGS}
RUNGS_UNDER_WAY = {rung: doing for rung, _, doing in _RUNGS}
PATTERNS = {
    "repetitive_output": "repeats itself",
    "circular_tools": "goes in circles",
    "no_progress": "no progress",
    "repeated_error": "hits the same error over and over",
    "monologue": "talks without acting",
    "oscillation": "goes back and forth",
    "paging": "keeps reading",
    "max_rounds": "takes too long",
    "subtask_max_rounds": "takes too long",
}
"""The ways in which work gets stuck, in words."""
STATE_STYLES = {
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.CANCELLED: "red",
    State.TEST_FAILED: "yellow",
    State.BLOCKED: "yellow",
    State.IN_PROGRESS: "cyan",
    State.TESTING: "cyan",
}
STATUS_STYLES = {"completed": "green", "failed": "red", "running": "cyan"}
STATUS_WORDS = {
    "running": "running",
    "interrupted": "interrupted",
    "completed": "completed",
    "accepted": "accepted without proof",
    "not_proven": "finished, not proven",
    "failed": "failed",
    "budget": "budget spent",
    "stopped": "stopped",
    "unavailable": "model unavailable",
    "needs_approval": "waiting for your approval",
    "environment": "the check cannot run here",
    "paused": "paused",
    "waiting": "waiting for your answer",
    "quota": "quota exhausted",
}
"""A run's status in words. `interrupted`: the run is unfinished, and no process is working on it."""
EXAMINED_WORDS = {
    "completed": "proven",
    "failed": "refuted",
    "not_proven": "not shown",
    "needs_approval": "needs your word",
}
"""The words used instead for a run that examines somebody else's change."""
DONE = ("completed", "accepted")
"""The statuses of runs whose work counts as done: proven, or accepted by a person."""
OVER = (*DONE, "not_proven", "failed")
"""The statuses of finished runs; a run with any other status can be resumed."""


def describe_state(state: State) -> str:
    return state.value.replace("_", " ")


def describe_roles(tokens: Mapping[str, int]) -> str:
    """List the tokens that each role used, the largest number first."""
    ordered = sorted(tokens.items(), key=lambda each: -each[1])
    return ", ".join(f"{format_count(used)} {ROLES.get(role, role.replace('_', ' '))}" for role, used in ordered)


def describe_status(status: str, accepted: str = "", examines: str = "") -> str:
    """Describe a status. `accepted`: the person who accepted the work. `examines`: the examined change."""
    if examines and status in EXAMINED_WORDS:
        return EXAMINED_WORDS[status]
    return f"accepted by {accepted}" if status == "accepted" and accepted else STATUS_WORDS.get(status, status)


def ask_about_wishes(wishes: Mapping[str, str]) -> str:
    """Return the question whether to allow what a repository's settings ask for."""
    listed = "\n".join(f"{one_line(name)} = {one_line(value)}" for name, value in wishes.items())
    return f"The settings of this repository ask for more than the defaults:\n{listed}\nAllow that here, from now on?"


def describe_recheck(event: Rechecked) -> str:
    """Return `proven at 1a2b3c4d5e` or `broken by 1a2b3c4d5e: test_totals fails`."""
    if event.standing == "proven":
        return f"proven at {event.commit[:10]}"
    if event.standing == "conflicts":
        return f"conflicts with {event.culprit[:10] or event.commit[:10]} in {event.why}"
    return f"{f'broken by {event.culprit[:10]}' if event.culprit else f'broken at {event.commit[:10]}'}: {event.why}"


def describe_needless(found: NeedlessFound | None) -> Iterator[tuple[str, str]]:
    """Describe, with styles, the parts of a change that no test needs, the undecided parts, and the tests that ran."""
    if found is None:
        return
    for part in found.needless:
        yield f"Nothing that was asked needs this: {part}", "yellow"
    for part in found.undecided:
        yield f"Not decided: {part}: {part.why}", "dim"
    tried = "Shown by" if found.needless else "Every part that was tried is needed, as shown by"
    yield f"{tried} {name_some(found.tests)}; {found.checks} of at most {found.limit} checks.", "dim"


RULING_STYLES = {"passed": "green", "not_verified": "yellow"}
"""The styles of rulings; all other rulings are red."""


def choose_style(verdict: Verdict) -> str:
    return RULING_STYLES.get(verdict.ruling, "red")


def describe_verdict(verdict: Verdict) -> str:
    """Describe a verdict with its evidence: `check passed: pytest -q (exit status 0, tests: 3 passed, 1.2 s)`."""
    return describe_evidence(verdict) if verdict.ruling == "not_verified" else f"check {describe_evidence(verdict)}"


def describe_evidence(verdict: Verdict) -> str:
    """Return `passed: pytest -q (exit status 0, tests: 3 passed, 1.2 s)`."""
    ruling = verdict.ruling.replace("_", " ")
    if not verdict.command:
        return f"{ruling}: {verdict.reason}"
    if verdict.ruling == "passed" and verdict.exit_status:
        ruling = "accepted"
    how = "killed" if verdict.exit_status is None else f"exit status {verdict.exit_status}"
    return (
        f"{ruling}: {verdict.command} "
        f"({', '.join(filter(None, (how, verdict.tests, format_duration(verdict.seconds))))})"
    )


def list_shortcomings(verdict: Verdict, most: int) -> list[str]:
    """List in at most `most` lines what is wrong: original tests that fail on the new code, else failing tests, else
    the end of the check's output. Empty if the check passed, or nothing was checked."""
    if verdict.ruling in ("passed", "not_verified"):
        return []
    lines = [line for one in verdict.disagreements for line in _describe_disagreement(one)]
    lines = lines or [_describe_failure(failure) for failure in verdict.failures]
    if lines:
        return lines if len(lines) <= most else [*lines[: most - 1], f"… and {len(lines) - most + 1} more"]
    return [line for line in escape_text(verdict.output).splitlines() if line.strip()][-most:]


def _describe_disagreement(one: Disagreement) -> list[str]:
    """Describe a test: its result on the new code, then its old and its new expectation."""
    lines = [f"{one.test}: {first_line(one.said)}"]
    lines += [f"  - {escape_text(line).strip()}" for line in one.was.splitlines()]
    return lines + [f"  + {escape_text(line).strip()}" for line in one.now.splitlines()]


def _describe_failure(failure: Failure) -> str:
    message = first_line("\n".join(line for line in failure.text.splitlines() if failure.id not in line))
    return f"{failure.id} ({failure.kind})" + (f": {message}" if message else "")


def render_totals(table: "Table") -> str:
    """Return `12 requirements: 9 proven, 1 refuted, 2 not shown`."""
    counts = Counter(row.standing for row in table.rows)
    said = ", ".join(f"{counts[standing]} {standing}" for standing in STANDINGS if counts[standing])
    return f"{pluralize(len(table.rows), 'requirement')}: {said}"
