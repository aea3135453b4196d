"""The stuck detector: whether the work still makes progress.

`observe_round` sees every round at its end. It costs the same at round 400 as at round 10, because its memory is
bounded. After a signal the caller continues with `reset_memory(memory)`; the same signal can then be raised again.
`TABLE` has every way of being stuck, tried from top to bottom; the first match wins.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bough.core.stuck import marks as m
from bough.core.stuck.signals import Act, Pattern, Recommended, Signal, StuckRules, Turn
from bough.core.textual.spelling import shorten_line

T = TypeVar("T")
D = TypeVar("D", m.Mark, "RoundKey[int]")

ACTS = 16
"""The most calls of one round that are examined."""
KNOWN = 64
"""The most results remembered, to tell what is new."""


class RepeatedRound(Struct, frozen=True):
    """A round that only repeated earlier ones."""

    round: int
    lag: int
    """How many rounds back the repeated round is."""
    kind: m.Kind
    verbatim: bool
    """Whether the round has exactly the calls of the round before."""


class RoundKey(Struct, Generic[T], frozen=True):
    """A key of a round's content: a sketch, an error, a tree, a shape."""

    round: int
    key: T


class StuckMemory(Struct, frozen=True):
    """The detector's memory: short keys of the last rounds."""

    round: int = 0
    """Rounds seen so far."""
    era: int = 0
    """Number of changes of the workspace."""
    marks: tuple[m.Mark, ...] = ()
    repeated: tuple[RepeatedRound, ...] = ()
    """The last rounds in a row that only repeated earlier ones."""
    idle: tuple[int, ...] = ()
    """The last rounds in a row without a change and without new information. If no tree is known, only a repeat shows
    that nothing changed."""
    said: tuple[RoundKey[tuple[int, ...]], ...] = ()
    """The sketches of the last answers in a row without a usable call."""
    failed: tuple[RoundKey[int], ...] = ()
    """The errors of failed calls; only if git trees are known, which show whether something changed in between."""
    trees: tuple[RoundKey[str], ...] = ()
    """The git trees of the workspace, each with the round since which the workspace had it."""
    reading: tuple[RoundKey[int], ...] = ()
    """The shapes of the last calls in a row that only read something new."""
    known: tuple[int, ...] = ()


def reset_memory(memory: StuckMemory) -> StuckMemory:
    """Return an empty memory that keeps counting rounds: after a signal, or after a person's message."""
    return StuckMemory(round=memory.round)


def _note_round(memory: StuckMemory, turn: Turn, rules: StuckRules) -> StuckMemory:
    now = memory.round + 1
    if not turn.acts:  # Text alone changes nothing: an earlier repetition continues.
        said = (*memory.said, RoundKey(now, m.sketch_text(turn.text)))
        return replace(memory, round=now, said=keep_last(said, rules.silent))
    memory = replace(memory, round=now, said=())
    marks: list[m.Mark] = []
    found: list[tuple[m.Kind, int] | None] = []
    for act in turn.acts[:ACTS]:
        one = m.mark_act(act, now, memory.era)
        # Skip transport failures, which would count as repeats: a 429 looks the same each time.
        if one.transit:
            continue
        # Find the nearest earlier act that this one repeats.
        kinds = ((m.classify_repeat(one, then, rules), one.round - then.round) for then in reversed(memory.marks))
        found.append(next(((kind, lag) for kind, lag in kinds if kind is not None), None))
        marks.append(one)
        memory = _note_change(memory, act, one, found[-1])
    # An unavailable service neither advances the work nor shows that it is stuck.
    return _remember(memory, marks, found, rules) if marks else memory


def _note_change(memory: StuckMemory, act: Act, one: m.Mark, found: tuple[m.Kind, int] | None) -> StuckMemory:
    """Count the change, if the act made one. If no git tree is known, a successful write is one, unless it repeats."""
    if act.tree:
        before = memory.trees[-1].key if memory.trees else ""
        if act.tree == before:
            return memory
        return replace(memory, trees=((*memory.trees, RoundKey(one.round, act.tree))), era=memory.era + (before != ""))
    silent = one.says < m.LITTLE
    return replace(memory, era=memory.era + 1) if act.writes and act.ok and (silent or found is None) else memory


