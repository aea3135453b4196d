"""A compacted conversation is smaller, loses no fact that is pinned, and never parts a call from its result."""

import hashlib
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bough.adapters.tools import files as file_tools
from bough.adapters.tools.tool import Bench
from bough.core.conversation import compaction, context
from bough.core.conversation.compaction import (
    HEADINGS,
    compact_messages,
    compute_room,
    compute_target,
    count_useless,
    find_cut,
    has_helped,
    is_due,
    list_reads,
    measure_messages,
    parse_summary,
    render_pinned,
    summarize_plainly,
)
from bough.core.conversation.persistent_list import PersistentList
from bough.core.conversation.pruning import EssentialFacts, build_material, list_edited, split_transcript
from bough.core.conversation.text_fitting import estimate_tokens
from bough.core.messages import Call, Message, ModelMessage, Result, ToolSpec, UserMessage, list_editors
from bough.core.rules import CompactionRules, Rules
from bough.ports import Sandbox, Workspace
from tests.core.test_pruning import FACT, LONG, TEXT, bash, conversations, edit, needs, template

RULES = CompactionRules()


def calls_and_results(messages: list[Message]) -> tuple[list[str], list[str]]:
    calls = [call.id for message in messages if isinstance(message, ModelMessage) for call in message.calls]
    return calls, [message.call for message in messages if isinstance(message, Result)]


def long_conversation(rounds: int = 60) -> PersistentList[Message]:
    brief: Message = UserMessage("# Your task\n\nWrite the gap buffer.\n")
    exchanges = (
        bash(f"{n:09d}", f"pytest -q -k case_{n}", f"case {n}\n" + "output line\n" * 200) for n in range(rounds)
    )
    return PersistentList((brief, *(message for exchange in exchanges for message in exchange)))


# ── when and whether ────────────────────────────────────────────────────────────────────────────────────────────────


def test_due_at_three_quarters_of_the_window() -> None:
    assert not is_due(149_999, 200_000, RULES)
    assert is_due(150_000, 200_000, RULES)
    assert is_due(100_000, 200_000, CompactionRules(at=0.5))
    assert not is_due(10**9, 0, RULES), "a window that is not known never fills"


