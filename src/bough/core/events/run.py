"""The events of a run's own stream: its start, its base, its end and what became of it."""

from typing import Literal

from bough.core.acceptance.verdict import ChangePart, Verdict
from bough.core.budget.limits import Limits, Spend
from bough.core.events.base import End, Event, Halt
from bough.core.messages import ModelProtocol, Usage
from bough.core.planning.plan import Plan
from bough.core.rules import Rules
from bough.core.tree.task_state import Inheritance


class RunStarted(Event, frozen=True):
    plan: Plan
    base: str
    """The git tree of the person's files at the start, in bough's own repository."""
    folder: str
    """The person's working folder, relative to the tree's root; the agent starts there."""
    models: dict[str, str]
    """The models by tier, as `provider:model`."""
    limits: Limits
    rules: Rules
    version: str
    """The version of bough."""
    jobs: int = 1
    """The number of agents that may work in parallel."""
    grows: bool = False
    """Whether the number of rounds follows the size of the plan, since no person has set it."""
    endpoints: dict[str, str] = {}
    """The endpoint of each model, by its name: a resumed run uses it and no other."""
    fresh: bool = False
    """Whether every step runs, even if an earlier run has done the same step from the same files."""
    continues: str = ""
    """The finished run that this run follows up on."""
    origin: str = ""
    """The person's files as that run found them, if its work is not applied yet: this run's work includes it."""
    inherited: Inheritance = Inheritance()
    """What the goal knows about the run that this one follows up on."""
    ask_later: bool = False
    """Whether the run waits for `bough answer` if it has a question and nobody is there, instead of giving up."""
    network: str = ""
    """What commands can reach, if the person set it for this run; empty if it is as configured."""
    setup: str = ""
    """The command that sets a checkout up, if the person set it for this run; empty if it is as configured."""
    agents: dict[str, str] = {}
    """Outside agents by role or tier; `main` is for all others."""
    agent_env: tuple[str, ...] = ()
    """Names of variables that outside agents see, if the person set them for this run."""
    agent_network: str = ""
    """What outside agents can reach, if the person set it for this run."""
    protocols: dict[str, ModelProtocol] = {}
    """The protocol of each model, by its name, and why: a resumed run and its workers use the same."""
    format: int = 1
    """The format of the run's events: `FORMAT` of the bough that started it."""
    settings: dict[str, str] = {}
    """Effective settings of the repository, by name and value."""
    listed: str = ""
    """The backlog and the goal in it that the run works on: `backlog/fix-totals`."""
    by: str = ""
    """The name in the system of the person who began it."""
    examines: str = ""
    """The examined change of somebody else, as a phrase: `the branch fix-totals`; empty: the run does work itself."""


class RunResumed(Event, frozen=True):
    worker: str
    limits: Limits
    """The budget from here on: a person may raise it, spend is never reset."""
    models: dict[str, str]
    endpoints: dict[str, str] = {}
    """The endpoint of each model, by its name."""
    check: str = ""
    """The command that proves the goal from now on; empty if it stays the same."""
    accept_failing: bool | None = None
    """Whether tests that failed before the work may still fail; None if that stays the same."""
    network: str = ""
    """What commands can reach from now on; empty if that stays the same."""
    setup: str = ""
    """The command that sets a checkout up from now on; empty if it stays the same."""
    agents: dict[str, str] = {}
    """The outside agents by role or tier from now on; empty if they stay the same."""
    agent_env: tuple[str, ...] = ()
    agent_network: str = ""
    by: str = ""
    """The person's name in the system."""


class BaseStarted(Event, frozen=True):
    """The goal's check is about to run on the files as they are, before any work."""

    command: str
    why: str
    """The command's origin, as a phrase."""
    environment: str = ""
    """The environment that the command runs in, as a phrase: `the environment in .venv`."""


class BaseChecked(Event, frozen=True):
    """The goal's check ran before any work. If there is no command, no check was found."""

    command: str = ""
    why: str = ""
    environment: str = ""
    exit_status: int | None = None
    """The check's exit status; None if the command was killed."""
    passed: int = 0
    failed: int = 0
    told: int = 0
    """Number of tests mentioned in the output, if no report and no closing line counts them."""
    seconds: float = 0.0
    lacking: str = ""
    """The missing thing without which the check reports nothing, so that the run halts."""
    way_out: str = ""
    """The command or step that provides what is missing."""
    scouted: bool = False
    """Whether a model proposed the command, since no file of the project names it."""
    aside: dict[str, str] = {}
    """Failing tests that cannot run here, and what each lacks: they neither count nor are repaired."""
    left_out: tuple[str, ...] = ()
    """Ignored files that a failing check's output names: they are not in the checkout."""
    said: str = ""
    """The end of a failing check's output."""
    failing: tuple[str, ...] = ()
    """The first tests that fail, without those that cannot run here."""
    absent: bool = False
    """Whether the check starts nothing because a target or any test does not exist; nothing is missing that could be
    installed."""
    belief: str = ""
    """What running the check on a copy with a broken product showed, as a phrase; empty if not tried yet."""
    believed: bool = False
    """Whether the check failed when bough broke the product on purpose, so that a pass proves something."""


