"""Compact a long conversation: its older part becomes one message with a summary and the essential (pinned) facts, word
for word; the brief and the newest exchanges stay as they are. Until the next compaction it only grows, so that
providers' prompt caches can be used."""

import re
from collections.abc import Container, Iterable, Sequence
from hashlib import sha256
from itertools import accumulate

from bough.core.conversation import pruning
from bough.core.conversation import text_fitting as fit
from bough.core.conversation.persistent_list import PersistentList
from bough.core.messages import EDITORS, Answer, Call, Message, ModelMessage, Result, ToolSpec, Usage, UserMessage
from bough.core.rules import CompactionRules

HEADINGS = ("Key decisions", "Errors and solutions", "Modified files", "Critical context")
"""The sections of a summary, in this order; no others."""
NOTHING = "(nothing)"
LEAST = 300
"""The minimum number of tokens for a summary, however small the model's context window is."""
LARGEST = 8_000
"""The maximum number of tokens for a summary, however large the window is: models do not use more."""
READS = 40
"""The maximum number of files (or pages of files) in the list of what was read; the newest are listed."""
PICTURE = 1_500
"""The estimated tokens of an image: about what providers count for an image of the maximum size."""
USEFUL = 0.8
"""A compaction helped if what is left is at most this share of the conversation."""


def is_due(used: int, window: int, rules: CompactionRules) -> bool:
    """Whether to compact. `used`: input tokens of the last round by the provider's count; `window`: 0 if unknown."""
    return 0 < window * rules.at <= used


def measure_messages(messages: Iterable[Message]) -> int:
    return sum(map(_measure_message, messages))


def _measure_message(message: Message) -> int:
    if isinstance(message, ModelMessage):
        asked = (text for call in message.calls for text in (call.name, call.arguments, call.extra))
        return sum(map(fit.estimate_tokens, (message.text, message.extra, *asked)))
    return fit.estimate_tokens(message.text) + (PICTURE if isinstance(message, Result) and message.picture else 0)


def compute_target(messages: Iterable[Message], rules: CompactionRules, window: int = 0) -> int:
    """Compute the size in tokens to compact to. The conversation may be much longer than the window of the model that
    continues it."""
    size = measure_messages(messages)
    return int((min(size, window) if window else size) * rules.target)


