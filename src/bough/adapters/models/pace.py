"""The rate limiter and circuit breaker of one endpoint, shared by all its callers. Pure: the time is passed in.

- When a server asks to slow down (429, 529), nobody asks until the pause is over. Then requests resume gradually: one,
  two more for each answer up to half of the previous concurrency, then one more per round of answers (as TCP does with
  slow start and congestion avoidance).
- When a server fails several times in a row, whichever agent asked, one request at a time probes whether it is back.
"""

from collections.abc import Callable
from random import random

from msgspec import Struct, field

from bough.core.errors import Sign

FAILURES = 3
"""Failures in a row, of all agents together, after which single requests probe whether a server is back."""
MOST = 1000.0
"""A number of concurrent requests that nobody reaches: no limit."""
SPREAD = 0.1
"""The largest random share added to a pause, so that processes waiting for the same moment do not all wake at once."""
PATIENCE = 600.0
"""The longest pause in seconds that a server can ask for; a longer one counts as an exhausted quota."""


class Pace(Struct):
    """How many requests one endpoint takes at present, and how long to pause."""

    first: float = 1.0
    """Seconds of the first pause if the server names none; each further pause is twice as long."""
    longest: float = 60.0
    """Seconds of the longest pause."""
    chance: Callable[[], float] = random
    window: float = MOST
    """The most concurrent requests."""
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
    under_way: set[int] = field(default_factory=set)

    @property
    def probing(self) -> bool:
        """Whether only one request at a time may be sent, because the server has failed repeatedly."""
        return self.failures >= FAILURES

    @property
    def newer(self) -> int:
        """Count the requests under way since the window was reduced. Older ones are not waited for: their answers may
        stream for minutes."""
        return sum(number > self.cut for number in self.under_way) if self.cut else len(self.under_way)

    def wait(self, now: float) -> float | None:
        """Return the seconds until a request may be sent; None: only after one that is under way has ended."""
        if now < self.until:
            return self.until - now
        return None if self.newer >= (1 if self.probing else int(self.window)) else 0.0

    def send(self) -> int:
        """Note that a request is sent, and return its number."""
        self.number += 1
        self.under_way.add(self.number)
        return self.number

    def answered(self, sent: int) -> None:
        self.under_way.remove(sent)
        if sent <= self.cut:
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

    def failed(self, now: float, sent: int, sign: Sign, retry_after: float | None = None) -> None:
        """Note that the server did not answer. Errors that say nothing about the server change nothing."""
        at_once = len(self.under_way)
        self.under_way.remove(sent)
        news = sent > self.cut  # A burst of failures counts once: all were sent at the same pace.
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

    def _pause(self, now: float, retry_after: float | None, times: int) -> None:
        if retry_after is None:
            retry_after = min(self.first * 2.0 ** max(times - 1, 0), self.longest)
        self.until = max(self.until, now + min(retry_after, PATIENCE) * (1.0 + SPREAD * self.chance()))
