"""What steps see of the tree, when they are done again, and when they need not be."""

import pytest
from msgspec.structs import replace

from bough.core import events as e
from bough.core.budget.limits import Limits, Spend
from bough.core.planning.plan import ContextMode, PlanningRules, Retry, Step
from bough.core.rules import Rules
from bough.core.tree.next_moves import compute_wait
from bough.core.tree.scope import build_inherited, compute_key
from bough.core.tree.task import Task
from bough.core.tree.task_groups import Note, TaskChildren, TaskTalk
from bough.core.tree.task_state import Inheritance, State
from tests.core.tasks import change

DONE = e.ChildSettled("left", State.COMPLETED, "the check passed", "t1", Spend(), result="a wolf", files=("a.py",))
RIGHT = Step("right", "Look right.", context="inherited")
TASK = Task(
    "hall",
    step=Step("hall", "Search the hall.", steps=(Step("left", "Look left."), RIGHT)),
    inherited=Inheritance(above=("goal: Find it.",), results=("cellar: a key",), decisions=("quietly",)),
    children=TaskChildren(ended={"left": DONE}, learned=("left: the carpet",)),
    talk=TaskTalk(notes=(Note("decision", "with a lamp"), Note("dead_end", "the stairs"))),
)


def test_a_tree_tells_the_way_down_and_what_siblings_made() -> None:
    told = build_inherited(TASK, RIGHT)
    assert told.above == ("goal: Find it.", "hall: Search the hall.")
    assert told.results == ("left: a wolf (changed a.py)",)
    assert told.dead_ends == ("the stairs", "left: the carpet")
    assert told.decisions == ("quietly", "with a lamp")


def test_a_list_tells_all_that_is_finished() -> None:
    flat = change(TASK, rules=Rules(planning=PlanningRules(context="list")))
    told = build_inherited(flat, RIGHT)
    assert told.above == ("goal: Find it.",)
    assert told.results == ("cellar: a key", "left: a wolf (changed a.py)")


def test_a_step_is_told_what_runs_in_parallel() -> None:
    left = replace(TASK.step.steps[0], files=("a.py", "b.py"))
    busy = change(TASK, steps=(left, RIGHT), ended={})
    busy = change(busy, running={"left": e.ChildStarted("left", "left", Limits(5))})
    told = build_inherited(busy, RIGHT)
    assert told.beside == ("left (a.py, b.py)",) and build_inherited(TASK, RIGHT).beside == ()
    alone = replace(told, beside=())
    assert compute_key(RIGHT, "t", "m", told) == compute_key(RIGHT, "t", "m", alone), "that is chance"


def test_a_phase_is_told_what_comes_after_it() -> None:
    phase = replace(RIGHT, plan_first=True)
    last = Step("last", "Look up. " * 100, context="inherited")
    planned = change(TASK, steps=(TASK.step.steps[0], phase, last), begun={"left": 1})
    (told,) = build_inherited(planned, phase).later
    assert told.startswith("last: Look up.") and told.endswith("Look up. …") and len(told) < 320
    assert build_inherited(planned, last).later == ()


def test_modes() -> None:
    modes: tuple[ContextMode, ...] = ("isolated", "shared", "inherited")
    isolated, shared, inherited = (build_inherited(TASK, replace(RIGHT, context=mode)) for mode in modes)
    assert isolated == Inheritance() and shared == inherited != isolated
    loop = build_inherited(change(TASK, step=replace(TASK.step, repeat=2)), replace(RIGHT, context="isolated"))
    assert loop == Inheritance(loop=True), "what `break` means is not a matter of context"


@pytest.mark.parametrize(
    ("step", "waits"),
    [
        (Step("a"), [None]),
        (Step("a", on_error="retry", max_retries=2), [0.0, 0.0, None]),
        (Step("a", on_error="retry", max_retries=2, retry=Retry(5.0)), [5.0, 5.0, None]),
        (Step("a", on_error="retry", max_retries=3, retry=Retry(5.0, 2.0)), [5.0, 10.0, 20.0, None]),
        (Step("a", on_error="retry", max_retries=2_000, retry=Retry(5.0, 100.0)), [5.0, 500.0, 50_000.0, 86_400.0]),
    ],
)
def test_waits(step: Step, waits: list[float | None]) -> None:
    assert [compute_wait(step, tries) for tries in range(1, len(waits) + 1)] == waits


def test_what_is_not_retried_and_the_longest_wait() -> None:
    assert compute_wait(Step("a", on_error="skip"), 0) is None
    endless = Step("a", on_error="retry", max_retries=2_000, retry=Retry(5.0, 100.0))
    assert compute_wait(endless, 1_999) == 86_400.0, "no wait is longer than a day"


STEP = Step("a", "Do it.", test_command="true")


def test_a_key_names_all_that_the_outcome_hangs_on() -> None:
    key = compute_key(STEP, "base", "m", Inheritance())
    assert key and key == compute_key(
        replace(STEP, needs=("b",), on_error="skip", rounds=9), "base", "m", Inheritance()
    )
    others = (
        compute_key(replace(STEP, instructions="Do it well."), "base", "m", Inheritance()),
        compute_key(replace(STEP, test_command="false"), "base", "m", Inheritance()),
        compute_key(STEP, "other", "m", Inheritance()),
        compute_key(STEP, "base", "n", Inheritance()),
        compute_key(STEP, "base", "m", Inheritance(results=("b: done",))),
    )
    assert len({key, *others}) == 6
    assert not compute_key(Step("a", run="make"), "base", "m", Inheritance()), "a command may hang on the world outside"
