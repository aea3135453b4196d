"""The commands that tell the engine what to do next. They are plain data."""

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
    """Whether this is the hand-over round, in which only the tools `done` and `note` are available."""


class Say(Struct, frozen=True):
    """Add a message of bough's own to the conversation."""

    template: str


class Relay(Struct, frozen=True):
    """Pass a person's message to the agent."""


class Escalate(Struct, frozen=True):
    """Record the next step of escalation (rung), with the sign of being stuck that led to it, if any."""

    decision: Decision
    trouble: Trouble
    signal: Signal | None = None


class Climb(Struct, frozen=True):
    """Take the chosen step of escalation (rung)."""

    decision: Decision


class Estimate(Struct, frozen=True):
    """Ask how big the goal is."""


class MakePlan(Struct, frozen=True):
    """Plan the task's smaller steps."""


class Agree(Struct, frozen=True):
    """Ask the person to approve the proposed plan."""


class Focus(Struct, frozen=True):
    """Make one step for what the check still reports, after it failed on a task that might have been done."""


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
    """Compare the work with the files from before it, independently of the check."""


class Examine(Struct, frozen=True):
    """Let an examiner write probes from the goal."""

    missing: tuple[int, ...] = ()
    """Numbers of the requirements without a probe; empty for the first examination."""


class RunProbes(Struct, frozen=True):
    """Run the probes that count on the current files."""


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
    """Halt the task, so that it can be resumed later."""

    reason: e.Halt
    message: str


Working = OpenWorkspace | StartAttempt | AskModel | Say | Relay | ReadMessage | RunTools | Recover | RollBack | Compact
Judging = RunCheck | RuleOnChanges | ReturnFinding | SeeDifference | Examine | RunProbes | Rule
Changing = Estimate | MakePlan | Agree | Escalate | Climb | Focus | Split
Alone = RunCommand | RecoverCommand | TakeWork | Summarise
Command = Working | Judging | Changing | Alone | Conclude | ChangeState | Rest

LONG = (AskModel, RunTools, RunCheck, RunCommand, Compact, Estimate, MakePlan, Focus, Summarise)
"""Commands that run models, tools or checks. Those that ask a person are left out: a person may take any time."""
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
"""What people see of a command as long as no event says more."""
