"""The languages and test runners that bough knows: every module of `languages/` that has a `LANGUAGE`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from bough.core.verdict import languages
from bough.core.verdict.language import Language
from bough.core.verdict.paths import find_suffix
from bough.core.verdict.runner import Runner

NEUTRAL = Language()
"""Any language that has no record."""


def _load_languages() -> tuple[Language, ...]:
    modules = (import_module(f"{languages.__name__}.{module.name}") for module in iter_modules(languages.__path__))
    found: list[Language] = [module.LANGUAGE for module in modules]
    return tuple(sorted(found, key=lambda language: (language.rank, language.name)))


LANGUAGES = _load_languages()
RUNNERS: tuple[Runner, ...] = tuple(runner for language in LANGUAGES for runner in language.runners)
"""All runners in the order in which they are looked for in a project: the first that matches is its own."""
_BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
_BY_NAME = {runner.name: runner for runner in RUNNERS}


def find_language(path: str) -> Language:
    return _BY_SUFFIX.get(find_suffix(path), NEUTRAL)


def find_runner(name: str) -> Runner | None:
    return _BY_NAME.get(name)
