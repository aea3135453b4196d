"""The prompt templates that ship with bough, and those learned from a project's own runs."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from bough.core.errors import UsageError
from bough.core.planning.guidance import with_guidance
from bough.core.planning.plan import PlanningRules

FILE = "optimised.json"
"""The file next to the journal that holds the prompts learned from this project's runs."""


class LearnedPrompt(Struct, frozen=True):
    """Guidance for a prompt that scored better (`optimised`) than bough's own (`plain`)."""

    guidance: str
    plain: float
    optimised: float
    runs: int
    model: str


@cache
def load_prompt(name: str) -> str:
    """Load a prompt template that ships with bough."""
    return (Path(__file__).parents[1] / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def choose_prompts(rules: PlanningRules, home: Path) -> Callable[[str], str]:
    """Return the function that finds a template by name: plain ones, or learned ones if the settings choose them."""
    if rules.prompts == "plain":
        return load_prompt
    try:
        learned = msgspec.json.decode((home / FILE).read_bytes(), type=dict[str, LearnedPrompt])
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        learned = {}
    if not learned:
        raise UsageError(
            '[planning] has prompts = "optimised", but there are no optimised prompts yet: `bough-optimise planner` '
            "looks for some (docs/guides/planning.md)."
        )
    guided = {name: with_guidance(load_prompt(name), each.guidance) for name, each in learned.items()}
    return lambda name: guided.get(name) or load_prompt(name)