class CheckScouted(Event, frozen=True):
    """A model looked for the check, since the project's own files leave it unclear, and bough tried its proposals."""

    commands: tuple[str, ...] = ()
    """The proposals, each with its set-up."""
    refused: dict[str, str] = {}
    """Commands that do not count, and why; under an empty name, why there is no command at all."""
    usage: Usage = Usage()
    cost: float | None = None
    model: str = ""
    rounds: int = 0
    """The number of questions to the model."""
    seconds: float = 0.0
    """Seconds spent on the questions to the model."""

    @property
    def spend(self) -> Spend:
        """Return the spend of scouting: tokens, money and time, but no rounds, since only agents have rounds."""
        return Spend().called(self.usage, self.cost, self.seconds) if self.rounds else Spend()


class ToolServersListed(Event, frozen=True):
    """The run's MCP servers were started and asked what they offer."""

    tools: dict[str, tuple[str, ...]] = {}
    """The names of the tools that agents get, by server."""
    failed: dict[str, str] = {}
    """Servers that offer nothing, and why. The run continues without them."""


class RunHalted(Event, frozen=True):
    """The run is halted, unfinished, and can be resumed."""

    reason: Halt
    message: str
    until: float = 0.0
    """When the run can resume, if known: its model's quota is exhausted until then."""


class RunFinished(Event, frozen=True):
    end: End
    summary: str


class Judged(Event, frozen=True):
    """A person had the run's work verified again, by its own check or another."""

    verdict: Verdict


class Rechecked(Event, frozen=True):
    """The run's work was merged with a branch as it is now, in a checkout of bough's own, and checked again."""

    onto: str
    """The branch or commit with which the work was merged; empty for main."""
    commit: str
    """The commit that the branch `onto` pointed to."""
    standing: Literal["proven", "conflicts", "broken"]
    culprit: str = ""
    """The commit that the work conflicts with, or that broke it; empty if unknown."""
    why: str = ""
    """The file in conflict, or what fails."""


class PartTried(Event, frozen=True):
    """The tests ran on the run's change without some of its parts, or with parts that end the program when they run. If
    `asked` and `others` are empty, no test noticed."""

    tree: str
    """The git tree of the files on which the tests ran."""
    asked: tuple[str, ...] = ()
    """Tests and cases that pass only since the change, and no longer pass."""
    others: tuple[str, ...] = ()
    """Tests that passed without the change, too, and now fail, so that the rest of the change does not work alone."""


class NeedlessFound(Event, frozen=True):
    """Parts of the run's change were removed one by one, and the tests that prove its requirements ran each time."""

    tree: str
    needless: tuple[ChangePart, ...] = ()
    """Parts whose removal no test noticed, even all together."""
    undecided: tuple[ChangePart, ...] = ()
    needed: tuple[ChangePart, ...] = ()
    tests: tuple[str, ...] = ()
    """Tests and cases that pass only since the change: they ran each time, with the whole check."""
    checks: int = 0
    limit: int = 0


class Accepted(Event, frozen=True):
    """A person accepted the work of a run that finished without proof."""

    by: str = ""
    why: str = ""


class Applied(Event, frozen=True):
    """The run's changes were applied to the person's tree."""

    tree: str
    files: tuple[str, ...]
    before: str = ""
    """The person's files before the apply: what `bough undo` restores."""
    after: str = ""
    """The person's files right after the apply."""
    commit: str = ""
    """The commit that was made in the person's repository."""
    by: str = ""
    """The person's name in the system."""


class Undone(Event, frozen=True):
    """The applied changes were undone in the person's files."""

    files: tuple[str, ...]
    by: str = ""
    """The person's name in the system."""


class HookFailed(Event, frozen=True):
    """A command from the person's own settings failed, which does not affect the run; in the control stream."""

    hook: str
    """The hook's event, such as `run_finished`."""
    why: str


class RunReopened(Event, frozen=True):
    """A person rewinds the run to a moment of one of its tasks, from which it can be resumed. Recorded before any task
    is rewound, so that resuming the run completes a rewind that a crash interrupted."""

    task: str
    round: int
    moment: int = 0
    """The last record that still counts, by its `seq`. 0, in older journals: only that one task was rewound."""
    by: str = ""
    """The person's name in the system."""
