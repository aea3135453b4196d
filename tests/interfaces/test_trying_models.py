"""`bough doctor --model M` tries the model; `bough stats` says what each tier won."""

from pathlib import Path
from typing import Any

import pytest

from bough.core.messages import Answer, Usage
from tests.interfaces.shell import bough
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

ADD = "def add(a, b):\n    return a + b\n"
INITIALS = "def initials(name):\n    return ''.join(word[0].upper() for word in name.split())\n"
SHORTEN = "def shorten(text, limit):\n    return text\n"


def in_fences(body: dict[str, Any]) -> Answer:
    """A model that writes code into its answers and calls nothing; the last of the three tasks is too much for it."""
    said = body["messages"][-1]["content"] + str(body["messages"][1])
    code = ADD if "Make add" in said else INITIALS if "initials" in said else SHORTEN
    return Answer(text=f"```python\n{code}```", usage=Usage(500, 50))


@pytest.mark.usefixtures("protocol_as_shipped")
@in_turn
def test_doctor_tries_a_model_and_says_how_it_is_spoken_to(tmp_path: Path) -> None:
    with WireModel(in_fences, models=["test"]) as wire:
        said = bough(
            tmp_path, "doctor", "--json", "--model", "openai:test", "--base-url", wire.base_url, OPENAI_API_KEY="k"
        )
    found = {finding["what"]: finding for finding in said.json["findings"]}
    assert said.status == 0
    assert "2 of 3 tiny tasks solved; failed: change what a function does" in found["protocol"]["says"]
    assert found["protocol"]["says"].startswith("text (this model does not call tools reliably")
    assert "64,000 tokens" in found["window"]["says"] and found["price"]["says"].startswith("unknown")
    assert found["model"]["ok"], "it is reachable"
    assert list(tmp_path.iterdir()) == []
