"""What to do about a check that lacks something, specific to the project."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bough.adapters.workspaces.python_environment import Environment
from bough.core.verdict.language import Installation, Missing
from bough.core.verdict.paths import is_made_folder
from bough.core.verdict.registry import LANGUAGES, NEUTRAL
from bough.trust.files import Place

SHOWN = 8


class Remedies:
    """Knows the project's environment and its ignored files."""

    def __init__(self, root: Path, environment: Environment | None, ignored: Callable[[], Sequence[str]]) -> None:
        self._root = root
        self.environment = environment
        self._ignored = ignored

    def for_missing(self, missing: Missing) -> str:
        """One or two sentences: how to provide it."""
        match missing.kind:
            case "command":
                return (
                    f"Install {missing.name}, or pass another check with `--check CMD` (or `[check] "
                    f"command` in bough.toml); `[workspace] env` can set PATH.{self._mention_left_out()}"
                )
            case "network":
                return (
                    "Let commands reach the package registries with `--network registries` (or `[sandbox] network` in "
                    "your settings), or install what it downloads beforehand and pass a check that uses it: "
                    f"`--check CMD`.{self._mention_left_out()}"
                )
            case "service":
                return (
                    'Start it, or have bough start one for each checkout: `[services.NAME] run = "…"` in bough.toml; '
                    f"`--accept-failing` continues without it.{self._mention_left_out()}"
                )
            case _:
                found = self.environment
                prefix = str(found.inside or found.prefix) if found is not None else ""
                where = found.where if found is not None else ""
                place = Installation(lambda path: bool(Place(self._root, path, links=True).kind), where, prefix)
                language = next((each for each in LANGUAGES if each.name == missing.language), NEUTRAL)
                return language.explain_install(missing, place) + self._mention_left_out()

    def _mention_left_out(self) -> str:
        names = [name for name in self._ignored() if not _is_generated(name)][:SHOWN]
        if not names:
            return ""
        listed = ", ".join(f"`{name}`" for name in names)
        return (
            f" Ignored files that are not in the checkout: {listed}; `[workspace] link` or `copy` in bough.toml adds "
            "them."
        )

    def mentioned(self, text: str) -> tuple[str, ...]:
        """Ignored files that a failing check's output names: it may have needed them."""
        found = []
        for name in self._ignored():
            last = name.rstrip("/").rsplit("/", 1)[-1]
            if not _is_generated(name) and len(last) > 2 and re.search(rf"(?<![\w.-]){re.escape(last)}(?![\w-])", text):
                found.append(name)
        return tuple(found[:SHOWN])


def _is_generated(name: str) -> bool:
    """What tools regenerate on their own, or what checkouts get anyway."""
    return is_made_folder(name) or "env" in name.split("/")
