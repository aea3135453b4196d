"""What may run next: in order or at once, never before what it needs, never twice, and always to an end."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.core import events as e
from bough.core.budget.limits import Limits, Spend
from bough.core.journal.task_fold import evolve_task
from bough.core.planning.plan import Retry, Step
from bough.core.rules import Rules
from bough.core.tree.next_moves import (
    Begin,
    compute_step_grant,
    find_fatal_step,
    has_succeeded,
    is_joined,
    is_over,
    list_moves,
    list_regrants,
    list_unsuccessful,
    raise_grant,
)
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from tests.core.tasks import change


class World:
    """A task whose steps begin and end as a test says."""

    def __init__(self, *steps: Step, rounds: int = 100, **goal: Any) -> None:
        self.task = Task("goal")
        self.add(e.TaskCreated(Step("goal", "All.", steps=steps, **goal), "base", Limits(rounds), Rules()))
        self.add(e.StateChanged(State.IN_PROGRESS, "work begins"))

    def add(self, event: e.AnyEvent) -> None:
        number = self.task.version + 1
        self.task = evolve_task(self.task, e.Record(number, "run", "goal", number, float(number), event))

    @property
    def ready(self) -> list[str]:
        return [move.step.name for move in list_moves(self.task) if isinstance(move, Begin)]

    def begin(self, name: str) -> Begin:
        (move,) = (move for move in list_moves(self.task) if isinstance(move, Begin) and move.step.name == name)
        self.add(e.ChildStarted(name, move.task, compute_step_grant(self.task, move.step)))
        return move

    def end(self, name: str, state: State = State.COMPLETED, rounds: int = 1) -> None:
        self.add(e.ChildSettled(name, state, "because", "tree", Spend(rounds=rounds)))

    def carry(self, name: str, state: State = State.COMPLETED) -> Begin:
        begun = self.begin(name)
        self.end(name, state)
        return begun


def s(name: str, *needs: str, **more: Any) -> Step:
    return Step(name, f"Make {name}.", needs=needs, **more)


def test_one_after_the_other_in_the_order_of_writing() -> None:
    world = World(s("a"), s("b"), s("c"))
    for name in "abc":
        assert world.ready == [name]
        world.begin(name)
        assert world.ready == []
        world.end(name)
    assert is_over(world.task) and has_succeeded(world.task)


def test_at_once_as_soon_as_what_they_need_is_completed() -> None:
    world = World(s("a"), s("b", "a"), s("c"), s("d", "b", "c"), parallel=True)
    assert world.ready == ["a", "c"]
    world.begin("a")
    assert world.ready == ["c"]
    world.begin("c")
    world.end("c")
    assert world.ready == []
    world.end("a")
    assert world.ready == ["b"]
    world.carry("b")
    assert world.ready == ["d"]
    world.carry("d")
    assert is_over(world.task) and has_succeeded(world.task)


def test_a_need_that_is_written_later_is_done_first() -> None:
    world = World(s("a", "b"), s("b"))
    assert world.ready == ["b"]
    world.carry("b")
    assert world.ready == ["a"]


def test_steps_that_share_a_file_are_never_at_work_together() -> None:
    world = World(s("a", files=("x", "y")), s("b", files=("y",)), s("c", files=("z",)), parallel=True)
    world.begin("a")
    assert world.ready == ["c"]
    world.end("a")
    assert world.ready == ["b", "c"]


def test_nothing_is_begun_after_a_step_that_fails_its_parent() -> None:
    world = World(s("a"), s("b"), s("c"), parallel=True)
    world.begin("a")
    world.begin("b")
    world.end("a", State.BLOCKED)
    assert world.ready == []
    assert not is_over(world.task), "what runs goes on to its end"
    world.end("b")
    assert is_over(world.task) and not has_succeeded(world.task)
    child = find_fatal_step(world.task)
    assert child is not None and child.child == "a"


def test_going_on_without_a_step() -> None:
    world = World(s("a", on_error="skip"), s("b", "a"))
    world.carry("a", State.FAILED)
    assert world.ready == ["b"]
    world.carry("b")
    assert has_succeeded(world.task) and find_fatal_step(world.task) is None


def test_retried_after_a_growing_wait_until_the_retries_are_exhausted() -> None:
    world = World(s("a", on_error="retry", max_retries=2, retry=Retry(wait=3, growth=2)), s("b"))
    assert world.carry("a", State.BLOCKED).wait == 0
    second = world.carry("a", State.BLOCKED)
    third = world.begin("a")
    assert (second.task, second.wait, third.task, third.wait) == ("a@2", 3, "a@3", 6)
    assert world.ready == []
    world.end("a", State.BLOCKED)
    assert is_over(world.task) and find_fatal_step(world.task) is not None
    assert world.task.budget.spend.rounds == 3, "every try is charged"


def test_a_retry_that_gets_there() -> None:
    world = World(s("a", on_error="retry"), s("b"))
    world.carry("a", State.BLOCKED)
    world.carry("a")
    assert world.ready == ["b"]


def test_what_the_ladder_takes_up_does_not_hold_up_those_that_do_not_need_it() -> None:
    world = World(*(s(name, *needs, on_error="escalate") for name, *needs in (["a"], ["b", "a"], ["c"], ["d", "b"])))
    world.carry("a", State.BLOCKED)
    assert world.ready == ["c"]
    world.carry("c")
    assert is_over(world.task) and not has_succeeded(world.task) and find_fatal_step(world.task) is None
    assert [child.child for child in list_unsuccessful(world.task)] == ["a"]


def test_a_reopened_step_continues_in_the_same_task_and_is_charged_once() -> None:
    world = World(s("a", on_error="escalate"))
    world.begin("a")
    world.end("a", State.BLOCKED, rounds=5)
    world.add(e.ChildrenReopened(("a",), "a stronger model"))
    assert world.begin("a").task == "a"
    assert world.task.reserved["a"].rounds == world.task.children.running["a"].grant.rounds - 5
    world.end("a", rounds=9)
    assert world.task.budget.spend.rounds == 9


@pytest.mark.parametrize(
    ("join", "ends", "is_well"),
    [
        ("all", {"a": State.COMPLETED, "b": State.BLOCKED}, False),
        ("settled", {"a": State.COMPLETED, "b": State.BLOCKED}, True),
        ("settled", {"a": State.FAILED, "b": State.BLOCKED}, True),
        ("any", {"a": State.COMPLETED, "b": State.BLOCKED}, True),
        ("any", {"a": State.FAILED, "b": State.BLOCKED}, False),
    ],
)
def test_joining(join: Any, ends: dict[str, State], is_well: bool) -> None:
    world = World(s("a"), s("b"), parallel=True, join=join)
    for name in ends:
        world.begin(name)
    for name in reversed(ends):
        world.end(name, ends[name])
    assert is_over(world.task) and has_succeeded(world.task) is is_well


def test_one_good_end_is_enough_for_any() -> None:
    world = World(s("a"), s("b"), s("c"), parallel=True, join="any")
    world.begin("a")
    world.carry("b")
    assert is_joined(world.task) and world.ready == [] and not is_over(world.task), (
        "the others are still to be called off"
    )


def test_grants_of_resumed_steps_follow_the_budget() -> None:
    world = World(s("a"), s("b"), parallel=True, rounds=20)
    world.begin("a")
    world.begin("b")
    assert list_regrants(world.task) == []
    world.add(e.TaskHalted("stopped", "a person stopped it"))
    world.add(e.TaskResumed(Limits(60)))
    changed = list_regrants(world.task)
    assert [started.step for started in changed] == ["a", "b"]
    for started in changed:
        world.add(started)
    assert world.task.left.rounds >= 0


def test_what_was_reserved_and_then_spent_otherwise_is_not_there_any_more() -> None:
    """The run was rewound to a moment when both were running; since then the budget was used up."""
    world = World(s("a"), s("b"), parallel=True, rounds=20)
    world.begin("a")
    world.begin("b")
    world.task = change(world.task, spend=Spend(rounds=15))
    for started in list_regrants(world.task):
        world.add(started)
    assert sum(each.rounds for each in world.task.reserved.values()) <= 5


def test_a_grant_is_raised_as_long_as_one_more_round_comes_of_it() -> None:
    world = World(s("a"), s("b"), rounds=10)
    world.begin("a")
    step, limits = world.task.plan.steps[0], world.task.children.running["a"].grant
    spend = Spend(rounds=limits.rounds - 1)
    grown = raise_grant(world.task, step, limits, spend)
    assert grown is not None and grown.rounds > limits.rounds
    assert raise_grant(change(world.task, spend=Spend(rounds=7)), step, limits, spend) is None, "nothing is free"


# ── whatever happens ────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = "abcdefg"


@st.composite
def plans(draw: st.DrawFn) -> World:
    steps = []
    for number, name in enumerate(NAMES[: draw(st.integers(1, len(NAMES)))]):
        needs = tuple(draw(st.lists(st.sampled_from(NAMES[:number]), max_size=2, unique=True))) if number else ()
        steps.append(
            s(
                name,
                *needs,
                on_error=draw(st.sampled_from(["fail", "retry", "skip", "escalate"])),
                max_retries=draw(st.integers(0, 2)),
                files=tuple(draw(st.lists(st.sampled_from("xyz"), max_size=1))),
                complexity=draw(st.integers(1, 5)),
            )
        )
    parallel = draw(st.booleans())
    join = draw(st.sampled_from(["all", "any", "settled"])) if parallel else "all"
    rounds = draw(st.integers(1, 12) | st.integers(20, 200))
    return World(*draw(st.permutations(steps)), parallel=parallel, join=join, rounds=rounds)


ENDS = [State.COMPLETED, State.COMPLETED, State.BLOCKED, State.FAILED, State.SKIPPED]


@given(plans(), st.data())
@settings(max_examples=80, deadline=None)
def test_in_whatever_order_steps_end(world: World, data: st.DataObject) -> None:
    """Never begun before its needs are met, never twice, never beside one with the same file; the grants never exceed
    what there is; and in the end each step is settled, or can never begin."""
    steps = {step.name: step for step in world.task.plan.steps}
    paths: set[str] = set()
    for _ in range(200):
        task, ready = world.task, world.ready
        running = list(task.children.running)
        if not ready and (not running or is_joined(task)):
            break
        if ready and (not running or data.draw(st.booleans())):
            name = data.draw(st.sampled_from(ready))
            begun = world.begin(name)
            assert begun.task not in paths, "no task is begun twice"
            paths.add(begun.task)
            assert name not in running
            assert all(_met(task, steps[need]) for need in steps[name].needs)
            assert not {file for other in running for file in steps[other].files} & set(steps[name].files)
            assert task.step.parallel or not running
            assert not find_fatal_step(task)
        else:
            name = data.draw(st.sampled_from(running))
            most = world.task.children.running[name].grant.rounds
            world.end(name, data.draw(st.sampled_from(ENDS)), data.draw(st.integers(0, most)))
        reserved = sum(each.rounds for each in world.task.reserved.values())
        assert world.task.budget.spend.rounds + reserved <= world.task.budget.limits.rounds
    else:
        raise AssertionError("it does not come to an end")
    task = world.task
    if task.children.running or find_fatal_step(task) or is_joined(task):
        return
    for step in task.plan.steps:
        unreachable = any(not _met(task, steps[need]) for need in step.needs)
        assert step.name in task.children.settled or unreachable


def _met(task: Task, step: Step) -> bool:
    child = task.children.settled.get(step.name)
    excused = step.on_error == "skip" or task.step.join == "settled"
    return child is not None and (child.state in (State.COMPLETED, State.SKIPPED) or excused)
