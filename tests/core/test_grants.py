"""The arithmetic of grants: whatever a tree of tasks does, and in whatever order, the budget holds."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from bough.core.budget.grants import compute_free, compute_grant, compute_root_rounds
from bough.core.budget.limits import Limits, Spend, add_limits, compute_remaining, convert_spend, find_reached_limit
from bough.core.ladder.escalation import Situation, Trouble

NEAR = 1e-6
"""Money and time are floats."""

weights = st.integers(1, 5)
many_weights = st.lists(weights, max_size=8)
picks = st.integers(0, 20)


def may_split(limits: Limits, spend: Spend) -> bool:
    """The ladder's own rule, for a task at depth 1."""
    return Situation(Trouble("soft_limit", ""), 1, rounds_left=compute_remaining(spend, limits).rounds).may_split


@dataclass(eq=False)
class Node:
    """A task as far as its purse goes."""

    limits: Limits
    parent: "Node | None" = None
    spend: Spend = field(default_factory=Spend)
    """Its own, and that of its settled children."""
    running: "list[Node]" = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    """Complexities of the children that have not started."""

    @property
    def reserved(self) -> list[Limits]:
        return [child.limits for child in self.running]

    @property
    def free(self) -> Limits:
        return compute_free(self.limits, self.spend, self.reserved)

    def fork(self, alone: bool, rounds: int | None = None) -> "Node":
        weight, *self.waiting = self.waiting
        limits = compute_grant(
            self.limits,
            self.spend,
            self.reserved,
            weight=weight,
            waiting=self.waiting,
            alone=alone,
            rounds=rounds,
        )
        child = Node(limits, self)
        self.running.append(child)
        return child

    def settle(self) -> None:
        assert self.parent is not None and not self.running
        self.parent.running.remove(self)
        self.parent.spend = self.parent.spend.plus(self.spend)

    def all(self) -> "list[Node]":
        return [self, *(node for child in self.running for node in child.all())]


def affordable(spend: Spend, purse: Limits) -> Spend:
    """A call cut down to what a purse allows."""
    tokens = spend.tokens if purse.tokens is None else min(spend.tokens, purse.tokens)
    cost = spend.cost if purse.cost is None else min(spend.cost, purse.cost)
    seconds = spend.seconds if purse.minutes is None else min(spend.seconds, purse.minutes * 60)
    return Spend(min(spend.rounds, purse.rounds), tokens_in=tokens, cost=cost, seconds=seconds)


calls = st.builds(
    Spend,
    rounds=st.integers(0, 30),
    tokens_in=st.integers(0, 20_000),
    cost=st.floats(0, 3),
    seconds=st.floats(0, 600),
)
every_limit = st.builds(
    Limits,
    rounds=st.integers(1, 400),
    tokens=st.none() | st.integers(1, 200_000),
    cost=st.none() | st.floats(0.01, 20),
    minutes=st.none() | st.floats(0.1, 60),
)


