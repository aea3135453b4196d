"""Room in a long conversation: its older part becomes a summary, and what must not be lost stays word for word.

After a compaction the conversation is the brief as it was, one message with the summary and the pinned facts, and the
newest exchanges as they were. Until the next one it only grows, so that providers' prompt caches hit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import accumulate

from bough.core.measure import bullets, fenced, heading, shares, shortened, tamed, tokens
from bough.core.messages import Answer, Call, Message, Replied, Result, Said, ToolSpec, Usage
from bough.core.pruning import (
    Needed,
    arguments,
    deeds,
    edits,
    errors,
    material,
    seams,
    transcript,
    words,
)
from bough.core.rules import CompactionRules
from bough.core.trail import Trail

HEADINGS = ("Key decisions", "Errors and solutions", "Modified files", "Critical context")
"""The sections of a summary, in this order; no others."""
NOTHING = "(nothing)"
LEAST = 300
"""Tokens that a summary gets at least, however small the window is."""
LARGEST = 8_000
"""Tokens that a summary never goes beyond, however large the window is: nobody reads more."""
READS = 40
"""Files (or pages of them) that were read and are remembered, the newest ones."""
PICTURE = 1_500
"""Tokens of an image, about what providers count for one that fills their frame."""
USEFUL = 0.8
"""A compaction helped when what is left is at most this share of what there was."""


# ── when, where, and whether it helped ──────────────────────────────────────────────────────────────────────────────


def due(used: int, window: int, rules: CompactionRules) -> bool:
    """`used`: input tokens of the last round as the provider counted them. A window that is not known is 0."""
    return 0 < window * rules.at <= used


def measured(messages: Iterable[Message]) -> int:
    """An estimate of the tokens of a conversation."""
    return sum(map(_tokens, messages))


def _tokens(message: Message) -> int:
    if isinstance(message, Replied):
        return tokens(message.text) + tokens(message.extra) + sum(map(_tokens_of_call, message.calls))
    return tokens(message.text) + (PICTURE if isinstance(message, Result) and message.picture else 0)


def _tokens_of_call(call: Call) -> int:
    return tokens(call.name) + tokens(call.arguments) + tokens(call.extra)


def target(messages: Iterable[Message], rules: CompactionRules) -> int:
    """Tokens that the conversation should have afterwards."""
    return int(measured(messages) * rules.target)


def cut(messages: Trail[Message], target: int) -> int:
    """The index from which messages are kept as they are: at least 1, since the brief stays; 1 when nothing can go.

    The newest exchanges that fit into half of the target are kept. The last answer and its results are what the agent
    is about to act on: they are kept when they are larger too, unless they are more than half of everything. No call
    is parted from its result.
    """
    listed = list(messages)
    sizes = [_tokens(message) for message in listed]
    below = [*reversed([*accumulate(reversed(sizes), initial=0)])]
    places = [at for at in _places(listed) if at >= 1]
    fitting = min((at for at in places if below[at] <= target // 2), default=len(listed))
    last = max((at for at in places if at < len(listed) and isinstance(listed[at], Replied)), default=len(listed))
    if fitting <= last or below[last] > below[0] // 2:
        return fitting if fitting in places else max(places, default=1)
    return last


def _places(messages: Sequence[Message]) -> list[int]:
    """Where the conversation may be parted; its end too, when no call is waiting there."""
    # One more message: its place is a seam exactly when nothing is open before it.
    return seams([*messages, Said("")])


def room(messages: Trail[Message], at: int, target: int) -> int:
    """Tokens for the summary, with what is pinned in it, of a conversation that is cut there."""
    kept = measured((messages[0], *messages.since(at))) if len(messages) else 0
    return min(max(target - kept, LEAST), LARGEST)


def compacted(messages: Trail[Message], at: int, summary: str) -> Trail[Message]:
    """The conversation from now on: the brief, the summary of what came before the cut, and the rest as it was."""
    return Trail((messages[0], Said(summary), *messages.since(at)))


def helped(before: int, after: int) -> bool:
    """Whether a compaction was worth it, by the tokens of the conversation before and after."""
    return after <= before * USEFUL


def useless_in_a_row(count: int, before: int, after: int) -> int:
    """The breaker's counter after one more compaction."""
    return 0 if helped(before, after) else count + 1


