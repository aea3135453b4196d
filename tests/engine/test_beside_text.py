"""What is more than text goes through the journal too: reasoning back to the model that had it, images to see."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Call
from tests.adapters.test_tools_images import IMAGES
from tests.harness import FIXED, QUICK_CHECK, make_project, run_to_end
from tests.shipped import AGENT_ONLY
from tests.wire import Raw, Reply, WireModel
from tests.wire_dialects import sse

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

WRITE = {"path": "calc.py", "content": FIXED}
DONE = Answer(calls=(Call("c2", "done", '{"summary": "It adds."}'),))


def gemini() -> bytes:
    call = {"index": 0, "id": "c1", "function": {"name": "write", "arguments": json.dumps(WRITE)}}
    signed = call | {"extra_content": {"google": {"thought_signature": "c2VjcmV0"}}}
    return sse({"choices": [{"index": 0, "delta": {"tool_calls": [signed]}, "finish_reason": "tool_calls"}]}, "[DONE]")


def anthropic() -> bytes:
    thought = {"type": "thinking", "thinking": "Plus, not minus.", "signature": "c2VjcmV0"}
    call = {"type": "tool_use", "id": "c1", "name": "write", "input": WRITE}
    blocks = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate((thought, call))
    ]
    return sse(*blocks, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"})


def test_an_image_that_is_read_is_seen(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    raw = b64decode(IMAGES["png"])
    (folder / "logo.png").write_bytes(raw)
    script: list[Reply] = [
        Answer(calls=(Call("c1", "read", '{"path": "logo.png"}'), Call("c2", "write", json.dumps(WRITE)))),
        DONE,
    ]
    with WireModel(script) as wire:
        choices = app.Choices(model="openai:gpt-4o", base_url=wire.base_url, flat=True)
        outcome, journal = run_to_end(folder, [], check=QUICK_CHECK, choices=choices)
    assert outcome.completed, outcome.summary
    *_, shown = [request for request in wire.requests if request.method == "POST"][-1].json["messages"]
    assert shown["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGES['png']}"}}
    read = journal.of(e.ToolFinished)[0]
    assert (read.image, read.output) == ("image/png", "(`logo.png` is an image (PNG, 3 × 2 pixels, 78 B))")


def places(found: Any) -> tuple[int, int]:
    """Where the reasoning and the call that came of it are in a conversation."""
    text = json.dumps(found)
    return text.index("c2VjcmV0"), text.index('"write"')


@pytest.mark.parametrize(("name", "first"), [("gemini:m", gemini), ("anthropic:m", anthropic)])
def test_reasoning_comes_back_with_the_call_that_it_led_to(tmp_path: Path, name: str, first: Any) -> None:
    folder = make_project(tmp_path / "project")
    script: list[Reply] = [Raw(first()), DONE]
    with WireModel(script) as wire:
        choices = app.Choices(model=name, base_url=wire.url, flat=True)
        outcome, _ = run_to_end(folder, [], check=QUICK_CHECK, choices=choices)
    assert outcome.completed, outcome.summary
    asked = [request for request in wire.requests if request.method == "POST"]
    assert len(asked) == 2
    thought, call = places(asked[1].json["messages"])
    assert abs(thought - call) < 400
    assert thought < call or name == "gemini:m"  # There the signature is a field of the call.
