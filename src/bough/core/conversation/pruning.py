"""Build a fresh context for a stuck agent from the parts of a long conversation that the task needs.

A fast model sees the whole conversation in parts and extracts the findings; `prune_context` inserts the facts (the
task, its criteria and check, dead ends, errors, changed files) word for word. `prune_plainly` needs no model."""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bough.core.conversation import text_fitting as fit
from bough.core.messages import EDITORS, Answer, Call, Message, ModelMessage, Result, UserMessage
from bough.core.stuck.marks import clip_text, find_trouble, hash_text, is_transient, mask_text
from bough.core.textual.spelling import UNREADABLE

LIMIT = 2_000
"""The maximum number of tokens of a pruned context."""
FRAME = 250
"""The tokens of `LIMIT` that are reserved for the template itself."""
EXTRACT = 300
"""The maximum number of words that the fast model is asked for."""
ERRORS = 6
"""Number of newest errors kept."""
ERRORS_OF_A_TOOL = 3
"""The maximum number of errors kept of one tool, so that its repeated wrong calls do not displace tests' messages."""
ERROR = 400
"""Tokens to keep of an error."""
SAME = 200
"""A result of at least this many characters that equals an earlier one is shown only once."""
WHOLE = 10**9
"""A number of tokens that no text has: the text is shown whole."""
AROUND = 8
"""The tokens of the marks around a heading or a code block."""


class EssentialFacts(Struct, frozen=True):
    """The facts that a task needs in every fresh context."""

    instructions: str
    criteria: tuple[str, ...] = ()
    check: str = ""
    """The command, or what the brief says about it."""
    files: Mapping[str, str] = {}
    """The changed files and their current content, the last edited one last."""
    errors: tuple[str, ...] = ()
    """The most recent distinct errors, newest last: see `list_errors`."""
    dead_ends: tuple[str, ...] = ()
    verdict: str = ""
    """The check's last failure."""
    why: str = ""
    """Why the conversation is pruned: the stuck detector's diagnosis."""
    editors: frozenset[str] = EDITORS
    """Tools that change files."""


def find_seams(messages: Sequence[Message]) -> list[int]:
    """List the indexes at which a conversation may be cut, since no call before them waits for its result; 0 is one."""
    waiting: set[str] = set()
    found: list[int] = []
    for at, message in enumerate(messages):
        if not waiting and not isinstance(message, Result):
            found.append(at)
        if isinstance(message, ModelMessage):
            waiting |= {call.id for call in message.calls}
        elif isinstance(message, Result):
            waiting.discard(message.call)
    return found if found[:1] == [0] else [0, *found]


def render_transcript(messages: Iterable[Message]) -> list[str]:
    """Render each message as plain text. A long result that equals an earlier one is only mentioned.

    Opaque data for providers (`extra`) is left out.
    """
    seen: dict[str, str] = {}
    return [_render_message(message, seen) for message in messages]


def _render_message(message: Message, seen: dict[str, str]) -> str:
    match message:
        case UserMessage(text):
            return f"[bough says]\n{text}\n\n"
        case ModelMessage(text, calls):
            asked = "".join(f"[call {call.id}] {call.name} {call.arguments}\n" for call in calls)
            return f"[the engineer]\n{text}\n{asked}\n"
        case Result(call, text, ok):
            how = "ok" if ok else "failed"
            if len(text) >= SAME and text in seen:
                return f"[result of {call}: {how}, and identical to the result of {seen[text]}]\n\n"
            seen.setdefault(text, call)
            return f"[result of {call}: {how}]\n{text}\n\n"


def split_transcript(messages: Iterable[Message], most: int) -> list[str]:
    """Cut the whole conversation into parts of at most `most` tokens; joined, they are the transcript again.

    A call and its results stay together, unless they are larger than a part. If so, they are cut between messages, a
    large message between lines, and a long line anywhere.
    """
    listed = list(messages)
    written = render_transcript(listed)
    starts = find_seams(listed)
    exchanges = ["".join(written[a:b]) for a, b in zip(starts, [*starts[1:], len(listed)], strict=True)]
    finer: list[Callable[[str], list[str]]] = [
        lambda text: [piece for piece in re.split(_HEADS, text) if piece],
        lambda text: text.splitlines(keepends=True),
        list,
    ]
    return _pack_pieces([text for text in exchanges if text], max(most, 2) * fit.BYTES, finer)


