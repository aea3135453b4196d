from calendar_slots import clock, gaps, merge

NINE, TEN, ELEVEN, NOON, FIVE = 540, 600, 660, 720, 1020


def test_slots_apart_stay_apart():
    assert merge([(ELEVEN, NOON), (NINE, TEN)]) == [(NINE, TEN), (ELEVEN, NOON)]


def test_overlapping_slots_become_one():
    assert merge([(NINE, ELEVEN), (TEN, NOON)]) == [(NINE, NOON)]


def test_touching_slots_become_one():
    assert merge([(NINE, TEN), (TEN, ELEVEN)]) == [(NINE, ELEVEN)]


def test_a_short_meeting_inside_a_long_one_does_not_end_it():
    assert merge([(NINE, NOON), (TEN, ELEVEN)]) == [(NINE, NOON)]


def test_gaps_lie_between_busy_slots():
    assert gaps([(TEN, ELEVEN)], NINE, NOON) == [(NINE, TEN), (ELEVEN, NOON)]


def test_a_meeting_before_opening_time_does_not_matter():
    assert gaps([(420, 480)], NINE, TEN) == [(NINE, TEN)]


def test_nothing_is_free_after_closing_time():
    assert gaps([(NINE, TEN), (FIVE, 1080)], NINE, NOON) == [(TEN, NOON)]


def test_clock():
    assert clock(570) == "09:30"
