"""When a conversation is compacted, round by round, and what a round costs afterwards."""

from collections.abc import Iterator

from bough.adapters.models.dialect import Prefixes
from bough.core import commands as c
from bough.core import events as e
from bough.core.budget.limits import Limits
from bough.core.conversation.compaction import compact_messages, compute_target, find_cut, measure_messages
from bough.core.conversation.persistent_list import PersistentList
from bough.core.decide import decide
from bough.core.journal.task_fold import evolve_task, fold_task
from bough.core.ladder.escalation import LadderRules
from bough.core.messages import Call, Message, ModelMessage, Result, Usage, UserMessage
from bough.core.planning.plan import Step
from bough.core.rules import Rules
from bough.core.stuck.signals import StuckRules
from bough.core.tree.task import Task
from bough.core.tree.task_state import State
from tests.sampling import in_turn


@in_turn
def test_no_request_of_2200_rounds_exceeds_the_assumed_window() -> None:
    """The policies and the folds, round by round, with a model that reports neither its window nor its usage."""
    rules = Rules(ladder=LadderRules(task_rounds=10**6), stuck=StuckRules(patterns=()))
    task = Task("goal")
    version, largest, rounds, compactions = 0, 0, 0, 0

    def record(*events: e.AnyEvent) -> None:
        nonlocal task, version
        for event in events:
            version += 1
            task = evolve_task(task, e.Record(version, "run", "goal", version, float(version), event))

    record(
        e.TaskCreated(Step("goal", "do it"), "base", Limits(rounds=5_000), rules),
        e.StateChanged(State.IN_PROGRESS, "begin"),
        e.AttemptStarted("builder", "main", "system", "brief"),
    )
    while rounds < 2_200:
        command, attempt = decide(task, 0.0), task.attempt
        assert attempt is not None
        if isinstance(command, c.Compact):
            compactions += 1
            at = find_cut(attempt.messages, compute_target(attempt.messages, rules.compaction))
            before = measure_messages(attempt.messages)
            after = measure_messages(compact_messages(attempt.messages, at, "summary"))
            record(e.Compacted("summary", at, before, after, "rule"))
            continue
        assert isinstance(command, c.AskModel)
        rounds += 1
        largest = max(largest, measure_messages(attempt.messages))
        record(
            e.RoundStarted(),
            e.ModelAnswered(f"page {rounds}", (Call("1", "read", f'{{"path": "{rounds}"}}'),), usage=Usage()),
            e.ToolStarted("1", False),
            e.ToolFinished("1", True, f"{rounds} " + "text " * 600),
        )
    assert compactions > 20 and 32_000 < largest <= 64_000


def at_work(*events: e.AnyEvent, rounds: int = 40) -> Task:
    """A task whose agent has just filled three quarters of its window, and what happened since."""
    before: list[e.AnyEvent] = [
        e.TaskCreated(Step("goal", "do it"), "base", Limits(rounds=rounds), Rules()),
        e.StateChanged(State.IN_PROGRESS, "begin"),
        e.AttemptStarted("builder", "main", "system", "brief"),
        e.RoundStarted(),
        e.ModelAnswered("", (Call("1", "list", "{}"),), usage=Usage(740, 5), window=1_000),
        e.ToolStarted("1", False),
        e.ToolFinished("1", True, "text " * 10),
    ]
    return fold_task(
        "goal", [e.Record(n, "run", "goal", n, float(n), ev) for n, ev in enumerate([*before, *events], 1)]
    )


VAIN = (
    e.Compacted("summary", 1, 1_000, 990, "rule"),
    e.RoundStarted(),
    e.ModelAnswered("hm", usage=Usage(800, 5), window=1_000),
)
"""A compaction that did not help, and the round after it."""


def test_results_count_before_the_provider_has_seen_them() -> None:
    assert decide(at_work(), 0.0) == c.Compact()


def test_a_round_under_way_is_made_again_as_it_was_begun() -> None:
    assert isinstance(decide(at_work(e.RoundStarted()), 0.0), c.AskModel)
    assert isinstance(decide(at_work(e.RoundStarted(), e.ModelFailed("503", 1.0)), 0.0), c.AskModel)


def test_between_two_compactions_the_model_is_heard() -> None:
    assert isinstance(decide(at_work(VAIN[0]), 0.0), c.AskModel)


def test_the_hand_over_round_is_not_lost_to_a_full_window() -> None:
    assert decide(at_work(rounds=2), 0.0) == c.Compact()
    assert isinstance(decide(at_work(*VAIN * 3), 0.0), c.Escalate)
    assert decide(at_work(*VAIN * 3, rounds=5), 0.0) == c.Say("no_tool_call")


def test_after_a_compaction_a_round_encodes_only_what_is_new() -> None:
    def exchange(number: int) -> Iterator[Message]:
        yield ModelMessage("", (Call(f"{number:09d}", "list", "{}"),))
        yield Result(f"{number:09d}", "text " * 100, True)

    prefixes = Prefixes(lambda message, before: (message.text.encode(), "more"))
    trail: PersistentList[Message] = PersistentList((UserMessage("brief"),))
    for number in range(200):
        trail = trail.then(*exchange(number))
        prefixes.bytes_of(trail)
    assert prefixes.encoded == len(trail)
    trail = compact_messages(trail, 395, "summary")
    prefixes.bytes_of(trail)
    assert prefixes.encoded == 401 + len(trail), "the short conversation is encoded once"
    for number in range(200, 210):
        known, trail = prefixes.encoded, trail.then(*exchange(number))
        body = bytes(prefixes.bytes_of(trail))
        assert prefixes.encoded == known + 2
    assert body == "".join(message.text for message in trail).encode()
