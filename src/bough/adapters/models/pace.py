"""The rate limiter and circuit breaker of one endpoint, shared by all its callers. Pure: the time is passed in.

- When a server asks to slow down (429, 529), nobody asks until the pause is over. Then requests resume gradually: one,
  two more for each answer up to half of the previous concurrency, then one more per round of answers (as TCP does with
  slow start and congestion avoidance).
- When a server fails several times in a row, whichever agent asked, one request at a time probes whether it is back.
- If a provider reports a limit of tokens per minute, a request that would exceed it waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from random import random

from msgspec import Struct, field

from bough.core.errors import Sign

FAILURES = 3
"""Failures in a row, of all agents together, after which single requests probe whether a server is back."""
MOST = 1000.0
"""A number of concurrent requests that nobody reaches: no limit."""
SPREAD = 0.1
"""Largest random share added to a pause, so that processes waiting for the same moment do not all wake at once."""
PATIENCE = 600.0
"""Longest pause in seconds that a server can ask for; a longer one counts as an exhausted quota."""
MINUTE = 60.0
_PARTS = re.compile(r"([0-9.]{1,20})(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Sent(Struct, frozen=True):
    """A request that is under way."""

    number: int
    model: str
    tokens: int


class Bucket(Struct):
    """A provider's token allowance, which refills over time."""

    limit: float
    """The most tokens that it can hold."""
    level: float
    """Tokens left."""
    rate: float
    """Tokens refilled per second."""
    at: float = 0.0

    def fill(self, now: float) -> None:
        self.level = min(self.limit, self.level + max(now - self.at, 0.0) * self.rate)
        self.at = now

    def wait(self, now: float, tokens: int) -> float:
        """Return the seconds until that many tokens are available; if they exceed the limit, until it is full."""
        self.fill(now)
        missing = min(tokens, self.limit) - self.level
        return missing / self.rate if missing > 0 else 0.0


class Pace(Struct):
    """The state of one endpoint."""

    first: float = 1.0
    """Seconds of the first pause if the server names none; each further pause is twice as long."""
    longest: float = 60.0
    """Seconds of the longest pause."""
    chance: Callable[[], float] = random
    window: float = MOST
    """Most concurrent requests."""
    target: float = MOST
    """The window grows by one with every answer until it has this size, then ever more slowly."""
    until: float = 0.0
    """End of the pause."""
    failures: int = 0
    """Failures in a row."""
    pauses: int = 0
    """Pauses in a row."""
    number: int = 0
    """Requests so far."""
    cut: int = 0
    """The last request before the window was reduced: answers up to that one say nothing about the new window."""
    under_way: dict[int, Sent] = field(default_factory=dict)
    buckets: dict[str, Bucket] = field(default_factory=dict)
    """What is left of each model's allowance."""

    @property
    def probing(self) -> bool:
        """Whether only one request at a time may be sent, because the server has failed repeatedly."""
        return self.failures >= FAILURES

    @property
    def newer(self) -> int:
        """Count the requests under way since the window was reduced. Older ones are not waited for: their answers may
        stream for minutes."""
        return sum(number > self.cut for number in self.under_way) if self.cut else len(self.under_way)

    def wait(self, now: float, model: str, tokens: int) -> float | None:
        """Return the seconds until a request may be sent; None: only after one that is under way has ended."""
        if now < self.until:
            return self.until - now
        if self.newer >= (1 if self.probing else int(self.window)):
            return None
        return self.buckets[model].wait(now, tokens) if model in self.buckets else 0.0

    def send(self, now: float, model: str, tokens: int) -> Sent:
        self.number += 1
        sent = self.under_way[self.number] = Sent(self.number, model, tokens)
        if model in self.buckets:
            self.buckets[model].fill(now)
            self.buckets[model].level -= tokens
        return sent

    def hear(self, now: float, sent: Sent, told: Bucket) -> None:
        """Record the tokens that the server says are left, minus those of later requests, which it has not counted."""
        unknown = sum(each.tokens for each in self.under_way.values() if each.number > sent.number)
        level = min(told.level, told.limit) - unknown
        self.buckets[sent.model] = Bucket(told.limit, level, told.rate, now)

    def answered(self, sent: Sent) -> None:
        """Note that the server answered."""
        del self.under_way[sent.number]
        if sent.number <= self.cut:
            return
        if self.probing:
            self.failures, self.pauses, self.until = 0, 0, 0.0
            self.window, self.cut = 2.0, self.number
            return
        self.failures = 0
        if self.window >= MOST:
            return
        self.pauses = 0
        self.window = min(self.window + (1.0 if self.window < self.target else 1.0 / self.window), MOST)

    def failed(self, now: float, sent: Sent, sign: Sign, retry_after: float | None = None) -> None:
        """Note that the server did not answer. Errors that say nothing about the server change nothing."""
        at_once = len(self.under_way)
        del self.under_way[sent.number]
        news = sent.number > self.cut  # A burst of failures counts once: all were sent at the same pace.
        if sign == "throttled":
            self.failures += news
            self.pauses += news
            self.window = 1.0
            self.target = max(1.0, at_once / 2) if news else self.target
            self.cut = self.number
            self._pause(now, retry_after, self.pauses)
        elif sign == "down" and (news or not self.probing):
            self.failures += 1
            if self.probing:
                self.cut = self.number
                self._pause(now, retry_after, self.failures - FAILURES + 1)

    def drop(self, sent: Sent) -> None:
        """Drop a request that was cancelled, or that failed through no fault of the server."""
        del self.under_way[sent.number]

    def _pause(self, now: float, retry_after: float | None, times: int) -> None:
        if retry_after is None:
            retry_after = min(self.first * 2.0 ** max(times - 1, 0), self.longest)
        pause = min(retry_after, PATIENCE)
        self.until = max(self.until, now + pause * (1.0 + SPREAD * self.chance()))


def read_allowance(headers: Mapping[str, str], now: float) -> Bucket | None:
    """Read the limit of tokens per minute from an answer's headers (OpenAI's or Anthropic's); None: there is none, or
    it is a daily limit. `now`: seconds since 1970."""
    found = None
    for kind in (
        "x-ratelimit-{}-tokens",
        "anthropic-ratelimit-tokens-{}",
        "anthropic-ratelimit-input-tokens-{}",
    ):
        limit, left = (_read_number(headers.get(kind.format(name), "")) for name in ("limit", "remaining"))
        if limit is None or left is None or limit <= 0 or left < 0:
            continue
        reset = _read_reset(headers.get(kind.format("reset"), ""), now)
        rate = (limit - left) / reset if reset and left < limit else limit / MINUTE
        if rate < limit / (2 * MINUTE):
            continue
        rate = min(rate, 2 * limit / MINUTE)  # `reset` may be rounded to a second
        if found is None or left < found.level:  # the tightest of them
            found = Bucket(limit, left, rate)
    return found


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if -1e12 < number < 1e12 else None


def _read_reset(text: str, now: float) -> float | None:
    """Return the seconds until all tokens are back, from `6m0s`, `12ms`, `1.5` or a date."""
    text = text.strip()
    try:
        if "T" in text:
            wait = datetime.fromisoformat(text).timestamp() - now
        elif parts := _PARTS.findall(text):
            wait = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        else:
            wait = float(text)
    except (ValueError, OverflowError):
        return None
    return wait if 0 < wait < 1e9 else None
