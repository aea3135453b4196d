"""Choose who does the work: bough's own agent with one of its models, or an outside agent that the person has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bough.core.conversation.pruning import list_calls
from bough.core.messages import Message, Said
from bough.core.planning.plan import Role, Step, Tier
from bough.core.settings.sections import OWN
from bough.core.workflow.keys import is_for_agents

DONE = 40
"""The maximum number of earlier calls that are shown to an agent which resumes a conversation."""


def choose_agent(agents: Mapping[str, str], models: Mapping[str, str], step: Step, role: Role, tier: Tier) -> str:
    """Choose the outside agent for an attempt; empty for bough's own. `agents`: names by role or tier. A step's own
    choice has precedence, except on the strong tier, which is for work on which others are stuck."""
    if tier == "strong":
        found = agents.get("strong") or ("" if _has_stronger_model(models) else _choose_usual(agents, step, role))
    else:
        found = _choose_usual(agents, step, role)
    return "" if found == OWN else found


def _choose_usual(agents: Mapping[str, str], step: Step, role: Role) -> str:
    return step.agent or agents.get(role) or agents.get("main", "")


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
    told = [system.strip(), first.text.strip() if isinstance(first, Said) else ""]
    done = list_calls(later, DONE)
    if done:
        listed = "\n".join(done)
        told.append(
            "# What is already done\n\nYou started this and were interrupted. The files are as they were after the "
            f"last of these calls to finish. Do not repeat what is done; continue from there.\n\n{listed}"
        )
    told += [message.text.strip() for message in later if isinstance(message, Said)]
    return "\n\n".join(part for part in told if part)
