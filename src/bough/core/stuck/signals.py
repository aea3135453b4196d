"""The vocabulary of the stuck detector: its input, its signals, and every threshold."""

from typing import Literal, get_args

from msgspec import Struct

Pattern = Literal[
    "repetitive_output", "circular_tools", "no_progress", "repeated_error", "monologue", "oscillation", "paging"
]
SoftLimit = Literal["max_rounds", "subtask_max_rounds"]
Recommended = Literal["nudge", "prune", "decompose", "other_approach"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)


class Act(Struct, frozen=True):
    """One tool call and its result, as the detector sees it."""

    tool: str
    arguments: str
    """The arguments as the model wrote them, never masked."""
    result: str
    ok: bool = True
    writes: bool = False
    """Whether the call may have changed the workspace."""
    tree: str = ""
    """The git tree of the workspace after the call; empty if unknown."""


class Turn(Struct, frozen=True):
    """One round: the model's text, and its calls."""

    text: str = ""
    acts: tuple[Act, ...] = ()


class Signal(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Work is stuck: the pattern, the confidence, the evidence, and what would help."""

    pattern: Pattern | SoftLimit
    confidence: float
    diagnosis: str
    """One sentence for people and for the model."""
    recommended: Recommended
    rounds: tuple[int, ...] = ()
    """The rounds that show the pattern, as the memory counts them."""
    evidence: tuple[str, ...] = ()
    """The last of the repeated calls and results, shortened."""


class StuckRules(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    patterns: tuple[Pattern, ...] = PATTERNS
    """Patterns that may be raised."""
    window: int = 10
    """Rounds back within which a repeat counts."""
    period: int = 5
    """The longest cycle, in rounds: a round can repeat one that many rounds back, and none further back."""
    repeats: int = 3
    """Rounds in a row that only repeat earlier ones, as a cycle does, before it is `circular_tools`."""
    errors: int = 3
    """Times that the same error occurs in a row before it is `repeated_error`."""
    errors_apart: int = 4
    """Times that the same error occurs, with other work in between, before it is `repeated_error`."""
    error_window: int = 24
    """Rounds back within which an error counts for `errors` and `errors_apart`."""
    silent: int = 3
    """Answers in a row without a usable call: `monologue`, or `repetitive_output` if they say the same."""
    chants: int = 10
    """Times that one answer repeats the same piece of text before it is `repetitive_output`."""
    idle: int = 5
    """Rounds in a row without a change and without new information before it is `no_progress`."""
    returns: int = 3
    """Times that the workspace returns to an earlier tree before it is `oscillation`."""
    looks: int = 14
    """Rounds in a row that read with different arguments, without using what they read, before it is `paging`."""
    shells: tuple[str, ...] = ("bash",)
    """Tools that run programs: when they fail, the details are about the project and not about the call."""
    alike_error: float = 0.55
    """How alike two calls with the same error must be, from 0 to 1, to count as one thing tried twice."""
    alike_refused: float = 0.75
    """The same for two writes whose refusals have the same first line and different details."""
    alike_call: float = 0.9
    """How alike answers without a call must be, from 0 to 1, to count as saying the same."""
