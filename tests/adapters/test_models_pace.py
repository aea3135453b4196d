"""The pace at which an endpoint is asked, with a clock that is told the time."""

import pytest

from bough.adapters.models.pace import FAILURES, Pace


def pace() -> Pace:
    return Pace(first=1.0, longest=60.0, chance=lambda: 0.0)


def send(one: Pace, now: float) -> int:
    assert one.wait(now) == 0.0
    return one.send()


def let_in(one: Pace, now: float) -> list[int]:
    """As many as may ask now."""
    sent: list[int] = []
    while one.wait(now) == 0.0 and len(sent) < 100:
        sent.append(one.send())
    return sent


def test_nobody_waits_while_a_server_answers() -> None:
    one = pace()
    assert len(let_in(one, 0.0)) == 100


def test_one_refusal_slows_everybody_and_they_come_back_one_by_one() -> None:
    one = pace()
    at_work = [send(one, 0.0) for _ in range(8)]
    one.failed(1.0, at_work[0], "throttled", 20.0)
    assert one.wait(1.0) == 20.0
    assert one.wait(20.9) == pytest.approx(0.1)
    rounds = []
    for now in range(21, 26):
        asked = let_in(one, float(now))
        rounds.append(len(asked))
        for sent in asked:
            one.answered(sent)
    assert rounds == [1, 2, 4, 4, 5], "twice as many up to half of what there was, then one more for each round"
    window = one.window
    for sent in at_work[1:]:
        one.answered(sent)
    assert one.window == window, "long answers of before neither hold anybody up nor let anybody in"


def test_refusals_of_one_burst_count_as_one() -> None:
    one = pace()
    at_work = [send(one, 0.0) for _ in range(8)]
    for sent in at_work:
        one.failed(1.0, sent, "throttled")
    assert one.wait(1.0) == 1.0
    assert not one.probing
    one.failed(2.0, send(one, 2.0), "throttled")
    assert one.wait(2.0) == 2.0, "the next pause is twice as long"


def test_a_pause_has_an_end_that_is_left_to_chance() -> None:
    one = Pace(chance=lambda: 1.0)
    one.failed(0.0, send(one, 0.0), "throttled", 100.0)
    assert one.wait(0.0) == pytest.approx(110.0)


def test_a_server_that_is_down_is_asked_by_one_at_a_time() -> None:
    one = pace()
    at_work = [send(one, 0.0) for _ in range(8)]
    for sent in at_work[: FAILURES - 1]:
        one.failed(0.0, sent, "down")
        assert one.wait(0.0) == 0.0
    for sent in at_work[FAILURES - 1 :]:
        one.failed(0.0, sent, "down")
        assert one.probing
    now, waits = 0.0, []
    for _ in range(8):
        wait = one.wait(now)
        assert wait is not None
        waits.append(wait)
        now += wait
        probe = send(one, now)
        assert one.wait(now) is None, "nobody else meanwhile"
        one.failed(now, probe, "down")
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    one.answered(send(one, now + 60.0))
    assert not one.probing
    assert len(let_in(one, now + 60.0)) == 2, "not all at once"


def test_what_says_nothing_of_the_server_changes_nothing() -> None:
    one = pace()
    for _ in range(10):
        one.failed(0.0, send(one, 0.0), "")
    one.under_way.remove(send(one, 0.0))
    assert len(let_in(one, 0.0)) == 100


def test_an_answer_ends_a_row_of_failures() -> None:
    one = pace()
    for _ in range(10):
        one.failed(0.0, send(one, 0.0), "down")
        one.answered(send(one, 0.0))
    assert not one.probing
