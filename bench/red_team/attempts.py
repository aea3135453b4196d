"""The table of attempts."""

from collections.abc import Callable
from dataclasses import dataclass

from .scene import Scene

Act = Callable[[Scene], None]


@dataclass(frozen=True)
class Attempt:
    """One attempt, and the defence that it aims at: with that one switched off it has to succeed."""

    name: str
    act: Act
    defence: str


ATTEMPTS: dict[str, Attempt] = {}


def attempt(defence: str) -> Callable[[Act], Act]:
    """Add a function to the table; `defence` is empty for one that only explores."""

    def add(act: Act) -> Act:
        ATTEMPTS[act.__name__] = Attempt(act.__name__, act, defence)
        return act

    return add
