"""People's messages to a run and its tasks, and the questions to people.

The requests from `StopRequested` on are for the control stream: anyone may append them, and only the run's holder obeys
them."""

from typing import Literal

from bough.core.acceptance.requirements import Requirement
from bough.core.events.base import Event
from bough.core.planning.plan import Step


class MessageReceived(Event, frozen=True):
    """A person's message reached the task. The current agent gets it before its next round, later ones at the start."""

    said: int
    """The `seq` of the message."""
    text: str
    by: str = ""
    requirements: tuple[Requirement, ...] = ()
    """Requirements that the message adds for this task."""


class MessageRead(Event, frozen=True):
    """The demands of a person's message were read. Recorded in the goal's stream, and in the control stream for tasks
    that other processes run. A message without a demand adds nothing."""

    said: int
    """The `seq` of the message."""
    requirements: tuple[Requirement, ...] = ()
    """Requirements that the message adds to the goal."""
    replaces: dict[int, int] = {}
    """Numbers of the requirements that the message contradicts, each with the number of the one that replaces it."""
    owner: str = ""
    """The step that has to meet the demands; empty for every agent that gets the message."""
    asks: bool = False
    """Whether the message only asks something; no agent gets it, since none can answer."""


class RequirementRestored(Event, frozen=True):
    """A person has undone the replacement of a requirement: it counts again. First in the control stream, then in the
    goal's."""

    number: int
    by: str = ""
    said: int = 0
    """The `seq` of the person's request."""


class RequirementsDropped(Event, frozen=True):
    """A person wants the goal without these requirements. First in the control stream, then in the goal's and in those
    of the tasks that had to meet them."""

    numbers: tuple[int, ...]
    by: str = ""
    said: int = 0
    """The `seq` of the person's request."""


class QuestionAsked(Event, frozen=True):
    """Escalation asks the person a question. Until it is answered, the task waits."""

    question: str


class PersonAnswered(Event, frozen=True):
    """The person answered the question of an escalation; an empty text means that they did not."""

    question: str
    text: str
    by: str = ""
    said: int = 0
    """The `seq` of the `PersonSaid` that is the answer, if it came from elsewhere."""


class StopRequested(Event, frozen=True):
    """A person wants the live run to stop (`now`: without waiting for the current effect)."""

    now: bool = False
    by: str = ""
    """The name in the system of the person who asks."""


class PauseRequested(Event, frozen=True):
    """A person wants the live run to halt after the current effect, until it is resumed."""

    by: str = ""


class PersonSaid(Event, frozen=True):
    """A person's message to the agents. If the run has an open question, it is the answer. Kept until an agent gets it,
    even while the run is not running."""

    text: str
    by: str = ""
    task: str = ""
    """The task whose agents get the message, with the tasks below it; empty for all active agents."""
    answers: int = 0
    """The `seq` of the question that it answers; such an answer reaches only the asking task and adds no requirement. 0
    if it is a message."""


class PlanRuled(Event, frozen=True):
    """A person's answer to a proposed plan, given elsewhere than at the terminal."""

    task: str
    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    steps: tuple[Step, ...] = ()
    """The steps as the person wrote them, if `says` is `own`."""
    requirements: tuple[str, ...] = ()
    """The goal's requirements, if the person changed them."""
    by: str = ""


class CommandHeld(Event, frozen=True):
    """A command that needs the person's approval waits. It waits no longer than the process that asks: a resumed run
    asks again with the next such command."""

    id: str
    line: str
    task: str = ""
    """The task whose agent wants to run it."""
    until: float = 0.0
    """The time at which it is denied if nobody has answered; 0 if it waits as long as the process that asks."""


class CommandRuled(Event, frozen=True):
    """The outcome of a held command, whether the person decided, here or elsewhere, or nobody did in time."""

    id: str
    allow: bool
    say: str = ""
    """What the person tells the model if they do not allow the command."""
    by: str = ""
    """The person who decided; empty if nobody answered."""


class ChangesAnswered(Event, frozen=True):
    """A person's answer to a live task that asks whether original tests may change."""

    task: str
    allow: bool
    say: str = ""
    """What the person tells the agent if they do not allow a change."""
    by: str = ""
