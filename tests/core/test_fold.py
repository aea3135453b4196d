from collections import Counter
from functools import reduce

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bough.core import events as e
from bough.core.acceptance.verdict import Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.errors import IllegalTransition
from bough.core.journal.acceptance_fold import ACCEPTANCE_EVENTS
from bough.core.journal.plan_fold import PLAN_EVENTS
from bough.core.journal.round_fold import ROUND_EVENTS
from bough.core.journal.task_fold import _APPLY, evolve_task, fold_task, list_points
from bough.core.messages import AnswerProtocol, Call, Result
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.tree import task_groups
from bough.core.tree.task import Task
from bough.core.tree.task_state import SETTLED, TRANSITIONS, State, check_transition
from bough.views.run_view import view_run
from tests.core.worlds import journals


def journal(*events: e.AnyEvent) -> list[e.Record]:
    return [e.Record(n, "run", "goal", n, float(n), event) for n, event in enumerate(events, 1)]


CREATED = e.TaskCreated(Step("goal", "do it"), "base", Limits(), Rules())


def test_each_kind_of_event_is_folded_in_one_place() -> None:
    families = (ACCEPTANCE_EVENTS, PLAN_EVENTS, ROUND_EVENTS)
    kinds = Counter(kind for family in families for kind in family)
    assert [kind for kind, count in kinds.items() if count > 1] == []
    assert all(_APPLY[kind] is family[kind] for family in families for kind in family)


def test_a_task_is_a_few_values_and_groups_whose_fields_have_names_of_their_own() -> None:
    groups = {name: getattr(Task("goal"), name) for name in Task.__struct_fields__}
    groups = {name: group for name, group in groups.items() if type(group).__module__ == task_groups.__name__}
    names = Counter([*Task.__struct_fields__, *(field for each in groups.values() for field in each.__struct_fields__)])
    assert len(Task.__struct_fields__) <= 26 and len(groups) >= 10
    assert [name for name, count in names.items() if count > 1] == []


@given(journals())
def test_every_journal_folds_and_comes_to_rest(records: list[e.Record]) -> None:
    task = fold_task("goal", records)
    assert task.resting
    assert task.version == len(records)


@given(journals(), st.data())
def test_a_prefix_and_the_rest_fold_to_the_whole(records: list[e.Record], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(records)))
    task = fold_task("goal", records[:cut])
    for record in records[cut:]:
        task = evolve_task(task, record)
    assert task == fold_task("goal", records)


@given(journals())
def test_events_survive_the_wire(records: list[e.Record]) -> None:
    for record in records:
        assert e.decoder(type(record.event).__name__)(e.encode(record.event)) == record.event


@given(journals())
def test_completed_only_after_a_passed_verdict_on_the_very_tree(records: list[e.Record]) -> None:
    task = fold_task("goal", records)
    if task.state is State.COMPLETED:
        assert task.acceptance.verdict is not None
        assert task.acceptance.verdict.ruling == "passed"
        assert task.acceptance.verdict.tree == task.tree


@given(journals())
def test_bounds_hold_whatever_the_model_does(records: list[e.Record]) -> None:
    task = fold_task("goal", records)
    assert task.budget.spend.rounds <= task.budget.limits.rounds
    assert task.acceptance.repairs - task.acceptance.probe_repairs <= task.rules.max_repairs


@given(journals())
def test_every_call_is_answered_exactly_once_within_its_attempt(records: list[e.Record]) -> None:
    task = fold_task("goal", records)
    if task.attempt is not None and task.state in SETTLED:
        answered = [m.call for m in task.attempt.messages if isinstance(m, Result)]
        asked = [call.id for m in task.attempt.messages for call in getattr(m, "calls", ())]
        assert sorted(answered) == sorted(asked)


@given(journals())
def test_the_light_view_agrees_with_the_fold(records: list[e.Record]) -> None:
    task, seen = fold_task("goal", records), view_run("run", records).tasks["goal"]
    assert (seen.state, seen.why, seen.tree) == (task.state, task.why, task.tree)
    assert (seen.verdict, seen.files, seen.commit) == (task.acceptance.verdict, task.outcome.files, task.outcome.commit)
    assert (seen.limits, seen.repairs) == (task.budget.limits, task.acceptance.repairs)
    # A line shows what the task spent itself; the fold counts what is below it too.
    own = task.budget.spend.minus(reduce(Spend.plus, task.children.charged.values(), Spend()))
    assert msgspec.structs.astuple(seen.spend) == pytest.approx(msgspec.structs.astuple(own))


@given(journals(), st.data())
@settings(max_examples=50)
def test_a_rewound_task_is_as_it_was_but_for_what_it_cost(records: list[e.Record], data: st.DataObject) -> None:
    ends = list_points("goal", records)
    point = data.draw(st.sampled_from(ends)) if ends else None
    if point is None:
        return
    whole = fold_task("goal", records)
    number = len(records) + 1
    again = [*records, e.Record(number, "run", "goal", number, 0.0, e.TaskRewound(point.version, point.tree))]
    back = fold_task("goal", again)
    assert back.budget.spend == whole.budget.spend
    assert (back.state, back.attempt, back.tree, back.acceptance.repairs) == (
        point.state,
        point.attempt,
        point.tree,
        point.acceptance.repairs,
    )
    assert not back.resting
    assert list_points("goal", again) == [end for end in ends if end.version <= point.version]


