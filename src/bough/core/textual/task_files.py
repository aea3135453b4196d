"""The first message to a model in the text protocol, with what other models read by tool calls: the task's files, its
tests, and the failures. A conversation in this protocol has no calls and no results, only text on both sides."""

import re
from collections.abc import Iterable, Mapping, Sequence
from textwrap import dedent

from msgspec import Struct

from bough.core.acceptance.verdict import Verdict
from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.text_fitting import BYTES, estimate_tokens, fence_text, shorten_middle
from bough.core.messages import Message, ModelMessage, Result, UserMessage
from bough.core.textual.paths import TAGS, Block, CandidateFiles, find_only_path
from bough.core.verdict.language import is_test_path

ANSWER = 1_500
"""The number of tokens of its own last answer that the model sees again."""
OUTPUT = 700
"""The most tokens of a block's result."""


def render_as_text(messages: Iterable[Message]) -> PersistentList[Message]:
    """Render the conversation as text; adjacent messages of one side are joined, as small models' templates expect."""
    told: list[Message] = []
    listed = list(messages)
    for message, following in zip(listed, [*listed[1:], None], strict=True):
        if isinstance(message, ModelMessage) and isinstance(following, UserMessage):
            continue  # A small model that sees its useless answer again repeats it (183 times out of 183).
        if isinstance(message, ModelMessage):
            told.append(ModelMessage(shorten_middle(message.text.strip(), ANSWER) or "(empty answer)"))
            continue
        text = shorten_middle(message.text, OUTPUT) if isinstance(message, Result) else message.text.strip()
        if told and isinstance(told[-1], UserMessage):
            told[-1] = UserMessage(f"{told[-1].text}\n\n{text}")
        else:
            told.append(UserMessage(text))
    return PersistentList(tuple(told))


def rebuild_messages(brief: str, messages: Sequence[Message]) -> list[Message]:
    """Return the current brief and only the last exchange: earlier results are in the files."""
    last = max((n for n, message in enumerate(messages) if isinstance(message, ModelMessage)), default=len(messages))
    return [UserMessage(brief), *messages[last:]]


SMALL_WINDOW = 16_384
"""The largest window, in tokens, that counts as small: there conversations are rebuilt rather than continued."""
UNKNOWN_WINDOW = 8_192
"""The assumed window of a model that does not report one."""
RESERVED = 2_500
"""Tokens that are kept free for the task itself and for the answer."""
SHORT = 250
"""The number of lines up to which rewriting a whole file works best."""
FILES = 12
"""The most files to show."""
MOST_NAMES = 60
FAILURES = 3
"""Failing tests to show: one directs the next change, thirty hide it."""
FAILURE = 350
"""The most tokens of each failing test."""
HINT = 80
"""The most tokens of a hinted test's failure."""
_COMMENT = re.compile(r"\s*(#|//)")
_ADDRESS = re.compile(r"\[[^\]]+\]:")
"""Pattern for the address of a link."""
LINES = 12
"""The most lines of an output without recognisable errors."""
ENDLESS = "It was stopped after {} seconds without a result: the code is far too slow, or a loop never ends."
_MARKED = re.compile(r"[E>]\s")
"""Marks by which pytest shows the line that failed, and why."""
_TELLING = re.compile(
    r"^\s*assert\b|\b\w*(?:Error|Exception|Failure|Failed|panic(?:ked)?)\b|\bexpected\b|\bgot\b", re.I
)


class View(Struct, frozen=True):
    """An attempt's view of the files: how much, and in which order."""

    most: int = 0
    """The most tokens of the tests, and of each text; 0: as many as fit."""
    tests_first: bool = False
    tests: bool = True
    hints: int = 0
    """The number of failing tests to show besides the files."""
    lead: str = ""
    """The sentence that introduces these tests."""


WHOLE = View()
VIEWS = {
    "tests_first": View(800, tests_first=True),
    "short": View(400),
    "hinted": View(800, tests_first=True, hints=3, lead="A first version was wrong. Mind what these tests expect:"),
    "repair": View(330, tests=False, hints=1, lead="This code is wrong: do not repeat it. It has to do this too:"),
}
"""Views of a task that is one file, by tactic; others show everything."""


