"""When work stops moving: what to do next, as one table. Pure, and all there is to it.

`escalate` is shown where a task stands and answers with the first rung of `LADDER` that applies. The table is read from
top to bottom. Every rung but the last has a bound: a counter in the rules, or something that it uses up. A rung that
was taken and came to nothing (a plan that was refused) leaves the trouble as it was, and the next one down applies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from msgspec import Struct

from bough.core.planning.plan import PlanningRules
from bough.core.stuck.signals import Recommended

Rung = Literal[
    "other_protocol",
    "attempts",
    "nudge",
    "prune",
    "decompose",
    "zoom_out",
    "stronger_model",
    "verify",
    "replan",
    "ask",
    "give_up",
]
Level = Literal["subtask", "task", "goal"]
Cause = Literal["signal", "soft_limit", "repairs", "faults", "children"]


class LadderRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    rungs: tuple[Rung, ...] = (
        "other_protocol",
        "attempts",
        "nudge",
        "prune",
        "decompose",
        "zoom_out",
        "stronger_model",
        "verify",
        "replan",
        "ask",
        "give_up",
    )
    """The ones that may be taken. `zoom_out` and `give_up` cannot be left out: something has to come last."""
    task_rounds: int = 16
    """Rounds on the goal or a task without a rung before its soft limit is reached."""
    subtask_rounds: int = 8
    """The same for a subtask."""
    other_protocol_after: int = 2
    """Unusable answers in a row after which an unknown model is switched to the text protocol."""
    attempts: int = 8
    """Fresh attempts, each from the beginning, that a task gets whose check fails after a repair, when its model is
    spoken to in text: a small model that is wrong seldom finds out why. 1: none."""
    few_actions: int = 3
    """With fewer actions a stuck subtask was too big to start: it is split. With as many it was honestly tried."""
    prunes: int = 1
    """How often a task's context is pruned."""
    approaches: int = 3
    """Plans that a task may have, the first one included."""
    asks: int = 1
    """How often the person is asked."""