def find_cut(messages: PersistentList[Message], target: int) -> int:
    """Find the index from which messages are kept as they are; 1, right after the brief, if nothing can be removed.

    The newest exchanges that fit into half of the target stay. The last answer and its results stay even if they are
    larger, since the agent is about to act on them, unless they are more than half of everything. No call is separated
    from its result.
    """
    listed = list(messages)
    sizes = [_measure_message(message) for message in listed]
    below = [*reversed([*accumulate(reversed(sizes), initial=0)])]
    # The conversation may also be cut at its very end if no call waits for its result: add a message to find that out.
    places = [at for at in pruning.find_seams([*listed, UserMessage("")]) if at >= 1]
    fitting = min((at for at in places if below[at] <= target // 2), default=len(listed))
    last = max((at for at in places if at < len(listed) and isinstance(listed[at], ModelMessage)), default=len(listed))
    if fitting <= last or below[last] > below[0] // 2:
        return fitting if fitting in places else max(places, default=1)
    return last


def compute_room(messages: PersistentList[Message], at: int, target: int) -> int:
    """Compute the tokens that are left for the summary and the pinned facts if a conversation is cut at `at`."""
    kept = measure_messages((messages[0], *messages.since(at))) if len(messages) else 0
    return min(max(target - kept, LEAST), LARGEST)


def compact_messages(messages: PersistentList[Message], at: int, summary: str) -> PersistentList[Message]:
    """Return the compacted conversation: the brief, the summary of the messages before `at`, and the other messages."""
    return PersistentList((messages[0], UserMessage(summary), *messages.since(at)))


def has_helped(before: int, after: int) -> bool:
    """Whether a compaction was worth it, by the tokens of the conversation before and after."""
    return after <= before * USEFUL


def count_useless(count: int, before: int, after: int) -> int:
    """Return the number of useless compactions in a row, including the one from `before` to `after` tokens."""
    return 0 if has_helped(before, after) else count + 1


def estimate_usage(used: int, tools: Sequence[ToolSpec], answer: Answer) -> Usage:
    """Estimate the usage of a call whose provider does not report it: conversation, tools and answer."""
    shown = sum(fit.estimate_tokens(f"{tool.name}{tool.description}{tool.parameters}") for tool in tools)
    return Usage(used + shown, _measure_message(ModelMessage(answer.text, answer.calls, answer.extra)), estimated=True)


READ = "What was read (sha256 of the text that was shown; of a whole file it is the file's own)"


def render_pinned(needed: pruning.EssentialFacts, messages: PersistentList[Message]) -> str:
    """Render the facts that must not get lost, word for word: the task, its criteria and check, the last verdict, dead
    ends, and hashes of files that were read. Text that is already in the brief is left out."""
    brief = _normalize_lines(messages[0].text) if len(messages) and isinstance(messages[0], UserMessage) else ""

    def new(*facts: str) -> list[str]:
        return [fact for fact in facts if fact.strip() and f"\n{_normalize_lines(fact)}\n" not in f"\n{brief}\n"]

    told = (
        ("The task", "\n".join(new(needed.instructions))),
        ("What must be true at the end", fit.render_bullets(new(*needed.criteria))),
        ("The check", "\n".join(new(needed.check))),
        ("What the check said last", "\n".join(map(fit.fence_text, new(needed.verdict)))),
        ("Dead ends: do not try these again", fit.render_bullets(new(*needed.dead_ends))),
        (READ, fit.render_bullets(list_reads(messages, needed.editors))),
    )
    return "\n".join(fit.render_heading(head, text) for head, text in told if text)


def _normalize_lines(text: str) -> str:
    """Remove list markers and the space around lines from a text, to compare it."""
    lines = (line.strip().removeprefix("- ").removeprefix("dead end: ") for line in text.strip().splitlines())
    return "\n".join(line.rstrip() for line in lines)


_NUMBERED = r"(?m)^ {0,5}\d+\t"
_WHOLE = r"\(end of the file: [\d,]+ lines?([^()\n]*)\)\Z"
_PAGE = r"\((lines \d+-\d+ of [\d,]+)[^()\n]*\)\Z"
_REMEMBERED = r"(?m)^- (.+, sha256 [0-9a-f]{12})((?:, changed since)?)$"


def list_reads(messages: Iterable[Message], editors: Container[str] = EDITORS) -> list[str]:
    """List the files that were read, the newest last, as in `src/app.py: all of it, sha256 0a1b…`, including those from
    before an earlier compaction."""
    calls: dict[str, Call] = {}
    known: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ModelMessage):
            calls |= {call.id: call for call in message.calls}
        elif isinstance(message, UserMessage) and f"## {READ}\n" in message.text:
            remembered = message.text.rpartition(f"## {READ}\n")[2]
            known |= dict(re.findall(_REMEMBERED, remembered))
        elif isinstance(message, Result) and message.ok and message.call in calls:
            known = _record_read(known, calls[message.call], message.text, editors)
    return [f"{line}{since}" for line, since in known.items()][-READS:]


def _record_read(known: dict[str, str], call: Call, text: str, editors: Container[str]) -> dict[str, str]:
    path = pruning.parse_arguments(call).get("path")
    if not isinstance(path, str) or "\n" in path:
        return known
    if call.name in editors:
        return {line: ", changed since" if line.startswith(f"{path}: ") else since for line, since in known.items()}
    if call.name != "read":
        return known
    what, content = _parse_read_output(text)
    before = f"{path}: {what}, sha256 "
    others = {line: since for line, since in known.items() if not line.startswith(before)}
    return others | {before + sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]: ""}