def _remember(
    memory: StuckMemory, marks: list[m.Mark], found: list[tuple[m.Kind, int] | None], rules: StuckRules
) -> StuckMemory:
    now = memory.round
    moved = memory.era != marks[0].era
    repeated = _list_repeated(memory, marks, found, rules)
    results = [one.error or one.result for one in marks]
    new = not {*results} <= {*memory.known}
    still = bool(memory.trees) and not (new or moved)
    idle = (*memory.idle, now) if repeated or still else ()
    failed = (RoundKey(now, one.error) for one in marks if one.error and one.says >= m.SPECIFIC and memory.trees)
    shapes = {one.shape for one in marks if one.ok and not one.writes}
    paging = len(shapes) == 1 and new and not moved and all(one.ok for one in marks)
    return replace(
        memory,
        marks=keep_last(_keep_since((*memory.marks, *marks), now - rules.window), rules.window * 4),
        repeated=repeated,
        idle=keep_last(idle, rules.idle),
        failed=keep_last(_keep_since((*memory.failed, *failed), now - rules.error_window), rules.error_window),
        trees=keep_last(memory.trees, rules.window),
        reading=keep_last((*memory.reading, RoundKey(now, shapes.pop())) if paging else (), rules.looks),
        known=keep_last((*memory.known, *results), KNOWN),
    )


def _list_repeated(
    memory: StuckMemory, marks: list[m.Mark], found: list[tuple[m.Kind, int] | None], rules: StuckRules
) -> tuple[RepeatedRound, ...]:
    """List the repeated rounds in a row: rounds in which every call is a repeat. Any other round empties the list."""
    again = [each for each in found if each is not None]
    if len(again) < len(found):
        return ()
    kind, lag = max(again, key=lambda each: each[1])
    # Exactly the same calls with the same error are found one round sooner than similar ones (`repeated_error`).
    verbatim = [one.call for one in marks] == [one.call for one in memory.marks if one.round == memory.round - 1]
    return keep_last((*memory.repeated, RepeatedRound(memory.round, lag, kind, verbatim)), rules.window)


def _keep_since(items: Iterable[D], round_: int) -> tuple[D, ...]:
    return tuple(item for item in items if item.round > round_)


def keep_last(items: tuple[T, ...], count: int) -> tuple[T, ...]:
    return items[-count:] if count > 0 else ()


Found = tuple[tuple[int, ...], str]
"""The rounds that show the pattern, and the diagnosis."""
Finder = Callable[[StuckMemory, Turn, StuckRules], Found | None]


