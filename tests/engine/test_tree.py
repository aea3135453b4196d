"""A goal with smaller steps: run in order, each from where the one before ended; then proven as a whole."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import bough
from bough import Step
from bough.core import events as e
from bough.core.errors import UsageError
from bough.core.messages import Answer, Prompt, UserMessage
from bough.core.tree.task_state import State
from bough.testing import ScriptedModel, call
from tests.harness import QUICK_CHECK, Journal, by_progress, git, journal_of, make_project
from tests.sampling import in_turn
from tests.shipped import AGENT_ONLY

pytestmark = pytest.mark.differs(*AGENT_ONLY, reason="the script answers an agent, not what bough asks beside it")

ADD = Step("add", "Make add add.", test_command=QUICK_CHECK)
TWICE = Step("twice", "Write twice.py with twice(n).", test_command="grep -q 'def twice' twice.py")
WHOLE = 'python3 -c "from calc import add; from twice import twice; assert twice(add(1, 2)) == 6"'
GOAL = Step("goal", "Adding and doubling.", test_command=WHOLE, steps=(ADD, TWICE))

DONE = call("done", summary="done")
FIX = by_progress(call("edit", path="calc.py", old="a - b", new="a + b"), DONE)
RIGHT = by_progress(call("write", path="twice.py", content="def twice(n):\n    return 2 * n\n"), DONE)
WRONG = by_progress(call("write", path="twice.py", content="def twice(n):\n    return 3 * n\n"), DONE)
REPAIR = by_progress(call("edit", path="twice.py", old="3", new="2"), DONE)


Says = Callable[[Prompt], Answer]


def model(twice: Says = RIGHT, hunter: Says = REPAIR) -> ScriptedModel:
    def answer(prompt: Prompt) -> Answer:
        first = prompt.messages[0]
        assert isinstance(first, UserMessage)
        if "find the bug" in first.text:
            return hunter(prompt)
        return FIX(prompt) if "Make add add" in first.text else twice(prompt)

    return ScriptedModel(answer)


def carried_out(project: Path, with_model: ScriptedModel, goal: Step = GOAL) -> tuple[bough.Outcome, Journal]:
    outcome = asyncio.run(bough.run(goal, dir=project, model=with_model))
    return outcome, asyncio.run(journal_of(project))


def test_steps_in_order_then_the_whole_at_the_merged_head(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, journal = carried_out(project, model())
    assert outcome.completed
    assert [(task.path, task.state) for task in outcome.tree] == [
        ("goal", State.COMPLETED),
        ("add", State.COMPLETED),
        ("twice", State.COMPLETED),
    ]
    goal, add, twice = outcome.tree
    assert twice.base == add.tree, "a step starts from where the one before it ended"
    assert goal.tree == twice.tree
    assert goal.verdict is not None
    assert goal.verdict.command == WHOLE
    assert set(goal.files) == {"calc.py", "twice.py"}
    ended = [(r.task, r.event.to) for r in journal.records if isinstance(r.event, e.StateChanged)]
    assert ended.index(("twice", State.COMPLETED)) < ended.index(("goal", State.TESTING))
    assert not list((project / ".bough" / "work").glob("*/*"))


@in_turn
def test_a_failing_whole_is_repaired_at_the_parent(tmp_path: Path) -> None:
    outcome, journal = carried_out(make_project(tmp_path / "p"), model(WRONG))
    assert outcome.completed
    assert [r.task for r in journal.records if isinstance(r.event, e.AttemptStarted)] == ["add", "twice", "goal"]


def test_a_parent_is_never_completed_over_a_failing_child(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome, _ = carried_out(project, model(lambda prompt: DONE, lambda prompt: DONE))
    assert (outcome.status, outcome.exit_status) == ("failed", 3)
    assert [(task.path, task.state) for task in outcome.tree] == [
        ("goal", State.FAILED),
        ("add", State.COMPLETED),
        ("twice", State.BLOCKED),
    ]
    assert "twice" in outcome.summary
    commit = outcome.tree[0].commit
    assert git(project / ".bough" / "repo.git", "show", f"{commit}:calc.py").endswith("a + b\n"), "finished work stays"


@in_turn
def test_spending_below_counts_above(tmp_path: Path) -> None:
    project = make_project(tmp_path / "p")
    outcome = asyncio.run(bough.run(GOAL, dir=project, model=model(), rounds=2))
    assert (outcome.status, outcome.exit_status) == ("budget", 4)
    assert outcome.spend.rounds == 2
    again = asyncio.run(bough.resume(dir=project, model=model(), rounds=10))
    assert again.completed
    assert again.spend.rounds == 4


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (Step("goal", "x", steps=(Step("a", "a"), Step("a", "b"))), "Two steps below the goal are called `a`"),
        (Step("goal", "x", steps=(Step("No good", "a"),)), "use `no-good`"),
        (Step("goal", "x", steps=(Step("a", "a", needs=("b",)),)), "`a` below the goal needs `b`, which is not one of"),
        (Step("goal", "x", steps=(Step("a", "a", needs=("a",)),)), "need each other: a → a"),
        (
            Step("goal", "x", steps=(Step("a", "a", needs=("b",)), Step("b", "b", needs=("a",)))),
            "Steps below the goal need each other",
        ),
        (
            Step("goal", "x", steps=(Step("a", "a", steps=(Step("b", "b", steps=(Step("c", "c", steps=(ADD,)),)),)),)),
            "deeper than 3 levels at a/b/c",
        ),
    ],
)
def test_a_bad_plan_is_refused_before_anything_runs(tmp_path: Path, goal: Step, said: str) -> None:
    project = make_project(tmp_path / "p")
    with pytest.raises(UsageError, match=said):
        asyncio.run(bough.run(goal, dir=project, model=model()))
