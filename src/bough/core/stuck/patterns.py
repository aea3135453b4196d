"""Every way of being stuck, as one table: what it sees in the memory, how sure that is, and what would help.

The rows are tried from top to bottom; the first match wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from bough.core.spelling import shorten_line
from bough.core.stuck.marks import Kind
from bough.core.stuck.masks import count_repetitions, measure_likeness
from bough.core.stuck.memory import RepeatedRound, StuckMemory
from bough.core.stuck.signals import Pattern, Recommended, Signal, StuckRules, Turn


class Found(Struct, frozen=True):
    rounds: tuple[int, ...]
    diagnosis: str


Finder = Callable[[StuckMemory, Turn, StuckRules], Found | None]


def find_signal(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Signal | None:
    """What the latest round shows, together with those before it."""
    for pattern, find, confidence, recommended in TABLE:
        found = find(memory, turn, rules) if pattern in rules.patterns else None
        if found is not None:
            return Signal(pattern, confidence, found.diagnosis, recommended, found.rounds, _list_evidence(turn))
    return None


# ── one finder per pattern ──────────────────────────────────────────────────────────────────────────────────────────


def repetitive_output(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """One answer says the same thing over and over; or answer after answer does nothing and says the same."""
    times = count_repetitions(turn.text)
    if times >= rules.chants:
        return Found((memory.round,), f"One answer says the same thing {times} times.")
    said = memory.said
    if len(said) < rules.silent or not all(
        measure_likeness(one.sketch, said[-1].sketch) >= rules.alike_call for one in said
    ):
        return None
    return Found(tuple(one.round for one in said), f"{len(said)} answers in a row say the same and call no tool.")


def monologue(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Answer after answer without a usable call."""
    if len(memory.said) < rules.silent:
        return None
    return Found(tuple(one.round for one in memory.said), f"{len(memory.said)} answers in a row call no tool.")


def repeated_error(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """The same error again and again: in a row, or whatever was tried in between."""
    run = _find_loop(memory.repeated, rules)
    if run and run[-1].kind in FAILING:
        firm = all(one.kind == "error" and one.verbatim for one in run)
        if len(run) >= (rules.errors - 1 if firm else rules.repeats):
            ways = "the same arguments" if all(one.verbatim for one in run) else "different arguments"
            return Found(_list_rounds(run), f"{_render_tools(turn)} keeps failing in the same way, with {ways}.")
    for latest in {one.error for one in memory.failed if one.round == memory.round}:
        rounds = tuple(sorted({one.round for one in memory.failed if one.error == latest}))
        if len(rounds) >= rules.errors_apart:
            return Found(rounds, f"The same error occurred {len(rounds)} times, whatever was tried in between.")
    return None


def circular_tools(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """A cycle of calls with the same results; the same thing read again unchanged."""
    run = _find_loop(memory.repeated, rules)
    # Slightly different arguments are weaker evidence: that takes one more round.
    need = rules.repeats + (any(one.kind == "alike" for one in run))
    if len(run) < need:
        return None
    period = run[-1].lag
    what = f"{_render_tools(turn)} is called again" if period == 1 else f"The same {period} rounds come again"
    return Found(_list_rounds(run), f"{what} and again with the same results.")


def oscillation(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """The files go back and forth between states they had before."""
    trees = memory.trees
    if not trees or trees[-1].round != memory.round:
        return None
    again = {one.round for at, one in enumerate(trees) if any(one.tree == before.tree for before in trees[:at])}
    returned = sorted(again)
    if len(returned) < rules.returns or returned[-1] != memory.round:
        return None
    return Found(tuple(returned), f"The files returned to an earlier state {len(returned)} times.")


def no_progress(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Nothing changed, the same tests pass and fail, and nothing new was read."""
    if len(memory.idle) < rules.idle or memory.idle[-1] != memory.round:
        return None
    return Found(memory.idle, f"{len(memory.idle)} rounds in a row changed nothing and found nothing new.")


def paging(memory: StuckMemory, turn: Turn, rules: StuckRules) -> Found | None:
    """Read after read with different arguments, and none is used."""
    reading = memory.reading
    if len(reading) < rules.looks or len({one.shape for one in reading}) > 1:
        return None
    rounds = tuple(one.round for one in reading)
    return Found(rounds, f"{len(reading)} rounds in a row read with {_render_tools(turn)} without using what was read.")


FAILING: tuple[Kind, ...] = ("error", "refused")
TABLE: tuple[tuple[Pattern, Finder, float, Recommended], ...] = (
    ("repetitive_output", repetitive_output, 0.9, "prune"),
    ("monologue", monologue, 0.8, "nudge"),
    ("repeated_error", repeated_error, 0.85, "other_approach"),
    ("circular_tools", circular_tools, 0.85, "prune"),
    ("oscillation", oscillation, 0.85, "other_approach"),
    ("no_progress", no_progress, 0.8, "decompose"),
    ("paging", paging, 0.7, "nudge"),
)


# ── what they share ─────────────────────────────────────────────────────────────────────────────────────────────────


def _find_loop(repeated: Sequence[RepeatedRound], rules: StuckRules) -> tuple[RepeatedRound, ...]:
    """The last repeated rounds that form one loop: all the same distance back, or all close."""
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