def test_rounds_end_when_their_calls_are_answered() -> None:
    call = Call("1", "read", "{}")
    records = journal(
        CREATED,
        e.StateChanged(State.IN_PROGRESS, "begin"),
        e.AttemptStarted("builder", "main", "s", "b"),
        e.RoundStarted(),
        e.ModelAnswered("", (call,)),
        e.ToolStarted("1", False),
        e.ToolFinished("1", True, "text"),
        e.RoundStarted(),
        e.ModelFailed("503", 1.0),
        e.RoundStarted(),
        e.ModelAnswered("thinking aloud"),
    )
    ends = list_points("goal", records)
    assert [end.version for end in ends] == [3, 7, 11]
    assert fold_task("goal", records).budget.spend.rounds == 2


def test_a_call_made_again_after_a_crash_is_the_same_round() -> None:
    records = journal(
        CREATED,
        e.StateChanged(State.IN_PROGRESS, "begin"),
        e.AttemptStarted("builder", "main", "s", "b"),
        e.RoundStarted(),
        e.RoundStarted(),
    )
    assert fold_task("goal", records).budget.spend.rounds == 1


@pytest.mark.parametrize(
    ("protocol", "took", "seconds"),
    [("text", 2.0, 60.0), ("text", 20.0, 200.0), ("text", 45.0, 300.0), ("text", None, 300.0), ("tools", 2.0, 300.0)],
)
def test_after_a_check_without_an_end_a_small_models_next_one_gets_less_time(
    protocol: AnswerProtocol, took: float | None, seconds: float
) -> None:
    """Ten times what others took, where one has ended by itself."""
    ended: list[e.AnyEvent] = (
        [] if took is None else [e.CheckFinished(Verdict("failed", "1 test failed", exit_status=1, seconds=took))]
    )
    begun: list[e.AnyEvent] = [CREATED, e.AttemptStarted("builder", "main", "s", "b", protocol), *ended]
    assert fold_task("goal", journal(*begun)).check_timeout == 300.0
    endless = e.CheckFinished(Verdict("failed", "the check was killed after 300 s", seconds=300.0))
    assert fold_task("goal", journal(*begun, endless)).check_timeout == seconds


@pytest.mark.parametrize("current", list(State))
@pytest.mark.parametrize("to", list(State))
def test_the_table_is_the_only_way(current: State, to: State) -> None:
    task = Task("goal", state=current)
    record = e.Record(1, "run", "goal", 1, 0.0, e.StateChanged(to, "because"))
    if to in TRANSITIONS[current]:
        assert evolve_task(task, record).state is check_transition(current, to) is to
    else:
        with pytest.raises(IllegalTransition, match=f"from {current} to {to}"):
            evolve_task(task, record)


def test_a_round_that_no_agent_began_is_said() -> None:
    """Somebody else's journal may say anything; whoever lists runs goes on with the next one."""
    with pytest.raises(IllegalTransition, match="that no agent began"):
        fold_task("goal", journal(CREATED, e.MessageAdded("nudge", "go on")))


@given(st.lists(st.sampled_from(list(State)), max_size=12))
def test_any_walk_that_the_table_allows_folds(walk: list[State]) -> None:
    current = State.PENDING
    allowed = []
    for to in walk:
        if to in TRANSITIONS[current]:
            allowed.append(to)
            current = to
    assert fold_task("goal", journal(CREATED, *(e.StateChanged(to, "") for to in allowed))).state is current


def test_unknown_fields_are_skipped_and_unknown_kinds_refused() -> None:
    assert e.decoder("RoundStarted")(b'{"event":"RoundStarted","surprise":1}') == e.RoundStarted()
    with pytest.raises(msgspec.ValidationError, match="Expected `bool`"):
        e.decoder("RoundStarted")(b'{"event":"RoundStarted","last":"yes","surprise":1}')
    with pytest.raises(msgspec.ValidationError, match="Invalid value"):
        e.decoder("RoundStarted")(b'{"event":"RunFinished"}')
    with pytest.raises(msgspec.ValidationError, match="unknown event `NeverHeardOf`"):
        e.decoder("NeverHeardOf")


def runs(*passed: tuple[str, int | None]) -> Task:
    """An agent that runs test commands, one a round, with so many tests passing each time."""
    events: list[e.AnyEvent] = [
        CREATED,
        e.StateChanged(State.IN_PROGRESS, ""),
        e.AttemptStarted("builder", "main", "", ""),
    ]
    for number, (command, count) in enumerate(passed):
        call = Call(str(number), "bash", command)
        events += [e.RoundStarted(), e.ModelAnswered("", (call,)), e.ToolStarted(call.id, True)]
        events += [e.ToolFinished(call.id, count == 9, f"{number}", tree=f"tree {number}", passed=count)]
    return fold_task("goal", journal(*events))


def test_more_passing_tests_start_the_soft_limit_again() -> None:
    assert runs(("all", 3), ("all", 3), ("all", 2)).ladder.soft_rounds == 3
    assert runs(("all", 3), ("all", 3), ("all", 4)).ladder.soft_rounds == 0
    assert runs(("all", 3), ("all", 4), ("all", 2), ("all", 4)).ladder.soft_rounds == 2, "so many have passed before"
    assert runs(("one", 1), ("all", 3), ("one", 1)).ladder.soft_rounds == 3, "each command is compared with itself"
    assert runs(("one", 1), ("all", 3), ("one", 2)).ladder.soft_rounds == 0
    assert runs(("ls", None), ("ls", None)).ladder.soft_rounds == 2


def test_only_a_few_test_commands_are_remembered() -> None:
    many = runs(*((f"test {number}", number) for number in range(50)))
    assert len(many.progress.passing) == 8
    assert runs(*((f"test {number % 8}", number // 8) for number in range(16))).ladder.soft_rounds == 0
