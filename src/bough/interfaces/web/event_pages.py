"""The events of a run, as JSON for the dashboard: events in words, why work was stuck, statistics."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from bough.app import Journal
from bough.core import events as e
from bough.core.errors import NotFound
from bough.core.tree.task_state import State
from bough.interfaces.web.live_run import PIECE, LiveRun
from bough.interfaces.web.pages import EVENTS, Raw
from bough.interfaces.web.shapes import EventPart, Happening, Match, Rounds, Rung, Statistics
from bough.views.event_lines import EventFormatter
from bough.views.formatting import one_line
from bough.views.stats import KINDS as STATS_KINDS
from bough.views.stats import compute_stats
from bough.views.vocabulary import PATTERNS, RUNGS

LONG = 3000
"""The most characters of a text in a list of events; the page loads the rest on demand."""
ROUNDS = 25
AROUND = 80
"""The number of characters shown before and after the words that were found."""


async def build_rounds(run: LiveRun, path: str, start: int) -> Rounds:
    """Build some rounds of a task's conversation, from round `start` on (-1: the last rounds)."""
    begun = run.charts.rounds(path)
    first = max(0, len(begun) - ROUNDS) if start < 0 else min(start, len(begun))
    since = begun[first] - 1 if first else 0
    until = begun[first + ROUNDS] if first + ROUNDS < len(begun) else None
    records = await run.journal.store.read(run.view.name, path, since=since, limit=EVENTS)
    kept = [record for record in records if until is None or record.seq < until]
    return {"from": first, "total": len(begun), "events": describe_events(kept), "seq": run.seq}


async def build_events(run: LiveRun, path: str | None, since: int, limit: int) -> EventPart:
    """Build the events after the event `since`, in order."""
    most = max(1, min(limit, EVENTS))
    records = await run.journal.store.read(run.view.name, path, since=since, limit=most)
    return {"events": describe_events(records), "next": records[-1].seq if len(records) == most else None}


async def find_words(run: LiveRun, path: str, words: str) -> list[Match]:
    """Find a text in the whole conversation of a task; the latest matches come first."""
    found: list[Match] = []
    teller, begun, wanted, last = EventFormatter(), run.charts.rounds(path), words.casefold(), 0
    while wanted and (records := await run.journal.store.read(run.view.name, path, since=last, limit=PIECE)):
        last = records[-1].seq
        for record in records:
            told, _ = teller.tell(record)
            texts = (told, *_list_texts(msgspec.to_builtins(record.event)))
            text = next((each for each in texts if wanted in each.casefold()), "")
            at = text.casefold().find(wanted)
            if at >= 0 and not isinstance(record.event, e.RoundStarted | e.ToolStarted):
                excerpt = one_line(text[max(0, at - AROUND) : at + len(words) + AROUND])
                number = bisect_right(begun, record.seq)
                found.append(
                    {"seq": record.seq, "at": record.at, "round": number, "words": one_line(told), "excerpt": excerpt}
                )
    return found[: -EVENTS - 1 : -1]


def _list_texts(value: Any) -> Iterator[str]:
    """List all texts in an event."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _list_texts(inner)


async def build_event(run: LiveRun, seq: int) -> Happening:
    """Build one event with its full texts."""
    found = await run.journal.store.read(run.view.name, since=seq - 1, limit=1)
    if not found or found[0].seq != seq:
        raise NotFound(f"{run.view.name} has no event {seq}.")
    return describe_events(found, None)[0]


def describe_events(records: Sequence[e.Record], long: int | None = LONG) -> list[Happening]:
    """Return events with their descriptions. Texts longer than `long` are cut (None: never)."""
    teller = EventFormatter()
    made = []
    for record in records:
        words, style = teller.tell(record)
        body = msgspec.to_builtins(record.event)
        cut: dict[str, int] = {}
        told: Happening = {
            "seq": record.seq,
            "task": Raw(record.task),
            "version": record.version,
            "at": record.at,
            "kind": body.pop("event"),
            "words": one_line(words),
            "style": style,
            "event": body if long is None else _shorten(body, cut, long),
        }
        if cut:
            told["cut"] = cut
        made.append(told)
    return made


def _shorten(value: Any, cut: dict[str, int], long: int, where: str = "") -> Any:
    if isinstance(value, str) and len(value) > long:
        cut[where] = len(value)
        return value[:long]
    if isinstance(value, dict):
        return {key: _shorten(inner, cut, long, f"{where}.{key}".lstrip(".")) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_shorten(inner, cut, long, f"{where}.{number}") for number, inner in enumerate(value)]
    return value


# ── why it was stuck ────────────────────────────────────────────────────────────────────────────────────────────────


async def load_ladder(run: LiveRun) -> list[Rung]:
    return build_ladder(await run.journal.store.read(run.view.name, kinds=e.list_named(build_ladder)))


def build_ladder(records: Sequence[e.Record]) -> list[Rung]:
    """List each time that work was stuck: why, what bough tried (the rung of its ladder), and whether it helped."""
    made: list[Rung] = []
    last: dict[str, Rung] = {}
    for record in records:
        match record.event:
            case e.Escalated(decision=decision, trouble=trouble):
                _set_result(last.get(record.task), "did not help: stuck again", record.at, helped=False)
                made.append(
                    {
                        "seq": record.seq,
                        "at": record.at,
                        "task": Raw(record.task),
                        "stuck": PATTERNS.get(trouble.pattern, ""),
                        "says": trouble.says,
                        "evidence": list(trouble.evidence),
                        "rung": decision.rung,
                        "tried": f"bough {RUNGS[decision.rung]}",
                        "level": decision.level,
                        "reason": decision.reason,
                        "helped": None,
                        "came": "under way",
                    }
                )
                last[record.task] = made[-1]
            case e.StateChanged(to=State.COMPLETED):
                _set_result(last.pop(record.task, None), "helped: the task is completed", record.at, helped=True)
            case e.StateChanged(to=State.BLOCKED | State.FAILED as to):
                _set_result(last.pop(record.task, None), f"did not help: {to.value}", record.at, helped=False)
            case e.PlanRefused(final=True):
                _set_result(last.get(record.task), "did not help: no plan was accepted", record.at, helped=False)
            case e.PersonAnswered(text=text) if record.task in last:
                last[record.task]["answer"] = text
    return made


def _set_result(entry: Rung | None, words: str, at: float, *, helped: bool) -> None:
    if entry is not None and entry["came"] == "under way":
        entry.update({"helped": helped, "came": words, "after": round(at - entry["at"], 1)})


# ── statistics ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def build_statistics(journal: Journal, names: Sequence[str]) -> Statistics:
    made = compute_stats([record for name in names for record in await journal.store.read(name, kinds=STATS_KINDS)])
    words = {**PATTERNS, **{rung: f"bough {said}" for rung, said in RUNGS.items()}}
    return {"runs": len(names), "stats": made, "warnings": made.warnings, "words": words}
