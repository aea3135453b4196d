"""What the results say: shares with Wilson's interval, means with a bootstrap's, arms compared goal by goal."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt
from random import Random
from statistics import fmean

Z = 1.959964
RESAMPLES = 2_000


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share. It stays inside of 0 to 1 and is honest for few trials."""
    if not total:
        return 0.0, 1.0
    share, square = hits / total, Z * Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = Z * sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return (0.0 if hits == 0 else low), (1.0 if hits == total else high)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of a mean; the resampling is seeded, so that a table can be made again."""
    random = Random("bootstrap")
    means = sorted(fmean(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def paired_interval(gained: int, lost: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a difference of two shares on the same goals (Bonett, Price). It does not shrink to a point
    when no goal came out differently, as a bootstrap's would: few goals cannot show that there is no effect."""
    more, fewer, count = (gained + 1) / (total + 2), (lost + 1) / (total + 2), total + 2
    half = Z * sqrt((more + fewer - (more - fewer) ** 2) / count)
    return max(-1.0, more - fewer - half), min(1.0, more - fewer + half)


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p of the goals that came out differently being so unevenly divided, were no arm better."""
    total = gained + lost
    if not total:
        return 1.0
    tail = sum(comb(total, k) for k in range(min(gained, lost) + 1))
    return min(1.0, 2 * tail / float(2**total))


@dataclass(frozen=True)
class Comparison:
    """One arm against the one before it, on the same goals."""

    goals: int
    gained: int
    """Goals that only this arm completed."""
    lost: int
    """Goals that only the arm before it completed."""
    share: tuple[float, float, float]
    """Difference of the completion rates, and its 95 % interval."""
    rounds: tuple[float, float, float]
    """Difference of the mean rounds, and its 95 % interval."""
    p: float

    @property
    def says(self) -> str:
        """What can be said of completion, and only that."""
        if self.p < 0.05:
            return "more" if self.gained > self.lost else "FEWER"
        low, high = self.share[1:]
        if low >= -0.1 and high <= 0.1:
            return "no effect (within 10 points)"
        return "not shown"


def compared(before: Sequence[tuple[bool, int]], after: Sequence[tuple[bool, int]]) -> Comparison:
    """Pairs of (completed, rounds), one for each goal, in the same order."""
    shares = [float(now[0]) - float(then[0]) for then, now in zip(before, after, strict=True)]
    rounds = [float(now[1] - then[1]) for then, now in zip(before, after, strict=True)]
    gained, lost = shares.count(1.0), shares.count(-1.0)
    return Comparison(
        goals=len(shares),
        gained=gained,
        lost=lost,
        share=(fmean(shares), *paired_interval(gained, lost, len(shares))),
        rounds=(fmean(rounds), *mean_interval(rounds)),
        p=mcnemar(gained, lost),
    )
