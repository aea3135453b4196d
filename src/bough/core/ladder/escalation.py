"""Decide what to do about stuck work, by one table (the ladder).

`escalate` takes the situation of a task and returns the first rung of `LADDER` that applies. The table is read from top
to bottom. Every rung but the last has a bound: a counter in the rules, or something that it uses up. If a rung was
taken and failed (a rejected plan), the trouble stays as it was, and the next rung down applies.

`choose_tactic` chooses the form in which a model that acts in text is asked again: a small model that is wrong repeats
itself when it sees its own failing file, so a fresh attempt from another point of view helps more."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from bough.core.planning.plan import PlanningRules
from bough.core.stuck.signals import Recommended

Tactic = Literal["tests_first", "short", "whole", "hinted", "repair"]
MEASURED: dict[Tactic, float] = {"tests_first": 7.0, "short": 5.5, "whole": 5.3, "hinted": 4.7, "repair": 2.6}
"""How many tasks each tactic completes for 100,000 tokens, if the task is one file and the first attempt failed. With
`whole` and `repair` alone 34 of 80 exercises are solved instead of 37."""
SEVERAL: dict[Tactic, float] = {"whole": 4.0, "repair": 10.0}
"""The same measure for tasks of several files, where a repair keeps the files that are right."""
LATER: frozenset[Tactic] = frozenset({"hinted", "repair"})
"""Tactics that need an earlier failure."""


def choose_tactic(allowed: tuple[Tactic, ...], tried: Mapping[str, int], *, alone: bool, failed: bool) -> Tactic:
    """Choose the most promising tactic. `tried`: how often each was tried on this task, which makes it less promising.
    `alone`: whether the task is one file; `failed`: whether an earlier attempt failed."""
    defaults = MEASURED if alone else SEVERAL
    return max(
        [tactic for tactic in defaults if tactic in allowed and (failed or tactic not in LATER)],
        key=lambda tactic: defaults[tactic] / (1 + tried.get(tactic, 0)),
        default="repair" if failed else "whole",
    )


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
PROTOCOL = "protocol"
"""The pattern of work that is stuck because the model cannot act in its protocol."""
EMPTY = "empty"
"""The pattern of a model whose answers are empty: asking it again would only cost money."""
UNUSABLE = 5
"""The maximum number of further attempts at a task whose answers are unusable."""
SWITCHES = 2
"""The maximum number of changes of the protocol in a task: to the other one, and back."""
Level = Literal["subtask", "task", "goal"]
Cause = Literal["signal", "soft_limit", "repairs", "faults", "children"]


class LadderRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    rungs: tuple[Rung, ...] = get_args(Rung)
    """The allowed rungs. `zoom_out` and `give_up` cannot be left out: something has to come last."""
    task_rounds: int = 16
    """Rounds on the goal or a task without a rung before its soft limit is reached."""
    subtask_rounds: int = 8
    """Rounds on a subtask without a rung before its soft limit is reached."""
    other_protocol_after: int = 3
    """Answers in a row without a usable tool call after which a model uses text, unless most of its answers in the
    task had one."""
    fruitless_rounds: int = 3
    """Rounds without a changed file before the next attempt begins, in the text protocol."""
    attempts: int = 24
    """Further attempts at a task whose check fails, if its model uses the text protocol: a small model that is wrong
    rarely finds out why. 1: none."""
    answers: int = 8
    """Answers that such an attempt asks for at once, if the server gives several to one question: the question is most
    of the cost. Each is tried; together they count as one attempt."""
    tactics: tuple[Tactic, ...] = get_args(Tactic)
    """The allowed forms of an attempt at a task whose model uses the text protocol."""
    nudges: int = 12
    """The maximum number of messages that tell a task's agents that they are stuck."""
    few_actions: int = 3
    """A stuck subtask with fewer actions than this was too big to start: it is split. Otherwise it was honestly
    tried."""
    prunes: int = 1
    """The most prunings of a task's context."""
    approaches: int = 3
    """The most plans of a task, the first one included."""
    asks: int = 1
    """The most questions to the person."""