@pytest.mark.parametrize(
    "wrong", ['{"at": 0}', '{"at": 1.5}', '{"target": 1}', '{"breaker": 0}', '{"summarizer": "x"}']
)
def test_rules_that_make_no_sense_are_refused(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(wrong, type=CompactionRules)


def test_three_useless_ones_in_a_row_break() -> None:
    count = 0
    for before, after, expected in [(100, 95, 1), (100, 20, 0), (100, 99, 1), (100, 120, 2), (100, 81, 3)]:
        assert count < RULES.breaker
        count = count_useless(count, before, after)
        assert count == expected
    assert count >= RULES.breaker
    assert has_helped(100, 80) and not has_helped(100, 81)


# ── the cut ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@given(conversations(st.one_of(TEXT, LONG)), st.integers(0, 2000))
def test_no_call_is_parted_from_its_result(messages: list[Message], aim: int) -> None:
    at = find_cut(PersistentList(tuple(messages)), aim)
    assert 1 <= at <= len(messages)
    kept = messages[at:]
    calls, results = calls_and_results(kept)
    assert calls == results
    assert not kept or not isinstance(kept[0], Result)


@given(conversations(), st.integers(0, 2000))
def test_a_call_that_waits_is_kept(messages: list[Message], aim: int) -> None:
    waiting = ModelMessage("", (Call("waiting", "bash", "{}"), Call("answered", "bash", "{}")))
    trail = PersistentList((*messages, waiting, Result("answered", "ok", True)))
    assert find_cut(trail, aim) <= len(messages)


@given(conversations(st.one_of(TEXT, LONG)), st.integers(0, 2000))
def test_what_is_kept_fits_unless_it_is_the_last_exchange(messages: list[Message], aim: int) -> None:
    at = find_cut(PersistentList(tuple(messages)), aim)
    kept = messages[at:]
    if measure_messages(kept) > aim // 2:
        assert isinstance(kept[0], ModelMessage)
        assert not any(isinstance(message, ModelMessage) for message in kept[1:])
        assert measure_messages(kept) <= measure_messages(messages) // 2


def test_the_newest_rounds_are_kept_and_the_whole_comes_to_the_target() -> None:
    messages = long_conversation()
    aim = compute_target(messages, RULES)
    at = find_cut(messages, aim)
    assert 100 < at < len(messages) - 2
    text = parse_summary("## Key decisions\n" + "- a decision\n" * 2_000, "", compute_room(messages, at, aim))
    after = compact_messages(messages, at, text)
    assert measure_messages(after) <= aim + 5
    assert has_helped(measure_messages(messages), measure_messages(after))


def test_after_it_only_the_middle_is_new_and_the_rest_grows() -> None:
    messages = long_conversation()
    at = find_cut(messages, compute_target(messages, RULES))
    after = compact_messages(messages, at, "the summary")
    assert list(after) == [messages[0], UserMessage("the summary"), *messages.since(at)]
    grown = after.then(UserMessage("go on"))
    assert grown.same_root(after), "the provider's cache and ours go on from here"
    assert len(messages) == 121, "the old conversation is as it was"


def test_a_last_round_larger_than_all_the_rest_goes_too() -> None:
    huge = PersistentList((UserMessage("brief"), *bash("1", "ls", "small"), *bash("2", "cat all", "x" * 100_000)))
    assert find_cut(huge, compute_target(huge, RULES)) == 5


def test_nothing_to_cut() -> None:
    assert find_cut(PersistentList((UserMessage("brief " * 1_000),)), 100) == 1
    assert find_cut(PersistentList((UserMessage("brief " * 1_000), *bash("1", "ls", "a"))), 1_000) == 1


# ── what is pinned ──────────────────────────────────────────────────────────────────────────────────────────────────


@given(needs(), conversations())
def test_every_pinned_fact_is_there_word_for_word(needed: EssentialFacts, messages: list[Message]) -> None:
    trail = PersistentList(tuple(messages))
    text = render_pinned(needed, trail)
    brief = messages[0].text
    facts = (needed.instructions, *needed.criteria, needed.check, needed.verdict, *needed.dead_ends)
    for fact in facts:
        lines = fact.strip().splitlines() if fact.strip() else []
        assert fact in text or all(line.strip().removeprefix("- ").strip() in brief for line in lines)
    for answer in ("", "## Key decisions\n- none\n" * 50):
        assert text in parse_summary(answer, text, 500)
    assert text in summarize_plainly(messages, text, 500)


def test_what_the_brief_says_is_not_said_twice() -> None:
    needed = EssentialFacts(
        "Write it.", ("it works", "it is fast"), "make", dead_ends=("a list is too slow", "new"), verdict="E 1"
    )
    brief = "# Your task\n\nWrite it.\n\n- it works\n\nmake sure that it does\n\n- dead end: a list is too slow\n"
    text = render_pinned(needed, PersistentList((UserMessage(brief),)))
    assert "Write it." not in text and "it works" not in text and "a list is too slow" not in text
    assert "- it is fast\n" in text and "- new\n" in text and "\nmake\n" in text and "\nE 1\n" in text


def read(id_: str, path: str, shown: str) -> list[Message]:
    return [ModelMessage("", (Call(id_, "read", json.dumps({"path": path})),)), Result(id_, shown, True)]


class _Folder:
    """As much of a workspace as `read` needs."""

    def __init__(self, root: Path) -> None:
        self.root = self.folder = root


def really_read(root: Path, path: str, **more: int) -> str:
    workspace: Workspace = _Folder(root)  # type: ignore[assignment]
    sandbox: Sandbox = None  # type: ignore[assignment]
    bench = Bench(workspace, Rules(), sandbox, lambda text: None)
    return file_tools.read(file_tools.Read(path, **more), bench).output


@pytest.mark.parametrize("content", [b"one\ntwo\n", b"one\n\n\ttwo", b"\r\n1\r\n", "ä 中\n".encode(), b"(end of it)\n"])
def test_the_hash_of_a_file_that_was_read_whole_is_the_files_own(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    messages = read("1", "a.txt", really_read(tmp_path, "a.txt"))
    assert list_reads(messages) == [f"a.txt: all of it, sha256 {hashlib.sha256(content).hexdigest()[:12]}"]


def test_pages_are_named_as_pages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 10)))
    first = read("1", "a.txt", really_read(tmp_path, "a.txt", lines=3))
    rest = read("2", "a.txt", really_read(tmp_path, "a.txt", start=4))
    named = list_reads([*first, *rest, *first])
    assert [line.split(", sha256")[0] for line in named] == ["a.txt: from line 4 on", "a.txt: lines 1-3 of 9"]
    assert hashlib.sha256(b"1\n2\n3\n").hexdigest()[:12] in named[1]