_HEADS = r"(?m)^(?=\[(?:result of|call) )"


def _pack_pieces(pieces: list[str], room: int, finer: list[Callable[[str], list[str]]]) -> list[str]:
    """Join neighbouring pieces as long as they fit into `room`; a piece that does not fit alone is cut further."""
    packed: list[str] = []
    open_: list[str] = []
    left = room
    for piece in pieces:
        needs = fit.count_bytes(piece)
        if needs > left and open_:
            packed.append("".join(open_))
            open_, left = [], room
        if needs > room and finer:
            packed += _pack_pieces(finer[0](piece), room, finer[1:])
        else:
            open_.append(piece)
            left -= needs
    return [*packed, "".join(open_)] if open_ else packed


def build_question(part: str, number: int, of: int, needed: EssentialFacts, so_far: str = "") -> dict[str, str]:
    """Build the question about one part. `so_far`: the answer about earlier parts; the last answer covers all parts."""
    return build_material(part, number, of, needed, so_far, EXTRACT) | {
        "why": needed.why or "it made no progress",
        "files": ", ".join(needed.files) or "none",
        "dead_ends": fit.render_bullets(needed.dead_ends) or "(none)",
    }


def build_material(part: str, number: int, of: int, needed: EssentialFacts, so_far: str, words: int) -> dict[str, str]:
    """Build the values for a template that shows a part of a conversation to a model."""
    so_far = fit.shorten_middle(so_far.strip(), words * 3)
    # No text can contain its own hash, so no text can imitate the line that closes it.
    fence = f"===== {hash_text(part + so_far):012x} ====="
    before = f"What you wrote for the earlier parts:\n\n{fence}\n{so_far}\n{fence}\n\n" if so_far else ""
    return {
        "part": part,
        "which": "The whole conversation" if of == 1 else f"Part {number} of {of} of the conversation",
        "so_far": before,
        "fence": fence,
        "words": str(words),
        "instructions": needed.instructions.strip(),
        "criteria": fit.render_bullets(needed.criteria) or "(none)",
        "check": needed.check.strip() or "(none)",
    }


def is_usable(answer: Answer) -> bool:
    """Whether a model's answer has content; if not, the way without a model is used."""
    return answer.stop != "refusal" and any(map(str.isalnum, answer.text))


_FAILED = (
    r"(?m)^(?:Traceback \(most recent call last\)|E  +\S|(?:FAILED|ERROR) \S|[\w.]{0,80}(?:Error|Exception)\b: "
    r"|(?:fatal|error|panic)(?:\[\w+\])?: |thread '[^'\n]{0,80}' panicked|npm ERR!|Segmentation fault|--- FAIL)"
    r"|: (?:fatal )?error(?: [A-Z]+\d+)?: |\b[1-9]\d{0,5} (?:failed|errors?)\b|: command not found"
)
INTERRUPTED = "Interrupted: "
"""The beginning of the result of a call that bough interrupted; such a result says nothing about the work."""


def pair_results(messages: Iterable[Message]) -> Iterator[tuple[Call | None, Result]]:
    """Yield each result with its call, or with None if the call is no longer in the conversation."""
    calls: dict[str, Call] = {}
    for message in messages:
        if isinstance(message, ModelMessage):
            calls |= {call.id: call for call in message.calls}
        elif isinstance(message, Result):
            yield calls.get(message.call), message


