"""Which endpoints get this machine's keys: those that the person's settings, variables or flags name here, now or in an
earlier command. A run's journal may come from elsewhere: from a shared store, or with an archive."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bough.adapters.consent_store import Consents
from bough.adapters.models.providers import PROVIDERS, find_key, find_model_address, parse_model_name, split_address
from bough.app.choices import Choices
from bough.config import Models
from bough.core.errors import UsageError

_EVERYWHERE = Path("/")
"""Endpoints are known for all projects."""


def require_known_endpoint(name: str, address: str, choices: Choices, own: Models, env: Mapping[str, str]) -> None:
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
