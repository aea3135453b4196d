"""A goal that changes behaviour which an existing test fixes: with a person who says yes, one who says no, and none;
with a judge who can quote the request, and with permission in advance. Through the command line, with a model on
loopback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bough.core.messages import Answer
from tests.harness import allow_settings
from tests.interfaces.shell import CommandOutput, act, bough, run_args
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY
from tests.verification.cases import PYTEST, python_on_path
from tests.wire import WireModel

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

__all__ = ["python_on_path"]

HALF = "def half(x):\n    return round(x)\n"
UP = "import math\n\n\ndef half(x):\n    return math.floor(x + 0.5)\n"
TESTS = """\
from half import half


def test_half():
    assert half(2.5) == 2


def test_whole():
    assert half(3) == 3
"""
UNIT = """\
import unittest

from half import half


class Halves(unittest.TestCase):
    def test_half(self):
        self.assertTrue(half(2.5) == 2)

    def test_whole(self):
        self.assertTrue(half(3) == 3)
"""
"""The same for a runner that starts quickly: each of these runs starts it ten times."""
ID = "test_half.Halves.test_half"
GOAL = "Numbers that lie in the middle shall be rounded half up."


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "half.py").write_text(HALF)
    (folder / "test_half.py").write_text(UNIT)
    return folder


@pytest.fixture
def with_pytest(place: Path) -> Path:
    (place / "test_half.py").write_text(TESTS)
    return place


WORK = [
    act("write", path="half.py", content=UP),
    act("edit", path="test_half.py", old="half(2.5) == 2", new="half(2.5) == 3"),
    act("done", summary="It rounds half up."),
]
UNDO = [
    act("write", path="half.py", content=HALF),
    act("edit", path="test_half.py", old="half(2.5) == 3", new="half(2.5) == 2"),
    act("done", summary="It is as it was."),
]


def model(rule: Answer, *later: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Does the work, then what comes later, then claims to be done; a judge who is asked rules as told."""
    left = [*WORK, *later]

    def reply(request: dict[str, Any]) -> Answer:
        if "rule" in [tool["function"]["name"] for tool in request.get("tools", [])]:
            return rule
        return left.pop(0) if left else act("done", summary="It stays like this.")

    return reply


NO = act("rule", reason="Nothing in the request says so.", demanded=False)
QUOTED = act("rule", reason="It says half up.", demanded=True, quote="rounded half  up")
INVENTED = act("rule", reason="It says so.", demanded=True, quote="change all the tests you like")


def started(place: Path, wire: WireModel, *more: str, check: str = "python3 -m unittest -q") -> CommandOutput:
    return bough(place, *run_args(wire.base_url, "--json", *more, check=check, goal=GOAL))


def of(said: CommandOutput, kind: str) -> list[dict[str, Any]]:
    return [line["event"] for line in said.events if line["event"]["event"] == kind]


@in_turn
def test_nobody_can_decide_and_then_a_person_allows_it(with_pytest: Path) -> None:
    place = with_pytest
    with WireModel(model(NO)) as wire:
        said = started(place, wire, check=PYTEST)
        assert said.status == 8
        (verdict,) = (event["verdict"] for event in of(said, "CheckFinished"))
        (found,) = verdict["disagreements"]
        assert verdict["ruling"] == "needs_approval"
        assert (found["test"], found["was"], found["now"]) == (
            "test_half.py::test_half",
            "    assert half(2.5) == 2",
            "    assert half(2.5) == 3",
        )
        assert "3 == 2" in found["said"]
        assert [event["role"] for event in of(said, "AttemptStarted")] == ["builder"], "no bug hunter for a finding"
        (told,) = of(said, "FindingReturned")
        assert "assert half(2.5) == 2" in told["text"]
        assert said.events[-1]["event"]["reason"] == "needs_approval"
        shown = bough(place, "status").out
        assert "- assert half(2.5) == 2" in shown
        assert "bough approve" in shown
        allowed = bough(place, "approve", "--json", "--base-url", wire.base_url)
    assert allowed.status == 0
    assert of(allowed, "RunFinished")[0]["end"] == "completed"
    assert not of(allowed, "ModelAnswered"), "nothing is left to do"
    assert "the person allows it" in json.loads(bough(place, "show", "--json").out)["summary"]
    again = bough(place, "approve")
    assert again.status == 2
    assert "is already answered, by" in again.err


@in_turn
def test_a_person_says_no_and_the_agent_takes_it_back(place: Path) -> None:
    with WireModel(model(NO, act("done", summary="I stand by it."), *UNDO)) as wire:
        assert started(place, wire).status == 8
        options = ("--deny", "--say", "Keep it as it is.", "--json", "--base-url", wire.base_url)
        said = bough(place, "approve", *options)
    assert said.status == 5 and "no file changed, so" in said.out, "what is taken back is no work"
    (told,) = of(said, "FindingReturned")
    assert "Keep it as it is." in told["text"]
    assert [event["verdict"]["ruling"] for event in of(said, "CheckFinished")] == ["passed"]


@in_turn
def test_a_person_says_no_and_the_agent_stands_by_it(place: Path) -> None:
    with WireModel(model(NO)) as wire:
        assert started(place, wire).status == 8
        said = bough(place, "approve", "--deny", "--json", "--base-url", wire.base_url)
    assert said.status == 3
    assert "does not allow" in said.events[-1]["event"]["summary"]


@in_turn
@pytest.mark.parametrize(("rule", "status"), [(QUOTED, 0), (INVENTED, 8)], ids=["quoted", "invented"])
def test_a_judge_who_quotes_the_request_lets_it_through(rule: Answer, status: int, place: Path) -> None:
    with WireModel(model(rule)) as wire:
        said = started(place, wire)
    assert said.status == status
    ruled = of(said, "ChangesRuled")[0]
    assert ruled["by"] == "judge"
    assert bool(ruled.get("allowed")) is (status == 0)


@in_turn
@pytest.mark.parametrize(
    ("option", "status"),
    [("--allow-test-changes", 0), ("--allow-test-changes=test_half.*", 0), ("--allow-test-changes=other*", 8)],
)
def test_permission_in_advance(option: str, status: int, place: Path) -> None:
    with WireModel(model(NO)) as wire:
        said = started(place, wire, option)
    assert said.status == status
    first = of(said, "CheckFinished")[0]["verdict"]
    assert first["disagreements"][0]["test"] == ID, "what is allowed is still reported"


@in_turn
def test_permission_in_the_settings(place: Path) -> None:
    (place / "bough.toml").write_text("[checks]\nallow_test_changes = true\n")
    allow_settings(place)
    with WireModel(model(NO)) as wire:
        assert started(place, wire).status == 0


@in_turn
def test_a_dispute_is_shown_to_the_judge(place: Path) -> None:
    evidence = "The request says: rounded half up."
    later = [act("dispute", test=ID, evidence=evidence), act("done", summary="Disputed.")]
    with WireModel(model(NO, *later)) as wire:
        said = started(place, wire)
        asked = [seen.body.decode() for seen in wire.requests if '"rule"' in seen.body.decode()]
    assert said.status == 8
    assert [event["test"] for event in of(said, "Disputed")] == [ID]
    assert len(asked) == 2, "new evidence: it is asked again"
    assert evidence not in asked[0]
    assert evidence in asked[1]
