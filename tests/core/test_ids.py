from hypothesis import given
from hypothesis import strategies as st

from bough.core.ids import RUN_NAMES, depth, make_run_name, slug


def test_names_are_distinct_and_sayable() -> None:
    names = {make_run_name(number) for number in range(RUN_NAMES * 2)}
    assert len(names) == RUN_NAMES * 2
    assert make_run_name(0) == "amber-badger"
    assert all(name.replace("-", "").isalnum() and name.islower() for name in names)


@given(st.text())
def test_a_slug_is_always_a_safe_path_segment(text: str) -> None:
    assert slug(text).replace("-", "").isalnum()
    assert len(slug(text)) <= 40


def test_depth() -> None:
    assert [depth(task) for task in ("goal", "buffer", "buffer/insert-line")] == [0, 1, 2]
