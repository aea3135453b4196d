"""The events that plan a task's steps, and those of the ladder that changes a plan when work is stuck."""

from typing import Literal

from bough.core.acceptance.requirements import By, Requirement
from bough.core.budget.limits import Limits
from bough.core.events.base import Event
from bough.core.ladder.escalation import Decision, Trouble
from bough.core.messages import Usage
from bough.core.planning.plan import Join, Step
from bough.core.stuck.signals import Signal


class Estimated(Event, frozen=True):
    """A model estimated the size of the goal, once and before any plan."""

    atomic: bool
    steps: int
    """The approximate number of steps."""
    phases: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    reason: str = ""
    proposal: Literal["leaf", "flat", "hierarchy"] = "leaf"
    """What bough proposes: one piece of work (leaf), one level of steps, or phases with steps of their own."""
    programs: tuple[str, ...] = ()
    """Programs that the result has to behave like; only in old journals."""


class RequirementsRead(Event, frozen=True):
    """The goal's requirements were read and numbered, once and before any plan; a person may change them later."""

    requirements: tuple[Requirement, ...]
    by: By = "rule"
    background: tuple[str, ...] = ()
    """Passages of the goal that ask for nothing."""


class PlanProposed(Event, frozen=True):
    """The planner proposed a plan. It takes effect with the event `Planned`; a person may be asked first."""

    steps: tuple[Step, ...]
    conventions: tuple[str, ...] = ()
    """Conventions for every step."""


class PlanAnswered(Event, frozen=True):
    """The person answered a proposed plan: accept it, do the goal as one piece of work, make another plan, or run the
    person's own steps."""

    says: Literal["yes", "no", "change", "own"]
    wish: str = ""
    """Changes that the person wants."""
    by: str = ""


class Planned(Event, frozen=True):
    """The task gets smaller steps. Completed ones stay; `dropped` ones no longer run."""

    steps: tuple[Step, ...]
    why: str
    dropped: tuple[str, ...] = ()
    join: Join = "all"
    """If it is `any`, the steps are attempts at the same thing, and the first that is proven completes the task."""
    conventions: tuple[str, ...] = ()
    """Conventions for every step."""


class PlanRefused(Event, frozen=True):
    """A model's plan was rejected. The model may repair it once; after that (`final`) the next step of escalation is
    taken."""

    helper: str
    problems: tuple[str, ...]
    final: bool = False


class PlanChanged(Event, frozen=True):
    """The steps that had not begun were replanned, because a person's message asks for more."""

    steps: tuple[Step, ...]
    """The remaining steps of the new plan."""
    said: tuple[str, ...] = ()
    """Each change with its reason; empty in old journals if the plan did not change."""


class SplitProposed(Event, frozen=True):
    """The agent asked for smaller steps in place of the task, and they are valid."""

    steps: tuple[Step, ...]


class Granted(Event, frozen=True):
    """The budget was set to fit the number of the plan's steps, before any of them began."""

    limits: Limits


class SignalRaised(Event, frozen=True):
    """The stuck detector found that the work is stuck."""

    signal: Signal


class Escalated(Event, frozen=True):
    """A step of escalation (rung) is taken. Recorded before its effect begins, so that it is never counted twice."""

    decision: Decision
    trouble: Trouble


class HelperAnswered(Event, frozen=True):
    """A model was asked something on the task's behalf (to plan, to prune …). It counts as a round of the task."""

    helper: str
    """The prompt template of the question."""
    text: str = ""
    """The answer's text, or the arguments of its call."""
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    model: str = ""


class HelperFailed(Event, frozen=True):
    """A call to a helping model failed; the work continues without its answer, or asks later."""

    helper: str
    message: str
    seconds: float = 0.0
    usage: Usage = Usage()
    """Usage of the part of the answer that arrived before it broke off."""
    wait: float = 0.0
    """Seconds until the retry; 0: none."""


class Reported(Event, frozen=True):
    """A report before a task is given up: what was tried and learned, what is left and how to continue."""

    text: str
