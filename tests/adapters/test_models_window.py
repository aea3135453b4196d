"""How much a model can be shown at once: what is known of it, else what a person says."""

import asyncio
from pathlib import Path

import pytest

from bough.adapters.models import wire
from bough.adapters.models.providers import make_model
from bough.adapters.models.recording import RecordingModel, ReplayModel
from bough.ports import Model
from bough.testing import ScriptedModel
from tests.wire import KEY

ENV = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}


def model(name: str, window: int = 0, base_url: str | None = None) -> Model:
    client = wire.Client()
    made = make_model(name, base_url=base_url, client=client, timeout=60, env=ENV, window=window)
    asyncio.run(client.close())
    return made


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "openai:gpt-4o"])
def test_of_a_providers_own_model_it_is_known(name: str) -> None:
    assert model(name).window >= 100_000
    assert model(name, window=5_000).window >= 100_000, "what is known counts"


@pytest.mark.parametrize("name", ["anthropic:no-such-model", "openai:no-such-model", "ollama:qwen3"])
def test_of_others_a_person_says_it(name: str) -> None:
    assert model(name).window == 0
    assert model(name, window=5_000).window == 5_000


def test_elsewhere_a_known_name_says_nothing() -> None:
    assert model("openai:gpt-4o", base_url="http://127.0.0.1:9/v1").window == 0
    assert model("openai:gpt-4o", 8_192, "http://127.0.0.1:9/v1").window == 8_192


def test_a_recording_has_that_of_its_model_and_a_replay_has_none(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    assert RecordingModel(ScriptedModel([], window=7_000), path).window == 7_000
    assert ReplayModel(path).window == 0
