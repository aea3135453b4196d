"""Finds the settings that apply in a project, and where each comes from, for `bough config`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bough import config
from bough.adapters.workspaces.home import find_root
from bough.app.journal import require_folder
from bough.app.settings_consent import make_consent

DEFAULT = "default"


class Setting(Struct, frozen=True):
    name: str
    value: str
    source: str
    """A file, a variable, or `default`."""


class EffectiveSettings(Struct, frozen=True):
    person_file: str
    """Where the person's own settings are, or would be."""
    project_file: str
    settings: tuple[Setting, ...]
    ignored: dict[str, str]
    """What the repository asks for and the person has not allowed."""


def find_effective_settings(folder: Path | str, everything: bool = False) -> EffectiveSettings:
    """The settings that are set; with `everything`, the defaults too."""
    env = dict(os.environ)
    root = find_root(require_folder(folder))
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
    """The value as it is written in a file."""
    within: Any = getattr(loaded, section)
    value = within[key] if isinstance(within, dict) else getattr(within, key)
    plain = msgspec.to_builtins(value)
    return "" if plain is None else msgspec.json.encode(plain).decode()
