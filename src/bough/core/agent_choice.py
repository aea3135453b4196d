"""Who does the work: bough's own agent with one of its models, or an agent that the person has beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from bough.core.conversation.pruning import list_calls
from bough.core.messages import Call, Message, Said
from bough.core.planning.plan import Role, Step, Tier
from bough.core.settings.agent_settings import OWN
from bough.core.workflow.keys import is_for_agents

DONE = 40
"""Calls that an agent is told of which takes up a conversation."""


def choose_agent(agents: Mapping[str, str], models: Mapping[str, str], step: Step, role: Role, tier: Tier) -> str:
    """The outside agent for an attempt; empty: bough's own. `agents`: by role, or by tier. What a step says counts
    before what holds for all; the strong tier is for work that others are stuck with, so there it counts first."""
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
    """Whether somebody stronger is there for stuck work: another agent, or another model."""
    return _has_stronger_model(models) or agents.get("strong", agents.get("main")) != agents.get("main")


def list_named_agents(step: Step) -> set[str]:
    """The outside agents that a plan names."""
    return {step.agent} - {"", OWN} | {name for child in step.steps for name in list_named_agents(child)}


def all_outside(step: Step) -> bool:
    """Whether every piece of work in a plan that an agent does names an outside one."""
    if step.steps:
        return all(all_outside(child) for child in step.steps if is_for_agents(child))
    return step.agent not in ("", OWN)


def render_opening(system: str, messages: Sequence[Message]) -> str:
    """What an agent is told first: all of it, and when it takes up a conversation, what was done in that."""
    first, *later = messages
    told = [system.strip(), first.text.strip() if isinstance(first, Said) else ""]
    done = list_calls(later, DONE)
    if done:
        listed = "\n".join(done)
        told.append(
            "# What is done already\n\nYou have begun this, and were interrupted. The files are as they were after the "
            f"last of these calls that finished. Do not do again what is done; go on from there.\n\n{listed}"
        )
    told += [message.text.strip() for message in later if isinstance(message, Said)]
    return "\n\n".join(part for part in told if part)


def build_done_call(summary: str) -> Call:
    """The end of a turn is the claim that the task is done."""
    return Call("", "done", json.dumps({"summary": summary}))