def test_what_a_new_tool_writes_is_found_after_a_compaction() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "new": {"type": "string"}}}
    patch = ToolSpec("patch", "Patches a file.", schema, writes=True)
    bash = ToolSpec("bash", "Runs a command.", {"type": "object", "properties": {}}, writes=True)
    grep = ToolSpec("grep", "Searches.", schema, writes=False)
    editors = list_editors((patch, bash, grep))
    assert editors == {"patch"}
    call = Call("9", "patch", '{"path": "a.py", "new": "x = 2"}')
    messages = [
        *read("1", "a.py", "     1\tx\n(end of the file: 1 line)"),
        ModelMessage("", (call,)),
        Result("9", "ok", True),
    ]
    needed = EssentialFacts("Do it.", editors=editors)
    assert list_edited(messages, editors) == ["a.py"]
    pinned = render_pinned(needed, PersistentList((UserMessage(""), *messages)))
    assert ", changed since" in pinned
    assert "`a.py`" in summarize_plainly(messages, pinned, 2_000, editors)
    assert "`a.py`" not in summarize_plainly(messages, pinned, 2_000)


def test_what_was_read_is_remembered_from_one_compaction_to_the_next() -> None:
    first = [UserMessage("brief"), *read("1", "a.py", "     1\tx\n(end of the file: 1 line)"), *read("2", "b.py", "y")]
    once = list_reads(first)
    assert len(once) == 2
    kept = render_pinned(EssentialFacts("Do it."), PersistentList(tuple(first)))
    second = compact_messages(PersistentList(tuple(first)), len(first), parse_summary("", kept, 300))
    assert list_reads(second) == once
    third = [*second, *edit("3", "a.py", "z"), *read("4", "c.py", "w")]
    assert list_reads(third)[0] == f"{once[0]}, changed since"
    assert list_reads(
        PersistentList(
            (UserMessage(render_pinned(EssentialFacts("Do it."), PersistentList((UserMessage(""), *third)))),)
        )
    ) == list_reads(third)
    again = list_reads([*third, *read("5", "a.py", "     1\tx\n(end of the file: 1 line)")])
    assert again[-1] == once[0], "read again: it is known as it is now"


@given(st.lists(FACT, max_size=80))
def test_what_was_read_is_bounded(paths: list[str]) -> None:
    messages = [message for path in paths for message in read("1", path, "text")]
    assert len(list_reads(messages)) <= compaction.READS
    assert not paths or list_reads(messages)[-1].startswith(f"{paths[-1]}: ")


# ── the summary ─────────────────────────────────────────────────────────────────────────────────────────────────────


def sections(text: str) -> list[str]:
    return [line[3:] for line in text.splitlines() if line.startswith("## ")]


@given(st.one_of(TEXT, LONG), st.integers(300, 4000))
def test_a_summary_has_exactly_the_four_sections_and_fits(answer: str, limit: int) -> None:
    text = parse_summary(answer, "", limit)
    assert sections(text) == list(HEADINGS)
    assert estimate_tokens(text) <= limit


@given(conversations(st.one_of(TEXT, LONG)), st.integers(300, 4000))
def test_a_truncated_summary_has_them_too(messages: list[Message], limit: int) -> None:
    text = summarize_plainly(messages, "", limit)
    assert sections(text) == list(HEADINGS)
    assert estimate_tokens(text) <= limit


