from hypothesis import given
from hypothesis import strategies as st

from bough.core.budget.limits import LAST_SHARE, Limits, Spend, find_reached_limit
from bough.core.messages import Usage

spends = st.builds(
    Spend,
    rounds=st.integers(0, 50),
    tokens_in=st.integers(0, 10_000),
    tokens_out=st.integers(0, 10_000),
    cost=st.integers(0, 100).map(lambda cents: cents / 4),
    seconds=st.integers(0, 1000).map(float),
)


@given(spends, spends, spends)
def test_spending_adds_up_in_any_order(a: Spend, b: Spend, c: Spend) -> None:
    assert a.plus(b) == b.plus(a)
    assert a.plus(b).plus(c) == a.plus(b.plus(c))
    assert a.plus(Spend()) == a


@given(spends, st.builds(Limits, rounds=st.integers(1, 60), tokens=st.none() | st.integers(1, 20_000)))
def test_a_limit_that_is_reached_was_announced_before(spend: Spend, limits: Limits) -> None:
    if find_reached_limit(spend, limits):
        assert find_reached_limit(spend, limits, LAST_SHARE)


def test_each_limit_is_named() -> None:
    spend = Spend(rounds=3, tokens_in=60, tokens_out=40, cost=1.5, seconds=120.0)
    assert find_reached_limit(spend, Limits(rounds=4)) is None
    assert find_reached_limit(spend, Limits(rounds=3)) == "3 rounds"
    assert find_reached_limit(spend, Limits(tokens=100)) == "100 tokens"
    assert find_reached_limit(spend, Limits(cost=1.5)) == "1.5 US dollars"
    assert find_reached_limit(spend, Limits(minutes=2)) == "2 minutes"


def test_a_call_without_a_price_is_counted_as_such() -> None:
    spend = Spend().called(Usage(10, 5, cache_read=4), None, 1.0).called(Usage(1, 1), 0.5, 1.0)
    assert (spend.tokens, spend.tokens_cached, spend.cost, spend.unpriced, spend.seconds) == (17, 4, 0.5, 1, 2.0)
