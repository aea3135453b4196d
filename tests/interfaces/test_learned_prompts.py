"""Runs use the planning prompts that were learned, once they are told to."""

import json
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core.errors import UsageError
from bough.core.messages import Answer, Call
from tests.harness import FIXED, QUICK_CHECK, make_project, run_to_end
from tests.shipped import AGENT_ONLY
from tests.wire import Reply, WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

WRITE = Call("c1", "write", json.dumps({"path": "calc.py", "content": FIXED}))
DONE = Call("c2", "done", '{"summary": "It adds."}')
BETTER = "Everything here is one piece of work. {Braces} do no harm."


def reply(request: dict[str, Any]) -> Reply:
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    if "estimate" in tools:
        arguments = {"atomic": True, "steps": 1, "phases": [], "domains": [], "reason": "so it looks"}
        return Answer(calls=(Call("e", "estimate", json.dumps(arguments)),))
    return Answer(calls=(DONE,) if '"role": "tool"' in json.dumps(request["messages"]) else (WRITE,))


def test_runs_use_what_was_learned_once_they_are_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_project(tmp_path / "project")
    monkeypatch.setenv("BOUGH_PLANNING_PROMPTS", "optimised")
    monkeypatch.setenv("BOUGH_PLANNING_FLAT", "false")
    with WireModel(reply) as wire:
        choices = app.Choices(model="openai:m", base_url=wire.base_url)
        with pytest.raises(UsageError, match="looks for some"):
            run_to_end(folder, [], check=QUICK_CHECK, choices=choices)
        learned = {"gate": {"guidance": BETTER, "plain": 0.1, "optimised": 0.9, "runs": 2, "model": "openai:m"}}
        (folder / ".bough" / "optimised.json").write_text(json.dumps(learned))
        outcome, _ = run_to_end(folder, [], check=QUICK_CHECK, choices=choices)
    assert outcome.completed
    (gate,) = [request.body.decode() for request in wire.requests if b'"estimate"' in request.body]
    assert BETTER in gate and "Call `estimate` once" in gate and "calc.py" in gate
