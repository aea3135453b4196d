"""Finds the models that a run uses, where each is called, and whether its price is known.

This machine's keys go only to endpoints that the person's settings, variables or flags name here, now or in an earlier
command. A run's journal may come from elsewhere: from a shared store, or with an archive.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from bough.adapters.consent_store import Consents
from bough.adapters.models.absent import NOBODY
from bough.adapters.models.providers import (
    PROVIDERS,
    find_key,
    find_model_address,
    has_price,
    parse_model_name,
    split_address,
)
from bough.app.choices import Choices
from bough.app.project import Project
from bough.config import Models
from bough.core.agent_choice import all_outside, list_named_agents
from bough.core.budget.limits import Limits
from bough.core.errors import UsageError
from bough.core.planning.plan import Step
from bough.core.settings.agent_settings import MODEL, OWN, title_of
from bough.core.workflow.keys import needs_models

_EVERYWHERE = Path("/")
"""Endpoints are known for all projects."""


def check_prices(
    project: Project,
    models: dict[str, str],
    endpoints: Mapping[str, str],
    limits: Limits,
    choices: Choices,
    outside: Collection[str] = (),
) -> None:
    """Refuse a cost limit that cannot be enforced, before anything is spent."""
    if limits.cost is None or choices.allow_unpriced:
        return

    for agent in sorted(outside):
        raise UsageError(
            f"The cost of {title_of(agent)} is known only as far as it reports it, so a limit of ${limits.cost:g} "
            "may not hold: limit it with --rounds or --max-minutes, or pass --allow-unpriced to count what it "
            "reports."
        )
    given, prices = choices.given(), project.config.prices
    for name in dict.fromkeys(models.values()):
        short = name.partition("@")[0]
        if name.startswith(MODEL):
            continue
        if name not in given and short not in prices and not has_price(name, endpoints.get(name), project.env):
            raise UsageError(
                f"The price of {short} is unknown, so a limit of ${limits.cost:g} cannot be enforced: add its "
                f'price for a million tokens to bough.toml ([prices] "{short}" = {{input = 3, output = 15}}), '
                "use --max-tokens instead, or pass --allow-unpriced."
            )


def find_endpoints(
    project: Project, models: dict[str, str], choices: Choices, before: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Where each model is called. A resumed run uses the same endpoints, unless the person chooses otherwise."""
    given, chosen = choices.given(), choices.base_url
    found = {}
    for name in dict.fromkeys(models.values()):
        base_url = chosen or before.get(name) or project.config.models.base_url
        if name not in given and not name.startswith(MODEL) and (at := find_model_address(name, base_url, project.env)):
            _require_known_endpoint(name, at, choices, project.config.models, project.env)
            found[name] = at
    return found


def find_substitute_model(goal: Step, agents: Mapping[str, str]) -> str | None:
    """The model to use when none is configured: none where none is needed, or the agent that does the work."""
    if not needs_models(goal):
        return NOBODY
    everyone = agents.get("main", OWN)
    if everyone == OWN and all_outside(goal):
        everyone = min(list_named_agents(goal))
    return f"{MODEL}{everyone}" if everyone != OWN else None


def _require_known_endpoint(name: str, address: str, choices: Choices, own: Models, env: Mapping[str, str]) -> None:
    """`UsageError` when a key would go to an address that only a journal names."""
    provider, _ = parse_model_name(name, address, env)
    if provider not in PROVIDERS or address == PROVIDERS[provider].base_url or not find_key(provider, env, False):
        return
    consents = Consents(env)
    known = consents.of(_EVERYWHERE).allowed
    if address in known:
        return
    short, named = split_address(name)
    here = find_model_address(short, choices.base_url or own.base_url, env)
    if address != here and not (named and name in _list_own_names(choices, own)):
        raise UsageError(
            f"{short} would be called at {address}, with your key, but only this run's journal names that address: "
            f"if you trust it, pass --base-url {address} once on this machine, or set it in your own settings."
        )
    consents.keep(_EVERYWHERE, {address: provider}, allowed=True)


def _list_own_names(choices: Choices, own: Models) -> set[str]:
    chosen = (choices.model, choices.fast_model, choices.strong_model, own.main, own.fast, own.strong)
    names = {name for name in chosen if isinstance(name, str)}
    for preset in own.presets.values():
        names |= {preset.named("main"), preset.named("fast"), preset.named("strong")}
    return names
