"""What people see agrees with what the engine knows."""

from collections.abc import Sequence
from functools import reduce

import pytest
from hypothesis import given
from msgspec.structs import astuple

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.ids import CONTROL, GOAL, RUN
from bough.core.journal.task_fold import fold_task
from bough.core.messages import Call, Usage
from bough.core.tree.task_state import State
from bough.views.run_view import EXACT_KINDS, KINDS, LIVE_KINDS, RunView, view_run
from bough.views.task_view import describe_act, describe_call
from tests.core.worlds import journals
from tests.interfaces.journals import started, task_events

ANSWER = e.ModelAnswered("ok", (Call("c", "read", '{"path": "a.py"}'),), "calls", Usage(10, 5, 2), 0.5, 1.0)
READ: list[e.AnyEvent] = [e.ToolStarted("c", False), e.ToolFinished("c", True, "text", seconds=0.5)]
BEGUN = task_events(GOAL, 0)[:4]
FAILED = e.CheckFinished(Verdict("failed", "no", command="pytest", exit_status=1, seconds=2.0))
HUNTED: list[e.AnyEvent] = [
    e.DoneClaimed("I think so"),
    e.StateChanged(State.TESTING, "the agent says it is done"),
    e.CheckStarted("pytest"),
    FAILED,
    e.StateChanged(State.TEST_FAILED, "no"),
    e.AttemptStarted("bug_hunter", "strong", "system", "brief"),
    e.StateChanged(State.IN_PROGRESS, "a bug hunter takes over"),
]
UNANSWERED: list[e.AnyEvent] = [e.RoundStarted(), e.ModelFailed("down", 1.0, 0.25)]


WORLDS: list[list[e.AnyEvent]] = [
    BEGUN,
    [*BEGUN, e.RoundStarted()],
    [*BEGUN, e.RoundStarted(), e.RoundStarted(), ANSWER, *READ],
    [*BEGUN, *UNANSWERED, e.RoundStarted(), ANSWER, *READ, e.RoundStarted(), ANSWER],
    [*BEGUN, *UNANSWERED, e.TaskHalted("unavailable", "down"), e.TaskResumed(Limits(50)), e.RoundStarted(), ANSWER],
    [*BEGUN, e.RoundStarted(), ANSWER, *READ, *HUNTED, e.RoundStarted(), ANSWER, *READ],
    [*BEGUN, e.RoundStarted(), ANSWER, *READ, *HUNTED, e.RoundStarted(), e.TaskRewound(8, "t"), e.RoundStarted()],
    [*BEGUN, e.RoundStarted(), ANSWER, *READ, *HUNTED, e.RoundStarted(), ANSWER, *READ, e.TaskRewound(19, "t")],
    task_events(GOAL, 3),
]


def records(events: Sequence[e.AnyEvent], task: str = GOAL) -> list[e.Record]:
    return [e.Record(n, "amber-heron", task, n, float(n), event) for n, event in enumerate(events, 1)]


@pytest.mark.parametrize("events", WORLDS, ids=lambda events: f"{len(events)} events")
def test_a_view_of_a_task_agrees_with_its_fold(events: list[e.AnyEvent]) -> None:
    assert_agree(records(events))


@given(journals())
def test_so_does_a_view_of_whatever_can_happen(written: list[e.Record]) -> None:
    assert_agree(written)


def assert_agree(written: Sequence[e.Record]) -> None:
    known = fold_task(GOAL, written)
    seen = view_run("amber-heron", written).tasks[GOAL]
    assert (seen.state, seen.why, seen.repairs) == (known.state, known.why, known.acceptance.repairs)
    below = reduce(Spend.plus, known.children.charged.values(), Spend())
    assert astuple(seen.spend.plus(below)) == pytest.approx(astuple(known.budget.spend))
    assert seen.limits == known.budget.limits
    assert seen.verdict == known.acceptance.verdict
    assert seen.attempt == known.progress.attempts
    assert seen.role == (known.attempt.role if known.attempt else "")
    assert bool(seen.halted) == bool(known.halt)
    assert seen.tree == known.tree