class Tree(RuleBasedStateMachine):
    """Any tree, any interleaving of forking, spending and finishing."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Node(Limits())
        self.spent = Spend()

    def running(self, pick: int) -> Node:
        nodes = self.root.all()
        return nodes[pick % len(nodes)]

    @initialize(limits=every_limit, waiting=many_weights)
    def start(self, limits: Limits, waiting: list[int]) -> None:
        self.root = Node(limits, waiting=waiting)

    @rule(pick=picks, waiting=many_weights)
    def plan(self, pick: int, waiting: list[int]) -> None:
        node = self.running(pick)
        if may_split(node.limits, node.spend):
            node.waiting = waiting

    @rule(pick=picks, alone=st.booleans(), rounds=st.none() | st.integers(1, 100))
    def fork(self, pick: int, alone: bool, rounds: int | None) -> None:
        node = self.running(pick)
        if not node.waiting:
            return
        before = node.free
        child = node.fork(alone, rounds)
        assert (child.limits.rounds >= 1) == (before.rounds >= 1)
        assert child.limits.rounds <= before.rounds
        if rounds is None:
            assert child.limits.rounds * 10 < node.limits.rounds * 3 + 10

    @rule(pick=picks, call=calls)
    def spend(self, pick: int, call: Spend) -> None:
        """Anybody who runs, while others run too."""
        node = self.running(pick)
        call = affordable(call, node.free)
        node.spend = node.spend.plus(call)
        self.spent = self.spent.plus(call)

    @rule(pick=picks)
    def finish(self, pick: int) -> None:
        """Also in the middle of its work: then its children are stopped, and settled, before it."""
        node = self.running(pick)
        if node.parent is None:
            return
        before = node.parent.free
        for below in reversed(node.all()):
            below.settle()
        after = node.parent.free
        assert after.rounds == before.rounds + node.limits.rounds - node.spend.rounds
        if before.tokens is not None and node.limits.tokens is not None:
            assert after.tokens == before.tokens + node.limits.tokens - node.spend.tokens

    @invariant()
    def no_level_exceeds_its_grant(self) -> None:
        for node in self.root.all():
            reserved, spend, limits = node.reserved, node.spend, node.limits
            assert spend.rounds + sum(grant.rounds for grant in reserved) <= limits.rounds
            if limits.tokens is not None:
                assert spend.tokens + sum(grant.tokens or 0 for grant in reserved) <= limits.tokens
            if limits.cost is not None:
                assert spend.cost + sum(grant.cost or 0 for grant in reserved) <= limits.cost + NEAR
            if limits.minutes is not None:
                minutes = spend.seconds / 60 + sum(grant.minutes or 0 for grant in reserved)
                assert minutes <= limits.minutes + NEAR

    @invariant()
    def nothing_is_lost(self) -> None:
        """The purses together hold exactly what was spent; what the root has not reserved or spent is free."""
        nodes = self.root.all()
        assert sum(node.spend.rounds for node in nodes) == self.spent.rounds <= self.root.limits.rounds
        assert sum(node.spend.tokens for node in nodes) == self.spent.tokens
        assert sum(node.spend.cost for node in nodes) == pytest.approx(self.spent.cost, abs=NEAR)
        reserved = sum(child.limits.rounds for child in self.root.running)
        assert self.root.free.rounds + reserved + self.root.spend.rounds == self.root.limits.rounds


TestTree = Tree.TestCase
TestTree.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(every_limit, many_weights.filter(bool), st.data())
@settings(max_examples=40, deadline=None)
def test_a_last_call_that_overdraws_is_made_up_for(limits: Limits, waiting: list[int], data: st.DataObject) -> None:
    """Each child continues until a limit is reached, and the call that reaches it may cost what it likes. What is spent
    beyond the budget is then at most what the last calls took beyond their grants; and nothing more is granted."""
    root = Node(limits, waiting=waiting)
    children = [root.fork(alone=False) for _ in waiting]
    over_tokens = 0
    for child in children:
        while not find_reached_limit(child.spend, child.limits):
            child.spend = child.spend.plus(replace(data.draw(calls), rounds=1))
        if child.limits.tokens is not None:
            over_tokens += max(0, child.spend.tokens - child.limits.tokens)
        child.settle()
    assert root.spend.rounds <= limits.rounds
    if limits.tokens is not None:
        assert root.spend.tokens <= limits.tokens + over_tokens
        if root.spend.tokens >= limits.tokens:
            root.waiting = [1]
            assert root.fork(alone=True).limits.tokens == 0


def test_forty_twelve_four() -> None:
    """The seed's example: 40 rounds for the goal, at most 12 for a task, at most 4 for a subtask; none below."""
    goal = Limits(40)
    task = compute_grant(goal, Spend(), waiting=())
    assert task.rounds == 12
    assert may_split(goal, Spend()) and may_split(task, Spend())
    subtask = compute_grant(task, Spend(), waiting=())
    assert subtask.rounds == 4
    assert not may_split(subtask, Spend())


def test_four_tasks_at_once_share_forty_rounds_with_their_parent() -> None:
    root = Node(Limits(40, tokens=1000, cost=10.0), waiting=[1, 1, 1, 1])
    children = [root.fork(alone=False).limits for _ in range(4)]
    assert children == [Limits(8, tokens=200, cost=2.0)] * 4
    assert root.free == Limits(8, tokens=200, cost=2.0)


