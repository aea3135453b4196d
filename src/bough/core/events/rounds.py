"""The events of an agent's rounds: its attempts, the model's answers, its tools, and its conversation."""

from __future__ import annotations

from typing import Literal

from bough.core.events.base import Event
from bough.core.messages import AnswerProtocol, Call, Stop, Usage
from bough.core.planning.plan import Role, Tier


class AttemptStarted(Event, frozen=True):
    """A fresh agent begins. Its brief is stored whole, so a prompt is always a projection of the journal."""

    role: Role
    tier: Tier
    system: str
    brief: str
    protocol: AnswerProtocol = "tools"
    """How the agent acts: through native tool calls, blocks in its text, or tools of its own."""
    may_change: bool = False
    """The ladder may switch to the other protocol: it is unknown which one suits the model."""
    agent: str = ""
    """The outside agent by the person's name for it; empty: bough's own."""
    why: str = ""
    """Why it has this protocol, if that was found out."""
    tactic: str = ""
    """The form of the question to a model that acts in text: `tests_first`, `short`, `whole`, `hinted`, `repair`."""


class RoundStarted(Event, frozen=True):
    """A model call is about to be made."""

    last: bool = False
    """The hand-over round: only `done` and `note` are available."""


class ModelFailed(Event, frozen=True):
    """A transport error; the call is retried after `wait` seconds (0: not retried)."""

    message: str
    wait: float
    seconds: float = 0.0
    usage: Usage = Usage()
    """Usage of the part of the answer that arrived before it broke off."""
    too_long: bool = False
    """The model refused the conversation for its length: it is shortened and sent again."""
    window: int = 0
    """Tokens that fit into the model's window, as its refusal says; 0: unknown."""


class ModelSwitched(Event, frozen=True):
    """Another model of the tier's chain answers from here on: the next one, or the first again."""

    tier: Tier
    to: str
    """Its key among the run's models: `main+1`; the tier itself: the first."""
    model: str
    why: str
    window: int = 0
    """Tokens that fit into its window; 0: unknown."""
    may_change: bool = False
    """The ladder may switch its protocol."""
    restarts: bool = False
    """It uses another protocol: a fresh agent begins, and the open round is not charged."""
    until: float = 0.0
    """Time at which the previous model's quota is back; 0: another reason."""


class ModelAnswered(Event, frozen=True):
    text: str
    calls: tuple[Call, ...] = ()
    stop: Stop = "end"
    usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    model: str = ""
    extra: str = ""
    window: int = 0
    """Tokens that fit into the model's window; 0: unknown."""
    repaired: tuple[str, ...] = ()
    """Slips in the files of a text answer that an earlier version repaired: the calls have them repaired."""
    others: tuple[str, ...] = ()
    """Further answers to the same question, which the next attempts try."""
    spare: bool = False
    """It is one of these: nothing was asked, and nothing is paid."""


class MessageAdded(Event, frozen=True):
    """bough sends the agent a message between rounds: a nudge, the hand-over."""

    why: str
    """The prompt template it was made from."""
    text: str


class ToolStarted(Event, frozen=True):
    """A call starts. Durable before it runs, if it may write; for one that only reads it may come with the result."""

    call: str
    writes: bool


class ToolFinished(Event, frozen=True):
    call: str
    ok: bool
    output: str
    """What the model sees."""
    blob: str = ""
    """The whole output in the blob store, if the model does not see all of it."""
    tree: str = ""
    """Tree of the workspace after a writing call."""
    seconds: float = 0.0
    fault: bool = False
    """The call itself was unusable: unknown tool, malformed or wrong arguments."""
    interrupted: bool = False
    passed: int | None = None
    """Tests that passed in it, if it was a readable test run."""
    image: str = ""
    """The media type, if the blob is an image that the model sees."""


class NoteKept(Event, frozen=True):
    """A decision or dead end that later attempts see."""

    kind: Literal["decision", "dead_end"]
    text: str


class GoalProposed(Event, frozen=True):
    """The agent found something that is no part of its task. It waits in the backlog until a person accepts it."""

    title: str
    why: str
    files: tuple[str, ...] = ()


class CompactionStarted(Event, frozen=True):
    """The conversation is about to fill the model's window: it is compacted."""

    used: int
    """Its tokens: the provider's count of the last round, and an estimate of what came since."""
    window: int


class Compacted(Event, frozen=True):
    """A summary replaced the older part of the conversation; the brief and the newer part stayed as they were."""

    summary: str
    """The agent's new text in its place, including pinned facts."""
    at: int
    """The first message that was kept, counted from the brief as 0."""
    before: int
    """Tokens of the conversation, about."""
    after: int
    by: Literal["model", "rule"]


class ContextPruned(Event, frozen=True):
    """The next agent starts from only what the task needs."""

    before: int
    """Tokens of the conversation, about."""
    after: int
    by: Literal["model", "rule"]
