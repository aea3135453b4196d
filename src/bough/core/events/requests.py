"""The control stream, where people ask something of a run and answer it: anyone may append these, and only the run's
holder obeys them."""

from __future__ import annotations

from typing import Literal

from bough.core.events.base import Event
from bough.core.planning.plan import Step


class StopRequested(Event, frozen=True):
    """A person wants the live run to stop (`now`: without waiting for the current effect)."""

    now: bool = False
    by: str = ""
    """The name in the system of the person who asks."""


class PauseRequested(Event, frozen=True):
    """A person wants the live run to halt after the current effect, until it is resumed."""

    by: str = ""


class PersonSaid(Event, frozen=True):
    """A person's message to the agents. If the run has an open question, it is the answer. Kept
    until it is heard, even while the run is not running."""

    text: str
    by: str = ""
    task: str = ""
    """The task whose agents it is for, with the tasks below it; empty: all active agents."""


class PlanRuled(Event, frozen=True):
    """A person's answer to a proposed plan, given elsewhere than where they are asked."""

    task: str
    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    steps: tuple[Step, ...] = ()
    """The steps as the person wrote them, if it says `own`."""
    requirements: tuple[str, ...] = ()
    """What the goal asks, if the person changed it."""
    by: str = ""


class CommandHeld(Event, frozen=True):
    """A command that the person wants to see first waits for approval. It waits no longer than
    the process that asks: what is open when a run is resumed is asked again with the next such command."""

    id: str
    line: str
    task: str = ""
    """The task whose agent wants to run it."""
    until: float = 0.0
    """When it is denied if nobody has answered; 0: it waits as long as the process that asks."""


class CommandRuled(Event, frozen=True):
    """The outcome of a held command, whether the person decided, here or elsewhere, or nobody did in time."""

    id: str
    allow: bool
    say: str = ""
    """What the model is told with a no."""
    by: str = ""
    """Empty: nobody answered."""


class ChangesAnswered(Event, frozen=True):
    """A person's answer to a live task that asks whether original tests may change."""

    task: str
    allow: bool
    say: str = ""
    """What the agent is told with a no."""
    by: str = ""
