"""An agent asks for smaller steps in place of its own task: weighed like a planner's answer, and never a crash."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bough import app
from bough.core import events as e
from bough.core.messages import Answer, Call, Usage
from bough.core.tree.task_state import State
from bough.testing import call
from bough.views.event_lines import EventFormatter
from bough.views.run_view import Outcome
from tests.answers import combine_answers, raw_call
from tests.harness import Journal, make_project, run_to_end
from tests.sampling import in_turn, sample
from tests.shipped import AGENT_ONLY
from tests.wire import WireModel, WireRequest

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

GOAL = "Make add in calc.py add, and write twice.py with twice(n)."
WHOLE = 'python3 -c "from calc import add; from twice import twice; assert twice(add(1, 2)) == 6"'
ADD = {
    "name": "fix-add",
    "instructions": "In calc.py, change the operator of add from minus to plus.",
    "criteria": ["add(2, 3) returns 5"],
    "test_command": "python3 -m unittest -q test_calc",
}
TWICE = {
    "name": "write-twice",
    "instructions": "Write twice.py with a function twice(n) that returns two times n.",
    "criteria": ["twice(4) returns 8"],
    "test_command": 'python3 -c "from twice import twice; assert twice(4) == 8"',
}
RESTATED = {
    "name": "all-of-it",
    "instructions": GOAL,
    "criteria": ["add(2, 3) returns 5", "twice(4) returns 8"],
    "test_command": WHOLE,
}
SPLIT = call("split", approach="one function after the other", steps=[ADD, TWICE])
FIX = call("edit", path="calc.py", old="a - b", new="a + b")
WRITE = call("write", path="twice.py", content="def twice(n):\n    return 2 * n\n")
DONE = call("done", summary="done")

Script = dict[str, list[Answer]]
"""What each agent says, round by round, by a piece of its brief."""


def provider(script: Script) -> Callable[[dict[str, Any]], Answer]:
    left = {piece: list(answers) for piece, answers in script.items()}

    def answer(request: dict[str, Any]) -> Answer:
        brief = request["messages"][1]["content"]
        own = brief.partition("# Your task")[2].partition("## What the task is part of")[0] or brief
        piece = next(piece for piece in left if piece in own)
        said = left[piece].pop(0)
        calls = tuple(Call(f"c{n}", c.name, c.arguments) for n, c in enumerate(said.calls))
        return Answer(said.text, calls, "calls", Usage(1_000, 30))

    return answer


def carried_out(
    folder: Path, script: Script, choices: app.Choices | None = None
) -> tuple[Outcome, Journal, list[WireRequest]]:
    with WireModel(provider(script)) as wire:
        chosen = app.Choices(
            protocol="tools",
            model="openai:wire",
            base_url=wire.base_url,
            max_depth=choices.max_depth if choices else None,
            rounds=choices.rounds if choices else None,
        )
        outcome, journal = run_to_end(make_project(folder), [], goal=GOAL, check=WHOLE, choices=chosen)
    return outcome, journal, wire.requests


def answer_to_split(journal: Journal) -> e.ToolFinished:
    splits = {call.id for event in journal.of(e.ModelAnswered) for call in event.calls if call.name == "split"}
    finished: e.ToolFinished = next(event for event in journal.of(e.ToolFinished) if event.call in splits)
    return finished


@in_turn
def test_the_children_carry_it_and_its_own_check_proves_it(tmp_path: Path) -> None:
    script = {
        "change the operator": [FIX, DONE],
        "two times n": [WRITE, DONE],
        "write twice.py with twice(n)": [call("read", path="calc.py"), SPLIT],
    }
    outcome, journal, requests = carried_out(tmp_path / "p", script)
    assert outcome.completed
    assert [(task.path, task.state) for task in outcome.tree] == [
        ("goal", State.COMPLETED),
        ("fix-add", State.COMPLETED),
        ("write-twice", State.COMPLETED),
    ]
    assert outcome.tree[0].verdict is not None
    assert outcome.tree[0].verdict.command == WHOLE
    assert answer_to_split(journal).ok
    (proposed,) = journal.of(e.SplitProposed)
    (planned,) = journal.of(e.Planned)
    assert planned.steps == proposed.steps
    assert [step.name for step in planned.steps] == ["fix-add", "write-twice"]
    assert [r.event.to for r in journal.records if isinstance(r.event, e.StateChanged) and r.task == "goal"] == [
        State.IN_PROGRESS,
        State.DECOMPOSED,
        State.TESTING,
        State.COMPLETED,
    ]
    assert journal.of(e.Escalated, e.HelperAnswered) == [], "nobody else was asked"
    offered = {tool["function"]["name"]: tool["function"] for tool in requests[0].json["tools"]}
    assert offered["split"]["parameters"]["required"] == ["steps"]
    teller = EventFormatter()
    told = [teller.tell(record)[0] for record in journal.records]
    assert "the agent asks for smaller steps: fix-add, write-twice" in told


BAD: dict[str, tuple[Answer, str]] = {
    "a restatement": (call("split", steps=[RESTATED, TWICE]), "all-of-it"),
    "one step": (call("split", steps=[ADD]), "There are 1 steps: give 2 to 4."),
    "no proof": (call("split", steps=[ADD, {**TWICE, "criteria": ["works well"], "test_command": ""}]), "proven"),
    "no steps": (call("split", approach="later"), "`steps` is missing"),
    "not JSON": (raw_call("split", "{steps: oh no"), "not a JSON object"),
    "nothing": (raw_call("split", ""), "call the tool `split` once"),
    "a number": (raw_call("split", "7"), "not a JSON object"),
    "depth": (raw_call("split", "[" * 5_000), "nested too deeply"),
}


@pytest.mark.parametrize("case", sample(BAD, 4))
def test_a_bad_proposal_is_answered_with_what_is_wrong(tmp_path: Path, case: str) -> None:
    proposal, said = BAD[case]
    script = {"write twice.py with twice(n)": [proposal, combine_answers(FIX, WRITE), DONE]}
    outcome, journal, requests = carried_out(tmp_path / "p", script)
    assert outcome.completed
    answer = answer_to_split(journal)
    assert not answer.ok
    assert said in answer.output
    assert said in json.dumps(requests[1].json["messages"][-1], ensure_ascii=False)
    assert journal.of(e.SplitProposed, e.Planned) == []
    assert len(outcome.tree) == 1


@in_turn
@pytest.mark.parametrize(
    ("choices", "said"),
    [
        (app.Choices(max_depth=0), "deeper than 0 levels"),
        (app.Choices(rounds=10), "9 rounds are left, and smaller steps need at least 10"),
    ],
    ids=["depth", "rounds"],
)
def test_a_task_that_may_not_be_split_is_not(tmp_path: Path, choices: app.Choices, said: str) -> None:
    script = {"write twice.py with twice(n)": [SPLIT, combine_answers(FIX, WRITE), DONE]}
    outcome, journal, _ = carried_out(tmp_path / "p", script, choices)
    assert outcome.completed
    assert said in answer_to_split(journal).output
    assert journal.of(e.Planned) == []


@in_turn
@pytest.mark.parametrize("last", ["split", "done"])
def test_of_split_and_done_in_one_answer_the_last_counts(tmp_path: Path, last: str) -> None:
    both = combine_answers(FIX, WRITE, *((DONE, SPLIT) if last == "split" else (SPLIT, DONE)))
    script = {"change the operator": [DONE], "two times n": [DONE], "write twice.py with twice(n)": [both]}
    outcome, journal, _ = carried_out(tmp_path / "p", script)
    assert outcome.completed
    assert len(journal.of(e.Planned)) == (last == "split")
    assert len(outcome.tree) == (3 if last == "split" else 1)