def list_errors(messages: Iterable[Message], shells: Sequence[str] = ("bash",)) -> tuple[str, ...]:
    """List the distinct unresolved errors of a conversation, the newest last, each with the call that caused it.

    An error is a failed call, or a successful command that printed an error. Two that differ only in volatile text
    count as one. An error is resolved if the same call, or the same tool on the same file, succeeds later.
    """
    found: dict[int, tuple[int, str, str]] = {}
    for known, message in pair_results(messages):
        if message.text.startswith(INTERRUPTED):
            continue
        call = known or Call(message.call, "", "")
        # Calls of one tool on the same file count as one, so that a later edit of the file replaces one that failed.
        path = parse_arguments(call).get("path")
        made = hash_text(f"{call.name}\n{path if isinstance(path, str) else call.arguments}")
        if message.ok and not (call.name in shells and re.search(_FAILED, clip_text(message.text))):
            found = {error: entry for error, entry in found.items() if entry[0] != made}
        elif message.ok or not is_transient(message.text):
            error = hash_text("\n".join(sorted(find_trouble(clip_text(message.text)))))
            found.pop(error, None)
            found[error] = (
                made,
                call.name,
                f"{label_call(call)}\n{fit.shorten_middle(message.text.strip(), ERROR - 70)}",
            )
    kept: list[tuple[str, str]] = []
    for _, tool, text in reversed(found.values()):
        if len(kept) < ERRORS and sum(tool == other for other, _ in kept) < ERRORS_OF_A_TOOL:
            kept.append((tool, text))
    return tuple(text for _, text in reversed(kept))


def label_call(call: Call) -> str:
    """Render a call in one line, as in `$ pytest -q` or `edit src/app.py`."""
    given = parse_arguments(call)
    command, path = given.get("command"), given.get("path")
    if isinstance(command, str):
        text = f"$ {command}"
    elif isinstance(path, str):
        text = f"{call.name} {path}"
    else:
        text = f"{call.name or 'a call'} {call.arguments}"
    text = " ".join(text.split())
    return text if fit.count_bytes(text) <= 180 else f"{fit.take_head(text, 176)} …"


def parse_arguments(call: Call) -> dict[str, Any]:
    """Parse the arguments of a call; empty if they cannot be parsed."""
    try:
        return msgspec.json.decode(call.arguments, type=dict[str, Any])
    except UNREADABLE:
        return {}


def list_edited(messages: Iterable[Message], editors: Container[str] = EDITORS) -> list[str]:
    """List the files that these tools wrote to; the most recent comes last."""
    found: dict[str, None] = {}
    for call, message in pair_results(messages):
        given = parse_arguments(call) if call and message.ok and call.name in editors else {}
        if isinstance(path := given.get("path"), str):
            found.pop(path, None)
            found[path] = None
    return list(found)


def list_statements(messages: Iterable[Message], most: int) -> list[str]:
    """List the agent's last statements, each once, the newest last."""
    found: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ModelMessage) and message.text.strip():
            same = mask_text(clip_text(message.text)).lower()
            found.pop(same, None)
            found[same] = message.text.strip()
    return list(found.values())[-most:]


def list_calls(messages: Iterable[Message], most: int) -> list[str]:
    """List the last calls, each once with its last result, the newest last."""
    found: dict[str, str] = {}
    for call, message in pair_results(messages):
        if call is not None and call.name not in ("note", "done"):
            label, how = label_call(call), "ok" if message.ok else "failed"
            if "path" not in parse_arguments(call):  # A file can be read again.
                lines = clip_text(message.text).splitlines()
                printed = [line.strip() for line in lines if line.strip() and line[0] != "("]
                how += f": {fit.shorten_middle(printed[-1], 38)}" if printed else ""
            found.pop(label, None)
            found[label] = f"`{label}`: {how}"
    return list(found.values())[-most:]