def compute_room(window: int) -> int:
    """Compute the tokens that are left for files."""
    window = min(window or UNKNOWN_WINDOW, SMALL_WINDOW)
    return max(window - RESERVED - window // 8, window // 4)


def choose_files(known: CandidateFiles) -> list[str]:
    """Choose the paths to show, the most needed first: the work, its tests, then other files that the task names."""
    there = set(known.paths)
    meant = [path for path in known.meant if path in there]
    product = [path for path in meant if not is_test_path(path) and not _is_prose(path)]
    stems = {path.rpartition("/")[2].partition(".")[0] for path in product}
    tests = [path for path in meant if is_test_path(path)] or [
        path for path in known.paths if is_test_path(path) and any(stem in path.rpartition("/")[2] for stem in stems)
    ]
    return list(dict.fromkeys((*product, *tests, *meant)))[:FILES]


def render_files(texts: Mapping[str, str], order: Sequence[str], most: int, view: View = WHOLE) -> str:
    """Render each file in a block under its path. The work and its tests come last: small models weigh the end most."""
    kept: dict[str, str] = {}
    for path in order:
        if path not in texts or "\0" in texts[path][:1000] or (is_test_path(path) and not view.tests):
            continue
        text = shorten_middle(_condense(path, texts[path], view).rstrip("\n"), max(most, 0))
        if text or not texts[path].strip():
            kept[path] = text
            most -= estimate_tokens(text) + 12
    turn = -1 if view.tests_first else 1
    ranked = sorted(kept, key=lambda path: (-turn * _is_prose(path), turn * is_test_path(path), order.index(path)))
    return "\n\n".join(f"{path}\n{fence_text(kept[path], _find_language(path))}" for path in ranked)


def _condense(path: str, text: str, view: View) -> str:
    if not view.most or not (is_test_path(path) or _is_prose(path)):
        return text
    empty = _ADDRESS if _is_prose(path) else _COMMENT
    lines = [line for line in text.split("\n") if line.strip() and not empty.match(line)]
    text, room = "\n".join(lines), view.most * BYTES
    if len(text) <= room:
        return text
    head, tail = text[: room * 3 // 4].rpartition("\n")[0], text[-room // 4 :].partition("\n")[2]
    return f"{head}\n…\n{tail}"


def render_hints(verdict: Verdict, texts: Mapping[str, str], view: View) -> str:
    """Render the failing tests that an attempt should mind, with their source."""
    if not view.hints:
        return ""
    shown = []
    for failure in verdict.failures[: view.hints]:
        source = next(
            (found for path in texts if is_test_path(path) and (found := _find_test(texts[path], failure.id))), ""
        )
        said = shorten_middle(extract_errors(failure.text or failure.id), HINT)
        shown.append(f"```\n{source}\n```\nIt failed with:\n{said}" if source else f"{failure.id}\n{said}")
    return "\n\n".join([f"\n{view.lead}", *(shown or [render_failing(verdict)])]) + "\n"


def _find_test(text: str, name: str) -> str:
    """Find the source of a test: the line that names it, and the lines indented below."""
    name = re.split(r"::|\.|\s|/", name.partition("[")[0])[-1]
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if name and re.search(rf"\b{re.escape(name)}\b", line)), None)
    if at is None:
        return ""
    depth = len(lines[at]) - len(lines[at].lstrip())
    end = next(
        (n for n in range(at + 1, len(lines)) if lines[n].strip() and len(lines[n]) - len(lines[n].lstrip()) <= depth),
        len(lines),
    )
    return shorten_middle(dedent("\n".join(lines[at:end])).rstrip(), FAILURE)


def render_failing(verdict: Verdict) -> str:
    """Render the check's output, shortened to the failures."""
    if verdict.exit_status is None and verdict.seconds:
        return f"$ {verdict.command}\n{ENDLESS.format(round(verdict.seconds))}"
    if not verdict.failures:
        return f"$ {verdict.command}\n{shorten_middle(extract_errors(verdict.output), FAILURE * 2)}".strip()
    shown = [
        f"{each.id}\n{shorten_middle(extract_errors(each.text or each.id), FAILURE)}"
        for each in verdict.failures[:FAILURES]
    ]
    more = verdict.failed - len(shown)
    head = (
        f"{verdict.passed} tests pass, {verdict.failed} fail." if verdict.passed or verdict.failed else verdict.reason
    )
    return "\n\n".join([head, *shown, *([f"… and {more} more."] if more > 0 else [])])


def extract_errors(text: str) -> str:
    """Extract the error lines; the last lines if there are none."""
    lines = [line for line in text.strip().split("\n") if line.strip()]
    marked = [line for line in lines if _MARKED.match(line)]
    return "\n".join(dict.fromkeys(marked or [line for line in lines if _TELLING.search(line)] or lines[-LINES:]))


def find_target(known: CandidateFiles) -> str:
    """Find the one file to write, if it is clear which; otherwise empty."""
    return find_only_path(Block("", "", ""), known)


def list_others(known: CandidateFiles, path: str) -> list[str]:
    """List the other code files that the task is about."""
    return [each for each in known.meant if each != path and not is_test_path(each) and not _is_prose(each)]


def render_closing(known: CandidateFiles) -> str:
    """Render the last sentence of a brief, which asks for the answer: a small model does what it read last."""
    path = find_target(known)
    if not path or list_others(known, path):
        return "Answer with the blocks for every file that has to change."
    aim = "" if _is_prose(path) else " so that all tests pass"
    return f"Write `{path}`{aim}: the whole file in one ```{_find_language(path)} block."


def _is_prose(path: str) -> bool:
    return path.rpartition(".")[2].lower() in ("md", "txt", "rst")


def _find_language(path: str) -> str:
    suffix = path.rpartition(".")[2] if "." in path else ""
    return TAGS.get(suffix, suffix)


def render_names(paths: Iterable[str]) -> str:
    names = [path for path in paths if not path.startswith(".")]
    return ", ".join(names[:MOST_NAMES]) + (f" … ({len(names)} files)" if len(names) > MOST_NAMES else "")
