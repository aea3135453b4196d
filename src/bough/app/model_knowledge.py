"""What is known about a run's models before the first call: their protocols, windows and kinds of input."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from bough.adapters.models.absent import NOBODY
from bough.adapters.models.capabilities import Capabilities, read_capabilities
from bough.adapters.models.faults import Endpoint
from bough.adapters.models.protocols import NONE, KnownProtocols, Setting
from bough.adapters.models.providers import PROVIDERS, REPLAY, find_endpoint, parse_model_name
from bough.adapters.models.wire import Client
from bough.adapters.state_folder import find_state_folder
from bough.core.messages import ModelProtocol
from bough.core.planning.agent_choice import TIERS, list_fallbacks
from bough.core.settings.sections import MODEL

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
        if setting != "auto":
            return setting == "on"
        return self.said[name].images if name in self.said else None


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
    memory = find_state_folder(env) / MEMORY
    return Knowledge(KnownProtocols(memory, settings, said, addresses, began), said)
