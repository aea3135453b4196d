"""The events of a run and the changes of its tasks, as JSON for the dashboard."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from bough.app import Journal
from bough.core import events as e
from bough.core.errors import NotFound
from bough.core.tree.task_state import State
from bough.core.verdict.language import is_test_path
from bough.core.verdict.texts import LineCount
from bough.interfaces.web.live_run import PIECE, LiveRun
from bough.interfaces.web.pages import EVENTS, Raw, fill
from bough.interfaces.web.shapes import DiffPart, EventPart, FileShape, Happening, Match, Rounds, Rung, Statistics
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
        own = {"task": Raw(record.task), "kind": body.pop("event"), "words": one_line(words), "style": style}
        event = body if long is None else _shorten(body, cut, long)
        made.append(fill(Happening, record, event=event, **own, **({"cut": cut} if cut else {})))
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
                stuck, tried = PATTERNS.get(trouble.pattern, ""), f"bough {RUNGS[decision.rung]}"
                own = {"task": Raw(record.task), "stuck": stuck, "tried": tried, "helped": None, "came": "under way"}
                made.append(fill(Rung, record, trouble, decision, **own))
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


async def build_statistics(journal: Journal, names: Sequence[str]) -> Statistics:
    made = compute_stats([record for name in names for record in await journal.store.read(name, kinds=STATS_KINDS)])
    words = {**PATTERNS, **{rung: f"bough {said}" for rung, said in RUNGS.items()}}
    return {"runs": len(names), "stats": made, "warnings": made.warnings, "words": words}


# ── changes: at first all files with their line counts; then, when a file is opened, its lines, in parts ──────────────

Row = list[Any]
"""One line: kind, line number before, line number after, text. Side by side: two such lines; None for a missing one."""
PART = 2000
"""The most lines in one response."""
LONGEST = 2000
"""The most characters of one line."""
DATA = r"\.(json|jsonl|ndjson|csv|tsv|xml|svg|lock|sum|snap|po|txt|log|map|min\.js|min\.css|ipynb|sql|pem|html?)$"
"""The names of data files, which programs write or read: people look at them last."""
ORDER = ("product", "tests", "data")


def list_files(counts: Iterable[LineCount]) -> list[FileShape]:
    """List all changed files: product code first, then tests, then data."""
    made: list[FileShape] = [
        {
            "name": one.path,
            "added": one.added,
            "removed": one.removed,
            "binary": one.binary,
            "kind": "tests" if is_test_path(one.path) else "data" if re.search(DATA, one.path, re.I) else "product",
        }
        for one in counts
    ]
    return sorted(made, key=lambda file: (ORDER.index(file["kind"]), file["name"]))


def build_part(rows: Sequence[Row], start: int) -> DiffPart:
    """Return some lines of one file's diff, from line `start` on, and the total number of lines."""
    return {"from": start, "total": len(rows), "rows": list(rows[start : start + PART])}


def read_rows(diff: str, beside: bool) -> Sequence[Row]:
    """Read the lines of a diff. `beside`: put removed lines beside the added ones."""
    lines = list(_read_lines(diff))
    return list(_pair(lines)) if beside else lines


def _read_lines(diff: str) -> Iterator[Row]:
    old = now = 0
    inside = False
    for line in diff.split("\n"):
        text = line[1:] if len(line) <= LONGEST else f"{line[1:LONGEST]} … ({len(line) - LONGEST:,} more characters)"
        sign = line[:1]
        if sign == "@" and (found := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)", line)):
            old, now, inside = int(found[1]), int(found[2]), True
            yield ["hunk", None, None, found[3].strip() or f"line {now}"]
        elif not inside:
            if line.startswith(("new file", "deleted file", "old mode", "new mode", "Binary")):
                yield ["hunk", None, None, line.replace("file mode 100644", "file")]
        elif sign == "+":
            yield ["ins", None, now, text]
            now += 1
        elif sign == "-":
            yield ["del", old, None, text]
            old += 1
        elif sign == "\\":
            yield ["hunk", None, None, line[2:]]
        elif line:
            yield ["ctx", old, now, text]
            old, now = old + 1, now + 1


def _pair(lines: Sequence[Row]) -> Iterator[Row]:
    sides: dict[Any, list[Row]] = {"del": [], "ins": []}
    gone, come = sides.values()

    def drain() -> Iterator[Row]:
        yield from map(list, zip_longest(gone, come))
        gone.clear()
        come.clear()

    for line in lines:
        if line[0] not in sides or (line[0] == "del" and come):
            yield from drain()
        if line[0] in sides:
            sides[line[0]].append(line)
        else:
            yield [line, line]
    yield from drain()
