"""The models of a run by key: a tier (`main`), or a position in that tier's chain of fallbacks (`main+1`, `main+2`)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import get_args

from bough.core.errors import UsageError
from bough.core.planning.plan import Tier

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
