import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.core.conversation.persistent_list import PersistentList


@given(st.lists(st.tuples(st.integers(0, 20), st.lists(st.integers(), max_size=3)), max_size=30))
def test_trails_never_see_each_others_items(steps: list[tuple[int, list[int]]]) -> None:
    trails: list[tuple[PersistentList[int], list[int]]] = [(PersistentList(), [])]
    for which, more in steps:
        trail, model = trails[which % len(trails)]
        trails.append((trail.then(*more), [*model, *more]))
    for trail, model in trails:
        assert list(trail) == model
        assert len(trail) == len(model)
        assert trail.since(len(model) // 2) == model[len(model) // 2 :]
        assert trail == PersistentList(tuple(model))


def test_growing_in_a_line_shares_one_list_and_branching_does_not() -> None:
    first = PersistentList((1, 2))
    second = first.then(3)
    assert second.same_root(first)
    assert not first.then(4).same_root(second)
    assert list(second) == [1, 2, 3]


def test_indexing_stays_within_the_trail() -> None:
    short = PersistentList((1, 2))
    short.then(3)
    assert (short[0], short[-1]) == (1, 2)
    with pytest.raises(IndexError):
        short[2]