def test_one_after_the_other_gets_the_same_rounds_and_all_the_tokens() -> None:
    root = Node(Limits(40, tokens=1000), waiting=[1, 1, 1, 1])
    for done in range(4):
        child = root.fork(alone=True)
        assert child.limits == Limits(8, tokens=1000 - 100 * done)
        child.spend = Spend(rounds=8, tokens_in=100)
        child.settle()
    assert root.free == Limits(8, tokens=600)


def test_what_is_not_used_goes_to_those_who_come_later() -> None:
    root = Node(Limits(40), waiting=[1, 1, 1, 1])
    first = root.fork(alone=True)
    first.spend = Spend(rounds=2)
    first.settle()
    assert root.fork(alone=True).limits.rounds == 38 // 4


def test_the_harder_step_gets_more() -> None:
    root = Node(Limits(100), waiting=[5, 1, 3])
    assert [root.fork(alone=False).limits.rounds for _ in range(3)] == [30, 11, 29]
    assert root.free.rounds == 30


def test_the_last_rounds_go_out_one_by_one() -> None:
    root = Node(Limits(3), waiting=[1] * 5)
    assert [root.fork(alone=False).limits.rounds for _ in range(5)] == [1, 1, 1, 0, 0]


def test_a_person_s_number_counts_up_to_what_is_free() -> None:
    assert compute_grant(Limits(40), Spend(), waiting=[1, 1], rounds=30).rounds == 30
    assert compute_grant(Limits(40), Spend(rounds=15), [Limits(10)], waiting=[1, 1], rounds=30).rounds == 15
    assert compute_grant(Limits(40), Spend(rounds=40), rounds=30).rounds == 0


def test_a_running_child_without_a_limit_that_came_later_has_all_of_it() -> None:
    """The run was resumed with a limit on tokens."""
    assert compute_free(Limits(40, tokens=100), Spend(), [Limits(5)]) == Limits(35, tokens=0)


@given(every_limit, calls, st.lists(every_limit, max_size=4), weights, many_weights, st.booleans())
@settings(deadline=None)
def test_never_more_than_what_is_free(
    parent: Limits, spend: Spend, reserved: list[Limits], weight: int, waiting: list[int], alone: bool
) -> None:
    rest = compute_free(parent, spend, reserved)
    got = compute_grant(parent, spend, reserved, weight=weight, waiting=waiting, alone=alone)
    for name in Limits.__struct_fields__:
        given_, had = getattr(got, name), getattr(rest, name)
        assert (given_ is None) == (getattr(parent, name) is None)
        assert given_ is None or 0 <= given_ <= had
    assert compute_free(parent, spend) == compute_remaining(spend, parent)


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 7, 29, 200])
def test_a_flat_plan_has_a_whole_task_s_rounds_for_each_leaf(leaves: int) -> None:
    """16 for each, and the goal itself keeps as much for its own check."""
    root = Node(Limits(compute_root_rounds(leaves)), waiting=[1] * leaves)
    grants = [root.fork(alone=False).limits.rounds for _ in range(leaves)]
    assert leaves == 1 or min(grants) >= 16
    assert root.free.rounds >= 16


def test_the_ledger_of_a_run() -> None:
    assert compute_root_rounds(1) == compute_root_rounds(0) == 40
    assert compute_root_rounds(2) == 56
    assert compute_root_rounds(29) == 40 + 28 * 16
    assert compute_root_rounds(29, 12) == 12


@pytest.mark.parametrize(("rounds", "spent", "may"), [(10, 0, True), (9, 0, False), (40, 30, True), (40, 31, False)])
def test_no_splitting_under_ten(rounds: int, spent: int, may: bool) -> None:
    assert may_split(Limits(rounds), Spend(rounds=spent)) is may


@given(st.integers(0, 100_000))
def test_thirty_percent_is_rounded_up_exactly(rounds: int) -> None:
    got = compute_grant(Limits(rounds), Spend()).rounds
    assert 10 * got >= 3 * rounds > 10 * (got - 1) or rounds == got == 0


@given(every_limit, calls)
def test_a_grant_on_top_of_what_was_spent_leaves_just_that(limits: Limits, spend: Spend) -> None:
    after = compute_remaining(spend, add_limits(limits, convert_spend(spend)))
    for name in Limits.__struct_fields__:
        was, now = getattr(limits, name), getattr(after, name)
        assert (was is None and now is None) or now == pytest.approx(was, abs=NEAR)
