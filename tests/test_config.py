from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from bough import config
from bough.core.errors import UsageError


def load(tmp_path: Path, text: str = "", file: str = "bough.toml", **env: str) -> config.Config:
    if text:
        (tmp_path / file).write_text(text)
    return config.load(tmp_path, env)


def test_defaults(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert (loaded.budget.rounds, loaded.limits.max_repairs, loaded.sandbox.mode) == (40, 3, "auto")


def test_file_then_environment(tmp_path: Path) -> None:
    text = '[models]\nmain = "openai:a"\n[budget]\nrounds = 7\ncost = 1.5\n[limits]\nstrict = true\n'
    loaded = load(tmp_path, text, BOUGH_BUDGET_ROUNDS="9", BOUGH_SANDBOX_WRITABLE="/a:/b", HOME="/x")
    assert (loaded.models.main, loaded.budget.rounds, loaded.budget.cost) == ("openai:a", 9, 1.5)
    assert loaded.limits.strict
    assert loaded.sandbox.writable == ("/a", "/b")


def test_pyproject(tmp_path: Path) -> None:
    assert load(tmp_path, "[tool.bough.budget]\nrounds = 5\n", "pyproject.toml").budget.rounds == 5
    assert load(tmp_path, "[tool.other]\nx = 1\n", "pyproject.toml").budget.rounds == 40


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[budgt]\nrounds = 1\n", r"no section \[budgt\]. Did you mean `budget`\?"),
        ("[budget]\nround = 1\n", r"\[budget\] has no key `round`. Did you mean `rounds`\?"),
        ("budget = 1\n", r"`budget` is a section"),
        ("[budget]\nrounds = 'many'\n", "wrong type.*rounds"),
        ("[budget\n", "not valid TOML"),
        ("[models]\nbase_url = 'http://elsewhere'\n", "not for a repository to set; set BOUGH_MODELS_BASE_URL"),
        ("[sandbox]\nmode = 'none'\n", "not for a repository to set; set BOUGH_SANDBOX_MODE"),
    ],
)
def test_mistakes_are_named_with_the_way_out(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(tmp_path, text)


def test_a_mistyped_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"BOUGH_BUDGET_ROUND sets nothing. Did you mean `BOUGH_BUDGET_ROUNDS`"):
        load(tmp_path, BOUGH_BUDGET_ROUND="1")


def test_the_shipped_schema_is_the_one_of_the_code() -> None:
    shipped = json.loads(files("bough").joinpath("bough.schema.json").read_text())
    assert shipped == json.loads(msgspec.json.encode(config.schema()))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "+nan"])
def test_numbers_must_be_numbers(tmp_path: Path, number: str) -> None:
    with pytest.raises(UsageError, match=r"`budget\.minutes` is"):
        load(tmp_path, f"[budget]\nminutes = {number}\n")
    with pytest.raises(UsageError, match=r"`budget\.minutes` is"):
        load(tmp_path, "[budget]\n", BOUGH_BUDGET_MINUTES=number)
