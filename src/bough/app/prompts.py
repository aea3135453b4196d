"""The prompt templates that ship with bough, and those learned from a project's own runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.planning.guidance import with_guidance
from bough.core.planning.plan import PlanningRules

FILE = "optimised.json"
"""Next to the journal."""


class LearnedPrompt(Struct, frozen=True):
    """Guidance that did better than bough's own, and by how much."""

    guidance: str
    plain: float
    optimised: float
    runs: int
    model: str


@cache
def load_prompt(name: str) -> str:
    """A prompt template that ships with bough."""
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def choose_prompts(rules: PlanningRules, home: Path) -> Callable[[str], str]:
    """Return the templates by name, as the settings choose them."""
    if rules.prompts == "plain":
        return load_prompt
    try:
        learned = msgspec.json.decode((home / FILE).read_bytes(), type=dict[str, LearnedPrompt])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        learned = {}
    if not learned:
        raise UsageError(
            '[planning] prompts = "optimised", but there are none: `bough-optimise planner` looks for some '
            "(docs/guides/planning.md)."
        )
    guided = {name: with_guidance(load_prompt(name), each.guidance) for name, each in learned.items()}
    return lambda name: guided.get(name) or load_prompt(name)
