"""The events of a written plan: its control, its commands and its critics."""

from bough.core.budget.limits import Limits, Spend
from bough.core.events import (
    AnyEvent,
    ChildSettled,
    ChildStarted,
    CommandFinished,
    CommandStarted,
    PassEnded,
    Reviewed,
    RunStarted,
    Summarized,
    TaskCreated,
    TransitionTaken,
)
from bough.core.planning.plan import Condition, Exits, Machine, Plan, Retry, Step, Transition
from bough.core.rules import Rules
from bough.core.tree.task_state import Inheritance, State, Subject

LOOP = Step(
    "loop",
    "Until nothing is left.",
    repeat=4,
    until=Condition("empty", "critic"),
    context="shared",
    summarize=True,
    steps=(
        Step("make", run="make all", on_error="retry", retry=Retry(5.0, 2.0)),
        Step("critic", "Look.", role="critic"),
    ),
)
EXITS = (Exits("loop", (Transition("end", Condition("contains", text="ok", negated=True)),)),)
GOAL = Step("goal", "A loop.", steps=(LOOP,), machine=Machine("loop", EXITS, 9))

WORKFLOW: list[tuple[str, AnyEvent]] = [
    (
        "",
        RunStarted(
            Plan(GOAL), "a" * 40, "", {"main": "openai:some-model"}, Limits(200), Rules(), "0.2.0", jobs=4, fresh=True
        ),
    ),
    ("goal", TaskCreated(GOAL, "a" * 40, Limits(200), Rules())),
    ("goal", ChildStarted("loop", "loop", Limits(60))),
    ("goal", TransitionTaken("loop", "loop", "loop → loop, on failure")),
    ("loop/make", CommandStarted("make all")),
    ("loop/make", CommandFinished(False, "", interrupted=True)),
    ("loop/make@2", CommandFinished(True, "built", 0, "b" * 64, "c" * 40, 1.5)),
    ("loop/make@3", CommandFinished(False, "…", None, tree="c" * 40, seconds=300.0, killed="after 300 s")),
    (
        "loop/critic",
        TaskCreated(
            LOOP.steps[1],
            "c" * 40,
            Limits(9),
            Rules(),
            inherited=Inheritance(above=("goal: A loop.",), decisions=("quietly",), loop=True),
            key="d" * 64,
            subject=Subject("a" * 40, ("make: the check passed",), "1. `a.py` (low): odd"),
        ),
    ),
    (
        "loop/critic",
        Reviewed(({"file": "a.py", "line": 3, "severity": "high", "what": "It is lost.", "why": "A full disk."},)),
    ),
    ("loop/critic@2", Reviewed(problems=("The answer was empty.",))),
    ("loop", PassEnded(1, "critic.empty does not hold yet (1 of 4)")),
    ("loop", Summarized("It is built.", "rule")),
    (
        "loop",
        ChildSettled(
            "critic",
            State.COMPLETED,
            "no check was required",
            "c" * 40,
            Spend(rounds=1),
            "1. …",
            errors=True,
            verdict="the check passed",
            decisions=("quietly",),
            shared=True,
            do="break",
            task="critic@2",
            key="d" * 64,
        ),
    ),
    (
        "loop",
        ChildSettled("make", State.COMPLETED, "nothing has changed", "c" * 40, Spend(), source="rust-wren/loop/make"),
    ),
]
