"""The models of a run, their endpoints, whether their prices are known, and what is known about them before the first
call: their protocols, windows and kinds of input."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from bough.adapters.models.absent import NOBODY
from bough.adapters.models.capabilities import NONE, Capabilities, KnownProtocols, Setting, read_capabilities
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.providers import (
    PROVIDERS,
    REPLAY,
    find_endpoint,
    find_model_address,
    has_price,
    parse_model_name,
)
from bough.adapters.models.wire import Client
from bough.adapters.state_folder import find_state_folder
from bough.app.choices import Choices
from bough.app.config import Models
from bough.app.project import Project
from bough.core.budget.limits import Limits
from bough.core.errors import UsageError
from bough.core.messages import ModelProtocol
from bough.core.planning.agent_choice import TIERS, all_outside, list_fallbacks, list_named_agents
from bough.core.planning.plan import Step
from bough.core.settings.sections import MODEL, OWN, title_of
from bough.core.workflow.keys import needs_models


def check_prices(
    project: Project,
    models: dict[str, str],
    endpoints: Mapping[str, str],
    limits: Limits,
    choices: Choices,
    outside: Collection[str] = (),
) -> None:
    """Refuse a cost limit that cannot be enforced because a model's price or an agent's cost is unknown."""
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
    """Find each model's endpoint. `before`: those of a run that is resumed or continued, which apply unless the person
    chooses another. They come from its journal, so they must have been allowed by the person."""
    given, chosen = choices.given(), choices.base_url
    found = {}
    for name in dict.fromkeys(models.values()):
        given_url = chosen or project.config.models.base_url
        base_url = choose_base_url(name, models, given_url) if chosen else before.get(name)
        base_url = base_url or choose_base_url(name, models, given_url)
        if name not in given and not name.startswith(MODEL) and (at := find_model_address(name, base_url, project.env)):
            found[name] = at
    return found


def find_usual_endpoints(project: Project, models: Collection[str]) -> dict[str, str]:
    """Find the endpoints that this person's settings and variables give these models."""
    found = {}
    for name in models:
        with suppress(UsageError):  # The settings name no server for this model.
            found[name] = find_model_address(name, project.config.models.base_url, project.env)
    return found


def recall_models(models: Mapping[str, str]) -> Models:
    """Return the models of an earlier run, as settings."""
    main, fast, strong, examiner, judge = map(models.get, ("main", "fast", "strong", "examiner", "judge"))
    return Models(main, fast, strong, list_fallbacks(models), examiner, judge)


def choose_base_url(name: str, models: Mapping[str, str], base_url: str | None) -> str | None:
    """Return the base URL that the person gave, if it applies to this model. For a fallback, examiner or judge from a
    different provider than the main model it does not: return None."""
    chained = name in {other for key, other in models.items() if key not in TIERS}
    another = name.partition(":")[0] != models["main"].partition(":")[0] and ":" in name
    return None if chained and another else base_url


def find_substitute_model(goal: Step, agents: Mapping[str, str]) -> str | None:
    """Return what to use when no model is configured: a placeholder (`NOBODY`) if the goal needs no model, or the
    outside agent that does the work. Return None if bough's own agent works, which needs a model."""
    if not needs_models(goal):
        return NOBODY
    everyone = agents.get("main", OWN)
    if everyone == OWN and all_outside(goal):
        everyone = min(list_named_agents(goal))
    return f"{MODEL}{everyone}" if everyone != OWN else None


MEMORY = "models.json"
"""The file in the person's state folder that stores what runs learned about models."""


class Knowledge(Struct, frozen=True):
    protocols: KnownProtocols
    said: Mapping[str, Capabilities]
    """What the servers themselves report, by model."""

    def explain_unreachable(self, models: Mapping[str, str]) -> str:
        """Explain why a model and all of its fallbacks cannot be reached; empty if every tier has a model that can."""
        chains = list_fallbacks(models)
        tiers = [[models[tier], *chains[tier]] for tier in TIERS if tier in models]
        whys = [[self.said[name].unreachable if name in self.said else "" for name in tier] for tier in tiers]
        return next((why[0] for why in whys if all(why)), "")

    def window(self, name: str, configured: int) -> int:
        """Return a model's context window in tokens: the server's value, or the person's if lower; 0: unknown."""
        asked = self.said[name].window if name in self.said else 0
        return min(asked, configured) if asked and configured else asked or configured

    def images(self, name: str, setting: Literal["auto", "on", "off"]) -> bool | None:
        """Return whether a model accepts images; None: unknown."""
        return (self.said[name].images if name in self.said else None) if setting == "auto" else setting == "on"


async def gather_knowledge(
    names: Iterable[str],
    *,
    base_url: str | None,
    endpoints: Mapping[str, str] = MappingProxyType({}),
    client: Client,
    env: Mapping[str, str],
    setting: Setting,
    given: Iterable[str] = (),
    began: Mapping[str, ModelProtocol] = NONE,
) -> Knowledge:
    """Ask servers that a person runs about their models; those of large providers are known already. `endpoints`: the
    address of each model, by name; `given`: names of the calling program's own models, which call tools unless
    `setting` says otherwise; `began`: the protocols that a resumed run began with."""
    said: dict[str, Capabilities] = {}
    settings: dict[str, Setting] = {} if setting == "auto" else dict.fromkeys(given, setting)
    places: dict[str, Endpoint] = {}
    for name in dict.fromkeys(names):
        if name == NOBODY:
            continue
        if name.startswith(MODEL):
            settings[name] = "text"
            continue
        settings[name] = setting
        where = endpoints.get(name) or base_url
        if parse_model_name(name, where, env)[0] == REPLAY:
            continue
        at = find_endpoint(name, where, env)
        settings[name] = settings[at.name] = setting
        provider = at.name.partition(":")[0]
        if at.base_url != PROVIDERS[provider].base_url or provider == "ollama":
            places[name] = at
    asked = (
        read_capabilities(client, at, at.name.startswith("ollama:") or ":11434" in at.host) for at in places.values()
    )
    for (name, at), found in zip(places.items(), await asyncio.gather(*asked), strict=True):
        said[name] = said[at.name] = found
    addresses = {key: at.base_url for name, at in places.items() for key in (name, at.name)}
    return Knowledge(KnownProtocols(find_state_folder(env) / MEMORY, settings, said, addresses, began), said)
