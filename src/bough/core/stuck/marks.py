"""One act as a few short keys, and when it repeats an earlier one: actions and results are compared, never thoughts."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from bough.core.stuck.masks import (
    clip_text,
    count_letters,
    find_trouble,
    hash_text,
    is_transient,
    mask_decimals,
    mask_numbers,
    mask_text,
    measure_likeness,
    sketch_text,
)
from bough.core.stuck.signals import Act, StuckRules

Kind = Literal["same", "alike", "error", "refused"]
"""How an act repeats another, see `repeats`."""

LITTLE = 12
"""A result with fewer letters than this (an exit status, an empty list) proves nothing on its own."""
SPECIFIC = 20
"""Letters an error needs to be recognised again whatever was tried."""


class Mark(Struct, frozen=True):
    """An act without its texts."""

    round: int
    tool: str
    call: int
    """Tool and arguments, unmasked."""
    shape: int
    """The hash without numbers and names: reads with different arguments share it."""
    result: int
    rounded: int
    loose: int
    says: int
    """Letters in the result."""
    ok: bool
    writes: bool
    transit: bool
    error: int
    """Everything that went wrong; 0 if nothing did."""
    head: int
    """The first line of it."""
    sketch: tuple[int, ...]
    era: int = 0
    """How often the workspace had changed before it."""


def mark_act(act: Act, round_: int, era: int) -> Mark:
    shown = clip_text(act.result)
    masked = mask_text(shown)
    plain = mask_decimals(masked)
    # Only of failures: a successful `grep error` finds the word too.
    told = () if act.ok else find_trouble(shown)
    return Mark(
        round=round_,
        tool=act.tool[:64],
        call=hash_text(f"{act.tool}\n{act.arguments}"),
        shape=hash_text(f"{act.tool}\n{mask_numbers(clip_text(act.arguments))}"),
        result=hash_text(masked),
        rounded=hash_text(plain),
        loose=hash_text(mask_numbers(plain)) if act.writes else 0,
        says=count_letters(masked),
        ok=act.ok,
        writes=act.writes,
        transit=not act.ok and is_transient(shown),
        error=hash_text("\n".join(sorted(told))) if told else 0,
        head=hash_text(told[0]) if told else 0,
        sketch=sketch_text(act.arguments),
        era=era,
    )


def classify_repeat(now: Mark, then: Mark, rules: StuckRules) -> Kind | None:
    """Whether `now` achieved nothing beyond `then`, and why.

    same     the same call with the same result (or the same write again: counts in its answer do not matter)
    error    the same error after a similar call
    refused  a similar write, refused with the same first line
    alike    nearly the same call, and exactly the same result
    """
    if now.tool != then.tool:
        return None
    if now.call == then.call and _is_same_result(now, then, rules):
        return "same" if now.ok else "error"
    if not now.ok and not then.ok:
        return _classify_trouble(now, then, rules)
    # Two different successful writes are two writes, however similar their answers; and in short arguments a number
    # matters most.
    if now.result == then.result and now.says >= SPECIFIC and not now.writes and len(now.sketch) >= 6:
        return "alike" if measure_likeness(now.sketch, then.sketch) >= rules.alike_call else None
    return None


def _is_same_result(now: Mark, then: Mark, rules: StuckRules) -> bool:
    if now.result == then.result:
        return True
    # Other decimals after a change are a result of the change; without one they are noise.
    if now.rounded == then.rounded and now.era == then.era:
        return True
    return now.writes and now.tool not in rules.shells and now.loose == then.loose


def _classify_trouble(now: Mark, then: Mark, rules: StuckRules) -> Kind | None:
    alike = measure_likeness(now.sketch, then.sketch)
    if now.rounded == then.rounded and now.says >= SPECIFIC and alike >= rules.alike_error:
        return "error"
    if now.error == then.error and now.says >= LITTLE and alike >= rules.alike_error:
        return "error"
    refused = now.writes and now.tool not in rules.shells and now.head == then.head
    return "refused" if refused and now.says >= LITTLE and alike >= rules.alike_refused else None
