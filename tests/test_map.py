"""Adding a signal, a rung, a provider or a language by the map alone: its row names every file that must know it."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from bough.adapters.models.providers import PROVIDERS
from bough.core.ladder.escalation import Rung
from bough.core.settings.sections import Command, HookSettings
from bough.core.stuck import patterns
from bough.core.stuck.signals import Pattern
from bough.core.verdict.language import Language
from bough.core.verdict.registry import LANGUAGES
from bough.engine import rungs
from bough.operations.projects import HookEvent
from bough.services.hooks import BEFORE, EVENTS
from bough.services.notices import EXAMPLES
from tests.conformance.test_languages import find_sample

TOP = Path(__file__).parent.parent
KNOWN: dict[str, Collection[str]] = {
    "a stuck signal": get_args(Pattern),
    "a rung": get_args(Rung),
    "a model provider": PROVIDERS,
    "a hook event": EVENTS,
}
LEAST = {"a stuck signal": 8, "a rung": 6, "a model provider": 2, "a hook event": 6}
"""How many files a row names at least."""


def find_paths(what: str) -> list[str]:
    """The files that must change for it: those of its row in the map, up to the semicolon that begins what may be."""
    page = (TOP / "docs/contributing/map.md").read_text("utf-8")
    (cell,) = re.findall(rf"^\| {re.escape(what)} \| (.+) \|$", page, re.MULTILINE)
    return re.findall(r"`((?:src|docs|tests)/[\w./-]+)`", cell.partition(";")[0])


def find_missing(names: Collection[str], paths: Collection[str]) -> list[str]:
    texts = {path: (TOP / path).read_text("utf-8") for path in paths}
    return [
        f"{path} does not know {name}"
        for path, text in texts.items()
        for name in names
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
    ]


@pytest.mark.parametrize("what", KNOWN)
def test_every_file_of_its_row_knows_each_one(what: str) -> None:
    paths = find_paths(what)
    assert len(paths) >= LEAST[what]
    assert find_missing(KNOWN[what], paths) == []


@pytest.mark.parametrize("what", KNOWN)
def test_a_new_one_is_missed_in_every_file_of_its_row(what: str) -> None:
    assert len(find_missing(["planted-one"], find_paths(what))) == len(find_paths(what))


def test_a_rung_has_an_effect_and_words_and_a_signal_a_rule() -> None:
    assert {*rungs.EFFECTS} == {*get_args(Rung)} - {"nudge"}
    assert {*rungs.WORDS} == {*get_args(Rung)}
    assert {row[0] for row in patterns.TABLE} == {*get_args(Pattern)}


def test_the_lists_of_hook_events_are_the_same() -> None:
    commands = [one.name for one in msgspec.structs.fields(HookSettings) if one.type == Command]
    assert commands == ["notify", *EVENTS, *BEFORE]
    assert [*get_args(HookEvent)] == [*EXAMPLES] == [*EVENTS, *BEFORE]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_a_language_has_a_record_and_a_sample(language: Language) -> None:
    folder = TOP / "src/bough/core/verdict/languages"
    assert (folder / f"{language.name}.py").exists() or (folder / language.name).is_dir()
    assert find_sample(language)


def test_the_row_of_a_language_names_a_record_and_a_recording() -> None:
    paths = find_paths("a language, with its test runners")
    assert [path.rpartition("/")[0] for path in paths] == [
        "src/bough/core/verdict/languages",
        "tests/conformance/recorded",
    ]
