"""What people say to a task, and what it asks them."""

from __future__ import annotations

from bough.core.acceptance.requirements import Requirement
from bough.core.events.base import Event


class MessageReceived(Event, frozen=True):
    """A person's message has reached the task. Its agent gets it before the next round, a later one from the start."""

    said: int
    """The `seq` of the message."""
    text: str
    by: str = ""
    requirements: tuple[Requirement, ...] = ()
    """What it adds to what this task has to meet."""


class MessageRead(Event, frozen=True):
    """What a person's message asks for, in the goal's stream, and in the control stream for those who work elsewhere. A
    message without a demand adds nothing."""

    said: int
    """The `seq` of the message."""
    requirements: tuple[Requirement, ...] = ()
    """What it adds to what the goal asks."""
    replaces: dict[int, int] = {}
    """Numbers of the requirements that it contradicts, each with the number of the one that replaces it."""
    owner: str = ""
    """The step that does it; empty: everyone who hears it."""
    asks: bool = False
    """It only asks something: no agent hears it, since none can answer."""


class RequirementRestored(Event, frozen=True):
    """A person has undone the replacement of a requirement: it counts again. First in the control stream, then in the
    goal's."""

    number: int
    by: str = ""
    said: int = 0
    """The `seq` of their request."""


class QuestionAsked(Event, frozen=True):
    """The ladder has a question for the person. Until it is answered, the task waits."""

    question: str


class PersonAnswered(Event, frozen=True):
    """The person was asked; an empty text means no answer."""

    question: str
    text: str
    by: str = ""
    said: int = 0
    """The `seq` of the `PersonSaid` that is the answer, if it came from elsewhere."""