def broken(useless: int, rules: CompactionRules) -> bool:
    """Compacting again would not help: the attempt has to stop."""
    return useless >= rules.breaker


def estimated(used: int, tools: Sequence[ToolSpec], answer: Answer) -> Usage:
    """What a call took whose provider does not say: the conversation, the tools and the answer, as we measure them."""
    shown = sum(tokens(f"{tool.name}{tool.description}{tool.parameters}") for tool in tools)
    return Usage(used + shown, _tokens(Replied(answer.text, answer.calls, answer.extra)), estimated=True)


# ── what stays word for word ────────────────────────────────────────────────────────────────────────────────────────

READ = "What was read (sha256 of the text that was shown; of a whole file it is the file's own)"


def pinned(needed: Needed, messages: Trail[Message]) -> str:
    """The facts that no summary may lose, word for word: the task, its criteria and check, the last verdict, dead ends,
    and hashes of what was read. What the brief says in the same words is not said twice: it stays as it is."""
    brief = _lines(messages[0].text) if len(messages) and isinstance(messages[0], Said) else ""

    def new(*facts: str) -> list[str]:
        return [fact for fact in facts if fact.strip() and f"\n{_lines(fact)}\n" not in f"\n{brief}\n"]

    told = (
        ("The task", "\n".join(new(needed.instructions))),
        ("What must be true at the end", bullets(new(*needed.criteria))),
        ("The check", "\n".join(new(needed.check))),
        ("What the check said last", "\n".join(map(fenced, new(needed.verdict)))),
        ("Dead ends: do not walk into these again", bullets(new(*needed.dead_ends))),
        (READ, bullets(reads(messages))),
    )
    return "\n".join(heading(head, text) for head, text in told if text)


def _lines(text: str) -> str:
    """A text as it compares: without the marks of lists and the room around its lines."""
    lines = (line.strip().removeprefix("- ").removeprefix("dead end: ") for line in text.strip().splitlines())
    return "\n".join(line.rstrip() for line in lines)


_NUMBERED = r"(?m)^ {0,5}\d+\t"
_WHOLE = r"\(end of the file: [\d,]+ lines?([^()\n]*)\)\Z"
_PAGE = r"\((lines \d+-\d+ of [\d,]+)[^()\n]*\)\Z"
_REMEMBERED = r"(?m)^- (.+, sha256 [0-9a-f]{12})((?:, changed since)?)$"


def reads(messages: Iterable[Message]) -> list[str]:
    """What was read, newest last: `src/app.py: all of it, sha256 0a1b…`. What an earlier compaction knew is kept."""
    calls: dict[str, Call] = {}
    known: dict[str, str] = {}
    for message in messages:
        if isinstance(message, Replied):
            calls |= {call.id: call for call in message.calls}
        elif isinstance(message, Said) and f"## {READ}\n" in message.text:
            remembered = message.text.rpartition(f"## {READ}\n")[2]
            known |= dict(re.findall(_REMEMBERED, remembered))
        elif isinstance(message, Result) and message.ok and message.call in calls:
            known = _learned(known, calls[message.call], message.text)
    return [f"{line}{since}" for line, since in known.items()][-READS:]


def _learned(known: dict[str, str], call: Call, text: str) -> dict[str, str]:
    path = arguments(call).get("path")
    if not isinstance(path, str) or "\n" in path:
        return known
    if call.name in ("edit", "write"):
        return {line: ", changed since" if line.startswith(f"{path}: ") else since for line, since in known.items()}
    if call.name != "read":
        return known
    what, content = _content(text)
    before = f"{path}: {what}, sha256 "
    others = {line: since for line, since in known.items() if not line.startswith(before)}
    return others | {before + sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]: ""}


def _content(shown: str) -> tuple[str, str]:
    """What a `read` showed, as a phrase, and the text itself without line numbers: of a whole file, what it holds."""
    body, _, foot = shown.rpartition("\n")
    whole, page = re.match(_WHOLE, foot), re.match(_PAGE, foot)
    if not whole and not page:
        return "what was shown", shown
    lines = [re.sub(_NUMBERED, "", line, count=1) for line in body.split("\n")]
    line_end = "\r\n" if "CRLF" in foot else "\n"
    text = line_end.join(lines) + ("" if "no newline at the end" in foot else line_end)
    first_line = body.lstrip().partition("\t")[0]
    if whole and first_line == "1":
        return "all of it", text
    return (page[1] if page else f"from line {first_line} on"), text


