"""Finds the source of each setting of a project, and decides by the person's answers which settings of the repository
apply. A repository's setting that needs their consent is called a wish."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bough.app import config
from bough.app.journal import find_project_root
from bough.services.permission_store import SETTINGS, Permissions


def list_open_wishes(folder: Path | str) -> tuple[Path, dict[str, str]]:
    """Return the top of the project that contains a folder, and its wishes that the person has not answered."""
    root, env = find_project_root(folder), dict(os.environ)
    found: dict[str, str] = {}
    config.list_layers(root, env, make_consent(root, env, ask=lambda _, wishes: found.update(wishes)))
    return root, found


def answer_wishes(folder: Path, wishes: Mapping[str, str], *, allowed: bool) -> None:
    """Store the person's answer to these wishes, for the project that contains the folder."""
    Permissions(dict(os.environ), find_project_root(folder)).keep(SETTINGS, wishes, allowed=allowed)


Ask = Callable[[Path, Mapping[str, str]], bool | None]
"""Asks the person about wishes that they have not answered yet; returns None if nobody answers."""
Tell = Callable[[Mapping[str, str]], None]
"""Reports which wishes are ignored."""


def make_consent(
    root: Path,
    env: Mapping[str, str],
    *,
    trust: bool = False,
    ask: Ask | None = None,
    tell: Tell = lambda ignored: None,
) -> Callable[[Mapping[str, str]], Collection[str]]:
    """Return a function that says which wishes of a project are allowed. `trust`: allow all, now and later."""

    def allow(wishes: Mapping[str, str]) -> Collection[str]:
        permissions = Permissions(env, root)
        if trust:
            permissions.keep(SETTINGS, wishes, allowed=True)
            return wishes.keys()
        said = permissions.of(SETTINGS)
        open_ = {name: value for name, value in wishes.items() if said.rule(name, value) is None}
        if open_ and ask is not None and (answer := ask(root, open_)) is not None:
            permissions.keep(SETTINGS, open_, allowed=answer)
            said = permissions.of(SETTINGS)
        allowed = {name for name, value in wishes.items() if said.rule(name, value)}
        if ignored := {name: value for name, value in wishes.items() if name not in allowed}:
            tell(ignored)
        return allowed

    return allow


# ── what applies ────────────────────────────────────────────────────────────────────────────────────────────────────

DEFAULT = "default"


class Setting(Struct, frozen=True):
    name: str
    value: str
    source: str
    """Where the value comes from: a file, a variable, or `default`."""


class EffectiveSettings(Struct, frozen=True):
    person_file: str
    """The path of the person's own settings file, which may not exist."""
    project_file: str
    settings: tuple[Setting, ...]
    ignored: dict[str, str]
    """Settings that the repository asks for and the person has not allowed."""


def find_effective_settings(folder: Path | str, everything: bool = False) -> EffectiveSettings:
    """Return the settings that a file or variable sets; with `everything`, also the defaults."""
    env = dict(os.environ)
    root = find_project_root(folder)
    ignored: dict[str, str] = {}
    found = config.list_layers(root, env, make_consent(root, env, tell=ignored.update))
    sources: dict[tuple[str, str], str] = {}
    for place, table in found:
        for section, values in table.items():
            for key in values:
                variable = f"${config.make_variable_name(section, key)}"
                sources[section, key] = variable if place == "environment" else place
    loaded = config.load_config(root, env, make_consent(root, env))
    every = [(section, key) for section, keys in config.SECTIONS.items() for key in keys]
    every += [(section, key) for section in sorted(config.NAMED) for key in getattr(loaded, section)]
    named = every if everything else sources
    settings = tuple(
        Setting(f"{section}.{key}", _render_value(loaded, section, key), sources.get((section, key), DEFAULT))
        for section, key in named
    )
    return EffectiveSettings(found[0][0], found[1][0], settings, ignored)


def _render_value(loaded: config.Config, section: str, key: str) -> str:
    """Render a value as it would be written in a file."""
    within: Any = getattr(loaded, section)
    value = within[key] if isinstance(within, dict) else getattr(within, key)
    plain = msgspec.to_builtins(value)
    return "" if plain is None else msgspec.json.encode(plain).decode()
