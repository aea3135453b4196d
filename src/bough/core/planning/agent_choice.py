"""Choose who does the work: bough's own agent with one of its models, or an outside agent that the person has.

A run's models have keys: a tier (`main`), or a position in that tier's chain of fallbacks (`main+1`, `main+2`)."""

from collections.abc import Container, Mapping, Sequence
from typing import get_args

from bough.core.conversation.pruning import list_calls
from bough.core.errors import UsageError
from bough.core.messages import Message, UserMessage
from bough.core.planning.plan import Role, Step, Tier
from bough.core.settings.sections import OWN
from bough.core.workflow.keys import is_for_agents

DONE = 40
"""The maximum number of earlier calls that are shown to an agent which resumes a conversation."""


def choose_agent(agents: Mapping[str, str], models: Mapping[str, str], step: Step, role: Role, tier: Tier) -> str:
    """Choose the outside agent for an attempt; empty for bough's own. `agents`: names by role or tier. A step's own
    choice has precedence, except on the strong tier, which is for work on which others are stuck."""
    usual = step.agent or agents.get(role) or agents.get("main", "")
    if tier == "strong":
        usual = agents.get("strong") or ("" if _has_stronger_model(models) else usual)
    return "" if usual == OWN else usual


def _has_stronger_model(models: Mapping[str, str]) -> bool:
    return models.get("strong") != models.get("main")


def has_stronger(agents: Mapping[str, str], models: Mapping[str, str]) -> bool:
    """Whether a stronger agent or model is available for stuck work."""
    return _has_stronger_model(models) or agents.get("strong", agents.get("main")) != agents.get("main")


def list_named_agents(step: Step) -> set[str]:
    """List the outside agents that a step and its smaller steps name."""
    return {step.agent} - {"", OWN} | {name for child in step.steps for name in list_named_agents(child)}


def all_outside(step: Step) -> bool:
    """Whether every agent step of a plan names an outside agent."""
    if step.steps:
        return all(all_outside(child) for child in step.steps if is_for_agents(child))
    return step.agent not in ("", OWN)


def render_opening(system: str, messages: Sequence[Message]) -> str:
    """Render an agent's first message; if the conversation is resumed, list what was done in it."""
    first, *later = messages
    told = [system.strip(), first.text.strip() if isinstance(first, UserMessage) else ""]
    done = list_calls(later, DONE)
    if done:
        listed = "\n".join(done)
        told.append(
            "# What is already done\n\nYou started this and were interrupted. The files are as they were after the "
            f"last of these calls to finish. Do not repeat what is done; continue from there.\n\n{listed}"
        )
    told += [message.text.strip() for message in later if isinstance(message, UserMessage)]
    return "\n\n".join(part for part in told if part)


Fallbacks = Mapping[Tier, Sequence[str]]
TIERS: tuple[Tier, ...] = get_args(Tier)


def add_fallbacks(names: Mapping[str, str], chains: Fallbacks) -> dict[str, str]:
    """Add the fallbacks' names by key. Raises `UsageError` for a chain that could not help."""
    found = dict(names)
    for tier, chain in chains.items():
        for place, name in enumerate(chain, 1):
            if not name.strip():
                raise UsageError(f"Fallback {place} of the {tier} model has no name: write it as provider:model.")
            if name == names[tier] or name in chain[: place - 1]:
                raise UsageError(f"{name} is named twice among the {tier} model and its fallbacks: name another.")
            found[f"{tier}+{place}"] = name
    return found


def list_fallbacks(models: Mapping[str, str]) -> dict[Tier, tuple[str, ...]]:
    """Return the chain of fallbacks of each tier among a run's models."""
    return {tier: tuple(name for key, name in models.items() if key.startswith(f"{tier}+")) for tier in TIERS}


def find_next(key: str, models: Container[str]) -> str:
    """Return the key of the next model in the chain; empty: there is none."""
    tier, _, place = key.partition("+")
    after = f"{tier}+{int(place or 0) + 1}"
    return after if after in models else ""
