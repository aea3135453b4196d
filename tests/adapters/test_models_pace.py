"""The pace at which an endpoint is asked, with a clock that is told the time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bough.adapters.models.pace import FAILURES, Bucket, Pace, Sent, read_allowance

M = "openai:m"


def pace() -> Pace:
    return Pace(first=1.0, longest=60.0, chance=lambda: 0.0)


def send(one: Pace, now: float, tokens: int = 0) -> Sent:
    assert one.wait(now, M, tokens) == 0.0
    return one.send(now, M, tokens)


def let_in(one: Pace, now: float) -> list[Sent]:
    """As many as may ask now."""
    sent: list[Sent] = []
    while one.wait(now, M, 0) == 0.0 and len(sent) < 100:
        sent.append(one.send(now, M, 0))
    return sent


def test_nobody_waits_while_a_server_answers() -> None:
    one = pace()
    assert len(let_in(one, 0.0)) == 100


def test_one_refusal_slows_everybody_and_they_come_back_one_by_one() -> None:
    one = pace()
    at_work = [send(one, 0.0) for _ in range(8)]
    one.failed(1.0, at_work[0], "throttled", 20.0)
    assert one.wait(1.0, M, 0) == 20.0
    assert one.wait(20.9, M, 0) == pytest.approx(0.1)
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
    assert one.wait(1.0, M, 0) == 1.0
    assert not one.probing
    one.failed(2.0, send(one, 2.0), "throttled")
    assert one.wait(2.0, M, 0) == 2.0, "the next pause is twice as long"


def test_a_pause_has_an_end_that_is_left_to_chance() -> None:
    one = Pace(chance=lambda: 1.0)
    one.failed(0.0, send(one, 0.0), "throttled", 100.0)
    assert one.wait(0.0, M, 0) == pytest.approx(110.0)


def test_a_server_that_is_down_is_asked_by_one_at_a_time() -> None:
    one = pace()
    at_work = [send(one, 0.0) for _ in range(8)]
    for sent in at_work[: FAILURES - 1]:
        one.failed(0.0, sent, "down")
        assert one.wait(0.0, M, 0) == 0.0
    for sent in at_work[FAILURES - 1 :]:
        one.failed(0.0, sent, "down")
        assert one.probing
    now, waits = 0.0, []
    for _ in range(8):
        wait = one.wait(now, M, 0)
        assert wait is not None
        waits.append(wait)
        now += wait
        probe = send(one, now)
        assert one.wait(now, M, 0) is None, "nobody else meanwhile"
        one.failed(now, probe, "down")
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    one.answered(send(one, now + 60.0))
    assert not one.probing
    assert len(let_in(one, now + 60.0)) == 2, "not all at once"


def test_what_says_nothing_of_the_server_changes_nothing() -> None:
    one = pace()
    for _ in range(10):
        one.failed(0.0, send(one, 0.0), "")
    one.drop(send(one, 0.0))
    assert len(let_in(one, 0.0)) == 100


def test_an_answer_ends_a_row_of_failures() -> None:
    one = pace()
    for _ in range(10):
        one.failed(0.0, send(one, 0.0), "down")
        one.answered(send(one, 0.0))
    assert not one.probing


def test_requests_wait_for_the_tokens_that_a_provider_has_left() -> None:
    one = pace()
    one.hear(0.0, first := send(one, 0.0), Bucket(limit=60_000, level=10_000, rate=1_000))
    one.answered(first)
    send(one, 0.0, 9_000)
    assert one.wait(0.0, M, 3_000) == pytest.approx(2.0)
    assert one.wait(0.0, "openai:other", 3_000) == 0.0, "another model has tokens of its own"
    send(one, 2.0, 3_000)
    assert one.wait(2.0, M, 500_000) == pytest.approx(60.0), "more than there can ever be: until it is full"
    assert one.wait(200.0, M, 500_000) == 0.0


def test_tokens_of_later_requests_are_not_forgotten_when_an_earlier_answer_comes() -> None:
    one = pace()
    first = send(one, 0.0)
    one.hear(0.0, first, Bucket(10_000, 10_000, 100))
    send(one, 0.0, 6_000)
    one.hear(0.0, first, Bucket(10_000, 9_000, 100))
    assert one.wait(0.0, M, 4_000) == pytest.approx(10.0), "9,000 of which 6,000 are spoken for"


NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
OPENAI = {"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "140000"}
CLAUDE = {
    "anthropic-ratelimit-input-tokens-limit": "80000",
    "anthropic-ratelimit-input-tokens-remaining": "60000",
    "anthropic-ratelimit-input-tokens-reset": "2026-01-01T00:00:15Z",
    "anthropic-ratelimit-tokens-limit": "96000",
    "anthropic-ratelimit-tokens-remaining": "76000",
    "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:12Z",
}


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({**OPENAI, "x-ratelimit-reset-tokens": "4s"}, (150_000, 140_000, 2_500)),
        ({**OPENAI, "x-ratelimit-reset-tokens": "0m4.000s"}, (150_000, 140_000, 2_500)),
        ({**OPENAI, "x-ratelimit-reset-tokens": "4000ms"}, (150_000, 140_000, 2_500)),
        ({**OPENAI, "x-ratelimit-reset-tokens": "4"}, (150_000, 140_000, 2_500)),
        (OPENAI, (150_000, 140_000, 2_500)),
        ({**OPENAI, "x-ratelimit-reset-tokens": "23h59m0s"}, None),
        ({**OPENAI, "x-ratelimit-reset-tokens": "nonsense"}, (150_000, 140_000, 2_500)),
        (CLAUDE, (80_000, 60_000, 80_000 / 60)),
        ({"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "-1"}, None),
        ({"x-ratelimit-limit-tokens": "nan", "x-ratelimit-remaining-tokens": "1"}, None),
        ({"x-ratelimit-limit-tokens": "9"}, None),
        ({}, None),
    ],
)
def test_what_providers_say_of_tokens_a_minute(
    headers: dict[str, str], found: tuple[float, float, float] | None
) -> None:
    read = read_allowance(headers, NOW)
    assert (None if read is None else (read.limit, read.level, round(read.rate, 6))) == (
        None if found is None else (found[0], found[1], round(found[2], 6))
    )