def _parse_read_output(shown: str) -> tuple[str, str]:
    """Return which part a `read` call showed, as a phrase, and the text without line numbers."""
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


def parse_summary(answer: str, pinned: str, limit: int, changed: Iterable[str] = ()) -> str:
    """Turn a model's answer into a summary with exactly the four sections, and the pinned facts below.

    It fits into `limit` tokens, unless the pinned facts, which are never shortened, are larger. `changed`: files known
    to have changed; those that the answer does not name are added.
    """
    # Find the four sections, however the answer writes their headings. Text before them is kept as context, unless it
    # only announces a summary.
    before, *pieces = re.split(_HEAD, fit.contain_markdown(answer))
    found = {} if not before.strip() or (pieces and re.fullmatch(_PREAMBLE, before)) else {HEADINGS[3]: before.strip()}
    for head, text in zip(pieces[::2], pieces[1::2], strict=True):
        name = next(known for known in HEADINGS if known.lower() == head.lower())
        found[name] = "\n\n".join(part for part in (found.get(name, ""), text.strip()) if part)
    told = found.get(HEADINGS[2], "")
    missing = fit.render_bullets(f"`{path}`" for path in changed if path not in told)
    if missing:
        nothing = not told or told.strip(" -*.").lower() in (NOTHING, "nothing", "none")
        found[HEADINGS[2]] = missing if nothing else f"{told}\n{missing}"
    return _join_sections(found, pinned, limit)


def summarize_plainly(messages: Iterable[Message], pinned: str, limit: int, editors: Container[str] = EDITORS) -> str:
    """Summarise without a model: the last statements, errors, changed files, and the head and tail of the rest."""
    listed = list(messages)
    half = max((limit - fit.estimate_tokens(pinned)) // 2, 0)
    said = [*_list_decisions(listed), *(fit.shorten_middle(text, 80) for text in pruning.list_statements(listed, 8))]
    talk = fit.shorten_middle("".join(pruning.render_transcript(listed)).strip(), half)
    found = {
        HEADINGS[0]: fit.render_bullets(said),
        HEADINGS[1]: "\n\n".join(pruning.list_errors(listed)),
        HEADINGS[2]: fit.render_bullets(f"`{path}`" for path in pruning.list_edited(listed, editors)),
        HEADINGS[3]: f"{fit.render_bullets(pruning.list_calls(listed, 12))}\n\n{talk}",
    }
    return _join_sections({head: fit.contain_markdown(text) for head, text in found.items()}, pinned, limit)


def _list_decisions(messages: Iterable[Message]) -> list[str]:
    calls = [call for message in messages if isinstance(message, ModelMessage) for call in message.calls]
    noted = (pruning.parse_arguments(call) for call in calls if call.name == "note")
    return [str(given["text"]) for given in noted if given.get("kind") == "decision" and given.get("text")]


def _join_sections(sections: dict[str, str], pinned: str, limit: int) -> str:
    heads = sum(fit.estimate_tokens(fit.render_heading(head, "")) + 5 for head in HEADINGS)
    bodies = [sections.get(head, "").strip() or NOTHING for head in HEADINGS]
    given = fit.share_room(
        [fit.estimate_tokens(body) for body in bodies], max(limit - fit.estimate_tokens(pinned) - heads, LEAST // 2)
    )
    shown = [fit.contain_markdown(fit.shorten_middle(body, most)) for body, most in zip(bodies, given, strict=True)]
    told = [fit.render_heading(head, text) for head, text in zip(HEADINGS, shown, strict=True)]
    return "\n".join([*told, pinned] if pinned else told)


_HEAD = rf"(?im)^[ \t]{{0,3}}[#*_ \t]*(?:\d[.)][ \t]*)?[*_]*({'|'.join(HEADINGS)})[*_ \t]*(?::[*_ \t]*|$)"


_PREAMBLE = r"(?i)\s*(?:sure|okay|certainly|here|below|this is)\b[^\n]{0,150}\s*(?:-{3,}\s*)?"