class Trouble(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Why the ladder is asked."""

    cause: Cause
    says: str
    """One sentence for people and for the model."""
    pattern: str = ""
    """Of a signal."""
    recommended: Recommended = "decompose"
    evidence: tuple[str, ...] = ()


class Means(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What there is to escalate with."""

    stronger: bool = False
    """A stronger model is configured."""
    person: bool = False
    """Somebody is there to be asked."""


class Standing(Struct, frozen=True):
    """Where a task stands: all that the ladder looks at."""

    trouble: Trouble
    depth: int
    rules: LadderRules = LadderRules()
    planning: PlanningRules = PlanningRules()
    means: Means = Means()
    taken: dict[Rung, int] = {}
    """How often each rung was taken on this task."""
    working: bool = False
    """An agent is at work that can be told something."""
    nudged: frozenset[str] = frozenset()
    """Patterns that were named to that agent."""
    actions: int = 0
    """Tool calls that changed the workspace, and checks that changed what fails."""
    rounds_left: int = 0
    parent: bool = False
    """It has children; all of them are over."""
    completed: int = 0
    """Children that came to a good end."""
    blocked: int = 0
    """Children that did not."""
    changed: bool = False
    """There is work: files differ from the base."""
    errors: bool = False
    """The last child to end left a failing check."""
    approaches: int = 0
    """Plans that it has had."""
    in_text: bool = False
    """The agent acts by blocks in its text."""
    may_change: bool = False
    """Nothing is known of how well its model calls tools."""
    provable: bool = False
    """A check has told its work from what is wanted."""
    attempted: bool = False
    """It is itself one of several attempts."""
    hinted: bool = False
    """The person was asked, and no plan has been made of the answer yet."""

    @property
    def goal(self) -> bool:
        return self.depth == 0

    @property
    def level(self) -> Level:
        return "goal" if self.goal else "task" if self.depth == 1 or self.parent else "subtask"

    @property
    def may_split(self) -> bool:
        """A leaf that can still become a parent. Smaller steps do not help a model that gives unusable answers."""
        return (
            not self.parent
            and self.depth < self.planning.max_depth
            and self.rounds_left >= self.planning.min_split
            and not self.times("decompose")
            and self.trouble.cause != "faults"
            and not self.attempted
        )

    @property
    def shows_size(self) -> bool:
        """What is wrong says that there is too much to do, not that something does not work."""
        return self.trouble.cause == "soft_limit" or self.trouble.pattern in ("no_progress", "paging")

    @property
    def little_done(self) -> bool:
        return self.actions < self.rules.few_actions

    def times(self, rung: Rung) -> int:
        return self.taken.get(rung, 0)


class Decision(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One escalation move, at a level, with its reason."""

    rung: Rung
    level: Level
    reason: str


class Row(NamedTuple):
    rung: Rung
    why: str
    """Completes "because …" for people."""
    applies: Callable[[Standing], bool]


LADDER: tuple[Row, ...] = (
    Row(
        "other_protocol",
        "it is spoken to in text instead",
        lambda s: s.working and s.may_change and not s.in_text and s.trouble.cause == "faults",
    ),
    Row(
        "attempts",
        "fresh attempts are worth more than a long one, since the check can tell",
        lambda s: (
            s.in_text
            and s.provable
            and not s.attempted
            and not s.parent
            and s.rules.attempts > 1
            and s.depth < s.planning.max_depth
            and s.rounds_left > s.rules.attempts
            and not s.times("attempts")
        ),
    ),
    Row(
        "nudge",
        "it has not been told yet",
        lambda s: s.working and s.trouble.cause == "signal" and s.trouble.pattern not in s.nudged,
    ),
    Row(
        "prune",
        "a fresh look at only what matters may free it",
        lambda s: s.working and s.trouble.recommended == "prune" and s.times("prune") < s.rules.prunes,
    ),
    # What fails the same way again and again does so in smaller steps too: first somebody tries who knows of it.
    Row(
        "prune",
        "a fresh attempt, with the dead end written down",
        lambda s: s.working and s.trouble.recommended == "other_approach" and s.times("prune") < s.rules.prunes,
    ),
    # Below a task with children the tree is changed by replanning; here a leaf becomes one.
    Row(
        "decompose",
        "the goal has no siblings to go on with, so it is split",
        lambda s: s.goal and s.may_split,
    ),
    Row(
        "decompose",
        "it is too big to start",
        lambda s: s.may_split and s.shows_size and (s.little_done or s.trouble.pattern == "no_progress"),
    ),
    Row(
        "decompose",
        "smaller steps may get past it",
        lambda s: s.may_split and s.little_done,
    ),
    Row("zoom_out", "what else there is to do goes on without it", lambda s: not s.parent and not s.goal),
    Row(
        "stronger_model",
        "a stronger model is configured",
        lambda s: s.means.stronger and not s.times("stronger_model") and (not s.parent or s.blocked > 0),
    ),
    Row(
        "verify",
        "more is completed than blocked, and it may be done",
        lambda s: (
            s.trouble.cause == "children"
            and s.completed > s.blocked
            and s.changed
            and not s.errors
            and not s.times("verify")
        ),
    ),
    Row(
        "replan",
        "the person has said how to go on",
        lambda s: s.parent and s.hinted and s.rounds_left >= s.planning.min_split,
    ),
    Row(
        "replan",
        "another approach may get there",
        lambda s: (
            s.parent
            and s.rounds_left >= s.planning.min_split
            and max(s.approaches, s.times("replan") + 1) < s.rules.approaches
            and (s.completed > 0 or not s.goal)
        ),
    ),
    Row("zoom_out", "its approaches are used up", lambda s: not s.goal),
    # A soft limit alone says that it takes long, not that it is lost: while the ledger lasts, the agent continues.
    Row("nudge", "nothing else is left to do", lambda s: s.working and s.trouble.cause == "soft_limit"),
    Row("ask", "a person is there", lambda s: s.means.person and s.times("ask") < s.rules.asks),
    Row("give_up", "every other rung is used up", lambda s: True),
)
LAST: frozenset[Rung] = frozenset({"zoom_out", "give_up"})
ASKING: frozenset[Rung] = frozenset({"prune", "decompose", "replan"})
"""Rungs that ask a model something."""


def escalate(standing: Standing) -> Decision:
    """The rung that is to be taken now."""
    for row in LADDER:
        if row.applies(standing) and (row.rung in standing.rules.rungs or row.rung in LAST):
            return Decision(row.rung, standing.level, f"{standing.trouble.says} ({row.why})")
    raise AssertionError("the last rung always applies")
