"""Which agents of a run are not bough's own."""

from __future__ import annotations

from collections.abc import Mapping

from bough.core.agent_choice import list_named_agents
from bough.core.planning.plan import Step
from bough.core.settings.agent_settings import OWN

Outside = tuple[Mapping[str, str], tuple[str, ...], str, Step]
"""Outside agents by role or tier, the variables they see and what they reach in this run; and the plan, which may name
others."""


def list_outside_agents(outside: Outside) -> set[str]:
    """The outside agents that a run needs."""
    agents, _, _, goal = outside
    return {*agents.values(), *list_named_agents(goal)} - {OWN}