def repetitive_output(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find one answer that repeats the same text, or answers in a row that do nothing and say the same."""
    times = m.count_repetitions(turn.text)
    if times >= rules.chants:
        return (memory.round,), f"One answer says the same thing {times} times."
    said = memory.said
    if len(said) < rules.silent or not all(
        m.measure_likeness(one.key, said[-1].key) >= rules.alike_call for one in said
    ):
        return None
    return tuple(one.round for one in said), f"{len(said)} answers in a row say the same and call no tool."


def monologue(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find answers in a row without a usable call."""
    if len(memory.said) < rules.silent:
        return None
    return tuple(one.round for one in memory.said), f"{len(memory.said)} answers in a row call no tool."


def repeated_error(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find the same error again and again: in a row, or after different attempts."""
    run = _find_loop(memory.repeated, rules)
    if run and run[-1].kind in FAILING:
        firm = all(one.kind == "error" and one.verbatim for one in run)
        if len(run) >= (rules.errors - 1 if firm else rules.repeats):
            ways = "the same arguments" if all(one.verbatim for one in run) else "different arguments"
            return _list_rounds(run), f"{_render_tools(turn)} keeps failing in the same way, with {ways}."
    for latest in {one.key for one in memory.failed if one.round == memory.round}:
        rounds = tuple(sorted({one.round for one in memory.failed if one.key == latest}))
        if len(rounds) >= rules.errors_apart:
            return rounds, f"The same error occurred {len(rounds)} times, whatever was tried in between."
    return None


def circular_tools(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find a cycle of calls with the same results, or the same thing read again unchanged."""
    run = _find_loop(memory.repeated, rules)
    if len(run) < rules.repeats:
        return None
    period = run[-1].lag
    what = f"{_render_tools(turn)} is called again" if period == 1 else f"The same {period} rounds come again"
    return _list_rounds(run), f"{what} and again with the same results."


def oscillation(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find files that go back and forth between earlier states."""
    trees = memory.trees
    if not trees or trees[-1].round != memory.round:
        return None
    again = {one.round for at, one in enumerate(trees) if any(one.key == before.key for before in trees[:at])}
    returned = sorted(again)
    if len(returned) < rules.returns or returned[-1] != memory.round:
        return None
    return tuple(returned), f"The files returned to an earlier state {len(returned)} times."


def no_progress(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find rounds without a change and without new reading."""
    if len(memory.idle) < rules.idle or memory.idle[-1] != memory.round:
        return None
    return memory.idle, f"{len(memory.idle)} rounds in a row changed nothing and found nothing new."


def paging(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Find read after read with different arguments, none of which is used."""
    reading = memory.reading
    if len(reading) < rules.looks or len({one.key for one in reading}) > 1:
        return None
    rounds = tuple(one.round for one in reading)
    return rounds, f"{len(reading)} rounds in a row read with {_render_tools(turn)} without using what was read."


FAILING: tuple[m.Kind, ...] = ("error", "refused")
TABLE: tuple[tuple[Pattern, Finder, float, Recommended], ...] = (
    ("repetitive_output", repetitive_output, 0.9, "prune"),
    ("monologue", monologue, 0.8, "nudge"),
    ("repeated_error", repeated_error, 0.85, "other_approach"),
    ("circular_tools", circular_tools, 0.85, "prune"),
    ("oscillation", oscillation, 0.85, "other_approach"),
    ("no_progress", no_progress, 0.8, "decompose"),
    ("paging", paging, 0.7, "nudge"),
)


def _find_loop(repeated: Sequence[RepeatedRound], rules: StuckRules) -> tuple[RepeatedRound, ...]:
    """Find the last repeated rounds that form one loop: either each repeats the round equally far back, or each repeats
    one of the two rounds before it. The longer series counts."""
    same = close = len(repeated)
    while same and repeated[same - 1].lag == repeated[-1].lag <= rules.period:
        same -= 1
    # Loops drift: a model that alternates between two calls is not always in step, but always close.
    while close and repeated[close - 1].lag <= 2:
        close -= 1
    return tuple(repeated[min(same, close) :])


def _list_rounds(run: Sequence[RepeatedRound]) -> tuple[int, ...]:
    return (run[0].round - run[0].lag, *(one.round for one in run))


def _render_tools(turn: Turn) -> str:
    names = list(dict.fromkeys(act.tool[:40] for act in turn.acts))
    return f"`{'`, `'.join(names[:3])}`"


def _list_evidence(turn: Turn) -> tuple[str, ...]:
    acts = [
        f"{act.tool[:40]} {shorten_line(act.arguments[: 4 * 120], 120)} → {shorten_line(act.result[: 4 * 160], 160)}"
        for act in turn.acts[:3]
    ]
    return tuple(acts) if acts else (shorten_line(turn.text[: 4 * 160], 160),)


def observe_round(memory: StuckMemory, turn: Turn, rules: StuckRules) -> tuple[StuckMemory, Signal | None]:
    """Return the memory after one more round, and the signal, if any."""
    memory = _note_round(memory, turn, rules)
    for pattern, find, confidence, recommended in TABLE:
        found = find(memory, turn, rules) if pattern in rules.patterns else None
        if found is not None:
            rounds, diagnosis = found
            return memory, Signal(pattern, confidence, diagnosis, recommended, rounds, _list_evidence(turn))
    return memory, None