@pytest.mark.parametrize(
    "form", ["## {}\n{}", "**{}**\n\n{}", "**{}:** {}", "{}:\n{}", "### {}:\n{}", "1. **{}**\n{}", "# **{}**\n{}"]
)
def test_headings_are_known_however_they_are_written(form: str) -> None:
    answer = "\n\n".join(form.format(head, f"- about {head.lower()}") for head in reversed(HEADINGS))
    text = parse_summary(answer, "", 1_000)
    assert text == "\n".join(f"## {head}\n\n- about {head.lower()}\n" for head in HEADINGS)


def test_missing_sections_are_said_to_be_empty_and_other_words_are_kept() -> None:
    text = parse_summary(
        "The test fails in line 3.\n\n## Modified files\na.py\n## Next\nb.py\n## modified files\nc.py", "", 1_000
    )
    assert "## Key decisions\n\n(nothing)\n" in text and "## Errors and solutions\n\n(nothing)\n" in text
    assert "## Modified files\n\na.py\n#### Next\nb.py\n\nc.py\n" in text
    assert text.endswith("## Critical context\n\nThe test fails in line 3.\n")


def test_changed_files_that_the_model_forgot_are_added() -> None:
    one = parse_summary("Here is the summary:\n\n## Modified files\n- `a.py`: insert()", "", 1_000, ["a.py", "b.py"])
    assert "## Modified files\n\n- `a.py`: insert()\n- `b.py`\n" in one
    assert one.endswith("## Critical context\n\n(nothing)\n"), "that a summary follows is not worth keeping"
    assert "## Modified files\n\n- `a.py`\n" in parse_summary("## Modified files\n(nothing)", "", 1_000, ["a.py"])


def test_a_short_section_is_not_cut_for_a_long_one() -> None:
    answer = "## Key decisions\nuse a gap buffer\n## Critical context\n" + "words and words\n" * 2_000
    text = parse_summary(answer, "## Dead ends\n\n- x\n", 600)
    assert "use a gap buffer" in text and "left out" in text
    assert 500 < estimate_tokens(text) <= 600
    assert text.endswith("## Dead ends\n\n- x\n")


def test_truncated_tells_what_happened() -> None:
    note = Call("7", "note", json.dumps({"kind": "decision", "text": "lists are kept sorted"}))
    messages = [
        UserMessage("brief"),
        ModelMessage("I look at the buffer.", ()),
        *edit("1", "src/buffer.py", "x = 2"),
        *bash("2", "pytest -q", "E   assert 1 == 2\n1 failed", ok=False),
        ModelMessage("", (note,)),
        Result("7", "Kept.", True),
    ]
    text = summarize_plainly(messages, "", 2_000)
    decisions, found, changed, rest = (text.split(f"## {head}\n")[1].split("\n## ")[0] for head in HEADINGS)
    assert "lists are kept sorted" in decisions and "I look at the buffer." in decisions
    assert "$ pytest -q" in found and "assert 1 == 2" in found
    assert "`src/buffer.py`" in changed
    assert "`$ pytest -q`: failed" in rest


@given(conversations(), needs(), st.text(max_size=200), st.integers(300, 8000))
def test_every_question_can_be_asked(messages: list[Message], needed: EssentialFacts, so_far: str, limit: int) -> None:
    cuts = split_transcript(messages, 300)
    for number, part in enumerate(cuts, 1):
        values = build_material(part, number, len(cuts), needed, so_far, limit)
        asked = context.render(template("compactor"), values)
        assert part in asked and so_far.strip() in asked
        assert values["fence"] not in part
    assert [line[3:] for line in template("compactor").splitlines() if line.startswith("## ")][-4:] == list(HEADINGS)


def test_the_message_that_replaces_what_is_gone() -> None:
    text = context.render(template("compacted"), {"summary": parse_summary("", "## Dead ends\n\n- x\n", 300)})
    assert "## Key decisions\n\n(nothing)\n" in text and "- x\n" in text
