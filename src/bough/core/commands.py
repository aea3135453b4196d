"""The commands of the engine. They are imperative and carry no behaviour."""

from __future__ import annotations

from msgspec import Struct

from bough.core import events as e
from bough.core.ladder.escalation import Decision, Trouble
from bough.core.messages import Call
from bough.core.planning.plan import Role, Step, Tier
from bough.core.stuck.signals import Signal
from bough.core.tree.task_state import State


class OpenWorkspace(Struct, frozen=True):
    """Give the task its private checkout and begin."""


class StartAttempt(Struct, frozen=True):
    role: Role
    tier: Tier


class AskModel(Struct, frozen=True):
    wait: float
    """Seconds to wait first (after a transport error)."""
    last: bool
    """The hand-over round: only `done` and `note` are available."""


class Say(Struct, frozen=True):
    """Add a message of bough's own to the conversation."""

    template: str


class Relay(Struct, frozen=True):
    """Pass a person's message to the agent."""


class Escalate(Struct, frozen=True):
    """Record the next rung, with the signal that led to it, if any."""

    decision: Decision
    trouble: Trouble
    signal: Signal | None = None


class Climb(Struct, frozen=True):
    """Take the chosen rung."""

    decision: Decision


class Estimate(Struct, frozen=True):
    """Ask how big the goal is."""


class MakePlan(Struct, frozen=True):
    """Plan its smaller steps."""


class Agree(Struct, frozen=True):
    """Ask the person to approve the proposed plan."""


class Focus(Struct, frozen=True):
    """Make one focused step for the rest, after the check failed on a task that might have been done."""


class Compact(Struct, frozen=True):
    """Make the conversation smaller before it is too long for the model."""


class Split(Struct, frozen=True):
    """Continue with the smaller steps that the agent asked for."""

    steps: tuple[Step, ...]


class RunTools(Struct, frozen=True):
    """Run these calls; the read-only ones in parallel."""

    calls: tuple[Call, ...]


class Recover(Struct, frozen=True):
    """Restore the workspace after the process died during calls, and answer them as interrupted."""

    calls: tuple[Call, ...]


class RollBack(Struct, frozen=True):
    """Restore the workspace to the state before a repair that made things worse."""

    tree: str
    why: str


class RunCommand(Struct, frozen=True):
    """Run the command that is the step."""


class TakeWork(Struct, frozen=True):
    """Take over the work of the finished run that the step names."""


class RecoverCommand(Struct, frozen=True):
    """Restore the workspace after the process died during the command, and record it as interrupted."""


class Summarise(Struct, frozen=True):
    """Summarise the results of the task's steps."""


class RunCheck(Struct, frozen=True):
    """Run the task's check and record the verdict."""


class RuleOnChanges(Struct, frozen=True):
    """Get a ruling on whether original tests may change."""

    by: e.ChangesBy


class ReturnFinding(Struct, frozen=True):
    """Tell the same agent what was found although the check passed."""


class ReadMessage(Struct, frozen=True):
    """Find out what a person's message demands."""

    said: e.Record


class SeeDifference(Struct, frozen=True):
    """Compare the work with the base, apart from the check's result."""

    tests: bool = False
    """Run the agent's new tests without its work, too."""


class Examine(Struct, frozen=True):
    """Get probes written from the goal."""

    missing: tuple[int, ...] = ()
    """Requirements without a probe; empty: the first examination."""


class RunProbes(Struct, frozen=True):
    """Run the live probes on the current tree."""


class Rule(Struct, frozen=True):
    """Ask a judge to rule on a contested probe."""


class Conclude(Struct, frozen=True):
    """Store the work in a checkpoint and set the final state."""

    to: State
    why: str


class ChangeState(Struct, frozen=True):
    to: State
    why: str


class Rest(Struct, frozen=True):
    """Halt, resumable."""

    reason: e.Halt
    message: str


Working = OpenWorkspace | StartAttempt | AskModel | Say | Relay | ReadMessage | RunTools | Recover | RollBack | Compact
Judging = RunCheck | RuleOnChanges | ReturnFinding | SeeDifference | Examine | RunProbes | Rule
Changing = Estimate | MakePlan | Agree | Escalate | Climb | Focus | Split
Alone = RunCommand | RecoverCommand | TakeWork | Summarise
Command = Working | Judging | Changing | Alone | Conclude | ChangeState | Rest

LONG = (AskModel, RunTools, RunCheck, RunCommand, Compact, Estimate, MakePlan, Focus, Summarise)
"""What runs models, tools or checks. A person who is asked may take all the time they want."""
SHOWN: dict[type, str] = {
    OpenWorkspace: "setting up the workspace",
    RollBack: "restoring the workspace",
    Examine: "examining the work",
    RunProbes: "running probes",
    Rule: "ruling on probes",
    RuleOnChanges: "ruling on changed tests",
    RunCheck: "checking",
    Estimate: "estimating the goal",
    MakePlan: "planning",
    Conclude: "finishing",
}
"""Describes a command while no event says more."""
