"""Several fresh attempts at the same thing: for work that a check can judge, and a model that is right now and then."""

from __future__ import annotations

from msgspec.structs import replace

from bough.core.planning.plan import Step

TEMPERATURES = (0.8, 0.6, 1.0, 0.7, 0.9)
"""Attempts that answer alike would be one attempt."""


def build_attempts(step: Step, count: int) -> tuple[Step, ...]:
    """The step so many times, each to run on its own."""
    return tuple(
        replace(
            step,
            name=f"attempt-{number}",
            title=f"attempt {number} of {count}",
            steps=(),
            plan_first=False,
            parallel=False,
            join="all",
            needs=(),
            files=(),
            on_error="escalate",
            condition=None,
            summarize=False,
            attempt=number,
            temperature=TEMPERATURES[(number - 1) % len(TEMPERATURES)],
        )
        for number in range(1, count + 1)
    )
