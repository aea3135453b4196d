"""Which tactic is next: by what was measured, and by what failed on this task."""

from typing import get_args

from bough.core.ladder.escalation import Tactic, choose_tactic

ALL: tuple[Tactic, ...] = get_args(Tactic)


def play(count: int, *, alone: bool = True) -> list[str]:
    """The tactics of a task on which nothing works."""
    tried: dict[str, int] = {}
    for number in range(count):
        tactic = choose_tactic(ALL, tried, alone=alone, failed=number > 0)
        tried = tried | {tactic: tried.get(tactic, 0) + 1}
    return [tactic for tactic, times in tried.items() for _ in range(times)]


def test_every_view_is_tried_before_one_is_tried_often() -> None:
    assert set(play(8)) == set(ALL)
    assert max(play(20).count(tactic) for tactic in ALL) <= 7


def test_nothing_that_needs_a_failure_comes_first() -> None:
    only: tuple[Tactic, ...] = ("hinted", "repair")
    assert choose_tactic(only, {}, alone=True, failed=False) == "whole"


def test_work_on_several_files_is_repaired_first() -> None:
    assert play(3, alone=False) == ["whole", "repair", "repair"]