def counts(run: RunView) -> list[object]:
    spend = run.spend
    return [spend.rounds, spend.tokens_in, spend.tokens_out, spend.tokens_cached, spend.cost, spend.unpriced]


def assert_light_is_exact(written: Sequence[e.Record]) -> None:
    whole = view_run("amber-heron", written)
    quick = view_run("amber-heron", of_kinds(written, KINDS))
    for path in quick.unsure:
        quick.look_again(path, of_kinds(written, EXACT_KINDS))
    assert counts(quick) == counts(whole)
    seen, known = quick.tasks[GOAL], whole.tasks[GOAL]
    assert (seen.state, seen.why, seen.attempt, seen.verdict) == (known.state, known.why, known.attempt, known.verdict)


def of_kinds(written: Sequence[e.Record], kinds: Sequence[str]) -> list[e.Record]:
    return [record for record in written if type(record.event).__name__ in kinds]


@pytest.mark.parametrize("events", WORLDS, ids=lambda events: f"{len(events)} events")
def test_a_light_view_counts_the_same(events: list[e.AnyEvent]) -> None:
    assert_light_is_exact(records(events))


@given(journals())
def test_so_does_a_light_view_of_whatever_can_happen(written: list[e.Record]) -> None:
    assert_light_is_exact(written)


def test_kinds_are_names_of_events() -> None:
    known = set(e.KINDS)
    assert set(LIVE_KINDS) <= known


def test_time_between_a_halt_and_a_resume_does_not_count() -> None:
    run = view_run("amber-heron", [])
    resumed = e.RunResumed("w", Limits(), {"main": "m"})
    for at, event in (
        (100.0, started()),
        (110.0, e.RunHalted("stopped", "a person stopped it")),
        (500.0, resumed),
        (505.0, e.RoundStarted()),
    ):
        task = GOAL if isinstance(event, e.RoundStarted) else RUN
        run.see(e.Record(1, "amber-heron", task, 1, at, event))
    assert run.elapsed() == 15.0
    assert run.elapsed(506.0) == 16.0
    # Killed: no halt was written, so the stretch ended with its last event.
    run.see(e.Record(1, "amber-heron", RUN, 1, 900.0, resumed))
    assert run.elapsed(901.0) == 16.0
    run.see(e.Record(1, "amber-heron", RUN, 1, 910.0, e.RunFinished("completed", "passed")))
    run.see(e.Record(1, "amber-heron", RUN, 1, 2000.0, e.Applied("t", ("a",))))
    assert run.elapsed() == 25.0
    assert run.exit_status == 0


def test_what_people_ask_of_a_run_is_not_a_task() -> None:
    run = view_run("amber-heron", [e.Record(1, "amber-heron", CONTROL, 1, 1.0, e.StopRequested())])
    assert run.tasks == {}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call("1", "bash", '{"timeout": 5, "command": "pytest -q"}'), "bash pytest -q"),
        (Call("1", "edit", '{"path": "a.py", "old": "x", "new": "y"}'), "edit a.py"),
        (Call("1", "list", "{}"), "list"),
        (Call("1", "read", '{"path": 7}'), "read"),
        (Call("1", "read", "not JSON \ud800"), "read"),
        (Call("1", "read", "[1]"), "read"),
        (Call("1", "read", "[" * 100_000), "read"),
    ],
)
def test_a_call_in_short(call: Call, words: str) -> None:
    assert describe_call(call) == words


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call("1", "bash", '{"command": "pytest -q"}'), "ran pytest -q"),
        (Call("1", "edit", '{"path": "a.py", "old": "x", "new": "y\\nz"}'), "edited a.py +2 −1"),
        (Call("1", "write", '{"path": "a.py", "content": "x\\ny\\n"}'), "wrote a.py +2"),
        (Call("1", "mend", "not JSON \ud800"), "mend"),
    ],
)
def test_an_act_in_short(call: Call, words: str) -> None:
    assert describe_act(call) == words
