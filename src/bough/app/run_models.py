"""The models of a run, their endpoints, and whether their prices are known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from types import MappingProxyType

from bough.adapters.models.absent import NOBODY
from bough.adapters.models.providers import (
    find_model_address,
    has_price,
)
from bough.app.choices import Choices
from bough.app.config import Models
from bough.app.project import Project
from bough.core.budget.limits import Limits
from bough.core.errors import UsageError
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