class Trouble(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Why escalation is needed."""

    cause: Cause
    says: str
    """One sentence for people and for the model."""
    pattern: str = ""
    """The name of the signal's pattern."""
    recommended: Recommended = "decompose"
    evidence: tuple[str, ...] = ()


class EscalationOptions(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    stronger: bool = False
    """Whether a stronger model is configured."""
    person: bool = False
    """Whether a person can be asked."""


class Situation(Struct, frozen=True):
    """All facts about a task by which escalation decides."""

    trouble: Trouble
    depth: int
    rules: LadderRules = LadderRules()
    planning: PlanningRules = PlanningRules()
    means: EscalationOptions = EscalationOptions()
    taken: dict[Rung, int] = {}
    working: bool = False
    """Whether an agent is at work and can receive a message."""
    nudged: frozenset[str] = frozenset()
    """Patterns that the agent got a message about."""
    actions: int = 0
    rounds_left: int = 0
    parent: bool = False
    """Whether the task has smaller steps, all of which have ended."""
    completed: int = 0
    blocked: int = 0
    changed: bool = False
    """Whether files differ from those before the task."""
    errors: bool = False
    """Whether the last smaller step to end left a failing check."""
    approaches: int = 0
    in_text: bool = False
    may_change: bool = False
    provable: bool = False
    """Whether a check can tell wrong work from right."""
    spare: bool = False
    hinted: bool = False

    @property
    def goal(self) -> bool:
        return self.depth == 0

    @property
    def level(self) -> Level:
        return "goal" if self.goal else "task" if self.depth == 1 or self.parent else "subtask"

    @property
    def may_split(self) -> bool:
        """Whether a leaf can still become a parent. Smaller steps do not help a model that gives unusable answers."""
        return (
            not self.parent
            and self.depth < self.planning.max_depth
            and self.rounds_left >= self.planning.min_split
            and not self.times("decompose")
            and self.trouble.cause != "faults"
        )

    @property
    def may_try_again(self) -> bool:
        """Whether a model that acts in text may make another attempt: a check can judge it, or the last answer was
        unusable."""
        return (
            self.in_text
            and (self.provable or (self.trouble.cause == "faults" and self.times("attempts") < UNUSABLE))
            and not self.parent
            and (self.trouble.pattern != EMPTY or self.spare)
            and "attempts" in self.rules.rungs
            and self.rules.attempts > 1
            and (self.spare or (self.rounds_left > 0 and self.times("attempts") < self.rules.attempts))
        )

    @property
    def shows_size(self) -> bool:
        """Whether the trouble is that there is too much to do, not that something does not work."""
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
    """The reason, as the end of a sentence "because …" for people."""
    applies: Callable[[Situation], bool]


LADDER: tuple[Row, ...] = (
    Row(
        "other_protocol",
        "the other protocol may suit the model better",
        lambda s: s.may_change and s.trouble.pattern == PROTOCOL and s.times("other_protocol") < SWITCHES,
    ),
    Row(
        "attempts",
        "another attempt costs little",
        lambda s: s.may_try_again,
    ),
    Row(
        "nudge",
        "it has not been told yet",
        lambda s: (
            s.working
            and s.trouble.cause == "signal"
            and s.trouble.pattern not in s.nudged
            and s.times("nudge") < s.rules.nudges
        ),
    ),
    Row(
        "prune",
        "a fresh start with only what matters may help",
        lambda s: s.working and s.trouble.recommended == "prune" and s.times("prune") < s.rules.prunes,
    ),
    # A repeated failure repeats in smaller steps too: first try a fresh agent that knows the dead end.
    Row(
        "prune",
        "a fresh attempt, with the dead end written down",
        lambda s: s.working and s.trouble.recommended == "other_approach" and s.times("prune") < s.rules.prunes,
    ),
    # The next rows give children to a leaf. A task that already has children is replanned instead (further down).
    Row(
        "decompose",
        "the goal has no siblings to continue with, so it is split",
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
    # The rows for a leaf end here. The rungs below are for its parents and for the goal, which see more than it does.
    Row("zoom_out", "the rest continues without it", lambda s: not s.parent and not s.goal),
    Row(
        "stronger_model",
        "a stronger model is configured",
        # Only once: the second time it would be the same model that failed.
        lambda s: s.means.stronger and not s.times("stronger_model") and (not s.parent or s.blocked > 0),
    ),
    Row(
        "verify",
        "more steps are completed than blocked: it may be done",
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
        "the person has said how to continue",
        lambda s: s.parent and s.hinted,  # However few rounds are left: a run that spends them can get more.
    ),
    Row(
        "replan",
        "another approach may work",
        lambda s: (
            s.parent
            and s.rounds_left >= s.planning.min_split
            and max(s.approaches, s.times("replan") + 1) < s.rules.approaches
            and (s.completed > 0 or not s.goal)
        ),
    ),
    Row("zoom_out", "it has no approaches left", lambda s: not s.goal),
    # A soft limit alone means that the work takes long, not that it is lost: the agent continues within the budget.
    Row(
        "nudge",
        "nothing else is left to do",
        lambda s: s.working and s.trouble.cause == "soft_limit" and s.times("nudge") < s.rules.nudges,
    ),
    Row("ask", "a person is available", lambda s: s.means.person and s.times("ask") < s.rules.asks),
    Row("give_up", "nothing else is left to try", lambda s: True),
)
LAST: frozenset[Rung] = frozenset({"zoom_out", "give_up"})
ASKING: frozenset[Rung] = frozenset({"attempts", "prune", "decompose", "replan"})
"""Rungs that call a model."""


def escalate(situation: Situation) -> Decision:
    """Return the rung to take now."""
    for row in LADDER:
        if row.applies(situation) and (row.rung in situation.rules.rungs or row.rung in LAST):
            return Decision(row.rung, situation.level, f"{situation.trouble.says} ({row.why})")
    raise AssertionError("the last rung always applies")