def prune_context(found: str, needed: EssentialFacts, limit: int = LIMIT) -> str:
    """Build the fresh context from the findings and the facts, which are inserted word for word.

    Together with the template, it fits into `limit` tokens. The task, its criteria and its check are never shortened:
    if they take more than half of the limit, the rest still gets half. The dead ends, the last error and the last
    verdict may be shortened but are never left out.
    """
    criteria = fit.render_bullets(needed.criteria)
    told = (("The task", needed.instructions), ("What must be true at the end", criteria), ("The check", needed.check))
    task = "\n".join(fit.render_heading(head, text) for head, text in told if text)
    room = max(limit - FRAME - fit.estimate_tokens(task), limit // 2)
    each = max(room // 3 // max(len(needed.dead_ends), 1), 24)
    dead_ends = fit.render_bullets(fit.shorten_middle(text, each) for text in needed.dead_ends)
    tried = fit.render_heading("Dead ends: do not try these again", dead_ends) if dead_ends else ""
    blocks: list[tuple[str, str, Callable[[str], str]]] = [
        ("What was found out (where it differs, the files are right)", _contain(found, needed), fit.contain_markdown),
        ("What the check said last", needed.verdict, fit.fence_text),
        ("The last error", "".join(needed.errors[-1:]), fit.fence_text),
        ("Errors before it", "\n\n".join(needed.errors[:-1]), fit.fence_text),
    ]
    wants = [
        fit.estimate_tokens(head) + fit.estimate_tokens(text) + AROUND if text.strip() else 0
        for head, text, _ in blocks
    ]
    wants.append(fit.estimate_tokens(_render_files(needed.files, WHOLE)) + AROUND * (2 + len(needed.files)))
    *given, left = fit.share_room(wants, room - fit.estimate_tokens(tried))
    shown = [_fit_block(*block, most) for block, most in zip(blocks, given, strict=True)]
    return "\n".join(part for part in (task, shown[0], tried, *shown[1:], _render_files(needed.files, left)) if part)


def prune_plainly(messages: Iterable[Message], needed: EssentialFacts, limit: int = LIMIT) -> str:
    """Build the fresh context without a model: the last statements and calls replace the findings."""
    listed = list(messages)
    said = fit.render_bullets([fit.shorten_middle(text, 70) for text in list_statements(listed, 5)])
    done = fit.render_bullets(list_calls(listed, 8))
    pieces = [f"{head}\n\n{text}" for head, text in (("Said last:", said), ("Done last:", done)) if text]
    return prune_context("\n\n".join(pieces), needed, limit)


def _contain(found: str, needed: EssentialFacts) -> str:
    """Remove lines that repeat inserted facts, and demote headings so that the text stays within its section."""
    facts = (*needed.criteria, *needed.dead_ends, *needed.check.splitlines(), *needed.instructions.splitlines())
    told = {fact.strip() for fact in facts if len(fact.strip()) >= 12}
    lines = (line for line in found.splitlines() if line.strip().lstrip("-*•` ").rstrip("`") not in told)
    return fit.contain_markdown("\n".join(lines))


def _fit_block(head: str, text: str, form: Callable[[str], str], most: int) -> str:
    """Render a heading, and as much of the text as fits below it."""
    text = text.strip("\n")
    if not text.strip():
        return ""
    short = fit.shorten_middle(text, most - fit.estimate_tokens(head) - AROUND)
    framed = fit.render_heading(head, form(short))
    # For a text full of backticks, the marks of the code block may be longer than the text.
    return framed if fit.estimate_tokens(framed) <= most else fit.render_heading(head, short)


def _render_files(files: Mapping[str, str], most: int) -> str:
    """Render the files: the last in full or its beginning and end, those before it as long as there is room, and the
    others by name."""
    most -= AROUND * 2 + sum(fit.estimate_tokens(path) + AROUND for path in files)
    shown: list[str] = []
    for older, path in zip(reversed(range(len(files))), [*files][::-1], strict=True):
        text = files[path].rstrip("\n")
        fits = fit.estimate_tokens(text) + AROUND <= most
        fenced = fit.fence_text(text if fits else fit.shorten_middle(text, most // 2 if older else most - AROUND))
        whole = bool(text) and (fits or most >= 120) and fit.estimate_tokens(fenced) <= most
        most -= fit.estimate_tokens(fenced) if whole else 0
        shown.append(f"`{path}`\n{fenced}\n" if whole else f"`{path}` ({text.count(chr(10)) + 1} lines)\n")
    return fit.render_heading("The changed files, as they are now", "\n".join(reversed(shown))) if shown else ""
