"""Runs of these tests have a model whose script answers an agent, and nothing that bough asks beside it."""

import pytest
from tests.shipped import VARIABLES


@pytest.fixture(autouse=True)
def agent_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("proof", "examine", "scout"):
        monkeypatch.setenv(*VARIABLES[name])
