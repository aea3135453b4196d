"""What has the longest chain waiting for it begins first."""

from bough.core.planning.plan import Step
from bough.core.tree.next_moves import by_urgency, weight


def names(*steps: Step) -> list[str]:
    return [step.name for step in by_urgency(steps)]


def test_without_needs_the_plans_order_stays() -> None:
    assert names(*(Step(name, "x") for name in "cab")) == ["c", "a", "b"]


def test_the_longest_chain_comes_first() -> None:
    steps = (
        Step("alone", "x"),
        Step("short", "x"),
        Step("after-short", "x", needs=("short",)),
        Step("long", "x"),
        Step("long-2", "x", needs=("long",)),
        Step("long-3", "x", needs=("long-2", "alone-too")),
        Step("alone-too", "x"),
    )
    assert names(*steps)[0] == "long"
    assert names(*steps)[-1] in ("alone", "after-short", "long-3")
    assert by_urgency(steps) is by_urgency(steps), "it is worked out once"


def test_a_phase_weighs_what_it_takes_one_after_the_other() -> None:
    one = Step("one", "x")
    phase = Step("phase", "x", steps=tuple(Step(name, "x") for name in "abc"))
    beside = Step("beside", "x", parallel=True, steps=(*phase.steps, Step("d", "x", needs=("a",))))
    assert (weight(one), weight(phase), weight(beside)) == (1, 3, 2)
    assert names(one, beside, phase) == ["phase", "beside", "one"]


def test_hundreds_in_a_row_do_not_recurse() -> None:
    steps = tuple(Step(f"s{n}", "x", needs=(f"s{n - 1}",) if n else ()) for n in range(3_000))
    assert names(*reversed(steps))[0] == "s0"
