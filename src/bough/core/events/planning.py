"""The events that plan a task's steps, and those of the ladder that changes a plan when work is stuck."""

from __future__ import annotations

from typing import Literal

from bough.core.acceptance.requirements import By, Requirement
from bough.core.budget.limits import Limits
from bough.core.events.base import Event
from bough.core.ladder.escalation import Decision, Trouble
from bough.core.messages import Usage
from bough.core.planning.plan import Join, Step
from bough.core.stuck.signals import Signal


class Estimated(Event, frozen=True):
    """The complexity gate's answer: made once, and passed on."""

    atomic: bool
    steps: int
    """Approximate."""
    phases: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    reason: str = ""
    proposal: Literal["leaf", "flat", "hierarchy"] = "leaf"
    """The consequence: one leaf, one level of steps, or phases with steps of their own."""
    programs: tuple[str, ...] = ()
    """Programs that the result has to behave like, as an earlier version asked."""


class RequirementsRead(Event, frozen=True):
    """The goal's requirements, numbered. Read once, before any plan; a person may change them with the plan."""

    requirements: tuple[Requirement, ...]
    by: By = "rule"
    background: tuple[str, ...] = ()
    """Passages of the goal that ask for nothing."""


class PlanProposed(Event, frozen=True):
    """The planner proposed a plan. It takes effect once it is `Planned`: a person may be asked first."""

    steps: tuple[Step, ...]
    conventions: tuple[str, ...] = ()
    """Conventions for every step."""


class PlanAnswered(Event, frozen=True):
    """The person's answer: accept it, do it as one leaf, make another one, or run their own steps."""

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
    """`any`: they are attempts at the same thing, and the first that is proven completes the task."""
    conventions: tuple[str, ...] = ()
    """Conventions for every step."""


class PlanRefused(Event, frozen=True):
    """A model's plan was rejected. The model may repair it once; after that (`final`) the next rung is taken."""

    helper: str
    problems: tuple[str, ...]
    final: bool = False


class PlanChanged(Event, frozen=True):
    """The steps that have not begun differ from here on: a person's message asks for more."""

    steps: tuple[Step, ...]
    """The remaining steps, as they are from here on."""
    said: tuple[str, ...] = ()
    """Each change with its reason; empty, in old journals: the plan holds."""


class SplitProposed(Event, frozen=True):
    """The agent asked for smaller steps in place of the task; they were validated."""

    steps: tuple[Step, ...]


class Granted(Event, frozen=True):
    """The budget is set to fit the plan's leaves, before any of them begins."""

    limits: Limits


class SignalRaised(Event, frozen=True):
    """The stuck detector found that the work is stuck."""

    signal: Signal


class Escalated(Event, frozen=True):
    """A rung of the ladder is taken. Durable before its effect begins, so that no rung is ever counted twice."""

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
    """The call failed; the work continues without it, or asks later."""

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
