"""Verdicts in words, with their evidence."""

from __future__ import annotations

from bough.core.acceptance.verdict import Disagreement, Failure, Verdict
from bough.core.textual.cleaning import escape_text
from bough.views.formatting import first_line, format_duration

RULING_STYLES = {"passed": "green", "not_verified": "yellow"}
"""The others are red."""


def choose_style(verdict: Verdict) -> str:
    return RULING_STYLES.get(verdict.ruling, "red")


def describe_verdict(verdict: Verdict) -> str:
    """The verdict with its evidence: `check passed: pytest -q (exit status 0, tests: 3 passed, 1.2 s)`"""
    return describe_evidence(verdict) if verdict.ruling == "not_verified" else f"check {describe_evidence(verdict)}"


def describe_evidence(verdict: Verdict) -> str:
    """`passed: pytest -q (exit status 0, tests: 3 passed, 1.2 s)`"""
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
    """What is wrong, in at most `most` lines: weakened tests, else failing tests, else the end of the check's output.
    Empty when it passed."""
    if verdict.ruling in ("passed", "not_verified"):
        return []
    lines = [f"{place.path}:{place.line}: {place.what}" for place in verdict.tampering]
    lines += [line for one in verdict.disagreements for line in _describe_disagreement(one)]
    lines = lines or [_describe_failure(failure) for failure in verdict.failures]
    if lines:
        return lines if len(lines) <= most else [*lines[: most - 1], f"… and {len(lines) - most + 1} more"]
    return [line for line in escape_text(verdict.output).splitlines() if line.strip()][-most:]


def _describe_disagreement(one: Disagreement) -> list[str]:
    """A test, what it says about the new code, what it expected and what it expects now."""
    lines = [f"{one.test}: {first_line(one.said)}"]
    lines += [f"  - {escape_text(line).strip()}" for line in one.was.splitlines()]
    return lines + [f"  + {escape_text(line).strip()}" for line in one.now.splitlines()]


def _describe_failure(failure: Failure) -> str:
    message = first_line("\n".join(line for line in failure.text.splitlines() if failure.id not in line))
    return f"{failure.id} ({failure.kind})" + (f": {message}" if message else "")
