"""Several fresh attempts at the same step: for work that a check can judge and a model that is sometimes right."""

from __future__ import annotations

from msgspec.structs import replace

from bough.core.planning.plan import Step

TEMPERATURES = (0.8, 0.6, 1.0, 0.7, 0.9)
"""Identical answers would make one attempt of many."""


def build_attempts(step: Step, count: int) -> tuple[Step, ...]:
    """`count` copies of the step, each to run on its own."""
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
