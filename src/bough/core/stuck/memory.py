"""The detector's memory of the recent past: short keys of the last rounds, bounded whatever the run does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bough.core.stuck.marks import LITTLE, SPECIFIC, Kind, Mark, classify_repeat, mark_act
from bough.core.stuck.masks import hash_text, sketch_text
from bough.core.stuck.signals import Act, StuckRules, Turn

T = TypeVar("T")
D = TypeVar("D", Mark, "Failed")

ACTS = 16
"""Calls of one round that are examined."""
KNOWN = 64
"""Results that are remembered to tell what is new."""


class RepeatedRound(Struct, frozen=True):
    """A round that only repeated earlier ones."""

    round: int
    lag: int
    """How many rounds back."""
    kind: Kind
    verbatim: bool
    """Exactly the calls of the round before."""


class IdleAnswer(Struct, frozen=True):
    """An answer without a usable call."""

    round: int
    sketch: tuple[int, ...]


class Failed(Struct, frozen=True):
    """A call that failed, and how."""

    round: int
    error: int


class TreeSince(Struct, frozen=True):
    """The workspace had this tree from that round on."""

    round: int
    tree: str


class ReadingRound(Struct, frozen=True):
    """A round that only read something new."""

    round: int
    shape: int


class StuckMemory(Struct, frozen=True):
    """What the detector remembers: short keys of the last rounds."""

    round: int = 0
    """Rounds seen so far."""
    era: int = 0
    """How often the workspace has changed."""
    failing: int = 0
    marks: tuple[Mark, ...] = ()
    repeated: tuple[RepeatedRound, ...] = ()
    """The last rounds in a row that only repeated earlier ones."""
    idle: tuple[int, ...] = ()
    """The last rounds in a row without a change and without new information. If no tree is known, only a repeat shows
    that nothing changed."""
    said: tuple[IdleAnswer, ...] = ()
    """The last rounds in a row without a usable call."""
    failed: tuple[Failed, ...] = ()
    """Kept if trees are known: only they show whether something changed in between."""
    trees: tuple[TreeSince, ...] = ()
    reading: tuple[ReadingRound, ...] = ()
    known: tuple[int, ...] = ()


def reset_memory(memory: StuckMemory) -> StuckMemory:
    """An empty memory that keeps counting rounds: after a signal, or after a person's message."""
    return StuckMemory(round=memory.round)


def note_round(memory: StuckMemory, turn: Turn, rules: StuckRules) -> StuckMemory:
    """The memory after one more round."""
    if turn.acts:
        return _note_acts(memory, turn, rules)
    # Text alone changes nothing: what was repeating before it still is.
    said = IdleAnswer(memory.round + 1, sketch_text(turn.text))
    return replace(memory, round=memory.round + 1, said=keep_last((*memory.said, said), rules.silent))


def _note_acts(memory: StuckMemory, turn: Turn, rules: StuckRules) -> StuckMemory:
    now = memory.round + 1
    memory = _note_tests(replace(memory, round=now, said=()), turn)
    marks: list[Mark] = []
    found: list[tuple[Kind, int] | None] = []
    for act in turn.acts[:ACTS]:
        one = mark_act(act, now, memory.era)
        # It would otherwise count as a repeat: a 429 looks the same each time.
        if one.transit:
            continue
        found.append(_find_earlier(one, memory.marks, rules))
        marks.append(one)
        memory = _note_change(memory, act, one, found[-1])
    # An unavailable service neither advances the work nor shows that it is stuck.
    return _remember(memory, marks, found, rules) if marks else memory


def _find_earlier(now: Mark, marks: tuple[Mark, ...], rules: StuckRules) -> tuple[Kind, int] | None:
    """The nearest earlier round that did the same with the same result."""
    for then in reversed(marks):
        kind = classify_repeat(now, then, rules)
        if kind is not None:
            return kind, now.round - then.round
    return None


def _note_tests(memory: StuckMemory, turn: Turn) -> StuckMemory:
    """Different tests fail than before: the work is making progress, whatever it looks like."""
    if turn.failing is None:
        return memory
    failing = hash_text("\n".join(sorted(turn.failing))) or 1
    if memory.failing in (0, failing):
        return replace(memory, failing=failing)
    return replace(memory, failing=failing, era=memory.era + 1, repeated=(), idle=(), failed=(), reading=())


def _note_change(memory: StuckMemory, act: Act, one: Mark, found: tuple[Kind, int] | None) -> StuckMemory:
    """Count the change, if the act made one. If no tree is known, a successful write did, unless it is a repeat."""
    if act.tree:
        before = memory.trees[-1].tree if memory.trees else ""
        if act.tree == before:
            return memory
        trees = (*memory.trees, TreeSince(one.round, act.tree))
        return replace(memory, trees=trees, era=memory.era + (before != ""))
    silent = one.says < LITTLE
    return replace(memory, era=memory.era + 1) if act.writes and act.ok and (silent or found is None) else memory


def _remember(
    memory: StuckMemory, marks: list[Mark], found: list[tuple[Kind, int] | None], rules: StuckRules
) -> StuckMemory:
    now = memory.round
    moved = memory.era != marks[0].era
    repeated = _list_repeated(memory, marks, found, rules)
    new = any(not _is_known(one, memory.known) for one in marks)
    still = bool(memory.trees) and not (new or moved)
    idle = (*memory.idle, now) if repeated or still else ()
    failed = (Failed(now, one.error) for one in marks if one.error and one.says >= SPECIFIC and memory.trees)
    shapes = {one.shape for one in marks if one.ok and not one.writes}
    paging = len(shapes) == 1 and new and not moved and all(one.ok for one in marks)
    reading = (*memory.reading, ReadingRound(now, shapes.pop())) if paging else ()
    return replace(
        memory,
        marks=keep_last(_keep_since((*memory.marks, *marks), now - rules.window), rules.window * 4),
        repeated=repeated,
        idle=keep_last(idle, rules.idle),
        failed=keep_last(_keep_since((*memory.failed, *failed), now - rules.error_window), rules.error_window),
        trees=keep_last(memory.trees, rules.window),
        reading=keep_last(reading, rules.looks),
        known=keep_last((*memory.known, *(one.error or one.rounded for one in marks)), KNOWN),
    )


def _list_repeated(
    memory: StuckMemory, marks: list[Mark], found: list[tuple[Kind, int] | None], rules: StuckRules
) -> tuple[RepeatedRound, ...]:
    """A round is repeated if each of its calls is a repeat; one that is not resets the count."""
    again = [each for each in found if each is not None]
    if len(again) < len(found):
        return ()
    kind, lag = max(again, key=lambda each: each[1])
    # Exactly the same calls with the same error need one round less to count than similar ones.
    verbatim = _list_calls(marks) == _list_calls(one for one in memory.marks if one.round == memory.round - 1)
    return keep_last((*memory.repeated, RepeatedRound(memory.round, lag, kind, verbatim)), rules.window)


def _list_calls(marks: Iterable[Mark]) -> list[int]:
    return [one.call for one in marks]


def _is_known(one: Mark, known: tuple[int, ...]) -> bool:
    return (one.error or one.rounded) in known


def _keep_since(items: Iterable[D], round_: int) -> tuple[D, ...]:
    return tuple(item for item in items if item.round > round_)


def keep_last(items: tuple[T, ...], count: int) -> tuple[T, ...]:
    return items[-count:] if count > 0 else ()