# ── the summary ─────────────────────────────────────────────────────────────────────────────────────────────────────


def question(part: str, number: int, of: int, needed: Needed, so_far: str, limit: int) -> dict[str, str]:
    """What the fast model is asked about one part of what goes (see `pruning.parts`); `limit` is the summary's."""
    return material(part, number, of, so_far, max(limit // 2, 100)) | {
        "instructions": needed.instructions.strip(),
        "criteria": bullets(needed.criteria) or "(none were written down)",
        "check": needed.check.strip() or "(none)",
    }


def summary(answer: str, pinned: str, limit: int, changed: Iterable[str] = ()) -> str:
    """A model's answer as a summary of exactly the four sections, and below it the pinned facts as they are.

    It holds to `limit` tokens; only the pinned facts, which are never shortened, can take it beyond. `changed`: the
    files that are known to have been changed; those that it does not name are added.
    """
    found = _sections(answer)
    told = found.get(HEADINGS[2], "")
    missing = bullets(f"`{path}`" for path in changed if path not in told)
    if missing:
        nothing = not told or told.strip(" -*.").lower() in (NOTHING, "nothing", "none")
        found[HEADINGS[2]] = missing if nothing else f"{told}\n{missing}"
    return _joined(found, pinned, limit)


def truncated(messages: Iterable[Message], pinned: str, limit: int) -> str:
    """A summary without a model: what was said last, the errors, the changed files, and head and tail of the rest."""
    listed = list(messages)
    half = max((limit - tokens(pinned)) // 2, 0)
    said = [*_decisions(listed), *(shortened(text, 80) for text in words(listed, 8))]
    found = {
        HEADINGS[0]: bullets(said),
        HEADINGS[1]: "\n\n".join(errors(listed)),
        HEADINGS[2]: bullets(f"`{path}`" for path in edits(listed)),
        HEADINGS[3]: f"{bullets(deeds(listed, 12))}\n\n{shortened(''.join(transcript(listed)).strip(), half)}",
    }
    return _joined({head: tamed(text) for head, text in found.items()}, pinned, limit)


def _decisions(messages: Iterable[Message]) -> list[str]:
    """What the agent itself found worth keeping."""
    calls = [call for message in messages if isinstance(message, Replied) for call in message.calls]
    noted = (arguments(call) for call in calls if call.name == "note")
    return [str(given["text"]) for given in noted if given.get("kind") == "decision" and given.get("text")]


def _joined(sections: dict[str, str], pinned: str, limit: int) -> str:
    heads = sum(tokens(heading(head, "")) + 5 for head in HEADINGS)
    bodies = [sections.get(head, "").strip() or NOTHING for head in HEADINGS]
    given = shares([tokens(body) for body in bodies], max(limit - tokens(pinned) - heads, LEAST // 2))
    shown = [tamed(shortened(body, most)) for body, most in zip(bodies, given, strict=True)]
    told = [heading(head, text) for head, text in zip(HEADINGS, shown, strict=True)]
    return "\n".join([*told, pinned] if pinned else told)


_HEAD = rf"(?im)^[ \t]{{0,3}}[#*_ \t]*(?:\d[.)][ \t]*)?[*_]*({'|'.join(HEADINGS)})[*_ \t]*(?::[*_ \t]*|$)"


_PREAMBLE = r"(?i)\s*(?:sure|okay|certainly|here|below|this is)\b[^\n]{0,150}\s*(?:-{3,}\s*)?"


def _sections(answer: str) -> dict[str, str]:
    """The four sections of an answer, however it writes their headings. What stands before them is kept as context,
    unless it only says that a summary follows."""
    before, *pieces = re.split(_HEAD, tamed(answer))
    found = {} if not before.strip() or (pieces and re.fullmatch(_PREAMBLE, before)) else {HEADINGS[3]: before.strip()}
    for head, text in zip(pieces[::2], pieces[1::2], strict=True):
        name = next(known for known in HEADINGS if known.lower() == head.lower())
        found[name] = "\n\n".join(part for part in (found.get(name, ""), text.strip()) if part)
    return found
